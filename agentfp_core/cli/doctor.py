"""``agentfp doctor``: is this environment in order, and if not, what is wrong with it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from agentfp_core.cli.exits import Code, leave
from agentfp_core.cli.options import AgentName, ConfigFile, Json, Overlay
from agentfp_core.cli.output import data, say

if TYPE_CHECKING:
    from pathlib import Path

    from agentfp_core.config import Config
    from agentfp_core.entrypoints import Installed
    from agentfp_core.model import Model

app = typer.Typer(add_completion=False)
REACH_SECONDS = 30.0
ADD_ONS = ("agentfp-adapters",)
"""Distributions of the project that only other frameworks use, so that no entry point leads to them."""
State: TypeAlias = Literal["ok", "note", "problem"]
KEYS = (
    "ANTHROPIC_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_PROFILE",
    "AZURE_OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OLLAMA_HOST",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENROUTER_API_KEY",
)
"""Variables that providers read by themselves; told of by name."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Args:
        about: what.
        state: ``problem`` makes the command end with 1; a note is worth knowing.
        text: what was found.
    """

    about: str
    state: State
    text: str


@app.command()
def doctor(
    config: ConfigFile = None,
    agent: AgentName = None,
    env: Overlay = None,
    call: Annotated[bool, typer.Option("--call", help="Call each model once, with a few tokens, to see whether it answers.")] = False,
    as_json: Json = False,
) -> None:
    """Look for what is wrong in this environment.

    Python, the installed distributions, plugins, providers and commands, the config file, keys, the model. Everything that is installed is
    imported, each in its own guard. No model is called without --call. Exits with 1 when there are problems.
    """
    findings = list(_look(config, agent, env, call=call))
    wrong = [finding for finding in findings if finding.state == "problem"]
    if as_json:
        data({"ok": not wrong, "findings": [{"about": f.about, "state": f.state, "text": f.text} for f in findings]})
    else:
        styles = {"ok": "green", "note": "yellow", "problem": "red"}
        for finding in findings:
            say(f"{finding.state:<8} {finding.about}: {finding.text}", styles[finding.state] if finding.state != "ok" else None)
        say(f"{len(wrong)} problem{'' if len(wrong) == 1 else 's'}", "red" if wrong else "green")
    leave(Code.NEGATIVE if wrong else Code.OK)


def _look(file: Path | None, agent: str | None, env: str | None, *, call: bool) -> Iterator[Finding]:
    from agentfp_core.entrypoints import installed

    found = installed()
    yield from _python()
    yield from _distributions(found)
    yield from _entries(found)
    opened, findings = _config(file, env)
    yield from findings
    yield from _switches(opened)
    checked = None if opened is None else opened.check(agent)
    if checked is not None:
        yield from [Finding("config", "problem", str(problem)) for problem in checked.problems]
        yield from [Finding("config", "note", str(note)) for note in checked.notes]
        yield Finding("plugins on", "ok", ", ".join(r.name for r in checked.plugins if r.state == "on") or "none")
    yield from _keys(opened)
    yield from _model(None if checked is None or checked.problems else opened, agent, found, call=call)


def _python() -> Iterator[Finding]:
    yield Finding("python", "ok", f"{'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}")


def _distributions(found: Installed) -> Iterator[Finding]:
    import importlib.metadata

    origins = {entry.origin for names in found.entries.values() for entries in names.values() for entry in entries}
    for name in sorted(ADD_ONS):  # these have no entry point
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            origins.add(f"{name} {importlib.metadata.version(name)}")
    try:
        own = importlib.metadata.version("agentfp")
    except importlib.metadata.PackageNotFoundError:
        yield Finding(
            "distributions", "problem", "agentfp itself has no metadata; install it with pip, for its commands and plugins are found by it"
        )
    else:
        yield Finding("distributions", "ok", ", ".join([f"agentfp {own}", *sorted(origins)]))
    for text in found.unreadable:
        yield Finding("distributions", "problem", text)


def _entries(found: Installed) -> Iterator[Finding]:
    """Every plugin, provider and command, imported."""
    from agentfp_core.cli.app import BUILT_IN
    from agentfp_core.cli.extension import load_extension
    from agentfp_core.discovery import load_plugin
    from agentfp_core.entrypoints import COMMANDS_GROUP, MODELS_GROUP, PLUGINS_GROUP, TRANSCRIPTS_GROUP, load, the_one

    plain: Callable[..., object] = lambda name, entries: load(the_one(name, entries))  # noqa: E731
    groups: dict[str, tuple[str, Callable[..., object]]] = {
        PLUGINS_GROUP: ("plugin", load_plugin),
        MODELS_GROUP: ("provider", plain),
        TRANSCRIPTS_GROUP: ("transcript reader", plain),
        COMMANDS_GROUP: ("command", load_extension),
    }
    for group, (what, how) in groups.items():
        for name, entries in sorted(found.group(group).items()):
            about = f"{what} {name}"
            if group == COMMANDS_GROUP and name in BUILT_IN:
                yield Finding(
                    about, "problem", f"{entries[0].origin} brings a command of agentfp's own name, which is never used; rename it"
                )
            else:
                yield _loaded(about, lambda name=name, entries=entries, how=how: how(name, entries), entries[0].origin)  # type: ignore[misc]


def _loaded(about: str, how: Callable[[], object], origin: str) -> Finding:
    from agentfp_core.errors import PluginLoadError

    try:
        how()
    except PluginLoadError as error:
        return Finding(about, "problem", str(error))
    return Finding(about, "ok", f"loads ({origin})")


def _config(file: Path | None, env: str | None) -> tuple[Config | None, list[Finding]]:
    from agentfp_core.cli.subject import optional_config
    from agentfp_core.errors import ConfigError

    try:
        opened = optional_config(file, env)
    except ConfigError as error:
        return None, [Finding("config", "problem", str(error))]
    if opened is None:
        return None, [Finding("config", "note", "no agentfp.toml here or above; agentfp init writes one")]
    findings = [Finding("config", "ok", f"{opened.path}, agents: {', '.join(opened.agents) or 'none'}, overlay: {opened.env or 'none'}")]
    return opened, findings


def _switches(opened: Config | None) -> Iterator[Finding]:
    """What the environment says about plugins."""
    from agentfp_core.discovery import DISABLE, REQUIRE, Switches, plugin_reports

    for report in plugin_reports():
        if report.state == "missing" and report.error is not None:  # those at odds were told of when they were loaded
            yield Finding(f"plugin {report.name}", "problem", report.error)
    switches = Switches.of()
    if switches.disabled:
        yield Finding(DISABLE, "note", ", ".join(switches.disabled))
    if switches.required and opened is None:
        yield Finding(REQUIRE, "note", f"{', '.join(switches.required)}; no config file switches them on")


def _keys(opened: Config | None) -> Iterator[Finding]:
    """Keys by name, never by value."""
    for use in () if opened is None else opened.secrets():
        yield Finding(
            f"secret {use.path}",
            "ok" if use.error is None else "problem",
            f"{use.reference} is {'there' if use.error is None else use.error}",
        )
    there = [name for name in KEYS if os.environ.get(name)]
    yield Finding("keys", "ok", f"set: {', '.join(there)}" if there else "none of the usual variables is set")


def _model(opened: Config | None, agent: str | None, found: Installed, *, call: bool) -> Iterator[Finding]:
    from agentfp_core.cli.subject import NO_PROVIDER
    from agentfp_core.entrypoints import MODELS_GROUP
    from agentfp_core.errors import AgentfpError

    if not found.group(MODELS_GROUP):
        yield Finding("model", "note", " ".join(NO_PROVIDER.split()))
    if opened is None:
        return
    for name in opened.agents if agent is None else (opened.agent_name(agent),):
        about = "model" if len(opened.agents) == 1 else f"model of {name}"
        try:
            model = opened.build(name).model
        except AgentfpError as error:
            yield Finding(about, "problem", str(error))
        except (Exception, SystemExit) as error:  # the provider's own code
            yield Finding(about, "problem", f"the provider fails: {type(error).__name__}: {error}")
        else:
            yield _reached(about, model) if call else _made(about, model)


def _made(about: str, model: Model) -> Finding:
    from agentfp_core.model import check_ready

    try:
        check_ready(model)
    except Exception as error:  # the provider's own code
        return Finding(about, "problem", str(error))
    return Finding(about, "ok", f"{model.provider}:{model.name} can be made (it was not called)")


def _reached(about: str, model: Model) -> Finding:
    """Call a model once; a few tokens, and half a minute at most."""
    import anyio

    from agentfp_core.messages import Message
    from agentfp_core.model import ModelRequest, ModelSettings
    from agentfp_core.protocol import check_response

    async def ask() -> None:
        with anyio.fail_after(REACH_SECONDS):
            check_response(model, await model.complete(request))

    said = Message("m_1", "user", "Say ok.")
    request = ModelRequest(system="", messages=[said], settings=ModelSettings(max_tokens=16), model=model.name)
    try:
        anyio.run(ask)
    except TimeoutError:
        return Finding(about, "problem", f"{model.provider}:{model.name} did not answer within {REACH_SECONDS:g} s")
    except (Exception, SystemExit) as error:  # the provider's own code
        return Finding(about, "problem", f"{model.provider}:{model.name} cannot be reached: {type(error).__name__}: {error}")
    return Finding(about, "ok", f"{model.provider}:{model.name} answers")
