"""``agentfp tools``: an agent's tools, as the model sees them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentfp_core.cli.exits import CommandError
from agentfp_core.cli.options import AgentName, ConfigFile, Json, Overlay
from agentfp_core.cli.output import data, say, wrapped

if TYPE_CHECKING:
    from agentfp_core.agent import Agent
    from agentfp_core.model import ToolSpec
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

    Names, descriptions and schemas, also of the servers' that bring tools, which are started and asked. Needs no model. What a plugin
    adds to a schema in the middle of a run stands in the requests: agentfp steps FILE --call K.
    """
    from agentfp_core.cli.subject import find_agent
    from agentfp_core.errors import nearest
    from agentfp_core.testing.scripted import ScriptedModel

    overrides = {} if target is not None else {"model": ScriptedModel(())}  # stands in, for none is called
    owner = find_agent(target, config=config, agent=agent, env=env, overrides=overrides)
    shown = {tool.name: (tool.spec, tool) for tool in owner.tools.values()} | {spec.name: (spec, None) for spec in _brought(owner)}
    if name is not None and name not in shown:
        raise CommandError(f"the agent has no tool {name!r}; {nearest(name, shown)}")
    chosen = [shown[name]] if name is not None else list(shown.values())
    if as_json:
        data([_as_json(spec, tool) for spec, tool in chosen])
        return
    for spec, tool in chosen:
        _show(spec, tool)


def _brought(owner: Agent[Any, Any]) -> list[ToolSpec]:
    """The tools that sources bring into a run: one is made for them, in which nothing is called and no plugin takes part."""
    import anyio

    from agentfp_core.testing.scripted import ScriptedModel

    if not owner.tool_sources:
        return []
    looker = ScriptedModel(["Done."])
    bare = owner.replace(model=looker, instructions=(), plugins=(), output_type=str, output_fallback=None, output_canned=None)
    anyio.run(bare.run, "Which tools are there?")
    return [spec for spec in looker.requests[0].tools if spec.name not in owner.tools]


def _as_json(spec: ToolSpec, tool: Tool[..., Any] | None) -> dict[str, Any]:
    source = None if tool is None else tool.source
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters, "source": source, "marks": _marks(tool)}


def _marks(tool: Tool[..., Any] | None) -> list[str]:
    """What holds for the tool and the model is not told; nothing is known of a source's tools."""
    if tool is None:
        return []
    marks = [name for name in ("mutating", "idempotent", "deferred") if getattr(tool, name)]
    return [*(["approval"] if tool.approval is not False else []), *marks]


def _show(spec: ToolSpec, tool: Tool[..., Any] | None) -> None:
    marks = _marks(tool)
    say(spec.name + (f"  ({', '.join(marks)})" if marks else ""), "bold")
    if spec.description:
        say(wrapped(spec.description, 2))
    for line in json.dumps(spec.parameters, ensure_ascii=False, indent=2).splitlines():
        say(f"  {line}", "dim")
