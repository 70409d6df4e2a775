"""Runs that go on at once: on one agent they are apart, in one conversation the second is refused."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentfp import Agent, ConversationMismatchError, RunInFlightError, RunResult, ToolContext, tool
from agentfp.events import MessageAdded
from agentfp.model import ModelRequest
from agentfp.plugin import AnswerDraft, Plugin, Run, hookimpl
from tests.core.running import ScriptedModel, answering, call, check_record, tool_texts

pytestmark = pytest.mark.anyio


@tool
async def whose(ctx: ToolContext[str], n: int, again: int) -> str:
    """Whose."""
    for _ in range(n % 3):
        await anyio.lowlevel.checkpoint()
    return f"{ctx.deps}-{n}"


def echoing(request: ModelRequest) -> Any:
    """Calls the tool twice with the number in the message, then repeats what it was told."""
    said = next(m.content for m in request.messages if m.role == "user")
    told = tool_texts(request.messages)
    return call("whose", n=int(said), again=len(told)) if len(told) < 2 else f"{said}: {told[-1]}"


class Keeps(Plugin):
    """Has a memo, a scratch and nothing else of a run."""

    name = "keeps"
    memo_events = ("agentfp.message.added",)

    def initial(self) -> list[str]:
        return []

    def fold(self, state: list[str], event: Any) -> list[str]:
        return [*state, event.payload.content] if isinstance(event.payload, MessageAdded) and event.payload.content else state

    @hookimpl(phase="stand")
    async def assess_answer(self, draft: AnswerDraft, run: Run[Any]) -> None:
        await anyio.lowlevel.checkpoint()
        run.emit_app("test.keeps.said", run.memo(self)[0])


async def test_runs_of_one_agent_share_nothing() -> None:
    agent: Agent[str, str] = Agent(ScriptedModel(echoing), deps_type=str, tools=[whose], plugins=[Keeps()])
    results: dict[int, RunResult[str]] = {}

    async def one(n: int) -> None:
        results[n] = await agent.run(str(n), deps=f"user{n}")

    async with anyio.create_task_group() as tasks:
        for n in range(50):
            tasks.start_soon(one, n)
    for n, result in results.items():
        record = check_record(result)
        assert result.text == f"{n}: user{n}-{n}"
        assert [m.content for m in result.history if m.role == "user"] == [str(n)]
        assert [event.payload.data for event in record.events("test.keeps.said")] == [f'"{n}"']  # type: ignore[attr-defined]
    assert len({result.root_id for result in results.values()}) == len({result.run_id for result in results.values()}) == 50


async def test_an_agent_as_a_tool_called_twice_at_once_answers_twice() -> None:
    inner: Agent[str, str] = Agent(ScriptedModel(echoing), tools=[whose])
    outer = answering([call("ask", id="a", request="1"), call("ask", id="b", request="2")], "done", tools=[inner.as_tool("ask", "Asks.")])
    result = await outer.run("go", deps="d")
    assert tool_texts(check_record(result).history) == ["1: d-1", "2: d-2"]
    assert {path: child.history[0].content for path, child in result.record.children.items()} == {"a": "1", "b": "2"}
    assert {child.root_id for child in result.record.children.values()} == {result.root_id}


class Slow:
    """A model that waits for a word before its reply."""

    def __init__(self) -> None:
        self.begun, self.go = anyio.Event(), anyio.Event()

    async def reply(self, request: ModelRequest) -> str:
        self.begun.set()
        await self.go.wait()
        return "slow"


async def test_a_second_run_of_one_conversation_is_refused_and_changes_nothing() -> None:
    slow = Slow()
    agent = answering("first", slow.reply, "third")
    first = await agent.run("one")
    results = []
    async with anyio.create_task_group() as tasks:

        async def go() -> None:
            results.append(await agent.run("two", history=first.history))

        tasks.start_soon(go)
        await slow.begun.wait()
        with pytest.raises(RunInFlightError) as caught:
            await agent.run("three", history=first.history)
        slow.go.set()
    assert caught.value.active_run_id == results[0].run_id
    assert (results[0].text, len(first.history)) == ("slow", 2)
    assert (await agent.run("three", history=results[0].history)).text == "third"


async def test_one_conversation_answers_one_message_at_a_time() -> None:
    slow = Slow()
    chat = answering(slow.reply, "second").conversation()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chat.send, "one")
        await slow.begun.wait()
        with pytest.raises(RunInFlightError):
            await chat.send("two")
        slow.go.set()
    assert (await chat.send("two")).text == "second"
    assert [m.content for m in chat.history] == ["one", "slow", "two", "second"]


async def test_an_exclusive_agent_runs_once_at_a_time() -> None:
    slow = Slow()
    agent = answering(slow.reply, "second", exclusive=True, name="only")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent.run, "one")
        await slow.begun.wait()
        with pytest.raises(RunInFlightError) as caught:
            await agent.run("two")
        slow.go.set()
    assert caught.value.agent_id == "only"
    assert (await agent.run("two")).text == "second"


async def test_a_run_that_fails_frees_its_conversation() -> None:
    agent = answering("one", RuntimeError("away"), "three")
    first = await agent.run("one")
    with pytest.raises(RuntimeError, match="away"):
        await agent.run("two", history=first.history)
    again = await agent.run("two", history=first.history)
    assert [m.content for m in again.history] == ["one", "one", "two", "three"]


async def test_an_earlier_point_of_a_conversation_is_a_branch() -> None:
    agent = answering("a", "b", "c")
    first = await agent.run("one")
    second = await agent.run("two", history=first.history)
    other = await agent.run("other", history=first.history)
    assert [m.content for m in second.history] == ["one", "a", "two", "b"]
    assert [m.content for m in other.history] == ["one", "a", "other", "c"]
    assert [m.content for m in first.history] == ["one", "a"]
    for result in (first, second, other):
        check_record(result)


@pytest.mark.parametrize(("other", "refused"), [("support", True), ("billing", False), (None, False)])
async def test_a_conversation_of_a_named_agent_is_continued_by_it(other: str | None, refused: bool) -> None:
    first = await answering("a", name="billing").run("one")
    agent = answering("b", name=other)
    if not refused:
        assert (await agent.run("two", history=first.history)).text == "b"
        return
    with pytest.raises(ConversationMismatchError) as caught:
        await agent.run("two", history=first.history)
    assert (caught.value.stored_agent_id, caught.value.agent_id) == ("billing", "support")
