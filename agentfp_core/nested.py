"""An agent as a tool: its run has a record of its own under the call, and its questions become the parent's."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agentfp_core.asks import PendingAsk
from agentfp_core.billing import check_crossed
from agentfp_core.errors import ToolError
from agentfp_core.events.cost import CostTick, CostUnpriced
from agentfp_core.events.stream import HelperReplied
from agentfp_core.execute import ChildPaused
from agentfp_core.jsontext import canonical
from agentfp_core.messages import Usage
from agentfp_core.pause import Pause
from agentfp_core.results import ToolReturn
from agentfp_core.resuming import resume
from agentfp_core.starting import CallOptions, start
from agentfp_core.state import RunState
from agentfp_core.tools import Tool, ToolOptions, raw_tool
from agentfp_core.verdicts import AskField

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from agentfp_core.agent import Agent
    from agentfp_core.limits import Limits
    from agentfp_core.run import Run
    from agentfp_core.tool_context import ToolContext

PARAMETERS = {
    "type": "object",
    "properties": {"request": {"type": "string", "description": "What is asked of the agent, with all it needs to know."}},
    "required": ["request"],
    "additionalProperties": False,
}


def agent_tool(agent: Agent[Any, Any], name: str, description: str, /, **options: Unpack[ToolOptions]) -> Tool[..., Any]:
    """Make a tool that runs an agent.

    Args:
        agent: the agent.
        name: the tool's name.
        description: what the model is told of it.
        **options: options of the tool.
    """
    return raw_tool(name, description, PARAMETERS, NestedAgent(agent), **options)


class NestedAgent:
    """The function of a tool that runs an agent.

    Args:
        agent: the agent.
    """

    def __init__(self, agent: Agent[Any, Any]) -> None:
        self.agent = agent

    async def __call__(self, ctx: ToolContext[Any], arguments: dict[str, Any]) -> Any:
        """Run the agent on what it is asked."""
        return await _run_nested(self.agent, ctx._run, ctx.call_id, arguments["request"])


def nested_agents(agent: Agent[Any, Any]) -> list[Agent[Any, Any]]:
    """The agents that an agent has as tools, each once."""
    nested = [tool.function.agent for tool in agent.tools.values() if isinstance(tool.function, NestedAgent)]
    return list({id(each): each for each in nested}.values())


async def _run_nested(agent: Agent[Any, Any], parent: Run[Any], call_id: str, request: str) -> Any:
    agent = agent._in_force()
    path = (*parent.path, call_id)
    deps = parent.deps
    answers = parent.child_answers.pop(call_id, None)
    earlier = parent.record.children.get(call_id)
    before = RunState(parent.root_id) if answers is None or earlier is None else RunState.of(earlier)
    call = CallOptions(deps=deps, journal=parent.journal, limits=_limits_left(agent, parent, before.usage, before.usd))
    spent = (before.usage, before.usd or Decimal(0), before.unpriced)
    try:
        if answers is not None and earlier is not None:
            result = await resume(agent, Pause.of(earlier, before), answers, call, parent=parent)
        else:
            result = await start(agent, request, call, None, parent=parent, path=path)
    except BaseException:  # what it used up counts, however it ended
        broken = parent.record.children.get(call_id)
        if broken is not None and broken is not earlier:
            state = RunState.of(broken)
            _add_up(parent, agent, state.usage, state.usd, state.unpriced, *spent)
        raise
    _add_up(parent, agent, result.usage, result.cost_usd, result._unpriced, *spent)
    if result.pause is not None:
        raise ChildPaused([_passed_on(result.pause, index, call_id) for index in range(len(result.pause.questions))])
    if result.status == "refused":
        raise ToolError("The agent refused to answer.", detail=str(result.error))
    if result.status == "stopped_early":
        return ToolReturn(result.text or "The agent stopped before it had an answer.", outcome="partial")
    if agent.output is not None and result.contract_unmet is None:
        return result.output
    return result.text


def _passed_on(pause: Pause, index: int, call_id: str) -> PendingAsk:
    """A question of the nested run as one of the parent's; it keeps its id."""
    asked = pause.questions[index]
    left = None if pause.expires_ns is None else max((pause.expires_ns - pause.paused_ns) / 1e9, 0.001)
    field = AskField(asked.key, asked.prompt, asked.kind, asked.schema, call_id, asked.pinned, asked.required)
    context = None if asked.context is None else canonical(asked.context)
    return PendingAsk(asked.plugin, field, call_id, context, asked.component, left, (call_id, *asked.path), asked.id, asked.tool)


def _limits_left(agent: Agent[Any, Any], parent: Run[Any], before: Usage, usd_before: Decimal | None) -> Limits:
    """The nested run may spend what it may, and no more than the parent has left on top of what it used before a pause."""
    changes: dict[str, Any] = {}
    own, outer, state = agent.limits, parent.limits, parent.state
    if outer.tokens is not None:
        left = max(outer.tokens - state.usage.total, 1) + before.total
        changes["tokens"] = left if own.tokens is None else min(left, own.tokens)
    if outer.usd is not None and (agent.price_tables or parent.price_tables or agent.model.features.prices is not None):
        money = max(Decimal(str(outer.usd)) - (state.usd or Decimal(0)), Decimal("0.000001")) + (usd_before or Decimal(0))
        changes["usd"] = money if own.usd is None else min(money, Decimal(str(own.usd)))
        changes["on_usd"] = outer.on_usd if own.usd is None else own.on_usd
    if outer.seconds is not None:
        time = max(outer.seconds - (parent.clock.monotonic_ns() - parent.started_mono_ns) / 1e9, 0.001)
        changes["seconds"] = time if own.seconds is None else min(time, own.seconds)
    return dataclasses.replace(own, **changes) if changes else own


def _add_up(
    parent: Run[Any],
    agent: Agent[Any, Any],
    usage: Usage,
    usd: Decimal | None,
    unpriced: int,
    before: Usage,
    usd_before: Decimal,
    unpriced_before: int,
) -> None:
    """Bill the nested leg to the parent."""
    used = _minus(usage, before)
    model = agent.model
    parent.emit(
        HelperReplied(
            "kernel", "nested", model.provider, model.name, 0, used.input, used.output, used.cache_read, used.cache_write, used.thinking
        ),
        source="kernel",
    )
    if usd is not None:
        spent = usd - usd_before
        total = (parent.state.usd or Decimal(0)) + spent
        parent.emit(CostTick(model.provider, model.name, str(spent), str(total), "nested"), source="kernel")
    if unpriced > unpriced_before:
        parent.emit(CostUnpriced(model.provider, model.name, "no-price"), source="kernel")  # what is told is not all
    check_crossed(parent)


def _minus(total: Usage, part: Usage) -> Usage:
    def left(a: int | None, b: int | None) -> int | None:
        return None if a is None else a - (b or 0)

    return Usage(
        left(total.input, part.input),
        left(total.output, part.output),
        left(total.cache_read, part.cache_read),
        left(total.cache_write, part.cache_write),
        left(total.thinking, part.thinking),
    )
