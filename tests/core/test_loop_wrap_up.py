"""The last call of a turn whose iterations are used up: what it carries, what becomes of it, and when there is none."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import Limits
from agentfp.events import BudgetExhausted, LimitHit, TurnEnd
from tests.core.running import answering, call, check_record, last_request, names, roles, says, tool_texts

pytestmark = pytest.mark.anyio

MARKER = "[agentfp:budget-exhausted]"
ONE = Limits(iterations=1)


def look() -> str:
    """Look."""
    return "seen"


async def test_the_call_has_no_tools_and_its_answer_is_the_turns() -> None:
    agent = answering(says("I will", call("look"), call("look")), "what I could do", tools=[look], limits=ONE)
    result = await agent.run("go")
    record = check_record(result)
    assert (result.status, result.text) == ("stopped_early", "what I could do")
    stopped = result.stopped_early
    assert stopped is not None
    assert (stopped.reason, stopped.iteration, stopped.pending_tool_calls) == ("max-iterations", 1, 2)
    assert (stopped.wrapped_up, stopped.answer_was_empty) == (True, False)
    assert record.of(BudgetExhausted) == [BudgetExhausted("max-iterations", 2, "wrapped-up", 1)]
    assert record.of(LimitHit) == [LimitHit("max_iterations", 1, 1, "abort")]
    model: Any = agent.model
    assert [[tool.name for tool in request.tools] for request in model.requests] == [["look"], []]
    assert "tool.started" not in names(record)


async def test_the_reply_whose_calls_do_not_run_is_not_replayed() -> None:
    agent = answering(says("I will", call("look")), "over", tools=[look], limits=ONE)
    result = await agent.run("go")
    assert [(m.role, m.author) for m in last_request(agent).messages] == [("user", "person"), ("user", "library")]
    assert [(m.role, m.author) for m in result.history] == [("user", "person"), ("user", "library"), ("assistant", "model")]
    words = result.history[1].content
    assert words.startswith(MARKER)
    assert all("I will" not in message.content for message in result.history)


async def test_the_words_tell_of_the_past_and_start_no_turn() -> None:
    """They are read again in every later turn, and must not mislead there."""
    agent = answering(says("", call("look")), "over", "second", tools=[look], limits=ONE)
    chat = agent.conversation()
    await chat.send("one")
    result = await chat.send("two")
    words = result.history[1].content
    assert not any(phrase in words.lower() for phrase in ("you must", "please", "now answer", "do not call"))
    assert [m.turn for m in result.history] == [1, 1, 1, 2, 2]
    assert [tool.name for tool in last_request(agent).tools] == ["look"]


async def test_calls_of_the_wrap_up_reply_are_dropped() -> None:
    agent = answering(call("look"), says("still, this", call("look")), tools=[look], limits=ONE)
    result = await agent.run("go")
    record = check_record(result)
    assert (result.status, result.text) == ("stopped_early", "still, this")
    assert tool_texts(result.history) == []
    assert result.history[-1].tool_calls == ()
    assert len(record.of(BudgetExhausted)) == 1
    model: Any = agent.model
    assert len(model.requests) == 2


async def test_an_empty_wrap_up_reply_is_called_empty() -> None:
    result = await answering(says("I will", call("look")), says("", call("look")), tools=[look], limits=ONE).run("go")
    assert result.stopped_early is not None
    assert (result.text, result.stopped_early.answer_was_empty, result.stopped_early.wrapped_up) == ("", True, True)
    end = check_record(result).of(TurnEnd)[0]
    assert (end.status, end.answer_was_empty, end.wrapped_up, end.pending_tool_calls) == ("stopped_early", True, True, 1)


async def test_earlier_calls_of_the_turn_are_read_by_the_wrap_up() -> None:
    agent = answering(call("look"), call("look"), "one look", tools=[look], limits=Limits(iterations=2))
    await agent.run("go")
    messages = last_request(agent).messages
    assert roles(messages) == ["user", "assistant", "tool", "user"]
    assert tool_texts(messages) == ["seen"]


async def test_an_agent_without_tools_has_nothing_to_wrap_up() -> None:
    agent = answering(says("no tools here", call("made_up")), "never", limits=ONE)
    result = await agent.run("go")
    assert (result.status, result.text) == ("stopped_early", "no tools here")
    assert check_record(result).of(BudgetExhausted) == [BudgetExhausted("max-iterations", 1, "cut-short", 1)]


@pytest.mark.parametrize("wrap_up", [True, False])
async def test_a_run_within_its_limit_is_the_same_with_and_without(wrap_up: bool) -> None:
    agent = answering(call("look"), "done", tools=[look], limits=Limits(iterations=2, wrap_up=wrap_up))
    result = await agent.run("go")
    assert (result.status, result.stopped_early) == ("answered", None)
    assert not {"agent.budget_exhausted", "cost.limit_hit"} & set(names(result.record))
    assert result.record.of(TurnEnd)[0].wrapped_up is False
    assert roles(result.history) == ["user", "assistant", "tool", "assistant"]
