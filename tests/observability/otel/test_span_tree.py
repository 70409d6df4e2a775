"""The tree of spans: one trace a turn, parents by the record, times of the events, and a span for every call whatever became of it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from agentfp import Agent, DeliveryOptions, Pause, RunTimeoutError, ToolContext, approve, reject, tool
from agentfp.plugin import CallView, Deny, ExportedEvent, Halt, Plugin, RequestDraft, hookimpl
from agentfp.testing import ScriptedModel, StepClock, call
from tests.observability.otel.tracing import Backend, agent, attributes, check_whole, events, look, span_id, trace_id, tree

pytestmark = pytest.mark.anyio


async def test_a_turn_with_one_tool() -> None:
    backend = Backend()
    result = await agent(backend, call("look", x=1), "seen 1").run("go")
    assert tree(backend.spans) == [
        [
            "invoke_agent agent",
            ["iteration 1", ["chat script"], ["execute_tool look"]],
            ["iteration 2", ["chat script"]],
        ]
    ]
    assert len({trace_id(span) for span in backend.spans}) == 1
    check_whole(backend.spans)
    root = attributes(backend.one("invoke_agent"))
    assert root["gen_ai.operation.name"] == "invoke_agent"
    assert root["gen_ai.agent.name"] == "agent"
    assert root["gen_ai.provider.name"] == "scripted"
    assert root["gen_ai.request.model"] == "script"
    assert root["agentfp.run.id"] == result.run_id
    assert root["agentfp.turn.index"] == 1
    assert root["agentfp.iteration.count"] == 2
    assert root["agentfp.tool_call.count"] == 1
    assert root["agentfp.run.status"] == "answered"
    assert root["gen_ai.response.finish_reasons"] == ("stop",)
    assert "gen_ai.conversation.id" not in root
    chats = [attributes(span) for span in backend.named("chat")]
    assert [chat["gen_ai.response.finish_reasons"] for chat in chats] == [("tool_call",), ("stop",)]
    assert sum(chat["gen_ai.usage.input_tokens"] for chat in chats) == root["gen_ai.usage.input_tokens"]
    assert all(span.kind is (SpanKind.CLIENT if span.name.startswith("chat") else SpanKind.INTERNAL) for span in backend.spans)
    ran = attributes(backend.one("execute_tool"))
    assert ran["gen_ai.tool.name"] == "look"
    assert ran["gen_ai.tool.type"] == "function"
    assert ran["gen_ai.tool.call.id"] == result.history[1].tool_calls[0].id
    assert ran["agentfp.tool.status"] == "success"
    assert all(span.status.status_code is StatusCode.UNSET and not span.status.description for span in backend.spans)


async def test_twenty_runs_at_once_are_twenty_traces(caplog: pytest.LogCaptureFixture) -> None:
    backend = Backend()

    def script(number: int) -> list[Any]:
        return [[call("look", id=f"{number}-{n}", x=n) for n in range(2)], call("look", id=f"{number}-2", x=2), f"done {number}"]

    agents = [agent(backend, *script(number)) for number in range(20)]
    results: dict[int, Any] = {}

    async def one(number: int) -> None:
        await anyio.lowlevel.checkpoint()
        results[number] = await agents[number].run(f"go {number}")

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, number)
    by_trace: dict[int, list[Any]] = {}
    for span in backend.spans:
        by_trace.setdefault(trace_id(span), []).append(span)
    assert len(by_trace) == 20
    run_of = {result.run_id: number for number, result in results.items()}
    for spans in by_trace.values():
        check_whole(spans)
        assert tree(spans) == [
            [
                "invoke_agent agent",
                ["iteration 1", ["chat script"], ["execute_tool look"], ["execute_tool look"]],
                ["iteration 2", ["chat script"], ["execute_tool look"]],
                ["iteration 3", ["chat script"]],
            ]
        ]
        (root,) = [span for span in spans if span.parent is None]
        number = run_of[attributes(root)["agentfp.run.id"]]
        calls = {attributes(span)["gen_ai.tool.call.id"] for span in spans if span.name.startswith("execute_tool")}
        assert calls == {f"{number}-{n}" for n in range(3)}
    assert "detach" not in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_calls_side_by_side_are_siblings_and_end_when_they_end() -> None:
    backend = Backend()
    second_ended = anyio.Event()

    @tool
    async def first() -> str:
        """Wait for the second."""
        await second_ended.wait()
        await anyio.sleep(0.01)
        return "a"

    @tool
    async def second() -> str:
        """Be quick."""
        second_ended.set()
        return "b"

    await agent(backend, [call("first"), call("second")], "done", tools=[first, second]).run("go")
    a, b = backend.one("execute_tool first"), backend.one("execute_tool second")
    assert a.parent is not None
    assert b.parent is not None
    assert a.parent.span_id == b.parent.span_id == span_id(backend.one("iteration 1"))
    assert (b.end_time or 0) < (a.end_time or 0)
    assert attributes(a)["agentfp.tool.parallel_count"] == 2
    check_whole(backend.spans)


async def test_a_run_is_traced_under_the_callers_span() -> None:
    backend = Backend()
    tracer = backend.tracing.get_tracer("app")
    with tracer.start_as_current_span("request") as request:
        await agent(backend, "hello").run("go")
        assert trace.get_current_span() is request
    assert tree(backend.spans) == [["request", ["invoke_agent agent", ["iteration 1", ["chat script"]]]]]
    await agent(backend, "hello").run("go")
    assert len({trace_id(span) for span in backend.spans}) == 2


async def test_nested_agents_are_under_the_call_that_asked_them() -> None:
    backend = Backend()
    inner = Agent(ScriptedModel([call("look", id="i1", x=1), "inner"]), tools=[look], name="inner", plugins=[backend.otel])
    outer = agent(backend, call("ask", id="c1", request="x"), "outer", tools=[inner.as_tool("ask", "Asks.")], name="outer")
    await outer.run("go")
    assert tree(backend.spans) == [
        [
            "invoke_agent outer",
            [
                "iteration 1",
                ["chat script"],
                [
                    "execute_tool ask",
                    ["invoke_agent inner", ["iteration 1", ["chat script"], ["execute_tool look"]], ["iteration 2", ["chat script"]]],
                ],
            ],
            ["iteration 2", ["chat script"]],
        ]
    ]
    check_whole(backend.spans)


async def test_a_tool_that_fails_tells_its_class_and_not_its_words() -> None:
    backend = Backend()

    @tool
    def pay() -> str:
        """Pay."""
        raise TimeoutError("acct 4421")

    await agent(backend, call("pay"), "no", tools=[pay]).run("go")
    span = backend.one("execute_tool")
    assert span.status.status_code is StatusCode.ERROR
    assert attributes(span)["error.type"] == "TimeoutError"
    assert all("acct" not in made.to_json() for made in backend.spans)
    assert backend.one("invoke_agent").status.status_code is StatusCode.UNSET


async def test_times_are_those_of_the_events_and_not_of_their_delivery() -> None:
    backend = Backend()

    class Slow(Plugin):
        """Holds up everybody behind it."""

        name = "slow"

        @hookimpl
        async def export_event(self, event: ExportedEvent) -> None:
            await anyio.sleep(0.01)

    result = await agent(backend, call("look", x=1), "done", plugins=[Slow()]).run("go")
    filed = {event.ts_ns for event in result.record}
    assert all(span.start_time in filed and span.end_time in filed for span in backend.spans)


async def test_a_clock_that_goes_back_makes_no_span_that_ends_before_it_begins() -> None:
    backend = Backend()
    clock = StepClock(step_ns=-1_000_000)
    await agent(backend, call("look", x=1), "done", clock=clock).run("go")
    assert len(backend.spans) == 6
    assert all((span.start_time or 0) <= (span.end_time or 0) for span in backend.spans)


# --- every way in which a call or a run can end --------------------------------------------------------------------------------


async def test_a_run_that_is_cancelled_ends_all_its_spans() -> None:
    backend = Backend()
    begun = anyio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await anyio.sleep_forever()
        return ""

    made = agent(backend, call("wait"), tools=[wait])
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:

            async def stop() -> None:
                await begun.wait()
                scope.cancel()

            tasks.start_soon(stop)
            await made.run("go")
    assert tree(backend.spans) == [["invoke_agent agent", ["iteration 1", ["chat script"], ["execute_tool wait"]]]]
    check_whole(backend.spans)
    assert all(span.status.status_code is StatusCode.UNSET for span in backend.spans)
    assert attributes(backend.one("invoke_agent"))["agentfp.cancelled"] is True
    assert attributes(backend.one("invoke_agent"))["agentfp.run.status"] == "cancelled"
    assert attributes(backend.one("execute_tool"))["agentfp.cancelled"] is True


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_wait_for_ends_all_spans(anyio_backend: str) -> None:
    backend = Backend()

    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(30)
        return ""

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(agent(backend, call("wait"), tools=[wait]).run("go"), 0.05)
    assert len(backend.spans) == 4
    check_whole(backend.spans)
    assert all(span.status.status_code is StatusCode.UNSET for span in backend.spans)
    assert attributes(backend.one("invoke_agent"))["agentfp.cancelled"] is True


async def test_a_run_whose_time_is_up_in_a_model_call() -> None:
    backend = Backend()
    made = Agent(ScriptedModel(["late"], delay=30), plugins=[backend.otel])
    with pytest.raises(RunTimeoutError):
        await made.run("go", timeout=0.05)
    assert tree(backend.spans) == [["invoke_agent agent", ["iteration 1", ["chat script"]]]]
    check_whole(backend.spans)
    assert attributes(backend.one("invoke_agent"))["agentfp.cancelled.cause"] == "timeout"
    assert attributes(backend.one("chat"))["agentfp.cancelled"] is True
    assert all(span.status.status_code is StatusCode.UNSET for span in backend.spans)


async def test_a_run_that_fails_in_a_model_call() -> None:
    backend = Backend()
    made = agent(backend, call("look", x=1), ValueError("secret words"))
    with pytest.raises(Exception, match=r".*"):
        await made.run("go")
    assert tree(backend.spans) == [
        ["invoke_agent agent", ["iteration 1", ["chat script"], ["execute_tool look"]], ["iteration 2", ["chat script"]]]
    ]
    check_whole(backend.spans)
    broken = backend.named("chat")[1]
    assert broken.status.status_code is StatusCode.ERROR
    root = backend.one("invoke_agent")
    assert root.status.status_code is StatusCode.ERROR
    assert attributes(root)["error.type"] == attributes(broken)["error.type"]
    assert attributes(root)["agentfp.run.status"] == "failed"
    assert "agentfp.error.fatal" in events(root)
    assert all("secret words" not in span.to_json() for span in backend.spans)


async def test_what_happens_after_the_last_iteration_hangs_from_the_turn() -> None:
    @tool
    async def lend(ctx: ToolContext[Any]) -> str:
        """Lend."""
        ctx.on_teardown(lambda: None, scope="run")
        return "lent"

    class Breaks(Plugin):
        """Fails before the second model call."""

        name = "breaks"

        @hookimpl(phase="compose")
        def serve_context(self, draft: RequestDraft) -> None:
            if draft.call == 2:
                raise ValueError("no")

    backend = Backend()
    with pytest.raises(Exception, match=r".*"):
        await agent(backend, call("lend"), "never", tools=[lend], plugins=[Breaks()]).run("go")
    assert tree(backend.spans) == [["invoke_agent agent", ["iteration 1", ["chat script"], ["execute_tool lend"]], ["iteration 2"]]]
    check_whole(backend.spans)
    assert "agentfp.tools.session_closed" in events(backend.one("invoke_agent"))


async def test_calls_that_do_not_fit_or_that_there_are_none_of_have_spans() -> None:
    backend = Backend()
    await agent(backend, [call("look", id="bad", x="no number"), call("nowhere", id="none", y=1)], "done").run("go")
    spans = {attributes(span)["gen_ai.tool.call.id"]: span for span in backend.named("execute_tool")}
    assert set(spans) == {"bad", "none"}
    assert all(span.status.status_code is StatusCode.ERROR for span in spans.values())
    assert spans["bad"].name == "execute_tool look"
    assert attributes(spans["bad"])["error.type"] == "invalid"
    assert attributes(spans["bad"])["agentfp.tool.ran"] is False
    assert "agentfp.validation.args_invalid" in events(spans["bad"])
    assert spans["none"].name == "execute_tool unknown"
    assert attributes(spans["none"])["agentfp.tool.undeclared"] is True
    assert all("nowhere" not in span.to_json() for span in backend.spans)


class Gatekeeper(Plugin):
    """Refuses calls of a tool, or halts the run at one."""

    name = "gatekeeper"

    class Settings(Plugin.Settings):
        halt: bool = False

    @hookimpl(phase="authorize")
    def before_tool(self, call: CallView) -> Deny | Halt | None:
        if call.arguments.get("x") != 13:
            return None
        return Halt("bad luck", rule="thirteen") if self.settings.halt else Deny("bad luck", rule="thirteen")


async def test_denied_calls_have_spans_and_say_who_denied_them() -> None:
    backend = Backend()
    await agent(backend, [call("look", id="a", x=13), call("look", id="b", x=1)], "done", plugins=[Gatekeeper()]).run("go")
    spans = {attributes(span)["gen_ai.tool.call.id"]: span for span in backend.named("execute_tool")}
    assert spans["a"].status.status_code is StatusCode.ERROR
    assert attributes(spans["a"])["error.type"] == "denied"
    verdict = events(spans["a"])["agentfp.hook.verdict"]
    assert (verdict["plugin"], verdict["verdict"], verdict["rule"]) == ("gatekeeper", "Deny", "thirteen")
    assert "bad luck" not in str(verdict)
    assert spans["b"].status.status_code is StatusCode.UNSET


async def test_a_halted_run_ends_all_its_spans() -> None:
    backend = Backend()
    result = await agent(backend, [call("look", x=13), call("look", x=1)], plugins=[Gatekeeper(halt=True)]).run("go")
    assert result.status == "refused"
    assert len(backend.named("execute_tool")) == 2
    check_whole(backend.spans)
    assert attributes(backend.one("invoke_agent"))["agentfp.run.status"] == "refused"
    assert "agentfp.answer.refused" in events(backend.one("invoke_agent"))


@tool(approval=True)
def shut(port: int) -> str:
    """Shut a port."""
    return f"port {port} is shut"


@pytest.mark.parametrize("answer", [approve(by="ann"), reject("no")])
async def test_a_paused_run_and_the_one_that_goes_on_with_it(answer: Any) -> None:
    backend = Backend()
    made = agent(backend, [call("shut", id="c1", port=3), call("look", id="c2", x=1)], "done", tools=[shut, look])
    paused = await made.run("go")
    first = backend.one("invoke_agent")
    assert attributes(first)["agentfp.paused"] is True
    assert attributes(first)["agentfp.run.status"] == "paused"
    waiting = {attributes(span)["gen_ai.tool.call.id"]: span for span in backend.named("execute_tool")}
    assert set(waiting) == {"c1", "c2"}
    assert attributes(waiting["c1"])["agentfp.tool.paused"] is True
    check_whole(backend.spans)
    backend.kept.spans.clear()

    assert paused.pause is not None
    result = await made.resume(Pause.from_json(paused.pause.to_json()), answer)
    assert result.status == "answered"
    root = backend.one("invoke_agent")
    assert trace_id(root) != trace_id(first)
    assert [link.context.span_id for link in root.links] == [span_id(first)]
    assert attributes(root)["agentfp.run.leg"] == "resume"
    assert attributes(root)["agentfp.run.resumed_from"] == paused.run_id
    assert attributes(backend.one("iteration 1"))["agentfp.iteration.resumed"] is True
    calls = {attributes(span)["gen_ai.tool.call.id"]: span for span in backend.named("execute_tool")}
    assert set(calls) == {"c1", "c2"}
    assert calls["c1"].name == "execute_tool shut"
    assert calls["c2"].name == "execute_tool look"
    assert attributes(calls["c1"])["agentfp.tool.status"] == ("success" if answer.approved else "declined")
    assert all(span.status.status_code is StatusCode.UNSET for span in backend.spans)
    check_whole(backend.spans)


async def test_a_nested_agent_that_asks_a_person() -> None:
    backend = Backend()
    inner = Agent(ScriptedModel([call("shut", id="i1", port=1), "inner"]), tools=[shut], name="inner", plugins=[backend.otel])
    outer = agent(backend, call("ask", id="c1", request="x"), "outer", tools=[inner.as_tool("ask", "Asks.")], name="outer")
    paused = await outer.run("go")
    call_of_inner = ["execute_tool ask", ["invoke_agent inner", ["iteration 1", ["chat script"], ["execute_tool shut"]]]]
    assert tree(backend.spans) == [["invoke_agent outer", ["iteration 1", ["chat script"], call_of_inner]]]
    check_whole(backend.spans)
    backend.kept.spans.clear()
    assert paused.pause is not None
    await outer.resume(paused.pause, approve(by="ann"))
    goes_on = ["invoke_agent inner", ["iteration 1", ["execute_tool shut"]], ["iteration 2", ["chat script"]]]
    assert tree(backend.spans) == [["invoke_agent outer", ["iteration 1", ["execute_tool ask", goes_on]], ["iteration 2", ["chat script"]]]]
    check_whole(backend.spans)
    assert all(span.links for span in backend.named("invoke_agent"))


async def test_another_process_goes_on_without_a_link() -> None:
    backend, elsewhere = Backend(), Backend()
    paused = await agent(backend, call("shut", id="c1", port=3), "done", tools=[shut]).run("go")
    made = agent(elsewhere, "done", tools=[shut])
    assert paused.pause is not None
    await made.resume(Pause.from_json(paused.pause.to_json()), approve(by="ann"))
    root = elsewhere.one("invoke_agent")
    assert not root.links
    assert attributes(root)["agentfp.run.resumed_from"] == paused.run_id
    assert elsewhere.one("execute_tool").name == "execute_tool shut"


async def test_the_turns_of_a_conversation_are_traces_of_one_conversation() -> None:
    backend = Backend()
    chat = agent(backend, "one", "two").conversation(session_id="s-1")
    await chat.send("first")
    await chat.send("second")
    roots = backend.named("invoke_agent")
    assert len({trace_id(root) for root in roots}) == 2
    assert [attributes(root)["agentfp.turn.index"] for root in roots] == [1, 2]
    assert {attributes(span)["gen_ai.conversation.id"] for span in [*roots, *backend.named("chat")]} == {"s-1"}


class Hanging(Plugin):
    """Never comes back from the first event."""

    name = "hanging"

    @hookimpl
    async def export_event(self, event: ExportedEvent) -> None:
        await anyio.sleep_forever()


async def test_a_sink_that_hangs_leaves_no_span_open_and_what_was_dropped_is_told() -> None:
    backend = Backend()
    options = DeliveryOptions(flush_seconds=0.05)
    result = await agent(backend, call("look", x=1), "done", plugins=[Hanging()], delivery=options).run("go")
    assert result.status == "answered"
    root = backend.one("invoke_agent")
    assert attributes(root)["agentfp.run.status"] == "answered"
    assert result.deliveries is not None
    assert result.deliveries.dropped


async def test_without_spans_of_iterations_calls_hang_from_the_turn() -> None:
    backend = Backend(iteration_spans=False)
    await agent(backend, call("look", x=1), "done").run("go")
    assert tree(backend.spans) == [["invoke_agent agent", ["chat script"], ["execute_tool look"], ["chat script"]]]
    check_whole(backend.spans)


async def test_short_names() -> None:
    backend = Backend(span_names="legacy")
    await agent(backend, call("look", x=1), "done", name="desk").run("go")
    assert tree(backend.spans) == [["desk", ["iteration:1", ["llm"], ["tool:look"]], ["iteration:2", ["llm"]]]]


async def test_a_record_is_traced_afterwards_as_it_would_have_been(tmp_path: Any) -> None:
    live, later = Backend(), Backend()
    inner = Agent(ScriptedModel([call("look", id="i1", x=1), "inner"]), tools=[look], name="inner")
    made = agent(live, call("ask", id="c1", request="x"), "outer", tools=[inner.as_tool("ask", "Asks.")], name="outer")
    result = await made.run("go")
    result.record.save(tmp_path / "run.jsonl")
    assert later.otel.replay(tmp_path / "run.jsonl") == len(result.record) + len(result.record.children["c1"])
    assert tree(later.spans) == tree(live.spans)
    shapes = [[(span.name, span.start_time, span.end_time, attributes(span)) for span in backend.spans] for backend in (live, later)]
    for shape in shapes:
        for *_, seen in shape:
            seen.pop("agentfp.export.dropped", None)
    assert shapes[0] == shapes[1]
