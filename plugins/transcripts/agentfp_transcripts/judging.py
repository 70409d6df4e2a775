"""Chooses and makes the judges of a check."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentfp.commands import Code, CommandError
from agentfp.plugin import ConfigError, nearest
from agentfp.transcripts import PluginLoadError, TranscriptJudge, installed_judges, make_judge

MAIN = "evidence"
"""The judge that is asked unless another is named."""
INSTALL = 'pip install "agentfp[check]"'


def make_judges(
    plugins: Sequence[str] = (), settings: Mapping[str, Mapping[str, Any]] | None = None, *, main: str | None = None
) -> dict[str, TranscriptJudge]:
    """The judges of a check: the main one, where it is installed, then those that were named.

    Args:
        plugins: names of further judges.
        settings: by judge.
        main: name of the main one, where it is not the usual one.

    Raises:
        CommandError: none is installed, one that was named is not, or one cannot be used.
    """
    found = installed_judges()
    for name in (*([main] if main is not None else []), *plugins):
        if name not in found:
            known = f"; {nearest(name, found)}" if found else ""
            raise CommandError(
                f"no installed judge is called {name!r}{known}. Judges are brought by distributions; {INSTALL} brings {MAIN!r}",
                Code.MISSING,
            )
    wanted = list(dict.fromkeys([*([main] if main is not None else [MAIN] if MAIN in found else []), *plugins]))
    if not wanted:
        others = f" Installed judges: {', '.join(sorted(found))} (--plugin NAME)." if found else ""
        raise CommandError(f"nothing is installed that could judge an answer; {INSTALL}.{others}", Code.MISSING)
    given = dict(settings or {})
    for name in given:
        if name not in wanted:
            raise CommandError(f"--set names the judge {name!r}, which is not asked; {nearest(name, wanted)}")
    judges = {}
    for name in wanted:
        try:
            judges[name] = make_judge(name, given.get(name))
        except PluginLoadError as error:
            raise CommandError(f"judge {name!r} cannot be used: {error}", Code.USAGE if name in given else Code.FAILED) from error
        except ConfigError as error:
            raise CommandError(f"judge {name!r}: {error}") from error
    return judges


def parse_settings(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings as ``--set`` takes them: ``judge.name=value``, the value as JSON or else as text.

    Raises:
        CommandError: one is not of that form.
    """
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        where, equals, value = text.partition("=")
        judge, dot, name = where.partition(".")
        if not (equals and dot and judge and name.isidentifier()):
            raise CommandError(f"--set takes JUDGE.NAME=VALUE, such as {MAIN}.profile=strict; got {text!r}")
        try:
            found.setdefault(judge, {})[name] = json.loads(value)
        except ValueError:
            found.setdefault(judge, {})[name] = value
    return found
