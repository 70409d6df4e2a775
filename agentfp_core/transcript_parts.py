"""Finds the readers and judges of transcripts that are installed, each loaded in its own guard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentfp_core.entrypoints import FILES_GROUP, JUDGES_GROUP, TRANSCRIPTS_GROUP, Entry, installed, load, the_one
from agentfp_core.errors import PluginLoadError, TranscriptError
from agentfp_core.transcripts import Transcript, TranscriptJudge, TranscriptReader


def installed_readers() -> tuple[dict[str, TranscriptReader], tuple[str, ...]]:
    """The readers that other distributions bring.

    Returns:
        the readers by the names of their entry points, and for each that cannot be used a sentence that says why.
    """
    readers: dict[str, TranscriptReader] = {}
    problems: list[str] = []
    for name, entries in installed(TRANSCRIPTS_GROUP).group(TRANSCRIPTS_GROUP).items():
        try:
            readers[name] = _reader(the_one(name, entries))
        except PluginLoadError as error:
            problems.append(f"reader {name!r} cannot be used: {error}")
    return readers, tuple(problems)


def _reader(entry: Entry) -> TranscriptReader:
    made = load(entry)
    if isinstance(made, type) or (callable(made) and not isinstance(made, TranscriptReader)):
        made = _call(entry, made, {})
    if not isinstance(made, TranscriptReader):
        msg = f"{entry.value!r} of {entry.origin} is no reader: it needs name, recognises() and read(), got a {type(made).__name__}"
        raise PluginLoadError(msg, entry=entry)
    return made


def read_transcripts(paths: Sequence[str | Path]) -> Iterator[Transcript | str]:
    """The transcripts at some paths, of whatever format the installed distribution that reads files knows, one after the other.

    Args:
        paths: files or folders.

    Yields:
        transcripts, and sentences on what could not be read.

    Raises:
        TranscriptError: nothing is installed that reads files; says what to install.
        PluginLoadError: what is installed cannot be used; names distribution, version and cause.
    """
    found = installed(FILES_GROUP).group(FILES_GROUP)
    if not found:
        raise TranscriptError('nothing is installed that reads transcripts of other frameworks; pip install "agentfp[check]"')
    name, entries = next(iter(found.items()))
    entry = the_one(name, entries)
    for one in _call(entry, load(entry), {"paths": list(paths)}):
        yield one if isinstance(one, Transcript) else str(one)


def installed_judges() -> Mapping[str, tuple[Entry, ...]]:
    """The judges that are installed, by name; nothing is imported."""
    return installed(JUDGES_GROUP).group(JUDGES_GROUP)


def make_judge(name: str, settings: Mapping[str, Any] | None = None) -> TranscriptJudge:
    """Make an installed judge.

    Args:
        name: the name of its entry point.
        settings: what its entry point is called with.

    Raises:
        KeyError: no installed judge has the name.
        PluginLoadError: it cannot be imported, or is no judge; names distribution, version and cause.
        ConfigError: it has no such setting, or as the judge says it of its settings.
    """
    entry = the_one(name, installed_judges()[name])
    factory = load(entry)
    if callable(factory):
        _refuse_unknown(factory, settings or {})
    made = _call(entry, factory, dict(settings or {}))
    if not isinstance(made, TranscriptJudge):
        msg = f"{entry.value!r} of {entry.origin} made no judge: it needs name and judge(), got a {type(made).__name__}"
        raise PluginLoadError(msg, entry=entry)
    return made


def _call(entry: Entry, factory: Any, settings: Mapping[str, Any]) -> Any:
    from agentfp_core.errors import AgentfpError

    if not callable(factory):
        msg = f"{entry.value!r} of {entry.origin} must be a callable, got a {type(factory).__name__}"
        raise PluginLoadError(msg, entry=entry)
    try:
        return factory(**settings)
    except AgentfpError:
        raise  # says itself what is wrong with its settings
    except Exception as error:
        given = f" with {', '.join(sorted(settings))}" if settings else ""
        msg = f"{entry.value!r} of {entry.origin} failed when it was called{given}: {type(error).__name__}: {error}"
        raise PluginLoadError(msg, entry=entry) from error


def _refuse_unknown(factory: Any, settings: Mapping[str, Any]) -> None:
    """Settings that the factory does not have; one that takes any says so itself."""
    import inspect

    from agentfp_core.errors import ConfigError, nearest

    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):  # its signature cannot be told
        return
    known = [name for name, parameter in parameters.items() if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    wrong = [f"there is no setting {name!r}; {nearest(name, known)}" for name in settings if name not in known]
    if wrong:
        raise ConfigError(wrong)
