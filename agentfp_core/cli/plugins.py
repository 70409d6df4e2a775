"""``agentfp plugins``: which plugins are installed and what became of them; ``show NAME``: all about one."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentfp_core.cli.exits import Code, CommandError
from agentfp_core.cli.options import AgentName, ConfigFile, Json, Overlay
from agentfp_core.cli.output import data, note, on_terminal, say, table, wrapped

if TYPE_CHECKING:
    import pydantic

    from agentfp_core.discovery import PluginReport
    from agentfp_core.entrypoints import Entry
    from agentfp_core.plugins import Plugin

app = typer.Typer(add_completion=False)
_STYLES = {"on": "green", "failed": "red", "missing": "red", "blocked": "yellow"}


@app.callback(invoke_without_command=True)
def plugins(
    ctx: typer.Context,
    config: ConfigFile = None,
    agent: AgentName = None,
    env: Overlay = None,
    load: Annotated[bool, typer.Option("--load", help="Also import those that are not on, to see which are broken.")] = False,
    as_json: Json = False,
) -> None:
    """List the plugins that are installed, or show one of them.

    Of each plugin its state, distribution and version, and the cause where one failed. The states are
    on: switched on by the config file; found: installed, not switched on; off: enabled = false; blocked: by AGENTFP_DISABLE_PLUGINS.
    """
    if ctx.invoked_subcommand is not None:
        return
    from agentfp_core.cli.config import report_json
    from agentfp_core.cli.subject import optional_config
    from agentfp_core.discovery import plugin_reports
    from agentfp_core.entrypoints import installed

    opened = optional_config(config, env)
    reports = plugin_reports() if opened is None else opened.plugins(agent)
    if load:
        reports = tuple([_loaded(report) for report in reports])
    unreadable = installed().unreadable
    if as_json:
        data({"plugins": [report_json(report) for report in reports], "unreadable": list(unreadable)})
        return
    _show_list(reports, unreadable, load=load)


def _show_list(reports: tuple[PluginReport, ...], unreadable: tuple[str, ...], *, load: bool) -> None:
    rows = [(r.name, r.state, r.distribution or "", r.version or "", r.error or "") for r in reports]
    if rows:
        table(("plugin", "state", "distribution", "version", "cause"), rows, ("bold", "", "dim", "dim", "yellow"))
    else:
        note('no plugin is installed; pip install "agentfp[check]" brings some')
    for text in unreadable:
        note(text, "yellow")
    if rows and on_terminal():
        note(f"agentfp plugins show NAME tells more{'' if load else '; --load also imports those that are not on'}", "dim")


def _loaded(report: PluginReport) -> PluginReport:
    """The report of a plugin after it was imported, too."""
    import dataclasses

    from agentfp_core.discovery import load_plugin
    from agentfp_core.entrypoints import PLUGINS_GROUP, installed
    from agentfp_core.errors import PluginLoadError

    if report.state != "found":
        return report
    try:
        load_plugin(report.name, installed(PLUGINS_GROUP).group(PLUGINS_GROUP)[report.name])
    except PluginLoadError as error:
        return dataclasses.replace(report, state="failed", error=str(error))
    return report


# --- one plugin -----------------------------------------------------------------------------------------------------------


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The plugin's name.", show_default=False)], as_json: Json = False
) -> None:
    """Show one plugin: what it does, its settings, its hooks, and the lines that switch it on."""
    from agentfp_core.discovery import load_plugin, not_installed
    from agentfp_core.entrypoints import PLUGINS_GROUP, installed
    from agentfp_core.errors import PluginLoadError

    found = installed(PLUGINS_GROUP).group(PLUGINS_GROUP)
    if name not in found:
        raise CommandError(not_installed(name, found), Code.MISSING)
    try:
        cls = load_plugin(name, found[name])
    except PluginLoadError as error:
        raise CommandError(f"plugin {name!r} cannot be used: {error}", Code.NEGATIVE) from error
    described = _described(cls, found[name][0])
    if as_json:
        data(described)
    else:
        _show_one(described)


def _described(cls: type[Plugin], entry: Entry) -> dict[str, Any]:
    from agentfp_core.cli.paste import lines_for
    from agentfp_core.config.settings_docs import settings_docs

    return {
        "name": cls.name,
        "distribution": entry.distribution,
        "version": entry.version,
        "class": entry.value,
        "doc": inspect.cleandoc(cls.__doc__ or ""),
        "requires": list(cls.requires),
        "events": [kind.event_name for kind in cls.events],
        "settings": settings_of(cls.Settings, settings_docs(cls, cls.Settings)),
        "hooks": _hooks(cls),
        "paste": lines_for(cls),
    }


def settings_of(model: type[pydantic.BaseModel], docs: dict[str, str]) -> list[dict[str, Any]]:
    """The settings of a plugin.

    Args:
        model: their model.
        docs: what docstrings say of them, by name; a field's own description counts first.
    """
    from agentfp_core.config.shapes import fields_of

    made = []
    for name, field in fields_of(model).items():
        row: dict[str, Any] = {"name": name, "type": type_words(field.annotation), "required": field.is_required()}
        if not field.is_required():
            row["default"] = _default(name, field)
        row["doc"] = field.description or docs.get(name, "")
        made.append(row)
    return made


def _default(name: str, field: Any) -> Any:
    """A default as JSON data; of an object only what it is, of a secret nothing."""
    import pydantic_core

    from agentfp_core.config.secret import MASK, is_secret_name

    value = field.get_default(call_default_factory=True, validated_data={})
    if value is not None and is_secret_name(name):
        return MASK
    return pydantic_core.to_jsonable_python(value, fallback=lambda other: f"<{type(other).__name__}>")


def type_words(annotation: Any) -> str:
    """A type as it would be written."""
    if isinstance(annotation, type) and not getattr(annotation, "__args__", None):
        return annotation.__qualname__
    import re

    return re.sub(r"\b(?:typing|types|collections\.abc|pydantic\.types|builtins)\.", "", str(annotation))


def _hooks(cls: type[Plugin]) -> list[dict[str, str]]:
    from agentfp_core.hookspecs import MOMENTS, PHASES, mark_of

    marks = [(name, mark) for name in dir(cls) if (mark := mark_of(inspect.getattr_static(cls, name, None))) is not None]
    order = {moment: index for index, moment in enumerate(MOMENTS)}
    phase_order = {(moment, phase): i for moment, phases in PHASES.items() for i, phase in enumerate(phases)}
    marks.sort(key=lambda pair: (order[pair[1].moment], phase_order.get((pair[1].moment, pair[1].phase), 0), pair[1].order))
    return [{"moment": mark.moment, "phase": mark.phase, "per": mark.per, "method": name} for name, mark in marks]


def _show_one(described: dict[str, Any]) -> None:
    say(f"{described['name']}  ({described['distribution']} {described['version']})", "bold")
    if described["doc"]:
        say(wrapped(described["doc"]))
    if described["requires"]:
        say(f"needs: {', '.join(described['requires'])}")
    say()
    say("settings", "cyan")
    for row in described["settings"]:
        default = "required" if row["required"] else f"default {row['default']!r}"
        say(f"  {row['name']}: {row['type']}, {default}")
        if row["doc"]:
            say(wrapped(" ".join(row["doc"].split()), 6), "dim")
    if not described["settings"]:
        say("  none", "dim")
    say("hooks", "cyan")
    for hook in described["hooks"]:
        phase = f", phase {hook['phase']}" if hook["phase"] else ""
        say(f"  {hook['moment']}{phase}{', per batch' if hook['per'] == 'batch' else ''}")
    if described["events"]:
        say(f"events: {', '.join(described['events'])}")
    say()
    say("to switch it on, in agentfp.toml", "cyan")
    say(described["paste"])
