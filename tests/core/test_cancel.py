"""Cancelled runs and runs out of time: one outcome for every call, an end on the record, and the cancellation goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from agentfp import Agent, RunTimeoutError, ToolContext, tool
from agentfp.events import Event, RunCancelled, RunConfigured, RunEnded, SessionClosed, ToolEnded
from agentfp.plugin import Plugin, hookimpl
from tests.core.asking import Counter, made, plugin
from tests.core.running import ScriptedModel, call, check_history, check_record, outcomes, tool_texts

pytestmark = pytest.mark.anyio


class Witness:
    """Hears a run's events, and cancels it when told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.cancel: Callable[[], object] = lambda: None

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event.payload for event in self.events if isinstance(event.payload, kind)]

    @property
    def ends(self) -> dict[str, str]:
        return {event.call_id or "": event.payload.outcome for event in self.events if isinstance(event.payload, ToolEnded)}

    async def run(self, agent: Agent[Any, Any], **options: Any) -> None:
        """Run the agent and see it cancelled, by a scope around it."""
        with anyio.CancelScope() as scope:
            self.cancel = scope.cancel
            await agent.run("go", on_event=self, **options)
        assert scope.cancelled_caught
        self.check()

    def check(self) -> None:
        """What holds for every cancelled run."""
        assert isinstance(self.events[0].payload, RunConfigured)
        assert [end.status for end in self.of(RunEnded)] == ["cancelled"]
        assert isinstance(self.events[-1].payload, RunEnded)
        assert len(self.of(RunCancelled)) == 1
        started = [event.call_id for event in self.events if event.name == "agentfp.tool.started"]
        assert sorted(self.ends) == sorted(str(call_id) for call_id in started)
        assert [e.seq for e in self.events if e.seq >= 0] == list(range(len([e for e in self.events if e.seq >= 0])))


def waiting(witness: Witness) -> Any:
    @tool
    async def wait() -> str:
        """Cancels the run from inside and waits."""
        witness.cancel()
        await anyio.sleep_forever()
        return "never"

    return wait


async def test_in_an_async_tool() -> None:
    witness = Witness()
    await witness.run(made(call("wait", id="c1"), tools=[waiting(witness)]))
    assert witness.ends == {"c1": "cancelled"}
    (cancelled,) = witness.of(RunCancelled)
    assert (cancelled.phase, cancelled.tool_name, cancelled.cause) == ("tool", "wait", "cancelled")


async def test_in_a_sync_tool_nobody_knows_whether_it_ends() -> None:
    witness = Witness()
    let_go = threading.Event()
    ended = threading.Event()

    @tool
    def block(ctx: ToolContext[Any]) -> str:
        ctx.emit("app.begun", True)
        anyio.from_thread.run_sync(witness.cancel)
        let_go.wait(10)
        ctx.emit("app.late", True)  # of no effect: the run is over
        ended.set()
        return "late"

    await witness.run(made(call("block", id="c1"), tools=[block]))
    assert witness.ends == {"c1": "unknown"}
    let_go.set()
    assert await anyio.to_thread.run_sync(lambda: ended.wait(10))
    witness.check()
    assert [event.name for event in witness.events if event.name.startswith("app.")] == ["app.begun"]


@pytest.mark.parametrize("concurrency", [1, 2, 8])
async def test_with_siblings(concurrency: int) -> None:
    counter = Counter()
    witness = Witness()
    batch = [call("note", id="c1", text="a"), call("wait", id="c2"), call("note", id="c3", text="c"), call("change", id="c4", text="d")]
    await witness.run(made(batch, tools=[*counter.tools(), waiting(witness)], tool_concurrency=concurrency))
    assert witness.ends["c1"] == "success"
    assert witness.ends["c2"] == "cancelled"
    assert witness.ends["c4"] == "cancelled"
    assert "d" not in counter.done
    if concurrency == 1:
        assert witness.ends["c3"] == "cancelled"
        assert counter.done == ["a"]
        by_call = {event.call_id: event.payload for event in witness.events if isinstance(event.payload, ToolEnded)}
        assert [by_call[c].ran for c in ("c2", "c3", "c4")] == [True, False, False]
        assert by_call["c3"].content == "note did not run: the run was cancelled."


