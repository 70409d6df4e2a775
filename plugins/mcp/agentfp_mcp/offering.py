"""What is offered to MCP clients: an agent's tools, each call a run of its own under the agent's plugins, or the agent itself."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentfp import Agent, ConfigError, Limits
from agentfp.model import ModelFeatures, ModelRequest, ModelResponse, ModelWrapper
from agentfp.plugin import Tool, ToolCall, ToolSpec, nearest
from agentfp_mcp import facts

_FEATURES = ModelFeatures(tools=True, parallel_tool_calls=True, images=True, documents=True, roles=("user", "assistant", "tool", "system"))


@dataclass(frozen=True, slots=True)
class Offer:
    """One tool as clients see it.

    Args:
        spec: name, description and schema.
        agent: the agent whose run a call is.
        tool: the agent's tool that a call runs; None where a call asks the agent itself.
        hints: what is said of it besides: whether it only reads, whether it may be called again.
        meta: facts that travel with it.
    """

    spec: ToolSpec
    agent: Agent[Any, Any]
    tool: str | None
    hints: Mapping[str, bool]
    meta: Mapping[str, Any] | None = None


class OneCall(ModelWrapper):
    """In the place of a model: makes one call, and is done when it has its result.

    It wraps no model, so that those who watch over calls of real models see that there is none.

    Args:
        tool: the tool to call.
        arguments: its arguments.
    """

    def __init__(self, tool: str, arguments: Mapping[str, Any]) -> None:
        self._call = ToolCall("call_1", tool, json.dumps(dict(arguments)))

    @property
    def provider(self) -> str:
        """Who calls."""
        return "mcp"

    @property
    def name(self) -> str:
        """What calls."""
        return "client"

    @property
    def features(self) -> ModelFeatures:
        """It takes whatever a tool gives."""
        return _FEATURES

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The call; after it, a word."""
        if any(message.role == "tool" for message in request.messages):
            return ModelResponse(text="Done.")
        return ModelResponse(tool_calls=(self._call,))

    def stream(self, request: ModelRequest) -> Any:
        """Not used: the features say so."""
        raise NotImplementedError


class _Looker(OneCall):
    """In the place of a model: looks at the tools that a run offers, and is done."""

    def __init__(self) -> None:
        super().__init__("", {})
        self.seen: tuple[ToolSpec, ...] = ()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.seen = tuple(request.tools)
        return ModelResponse(text="Done.")


def of_tools(tools: Iterable[Any], name: str) -> Agent[Any, Any]:
    """An agent around tools that belong to none.

    Raises:
        AgentfpError: they do not go together.
    """
    return Agent(OneCall("", {}), name=name, tools=list(tools))


async def choose(
    agent: Agent[Any, Any],
    *,
    allow: Sequence[str] | None = None,
    as_agent: bool = False,
    tool_name: str | None = None,
    description: str | None = None,
    approvals: bool = False,
    deps: Any = None,
) -> dict[str, Offer]:
    """What is offered of an agent, by the names that clients see.

    Args:
        agent: the agent.
        allow: names of the tools that are offered; all when None.
        as_agent: offer one tool that asks the agent itself.
        tool_name: the name of that tool.
        description: what clients are told of it.
        approvals: whether a client's person may be asked for approvals.
        deps: what the agent's tools get as ``deps``.

    Raises:
        ConfigError: with all that keeps it from being offered.
    """
    if as_agent:
        if allow is not None:
            raise ConfigError("mcp: tools= chooses among the agent's tools; with as_agent=True there is one, the agent")
        return _offer_of_agent(agent, tool_name, description, approvals=approvals)
    return await _offers(agent, allow=allow, approvals=approvals, deps=deps)


async def _offers(agent: Agent[Any, Any], *, allow: Sequence[str] | None, approvals: bool, deps: Any) -> dict[str, Offer]:
    bare = agent.replace(
        model=OneCall("", {}),
        instructions=(),
        output_type=str,
        output_fallback=None,
        output_canned=None,
        output_strategy="auto",
        limits=_limits(agent.limits),
    )
    specs = {name: tool.spec for name, tool in bare.tools.items() if not tool.deferred}
    if bare.tool_sources:
        looker = _Looker()
        await bare.run("Which tools are there?", model=looker, deps=deps)
        specs = {spec.name: spec for spec in looker.seen}
    problems = [f"there is no tool {name!r} to offer; {nearest(name, specs)}" for name in allow or () if name not in specs]
    chosen = [name for name in specs if allow is None or name in allow]
    if not chosen and not problems:
        problems.append("there is no tool to offer; give the agent one")
    if not approvals:
        problems += _asking({name: bare.tools[name] for name in chosen if name in bare.tools})
    if problems:
        raise ConfigError([f"mcp: {problem}" for problem in problems])
    return {name: _offer(bare, specs[name]) for name in chosen}


def _offer_of_agent(agent: Agent[Any, Any], name: str | None, description: str | None, *, approvals: bool) -> dict[str, Offer]:
    problems = [] if approvals else _asking(agent.tools)
    wire = name or re.sub(r"[^A-Za-z0-9_-]", "_", agent.name or "ask")[:64]
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", wire):
        problems.append(f"{wire!r} cannot be the name of a tool; use 1 to 64 letters, digits, '_' and '-'")
    if problems:
        raise ConfigError([f"mcp: {problem}" for problem in problems])
    schema = {
        "type": "object",
        "properties": {"message": {"type": "string", "description": "What is asked of the agent, with all it needs to know."}},
        "required": ["message"],
        "additionalProperties": False,
    }
    said = description or f"Ask the agent {agent.name or ''}".strip() + "."
    reads_only = not any(tool.mutating for tool in agent.tools.values()) and not agent.tool_sources
    return {wire: Offer(ToolSpec(wire, said, json.dumps(schema)), agent, None, {"readOnlyHint": reads_only})}


def _offer(agent: Agent[Any, Any], spec: ToolSpec) -> Offer:
    tool = agent.tools.get(spec.name)
    if tool is None:
        return Offer(spec, agent, spec.name, {})
    hints = {"readOnlyHint": not tool.mutating, "idempotentHint": tool.idempotent or not tool.mutating}
    return Offer(spec, agent, spec.name, hints, facts.write(tool.metadata, tool.result_ceiling))


def _asking(tools: Mapping[str, Tool[..., Any]]) -> list[str]:
    return [
        f"tool {name!r} asks for approval, and no person can be asked; leave it out with tools=[...] (--tool NAME for the others), "
        "or pass approvals='elicit' (--approvals elicit) to ask the client's person"
        for name, tool in tools.items()
        if tool.approval is not False
    ]


def _limits(limits: Limits) -> Limits:
    """What is left of an agent's limits where no model is called."""
    return dataclasses.replace(limits, iterations=3, hard_cap=max(limits.hard_cap, 3), tokens=None, usd=None)
