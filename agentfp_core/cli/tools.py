"""``agentfp tools``: an agent's tools, as the model sees them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentfp_core.cli.exits import CommandError
from agentfp_core.cli.options import AgentName, ConfigFile, Json, Overlay
from agentfp_core.cli.output import data, say

if TYPE_CHECKING:
    from agentfp_core.tools import Tool

app = typer.Typer(add_completion=False)


@app.command()
def tools(
    target: Annotated[str | None, typer.Argument(metavar="[AGENT]", help="An agent in code: app.agents:support.")] = None,
    config: ConfigFile = None,
    agent: AgentName = None,
    env: Overlay = None,
    name: Annotated[str | None, typer.Option(help="Only this tool.")] = None,
    as_json: Json = False,
) -> None:
    """Show an agent's tools as the model sees them.

    Names, descriptions and schemas. Needs no model. What a plugin adds to a schema in the middle of a run stands in the requests:
    agentfp steps FILE --call K.
    """
    from agentfp_core.cli.subject import find_agent
    from agentfp_core.errors import nearest
    from agentfp_core.testing.scripted import ScriptedModel

    overrides = {} if target is not None else {"model": ScriptedModel(())}  # stands in, for none is called
    found = find_agent(target, config=config, agent=agent, env=env, overrides=overrides).tools
    if name is not None and name not in found:
        raise CommandError(f"the agent has no tool {name!r}; {nearest(name, found)}")
    chosen = [found[name]] if name is not None else list(found.values())
    if as_json:
        data([_as_json(tool) for tool in chosen])
        return
    for tool in chosen:
        _show(tool)


def _as_json(tool: Tool[..., Any]) -> dict[str, Any]:
    spec = tool.spec
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters, "source": tool.source, "marks": _marks(tool)}


def _marks(tool: Tool[..., Any]) -> list[str]:
    """What holds for the tool and the model is not told."""
    marks = [name for name in ("mutating", "idempotent", "deferred") if getattr(tool, name)]
    return [*(["approval"] if tool.approval is not False else []), *marks]


def _show(tool: Tool[..., Any]) -> None:
    marks = _marks(tool)
    say(tool.name + (f"  ({', '.join(marks)})" if marks else ""), "bold")
    for line in tool.spec.description.splitlines():
        say(f"  {line}")
    for line in json.dumps(tool.spec.parameters, ensure_ascii=False, indent=2).splitlines():
        say(f"  {line}", "dim")
