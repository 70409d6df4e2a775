"""Questions that tools ask: what their answers become, and that every other call of the batch runs exactly once."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from agentfp import AskField, Limits, ToolContext, UsageError, approve, ask_human, reject, request_input, tool
from agentfp.events import PauseRequest, RunEnded, SessionClosed
from agentfp.plugin import Deny, Halt, Plugin, hookimpl
from tests.core.asking import Counter, again, before, made, only, plugin, question
from tests.core.running import call, check_record, outcomes, tool_texts

pytestmark = pytest.mark.anyio


async def ask(ctx: ToolContext[Any], what: str) -> str:
    ctx.ask_human(f"Which {what}?", context={"about": what})


async def form(ctx: ToolContext[Any]) -> str:
    ctx.request_input(
        [AskField("who", "Who?"), AskField("when", "When?", schema={"type": "string"}), AskField("why", "Why?", required=False)]
    )


def from_a_thread(ran: list[str]) -> Any:
    @tool
    def sync_ask() -> str:
        """A question from a worker thread."""
        ran.append("sync_ask")
        ask_human("From a thread?")

    return sync_ask


async def test_calls_behind_a_tools_pause_wait_and_run_on_resume() -> None:
    counter = Counter()
    script = [call("change", id="c1", text="a"), call("ask", id="c2", what="one"), call("change", id="c3", text="c")], "done"
    result = await made(*script, tools=[*counter.tools(), ask]).run("go")
    assert counter.done == ["a"]
    assert outcomes(result.record) == {"c1": "success"}
    (asked,) = again(result).questions
    assert (asked.tool, asked.call_id, asked.prompt, asked.context, asked.plugin) == ("ask", "c2", "Which one?", {"about": "one"}, "tool")
    result = await made("done", tools=[*counter.tools(), ask]).resume(again(result), "this one")
    assert counter.done == ["a", "c"]
    assert outcomes(result.record) == {"c1": "success", "c2": "success", "c3": "success"}
    assert tool_texts(result.history) == ["changed a", "this one", "changed c"]
    check_record(result)


async def test_a_sibling_that_ended_is_not_run_again() -> None:
    counter = Counter()
    agent = made(
        [call("note", id="c1", text="a"), call("ask", id="c2", what="x"), call("note", id="c3", text="c")],
        "done",
        tools=[*counter.tools(), ask],
    )
    result = await agent.run("go")
    assert sorted(counter.done) == ["a", "c"]
    assert set(outcomes(result.record)) == {"c1", "c3"}
    assert tool_texts(result.history) == []  # messages land in call order, so none before the answer
    result = await agent.resume(again(result), "X")
    assert sorted(counter.done) == ["a", "c"]
    assert tool_texts(result.history) == ["noted a", "X", "noted c"]
    check_record(result)


async def test_two_tools_that_ask_at_once_get_their_own_answers() -> None:
    agent = made([call("ask", id="c1", what="a"), call("ask", id="c2", what="b")], "done", tools=[ask])
    result = await agent.run("go")
    assert len(result.record.of(PauseRequest)) == 1
    by_call = {q.call_id: q.id for q in again(result).questions}
    part = await agent.resume(again(result), {by_call["c2"]: "B"})
    assert outcomes(part.record) == {}
    result = await agent.resume(again(part), {by_call["c1"]: "A"})
    assert tool_texts(result.history) == ["A", "B"]


async def test_fields_of_a_form_come_back_under_their_keys() -> None:
    agent = made([call("form", id="c1"), call("form", id="c2")], "done", tools=[form])
    result = await agent.run("go")
    answers = {question(result, key, call_id=i): f"{key}-{i}" for i in ("c1", "c2") for key in ("who", "when")}
    result = await agent.resume(again(result), answers)
    assert [json.loads(text) for text in tool_texts(result.history)] == [
        {"status": "input_received", "values": {"who": f"who-{i}", "when": f"when-{i}"}} for i in ("c1", "c2")
    ]


async def test_a_form_of_fields_that_may_be_left_open() -> None:
    async def poll(ctx: ToolContext[Any]) -> str:
        request_input([AskField("why", "Why?", required=False)])

    agent = made([call("poll", id="c1"), call("ask", id="c2", what="x")], "done", tools=[poll, ask])
    result = await agent.run("go")
    result = await agent.resume(again(result), {question(result, "answer"): "X"})
    assert outcomes(result.record) == {"c1": "success", "c2": "success"}
    assert tool_texts(result.history) == ['{"status":"input_received","values":{}}', "X"]


async def test_a_question_can_be_declined() -> None:
    agent = made(call("ask", id="c1", what="x"), "done", tools=[ask])
    result = await agent.run("go")
    result = await agent.resume(again(result), reject("none of your business"))
    assert outcomes(result.record) == {"c1": "declined"}
    assert tool_texts(result.history) == ["declined by human: none of your business"]


async def test_sync_tools_ask_from_their_thread() -> None:
    ran: list[str] = []
    agent = made(call("sync_ask", id="c1"), "done", tools=[from_a_thread(ran)])
    result = await agent.run("go")
    result = await agent.resume(again(result), "yes")
    assert ran == ["sync_ask"]
    assert tool_texts(result.history) == ["yes"]
    check_record(result)


async def test_three_pauses_in_a_run_and_each_effect_once() -> None:
    counter = Counter()
    script = [
        [call("change", text=f"before {index}"), call("ask", what=str(index)), call("change", text=f"after {index}")] for index in range(3)
    ]
    agent = made(*script, "done", tools=[*counter.tools(), ask])
    result = await agent.run("go")
    for index in range(3):
        assert result.paused
        result = await agent.resume(again(result), f"answer {index}")
    assert counter.done == [f"{word} {index}" for index in range(3) for word in ("before", "after")]
    assert [ended.status for ended in result.record.of(RunEnded)] == ["paused", "paused", "paused", "answered"]
    check_record(result)


async def test_a_resume_goes_on_with_the_budget_that_is_left() -> None:
    script = [call("ask", what="x"), call("ask", what="y"), call("ask", what="z"), "never"]
    agent = made(*script, tools=[ask], limits=Limits(iterations=3, wrap_up=False))
    result = await agent.run("go")
    used = result.usage.total
    result = await agent.resume(again(result), "X")
    assert result.paused
    assert result.usage.total > used
    result = await agent.resume(again(result), "Y")
    assert result.stopped_early is not None
    assert (result.stopped_early.reason, result.stopped_early.iteration) == ("max-iterations", 3)


async def test_halting_settles_what_waits_in_words_about_the_past() -> None:
    counter = Counter()

    def stop(self: Plugin, call: Any) -> Any:
        return Halt("never this", tell_model="Stopped.") if call.arguments["text"] == "stop" else None

    agent = made(
        [call("change", id="c1", text="a"), call("note", id="c2", text="stop"), call("change", id="c3", text="c")],
        tools=counter.tools(),
        plugins=[plugin("policy", hook=before("authorize")(stop))],
    )
    result = await agent.run("go")
    assert result.refused
    assert counter.done == []
    assert outcomes(result.record) == {"c2": "halted", "c1": "halted", "c3": "halted"}
    first, halted, last = tool_texts(result.history)
    assert halted == "Stopped."
    for text, name in ((first, "change"), (last, "change")):
        assert text == f"{name} did not run: the run was stopped at call c2 (note) of the same batch."
    check_record(result)


async def test_a_call_denied_after_the_pause_does_not_run_but_the_answer_of_another_stands() -> None:
    counter = Counter()
    closed = False

    def policy(self: Plugin, call: Any) -> Any:
        return Deny("closed") if closed else None

    agent = made(
        [call("ask", id="c1", what="x"), call("change", id="c2", text="a")],
        "done",
        tools=[*counter.tools(), ask],
        plugins=[plugin("policy", hook=before("authorize")(policy))],
    )
    result = await agent.run("go")
    closed = True
    result = await agent.resume(again(result), "X")
    assert outcomes(result.record) == {"c1": "success", "c2": "denied"}
    assert counter.done == []


async def test_hooks_see_results_without_their_values_after_a_resume() -> None:
    seen: dict[str, Any] = {}

    def look(self: Plugin, result: Any, call: Any) -> None:
        seen[call.id] = (result.value, result.real)

    counter = Counter()
    agent = made(
        [call("note", id="c1", text="a"), call("ask", id="c2", what="x")],
        "done",
        tools=[*counter.tools(), ask],
        plugins=[plugin("look", look=hookimpl(moment="after_result", phase="check")(look))],
    )
    result = await agent.run("go")
    assert seen == {}
    await agent.resume(again(result), "X")
    assert seen == {"c1": (None, "noted a"), "c2": (None, "X")}


async def test_sessions_of_a_run_stay_open_over_a_pause() -> None:
    closed: list[str] = []

    async def open_ask(ctx: ToolContext[Any]) -> str:
        ctx.on_teardown(lambda: closed.append("run"), scope="run")
        ctx.ask_human("Well?")

    agent = made(call("open_ask"), "done", tools=[open_ask])
    result = await agent.run("go")
    assert closed == []
    result = await agent.resume(again(result), "x")
    assert closed == ["run"]
    assert [end.reason for end in result.record.of(SessionClosed)] == ["run-end"]


@pytest.mark.parametrize("bad", [[], [AskField("a", "A?"), AskField("a", "B?")], ["no field"], [AskField("a", "A?", kind="vote")]])  # type: ignore[arg-type]
async def test_a_malformed_question_is_the_tools_own_failure(bad: Any) -> None:
    async def wrong(ctx: ToolContext[Any]) -> str:
        ctx.request_input(bad)

    result = await made(call("wrong", id="c1"), "done", tools=[wrong]).run("go")
    assert outcomes(result.record) == {"c1": "failure"}


async def test_asking_outside_of_a_tool_is_an_error_that_says_so() -> None:
    def ask_in_hook(self: Plugin, draft: Any) -> None:
        ask_human("Well?")

    agent = made("done", plugins=[plugin("wrong", hook=hookimpl(moment="serve_context", phase="compose")(ask_in_hook))])
    with pytest.raises(UsageError, match="ask from inside a tool"):
        await agent.run("go")


async def test_a_question_and_an_approval_in_one_turn() -> None:
    counter = Counter()
    agent = made([call("ask", id="c1", what="x"), call("change", id="c2", text="a")], "done", tools=[*counter.tools(approval=True), ask])
    result = await agent.run("go")
    assert [q.kind for q in again(result).questions] == ["decision"]  # nothing runs before the gates are done with all calls
    result = await agent.resume(again(result), approve())
    assert [q.kind for q in again(result).questions] == ["value"]
    assert counter.done == []
    result = await agent.resume(again(result), {only(result): "X"})
    assert counter.done == ["a"]
    check_record(result)


async def test_a_slow_sibling_ends_before_the_run_pauses() -> None:
    done: list[str] = []

    async def slow() -> str:
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        done.append("slow")
        return "slow"

    agent = made([call("ask", id="c1", what="x"), call("slow", id="c2")], "done", tools=[ask, slow])
    result = await agent.run("go")
    assert done == ["slow"]
    result = await agent.resume(again(result), "X")
    assert done == ["slow"]
    assert outcomes(result.record) == {"c2": "success", "c1": "success"}


async def test_a_question_raised_in_a_task_group_of_the_tools_own_pauses_the_run() -> None:
    async def grouped(ctx: ToolContext[Any]) -> str:
        """Ask from a task."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asking, ctx)
        return "not asked"

    async def asking(ctx: ToolContext[Any]) -> None:
        ctx.ask_human("From a group?")

    paused = await made(call("grouped"), "done", tools=[grouped]).run("go")
    assert paused.pause is not None
    assert paused.pause.questions[0].prompt == "From a group?"
    result = await made("done", tools=[grouped]).resume(again(paused), {only(paused): "yes"})
    assert (result.status, tool_texts(result.history)) == ("answered", ["yes"])
