"""Conversations: one record over all turns, one live turn at a time, branches, open questions, checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from agentfp import (
    Agent,
    Checkpoint,
    CheckpointError,
    ConversationMismatchError,
    MessageDeniedError,
    NoConversationError,
    PauseConsumedError,
    PauseExpiredError,
    PendingQuestionError,
    Record,
    RunCheckpointError,
    RunInFlightError,
    ToolContext,
    approve,
)
from agentfp.events import PauseAbandoned, RunEnded, TurnStart
from agentfp.plugin import Plugin, Refuse, hookimpl
from agentfp_core.clock import StepClock
from tests.core.asking import Counter, again, made, only, plugin
from tests.core.running import ScriptedModel, call, check_record, outcomes, roles, tool_texts

pytestmark = pytest.mark.anyio


async def ask(ctx: ToolContext[Any], what: str = "it") -> str:
    ctx.ask_human(f"Refund {what}?", expires_in=3600)


class Gate:
    """A model whose replies wait until they are let go."""

    def __init__(self, *script: Any) -> None:
        self.waiting = anyio.Event()
        self.go = anyio.Event()
        self.replies = iter(script)

    async def reply(self, request: Any) -> Any:
        self.waiting.set()
        await self.go.wait()
        return next(self.replies)

    def agent(self, **settings: Any) -> Agent[Any, Any]:
        return Agent(ScriptedModel(lambda request: self.reply), **settings)


async def test_one_record_over_all_turns() -> None:
    counter = Counter()
    agent = made("one", call("note", id="c1", text="a"), "two", "three", tools=counter.tools())
    chat = agent.conversation()
    assert len(chat.record) == 0
    texts = [(await chat.send(message)).text for message in ("first", "second", "third")]
    assert texts == ["one", "two", "three"]
    record = check_record(chat.record)
    assert [event.turn for event in record if isinstance(event.payload, TurnStart)] == [1, 2, 3]
    assert len({header.root_id for header in record.headers}) == 1
    assert len({header.run_id for header in record.headers}) == 3
    assert roles(chat.history) == ["user", "assistant", "user", "assistant", "tool", "assistant", "user", "assistant"]
    assert chat.result is not None
    assert chat.result.record is chat.record


async def test_usage_is_of_the_turn() -> None:
    chat = made("one", "two").conversation()
    first = await chat.send("a" * 400)
    second = await chat.send("b")
    assert second.usage.total < first.usage.total


async def test_earlier_turns_are_shared_and_stay_as_they_were() -> None:
    chat = made("one", "two", "three").conversation()
    first = await chat.send("first")
    length = len(first.record)
    events = list(first.record)
    second = await chat.send("second")
    assert len(first.record) == length
    assert all(a is b for a, b in zip(events, second.record, strict=False))
    assert len(first.history) == 2


async def test_a_second_send_while_a_turn_is_live_is_refused() -> None:
    gate = Gate("one", "two")
    chat = gate.agent().conversation()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chat.send, "first")
        await gate.waiting.wait()
        with pytest.raises(RunInFlightError):
            await chat.send("second")
        with pytest.raises(RunInFlightError):
            await chat.stream("second")
        gate.go.set()
    assert (await chat.send("second")).text == "two"
    check_record(chat.record)


async def test_a_stream_that_is_entered_while_a_turn_is_live_is_refused() -> None:
    gate = Gate("one", "two")
    chat = gate.agent().conversation()
    late = chat.stream("second")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chat.send, "first")
        await gate.waiting.wait()
        async with late as run:
            with pytest.raises(RunInFlightError):
                await run
        gate.go.set()
    assert [message.text for message in chat.history] == ["first", "one"]


async def test_two_live_runs_of_one_history_are_refused_and_later_branches_are_not() -> None:
    gate = Gate("one", "left", "right")
    agent = gate.agent()
    gate.go.set()
    base = await agent.run("base")
    gate.go, gate.waiting = anyio.Event(), anyio.Event()
    results: list[Any] = []

    async def left() -> None:
        results.append(await agent.run("go left", history=base.history))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(left)
        await gate.waiting.wait()
        with pytest.raises(RunInFlightError) as caught:
            await agent.run("go right", history=base.history)
        assert caught.value.active_run_id
        gate.go.set()
    one, other = results[0], await agent.run("go right", history=base.history)
    for branch, word in ((one, "left"), (other, "right")):
        assert [message.text for message in branch.history] == ["base", "one", f"go {word}", word]
        check_record(branch)
    assert one.root_id == other.root_id == base.root_id
    assert one.record[0] is other.record[0] is base.record[0]
    tails = [[event.payload for event in branch.record.of_run(branch.run_id)] for branch in (one, other)]
    assert tails[0] != tails[1]
    assert len(base.record) + len(tails[0]) == len(one.record)
    assert len(base.history) == 2


async def test_other_conversations_of_the_agent_go_on_meanwhile() -> None:
    gate = Gate(*[f"answer {i}" for i in range(10)])
    agent = gate.agent()
    results: list[Any] = []

    async def one(index: int) -> None:
        results.append(await agent.run(f"message {index}"))

    async with anyio.create_task_group() as tasks:
        for index in range(10):
            tasks.start_soon(one, index)
        await gate.waiting.wait()
        gate.go.set()
    assert len({result.root_id for result in results}) == 10
    for result in results:
        assert len(result.history) == 2
        check_record(result)


async def test_an_open_question_holds_the_conversation_until_it_is_answered_or_dropped() -> None:
    counter = Counter()
    agent = made(call("ask", id="c1", what="900"), "new topic it is", "and on", tools=[ask, *counter.tools()])
    chat = agent.conversation()
    paused = await chat.send("refund me")
    for refused in (chat.send("new topic"), agent.run("new topic", history=paused.history)):
        with pytest.raises(PendingQuestionError) as caught:
            await refused
        assert (caught.value.tool_name, caught.value.tool_call_id, caught.value.question) == ("ask", "c1", "Refund 900?")
        assert "900" not in str(caught.value)
    dropped = chat.abandon()
    assert dropped is not None
    assert [q.prompt for q in dropped.questions] == ["Refund 900?"]
    assert chat.pending is None
    assert chat.abandon() is None
    assert outcomes(chat.record) == {"c1": "abandoned"}
    assert tool_texts(chat.history) == ["ask did not run: its question was dropped."]
    assert (await chat.send("new topic")).text == "new topic it is"
    assert len(chat.record.of(PauseAbandoned)) == 1
    check_record(chat.record)
    with pytest.raises(PauseConsumedError):
        await agent.resume(again(paused), "yes")


async def test_dropping_a_question_settles_all_calls_of_its_batch() -> None:
    counter = Counter()
    batch = [call("change", id="c1", text="a"), call("ask", id="c2"), call("change", id="c3", text="c")]
    chat = made(batch, "on", tools=[ask, *counter.tools()]).conversation()
    await chat.send("go")
    chat.abandon()
    assert outcomes(chat.record) == {"c1": "success", "c2": "abandoned", "c3": "abandoned"}
    assert tool_texts(chat.history)[2] == "change did not run: its question was dropped at call c2 (ask) of the same batch."
    assert counter.done == ["a"]
    check_record(chat.record)


async def test_a_question_that_was_not_answered_in_time_is_settled_as_such() -> None:
    clock = StepClock(step_ns=1_000_000_000_000)
    chat = made(call("ask", id="c1"), "on", tools=[ask], clock=clock).conversation()
    await chat.send("go")
    with pytest.raises(PauseExpiredError):
        await chat.resume("yes")
    with pytest.raises(PendingQuestionError):
        await chat.send("on")
    chat.abandon()
    assert outcomes(chat.record) == {"c1": "abandoned"}
    assert tool_texts(chat.history) == ["ask did not run: its question was not answered in time."]
    assert (await chat.send("on")).text == "on"


async def test_a_conversation_answers_its_question() -> None:
    chat = made(call("ask", id="c1"), "refunded", "bye", tools=[ask]).conversation()
    with pytest.raises(NoConversationError):
        await chat.resume("yes")
    await chat.send("refund me")
    assert chat.pending is not None
    assert (await chat.resume("yes")).text == "refunded"
    assert chat.pending is None
    await chat.send("thanks")
    check_record(chat.record)


@pytest.mark.parametrize("open_question", [False, True])
async def test_a_checkpoint_goes_through_json_to_another_process(open_question: bool) -> None:
    counter = Counter()

    def agent(*script: Any) -> Agent[Any, Any]:
        return made(*script, tools=[ask, *counter.tools(approval=True)])

    first = call("note", id="c1", text="a") if open_question else "hello"
    chat = agent("one", first).conversation()
    await chat.send("first")
    await chat.send("second")
    text = chat.checkpoint().to_json()
    other = agent("done", "bye").conversation(checkpoint=text)
    assert other.history == chat.history
    if open_question:
        assert other.pending is not None
        with pytest.raises(PendingQuestionError):
            await other.send("third")
        assert (await other.resume(approve())).text == "done"
        assert counter.done == ["a"]
    await other.send("third")
    assert [event.turn for event in other.record if isinstance(event.payload, TurnStart)] == [1, 2, 3]
    check_record(other.record)
    assert Checkpoint.from_json(other.checkpoint().to_json()).record.history == other.history
    with pytest.raises(CheckpointError):
        agent().conversation(checkpoint="{}")


async def test_a_conversation_of_a_named_agent_is_not_continued_by_another() -> None:
    result = await made("one", name="billing").run("first")
    with pytest.raises(ConversationMismatchError):
        await made("two", name="support").run("second", history=result.history)
    assert (await made("two").run("second", history=result.history)).text == "two"


async def test_defaults_of_a_conversation_hold_for_its_turns_and_what_is_dropped(tmp_path: Path) -> None:
    journal = tmp_path / "chat.jsonl"
    heard: list[str] = []
    chat = made(call("ask", id="c1"), "on", tools=[ask]).conversation(journal=journal, on_event=lambda event: heard.append(event.name))
    await chat.send("go")
    chat.abandon()
    await chat.send("on")
    loaded = Record.load(journal)
    assert list(loaded) == list(chat.record)
    assert "agentfp.pause.abandoned" in heard
    check_record(loaded)


async def test_a_partial_answer_is_in_the_journal_too(tmp_path: Path) -> None:
    journal = tmp_path / "chat.jsonl"
    chat = made([call("ask", id="c1"), call("ask", id="c2")], "on", tools=[ask]).conversation(journal=journal)
    result = await chat.send("go")
    one, two = (q.id for q in again(result).questions)
    await chat.resume({one: "1"})
    assert list(Record.load(journal)) == list(chat.record)
    await chat.resume({two: "2"})
    assert list(Record.load(journal)) == list(chat.record)
    check_record(chat.record)


async def test_a_turn_that_failed_before_it_did_anything_can_be_sent_again(tmp_path: Path) -> None:
    chat = made("one", RuntimeError("down"), "two").conversation(journal=tmp_path / "chat.jsonl")
    await chat.send("first")
    with pytest.raises(RuntimeError):
        await chat.send("second")
    await chat.send("second")
    assert [message.text for message in chat.history] == ["first", "one", "second", "two"]
    assert list(Record.load(tmp_path / "chat.jsonl")) == list(chat.record)
    check_record(chat.record)


async def test_what_a_failed_turn_did_stays_in_the_conversation() -> None:
    counter = Counter()
    agent = made("one", call("change", id="c1", text="a"), RuntimeError("down"), "two", tools=counter.tools())
    chat = agent.conversation()
    await chat.send("first")
    with pytest.raises(RunCheckpointError):
        await chat.send("second")
    assert (await chat.send("what happened?")).text == "two"
    assert roles(chat.history) == ["user", "assistant", "user", "assistant", "tool", "user", "assistant"]
    assert [ended.status for ended in chat.record.of(RunEnded)] == ["answered", "failed", "answered"]
    check_record(chat.record)


async def test_a_cancelled_turn_stays_in_the_conversation() -> None:
    async def slow() -> str:
        scope.cancel()
        await anyio.sleep_forever()
        return "never"

    chat = made(call("slow", id="c1"), "two", tools=[slow]).conversation()
    with anyio.CancelScope() as scope:
        await chat.send("first")
    assert (await chat.send("again")).text == "two"
    assert outcomes(chat.record) == {"c1": "cancelled"}
    check_record(chat.record)


async def test_an_answered_question_whose_run_failed_does_not_block_the_conversation() -> None:
    chat = made(call("ask", id="c1"), RuntimeError("down"), "two", tools=[ask]).conversation()
    paused = await chat.send("first")
    with pytest.raises(RunCheckpointError):
        await chat.resume({only(paused): "yes"})
    assert chat.pending is None
    assert (await chat.send("second")).text == "two"
    assert tool_texts(chat.history) == ["yes"]
    check_record(chat.record)


async def test_a_refused_answer_leaves_the_question_open() -> None:
    chat = made(call("ask", id="c1"), "done", tools=[ask]).conversation()
    await chat.send("first")
    with pytest.raises(ValueError, match="q_other"):
        await chat.resume({"q_other": 1})
    assert chat.pending is not None
    assert (await chat.resume("yes")).text == "done"


async def test_a_message_that_is_not_admitted_leaves_the_conversation_as_it_was() -> None:
    def admit(self: Plugin, message: Any) -> Any:
        return Refuse(ValueError("not this")) if "bad" in message.text else None

    chat = made("one", "two", plugins=[plugin("door", hook=hookimpl(moment="admit_input")(admit))]).conversation()
    assert (await chat.send("bad from the start")).refused
    assert len(chat.history) == 0
    await chat.send("first")
    refused = await chat.send("bad")
    with pytest.raises(MessageDeniedError):
        refused.raise_for_status()
    assert (await chat.send("second")).text == "two"
    assert [message.text for message in chat.history] == ["first", "one", "second", "two"]
    check_record(chat.record)


async def test_a_history_of_another_conversation_is_one_of_its_own() -> None:
    agent = made("one", "two")
    result = await agent.run("first")
    other = await agent.run("second", history=result.history.to_json())
    assert [message.text for message in other.history] == ["first", "one", "second", "two"]
    assert [message.turn for message in other.history] == [1, 1, 2, 2]
    check_record(other)
