"""The calls of one reply: side by side, each with its one outcome, whichever of them goes wrong."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp import Agent, RunResult, tool
from agentfp.events import MessageAdded, PluginFailed, ToolDispatched, ToolEnded
from agentfp.plugin import Batch, CallView, Deny, Halt, Plugin, ResultView, Run, hookimpl
from tests.core.running import ScriptedModel, answering, call, check_record, names, outcomes, says, tool_texts

pytestmark = pytest.mark.anyio


def counter() -> tuple[Any, list[int]]:
    """A tool that does something once a call, and what it did."""
    done: list[int] = []

    @tool
    async def work(n: int) -> str:
        """Work."""
        await anyio.lowlevel.checkpoint()
        done.append(n)
        if n < 0:
            raise RuntimeError("broken")
        return f"worked {n}"

    return work, done


# --- one of many goes wrong -------------------------------------------------------------------------------------------------


class Chokes(Plugin):
    """Fails over the result of one call."""

    name = "chokes"

    @hookimpl(phase="place")
    def after_result(self, result: ResultView, call: CallView) -> None:
        if call.index == 4:
            raise RuntimeError("choked")


async def test_a_hook_that_fails_over_one_result_loses_none() -> None:
    work, done = counter()
    result = await answering([call("work", n=n) for n in range(10)], "done", tools=[work], plugins=[Chokes()]).run("go")
    record = check_record(result)
    assert (result.status, sorted(done)) == ("answered", list(range(10)))
    assert tool_texts(result.history) == [f"worked {n}" for n in range(10)]
    assert [(failed.plugin, failed.moment, failed.policy) for failed in record.of(PluginFailed)] == [("chokes", "after_result", "skipped")]
    assert result.plugin_failures == {"chokes": 1}


async def test_results_are_on_the_record_before_any_hook_reads_them() -> None:
    work, _ = counter()
    seen: list[int] = []

    class Reads(Plugin):
        name = "reads"

        @hookimpl(phase="check")
        def after_result(self, result: ResultView, run: Run[Any]) -> None:
            seen.append(len(run.record.of(ToolEnded)))
            assert run.record[result.seq].call_id == result.call_id

    await answering([call("work", n=n) for n in range(3)], "done", tools=[work], plugins=[Reads()]).run("go")
    assert seen == [3, 3, 3]


@pytest.mark.parametrize("broken", [0, 1, 2])
async def test_one_of_three_that_raises_leaves_two_results_and_one_error(broken: int) -> None:
    work, done = counter()
    calls = [call("work", n=-1 if n == broken else n, id=f"c{n}") for n in range(3)]
    result = await answering(calls, "done", tools=[work]).run("go")
    check_record(result)
    assert len(done) == 3
    wanted = ["success"] * 3
    wanted[broken] = "failure"
    ended = outcomes(result.record)
    assert [ended[f"c{n}"] for n in range(3)] == wanted
    errors = [event.call_id for event in result.record if isinstance(event.payload, ToolEnded) and event.payload.error_class]
    assert errors == [f"c{broken}"]


async def test_one_failure_cancels_nobody_else() -> None:
    work, done = counter()
    calls = [call("work", n=n) for n in range(26)]
    result = await answering([*calls[:7], call("work", n=-1), *calls[7:]], "done", tools=[work]).run("go")
    assert (len(done), list(outcomes(check_record(result)).values()).count("success")) == (27, 26)


# --- order ---------------------------------------------------------------------------------------------------------------------


async def test_facts_stand_as_they_happen_and_messages_in_call_order() -> None:
    ends = [anyio.Event() for _ in range(4)]
    ends[3].set()

    @tool
    async def step(n: int, after: int) -> int:
        """Step."""
        await ends[after].wait()
        ends[n].set()
        return n

    calls = [call("step", n=0, after=2, id="c0"), call("step", n=1, after=0, id="c1"), call("step", n=2, after=3, id="c2")]
    result = await answering(calls, "done", tools=[step]).run("go")
    record = check_record(result)
    assert list(outcomes(record)) == ["c2", "c0", "c1"]
    assert [m.tool_call_id for m in result.history if m.role == "tool"] == ["c0", "c1", "c2"]
    started = [event.call_id for event in record.events("agentfp.tool.started")]
    assert started == ["c0", "c1", "c2"]


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (2, 2), (8, 5)])
async def test_calls_run_side_by_side_up_to_a_number(limit: int, most: int) -> None:
    running = highest = 0

    @tool
    async def work() -> str:
        """Work."""
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        running -= 1
        return "ok"

    await answering([call("work") for _ in range(5)], "done", tools=[work], tool_concurrency=limit).run("go")
    assert highest == most


async def test_a_call_that_changes_something_runs_alone() -> None:
    running: list[str] = []
    beside: dict[str, list[str]] = {}

    async def work(name: str) -> str:
        running.append(name)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
            beside[name] = sorted({*beside.get(name, []), *running} - {name})
        running.remove(name)
        return name

    @tool
    async def read(name: str) -> str:
        """Read."""
        return await work(name)

    @tool(mutating=True)
    async def write(name: str) -> str:
        """Write."""
        return await work(name)

    calls = [call("read", name="a"), call("read", name="b"), call("write", name="w"), call("read", name="c"), call("read", name="d")]
    result = await answering(calls, "done", tools=[read, write]).run("go")
    assert beside == {"a": ["b"], "b": ["a"], "w": [], "c": ["d"], "d": ["c"]}
    assert [len(group.calls) for group in result.record.of(ToolDispatched)] == [2, 1, 2]


async def test_a_text_with_calls_is_kept_and_the_calls_are_run() -> None:
    """A reply that reads like an answer and asks for a call has both on the record, and both at the sinks."""
    work, done = counter()
    exported: list[str] = []

    class Sink(Plugin):
        name = "sink"

        @hookimpl
        def export_event(self, event: Any) -> None:
            exported.append(event.name)

    result = await answering(says("All done.", call("work", n=1)), "Really done.", tools=[work], plugins=[Sink()]).run("go")
    assert (done, result.text) == ([1], "Really done.")
    assert [(m.role, m.content) for m in result.history][1:3] == [("assistant", "All done."), ("tool", "worked 1")]
    assert {"agentfp.tool.ended", "agentfp.message.added", "agentfp.agent.route_decided"} <= set(exported)
    assert exported == [event.name for event in result.record]


# --- a halt ----------------------------------------------------------------------------------------------------------------------


class Halts(Plugin):
    name = "halts"

    @hookimpl(phase="authorize")
    def before_tool(self, call: CallView) -> Halt | None:
        return Halt("no more", tell_model="Stopped.", rule="r9") if call.arguments.get("n") == 1 else None


async def test_a_halt_ends_the_run_before_anything_runs() -> None:
    work, done = counter()
    agent = answering([call("work", n=n, id=f"c{n}") for n in range(3)], "never", tools=[work], plugins=[Halts()])
    result = await agent.run("go")
    record = check_record(result)
    assert (result.status, result.refused_by, done) == ("refused", "halts", [])
    assert outcomes(record) == {"c1": "halted", "c0": "halted", "c2": "halted"}
    assert "tool.dispatched" not in names(record)
    ended = {event.call_id: event.payload for event in record if isinstance(event.payload, ToolEnded)}
    assert (ended["c1"].cause, ended["c1"].content) == ("r9", "Stopped.")
    assert {(ended[c].cause, ended[c].caused_by_call, ended[c].ran) for c in ("c0", "c2")} == {("halted", "c1", False)}
    assert ended["c0"].content == "work did not run: the run was stopped at call c1 (work) of the same batch."
    assert result.error is not None
    assert type(result.error).__name__ == "PolicyHaltError"
    model: Any = agent.model
    assert len(model.requests) == 1


async def test_nothing_is_dispatched_after_a_call_was_denied_for_all() -> None:
    """Decisions over all calls come before the first of them runs."""

    class Last(Plugin):
        name = "last"

        @hookimpl(phase="authorize", per="batch")
        def before_tool(self, batch: Batch) -> dict[str, Deny]:
            return {batch.calls[-1].id: Deny("no")}

    work, done = counter()
    result = await answering([call("work", n=n) for n in range(3)], "done", tools=[work], plugins=[Last()]).run("go")
    record = check_record(result)
    denied = next(event.seq for event in record if isinstance(event.payload, ToolEnded) and event.payload.outcome == "denied")
    assert denied < min(event.seq for event in record if isinstance(event.payload, ToolDispatched))
    assert sorted(done) == [0, 1]


# --- cancelling ---------------------------------------------------------------------------------------------------------------------


async def test_cancelling_a_slow_tool_leaves_an_outcome_and_goes_on_cancelling() -> None:
    begun = anyio.Event()
    seen: list[Any] = []

    @tool
    async def slow() -> str:
        """Slow."""
        begun.set()
        await anyio.sleep_forever()
        return "never"

    work, _ = counter()
    agent = answering([call("work", n=1, id="c1"), call("slow", id="c2")], "never", tools=[slow, work])
    reached: list[str] = []
    async with anyio.create_task_group() as tasks:

        async def go() -> None:
            try:
                await agent.run("go", on_event=seen.append)
            finally:
                reached.append("left")
            reached.append("went on")

        tasks.start_soon(go)
        await begun.wait()
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert reached == ["left"]
    ended = {event.call_id: event.payload.outcome for event in seen if isinstance(event.payload, ToolEnded)}
    assert ended == {"c1": "success", "c2": "cancelled"}
    landed = [event.payload.tool_call_id for event in seen if isinstance(event.payload, MessageAdded) and event.payload.role == "tool"]
    assert landed == ["c1", "c2"]
    assert names(seen)[-2:] == ["run.cancelled", "run.ended"]
    assert seen[-2].payload.tool_name == "slow"


# --- any batch, any end -----------------------------------------------------------------------------------------------------------


class Judge(Plugin):
    """Decides, and fails, by what the model asks for."""

    name = "judge"

    @hookimpl(phase="authorize")
    def before_tool(self, call: CallView) -> Deny | Halt | None:
        do = call.arguments.get("do")
        if do == "broken gate":
            raise RuntimeError(do)
        return Deny("no") if do == "deny" else Halt("stop") if do == "halt" else None

    @hookimpl(phase="rewrite")
    def after_result(self, result: ResultView, call: CallView) -> None:
        if call.arguments.get("do") == "broken reader":
            raise RuntimeError("no")


@tool
async def act(do: str) -> str:
    """Act."""
    if do == "raise":
        raise RuntimeError(do)
    if do == "wait":
        await anyio.lowlevel.checkpoint()
    if do == "base":
        raise KeyboardInterrupt
    return do


@tool(mutating=True)
def change(do: str) -> str:
    """Change."""
    return do


DOINGS = ["fine", "wait", "raise", "deny", "halt", "broken gate", "broken reader"]
CALLS = st.one_of(
    st.builds(lambda name, do: call(name, do=do), st.sampled_from(["act", "change"]), st.sampled_from(DOINGS)),
    st.just(call("act")),
    st.just(call("nobody", do="x")),
    st.just(call("act", do="fine", id="same")),
)


@given(st.lists(st.lists(CALLS, min_size=1, max_size=6), max_size=4), st.sampled_from(["asyncio", "trio"]))
def test_every_call_has_one_outcome_however_the_run_ends(batches: Any, backend: str) -> None:
    ended: list[RunResult[Any]] = []

    async def go() -> None:
        agent: Agent[Any, Any] = Agent(ScriptedModel([*batches, "done"]), tools=[act, change], plugins=[Judge()], dev=True)
        ended.append(await agent.run("go"))

    anyio.run(go, backend=backend)
    (result,) = ended
    record = check_record(result)
    halted = any(made.arguments.get("do") == "halt" and made.name != "nobody" for batch in batches for made in batch)
    assert result.status == ("refused" if halted else "answered")
    proposed = [made.id for message in result.history for made in message.tool_calls]
    assert len(set(proposed)) == len(proposed)
    assert sorted(outcomes(record)) == sorted(proposed)