async def test_in_a_model_call() -> None:
    witness = Witness()

    async def wait(request: Any) -> str:
        witness.cancel()
        await anyio.sleep_forever()
        return "never"

    await witness.run(Agent(ScriptedModel(lambda request: wait)))
    (cancelled,) = witness.of(RunCancelled)
    assert (cancelled.phase, cancelled.tool_name) == ("llm", None)


HOOKS = [
    ("before_tool", "fill", {"c1": "cancelled"}),
    ("before_tool", "credential", {"c1": "cancelled"}),
    ("after_result", "check", {"c1": "success"}),
    ("after_result", "judge", {"c1": "success"}),
    ("serve_context", "compose", {}),
    ("assess_answer", "claims", {"c1": "success"}),
    ("admit_input", None, {}),
]


@pytest.mark.parametrize(("moment", "phase", "ends"), HOOKS)
async def test_in_a_hook(moment: str, phase: str | None, ends: dict[str, str]) -> None:
    witness = Witness()

    async def hook(self: Plugin) -> None:
        witness.cancel()
        await anyio.sleep_forever()

    agent = made(
        call("note", id="c1", text="a"),
        "done",
        tools=Counter().tools(),
        plugins=[plugin("slow", hook=hookimpl(moment=moment, phase=phase)(hook))],
    )
    await witness.run(agent)
    assert witness.ends == ends
    assert all(event.source != "slow" for event in witness.events if isinstance(event.payload, (RunEnded, RunCancelled, ToolEnded)))


async def test_a_result_that_a_guard_has_not_seen_is_withheld() -> None:
    witness = Witness()

    async def look(self: Plugin, result: Any) -> Any:
        witness.cancel()
        await anyio.sleep_forever()

    async def secret() -> str:
        return "the secret"

    agent = made(
        call("secret", id="c1"),
        "done",
        tools=[secret],
        plugins=[plugin("guard", hook=hookimpl(moment="after_result", phase="check")(look))],
    )
    chat = agent.conversation(on_event=witness)
    with anyio.CancelScope() as scope:
        witness.cancel = scope.cancel
        await chat.send("go")
    assert [event.payload.content for event in witness.events if isinstance(event.payload, ToolEnded)] == ["the secret"]
    assert tool_texts(chat.history) == ["This result is withheld: the run ended before it was checked."]
    check_record(chat.record)


async def test_cleanups_run_and_finish_hooks_hear_of_it() -> None:
    witness = Witness()
    closed: list[str] = []

    @tool
    async def opens(ctx: ToolContext[Any]) -> str:
        async def close() -> None:
            await anyio.lowlevel.checkpoint()
            closed.append("closed")

        ctx.on_teardown(close, scope="run")
        witness.cancel()
        await anyio.sleep_forever()
        return "never"

    async def finish(self: Plugin, outcome: str) -> None:
        await anyio.lowlevel.checkpoint()
        closed.append(outcome)

    await witness.run(made(call("opens"), tools=[opens], plugins=[plugin("ends", hook=hookimpl(moment="finish_run")(finish))]))
    assert sorted(closed) == ["cancelled", "closed"]
    assert [end.reason for end in witness.of(SessionClosed)] == ["run-end"]


async def test_sinks_get_the_end_of_a_cancelled_run() -> None:
    witness = Witness()
    exported: list[str] = []

    async def export(self: Plugin, event: Any) -> None:
        await anyio.lowlevel.checkpoint()
        exported.append(event.name)

    agent = made(call("wait", id="c1"), tools=[waiting(witness)], plugins=[plugin("sink", hook=hookimpl(moment="export_event")(export))])
    await witness.run(agent)
    assert exported[-2:] == ["agentfp.run.cancelled", "agentfp.run.ended"]


async def test_a_stream_that_is_left_cancels_its_run() -> None:
    witness = Witness()
    agent = made(call("wait", id="c1"), tools=[waiting(witness)])
    async with agent.stream("go", on_event=witness) as run:
        async for event in run:
            if event.name == "agentfp.tool.dispatched":
                break
    witness.check()


