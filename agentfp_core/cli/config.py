"""``agentfp config``: is the file right, what does it say in the end, and which JSON Schema does it follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentfp_core.cli.exits import Code, leave
from agentfp_core.cli.options import AgentName, ConfigFile, Json, ModelName, Overlay
from agentfp_core.cli.output import data, note, say, table

if TYPE_CHECKING:
    from agentfp_core.config import Config, ConfigValue, Origin, Problem
    from agentfp_core.discovery import PluginReport

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Check the config file, or show what it says.")


@app.command()
def check(config: ConfigFile = None, agent: AgentName = None, env: Overlay = None, as_json: Json = False) -> None:
    """Find everything that is wrong with the file, without a model, a network or a secret.

    Exits with 1 when an agent cannot be built.
    """
    from agentfp_core.cli.subject import open_config

    opened = open_config(config, env)
    found = opened.check(agent)
    if as_json:
        data(
            {
                "file": str(opened.path),
                "ok": not found.problems,
                "problems": [problem_json(problem) for problem in found.problems],
                "notes": [problem_json(problem) for problem in found.notes],
                "plugins": [report_json(report) for report in found.plugins],
            }
        )
    else:
        _show_check(opened, found.problems, found.notes)
    leave(Code.NEGATIVE if found.problems else Code.OK)


def _show_check(opened: Config, problems: tuple[Problem, ...], notes: tuple[Problem, ...]) -> None:
    for problem in problems:
        say(str(problem), "red")
    for problem in notes:
        say(f"{problem} (a note)", "yellow")
    agents = ", ".join(opened.agents) or "none"
    if problems:
        say(f"{opened.path}: {len(problems)} problem{'s' if len(problems) > 1 else ''}")
    else:
        say(f"{opened.path}: no problems; agents: {agents}", "green")


@app.command()
def show(
    config: ConfigFile = None,
    agent: AgentName = None,
    env: Overlay = None,
    model: ModelName = None,
    defaults: Annotated[bool, typer.Option("--defaults/--no-defaults", help="Also what nobody said anything about.")] = True,
    as_json: Json = False,
) -> None:
    """Show every value that an agent is built of, and where it came from. Secrets show as where they are looked up."""
    from agentfp_core.cli.subject import open_config

    opened = open_config(config, env)
    values = [v for v in opened.explain(agent, {} if model is None else {"model": model}) if defaults or v.origin.kind != "default"]
    if as_json:
        shown: dict[str, Any] = {"file": str(opened.path), "agent": opened.agent_name(agent), "env": opened.env}
        data({**shown, "values": [_value_json(value) for value in values]})
    else:
        rows = [(value.path, _text(value.value), str(value.origin)) for value in values]
        table(("value", "is", "from"), rows, ("bold", "", "dim"))
    if opened.problems:
        note(f"the file has {len(opened.problems)} problems; see agentfp config check", "yellow")


@app.command()
def schema(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it to this file.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As it always is.")] = True,
) -> None:
    """Print the JSON Schema of the file, for the plugins and providers that are installed here.

    Editors complete and check with it. Loads the installed plugins for their settings; broken ones are left out and told of on stderr.
    """
    from agentfp_core.config import config_schema

    made = config_schema()
    del as_json  # it is JSON in any case
    for report in made.skipped:
        note(f"left out: {report}", "yellow")
    if out is None:
        data(made.schema)
    else:
        out.write_text(json.dumps(made.schema, ensure_ascii=False, indent=2) + "\n", "utf-8")
        note(f"written to {out}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def origin_json(origin: Origin) -> dict[str, Any]:
    """Where a value came from, as JSON data."""
    made = {"kind": origin.kind, "file": origin.file, "line": origin.line, "column": origin.column, "name": origin.name}
    return {key: value for key, value in made.items() if value is not None}


def problem_json(problem: Problem) -> dict[str, Any]:
    """A problem as JSON data."""
    return {**origin_json(problem.origin), "text": problem.text}


def report_json(report: PluginReport) -> dict[str, Any]:
    """What became of a plugin, as JSON data."""
    return {
        "name": report.name,
        "state": report.state,
        "distribution": report.distribution,
        "version": report.version,
        "cause": report.error,
    }


def _value_json(value: ConfigValue) -> dict[str, Any]:
    return {"path": value.path, "value": value.value, "secret": value.secret, "from": origin_json(value.origin)}