@pytest.mark.parametrize("where", ["tool", "sync tool", "model", "hook"])
async def test_a_run_out_of_time(where: str) -> None:
    let_go = threading.Event()

    @tool
    async def wait() -> str:
        await anyio.sleep_forever()
        return "never"

    @tool
    def block() -> str:
        let_go.wait(10)
        return "late"

    async def reply(request: Any) -> Any:
        if where == "model" and len(request.messages) > 1:
            await anyio.sleep_forever()
        if len(request.messages) > 1 and request.messages[-1].role == "tool":
            return {"tool": call("wait", id="c2"), "sync tool": call("block", id="c2")}.get(where, "done")
        return call("note", id="c1", text="a")

    async def hook(self: Plugin, run: Any) -> None:
        if where == "hook" and run.iteration == 2:
            await anyio.sleep_forever()

    counter = Counter()
    agent: Agent[Any, Any] = Agent(
        ScriptedModel(lambda request: reply),
        tools=[*counter.tools(), wait, block],
        plugins=[plugin("slow", hook=hookimpl(moment="serve_context", phase="compose")(hook))],
    )
    with pytest.raises(RunTimeoutError) as caught:
        await agent.run("go", timeout=0.1)
    let_go.set()
    record = check_record(caught.value.checkpoint.record)
    assert [(cancelled.cause, cancelled.tool_name) for cancelled in record.of(RunCancelled)] == [
        ("timeout", {"tool": "wait", "sync tool": "block"}.get(where))
    ]
    assert outcomes(record) == {"c1": "success", **{"tool": {"c2": "cancelled"}, "sync tool": {"c2": "unknown"}}.get(where, {})}
    result = await agent.replace(model=ScriptedModel(["done"]), plugins=[]).resume_on_error(caught.value)
    assert result.text == "done"
    assert counter.done == ["a"]
    check_record(result)


async def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _wait_for(task: asyncio.Task[Any]) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(task, 0.01)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("way", [_cancel, _wait_for])
@pytest.mark.parametrize("sinks", [False, True])
@pytest.mark.parametrize("where", ["tool", "tools", "model"])
async def test_the_ways_of_asyncio(way: Callable[[asyncio.Task[Any]], Awaitable[None]], sinks: bool, where: str) -> None:
    witness = Witness()
    begun = asyncio.Event()

    async def wait() -> str:
        begun.set()
        await asyncio.sleep(60)
        return "never"

    async def reply(request: Any) -> Any:
        if where == "model":
            await wait()
        return [call("wait", id="c1"), call("wait", id="c2")] if where == "tools" else call("wait", id="c1")

    async def export(self: Plugin, event: Any) -> None:
        await asyncio.sleep(0)

    plugins = [plugin("sink", hook=hookimpl(moment="export_event")(export))] if sinks else []
    agent: Agent[Any, Any] = Agent(ScriptedModel(lambda request: reply), tools=[wait], plugins=plugins)
    task = asyncio.ensure_future(agent.run("go", on_event=witness))
    await begun.wait()
    await way(task)
    witness.check()
    assert witness.ends == {"tool": {"c1": "cancelled"}, "tools": {"c1": "cancelled", "c2": "cancelled"}, "model": {}}[where]
    assert task.cancelled() or way is _wait_for


async def test_a_run_cancelled_before_its_first_step_leaves_nothing() -> None:
    witness = Witness()
    agent = made("never")
    with anyio.CancelScope() as scope:
        scope.cancel()
        await anyio.lowlevel.checkpoint()
        await agent.run("go", on_event=witness)
    assert witness.events == []
    assert (await agent.run("go")).text == "never"


async def test_the_conversation_is_free_after_a_cancelled_run() -> None:
    witness = Witness()
    agent = made("one", call("wait", id="c1"), "two", tools=[waiting(witness)])
    result = await agent.run("first")
    await witness_over(witness, agent, result.history)
    again = await agent.run("second", history=result.history)
    assert again.text == "two"
    check_history(again.history)


async def witness_over(witness: Witness, agent: Agent[Any, Any], history: Any) -> None:
    with anyio.CancelScope() as scope:
        witness.cancel = scope.cancel
        await agent.run("second", history=history)
    assert scope.cancelled_caught


async def test_a_predicate_of_an_approval_may_be_cancelled_too() -> None:
    witness = Witness()

    async def needed(ctx: ToolContext[Any], args: Any) -> bool:
        witness.cancel()
        await anyio.sleep_forever()
        return True

    await witness.run(made(call("note", id="c1", text="a"), tools=Counter().tools(approval=needed)))
    assert witness.ends == {"c1": "cancelled"}
