"""Sinks: what they get, in which order, how much may wait for them, and that a bad one harms nobody."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import anyio
import pytest

from agentfp import DeliveryOptions, ToolContext
from agentfp.events import MessageAdded, PluginFailed, RunEnded
from agentfp.model import ModelError, ModelRequest
from agentfp.plugin import ExportedEvent, Plugin, hookimpl
from agentfp_core import delivery
from tests.core.running import answering, call, check_record

pytestmark = pytest.mark.anyio


def look() -> str:
    """Look."""
    return "seen"


class Sink(Plugin):
    """Keeps what it gets, after as many steps as it is told."""

    name = "sink"

    class Settings(Plugin.Settings):
        content: bool = False
        got: Any
        steps: int = 0
        fails: bool = False

    @hookimpl
    async def export_event(self, event: ExportedEvent) -> None:
        for _ in range(self.settings.steps):
            await anyio.lowlevel.checkpoint()
        self.settings.got.append(event)
        if self.settings.fails:
            raise RuntimeError("sink away")


class Direct(Sink):
    """The same, sync."""

    name = "direct"

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:  # type: ignore[override]
        self.settings.got.append(event)
        if self.settings.fails:
            raise RuntimeError("sink away")


def seqs(got: list[ExportedEvent]) -> list[int]:
    return [event.seq for event in got]


@pytest.mark.parametrize("steps", [0, 1, 5])
async def test_every_event_comes_in_order_before_the_run_returns(steps: int) -> None:
    got: list[ExportedEvent] = []
    result = await answering([call("look")] * 3, "done", tools=[look], plugins=[Sink(got=got, steps=steps)]).run("go")
    record = check_record(result)
    assert seqs(got) == list(range(len(record)))
    assert [event.name for event in got] == [event.name for event in record]
    assert result.deliveries is not None
    assert (result.deliveries.delivered, result.deliveries.dropped) == (len(record), 0)
    assert {event.header.run_id for event in got} == {result.run_id}


async def test_a_sink_is_handed_one_event_at_a_time() -> None:
    inside = most = 0
    order: list[int] = []

    class Slow(Plugin):
        name = "slow"

        @hookimpl
        async def export_event(self, event: ExportedEvent) -> None:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            await anyio.sleep(0.001)
            order.append(event.seq)
            inside -= 1

    result = await answering(call("look"), "done", tools=[look], plugins=[Slow()]).run("go")
    assert (most, order) == (1, list(range(len(result.record))))


async def test_sinks_get_each_event_in_plugin_order() -> None:
    got: list[Any] = []
    first: list[Any] = []
    second: list[Any] = []

    class Both(list[Any]):
        def __init__(self, name: str, kept: list[Any]) -> None:
            self.name, self.kept = name, kept

        def append(self, event: Any) -> None:
            got.append((self.name, event.seq))
            self.kept.append(event)

    await answering("x", plugins=[Sink(got=Both("a", first), steps=2), Direct(got=Both("b", second))]).run("go")
    assert got == [(name, seq) for seq in range(len(first)) for name in ("a", "b")]


@pytest.mark.parametrize("content", [False, True])
async def test_content_only_where_the_settings_ask_for_it(content: bool) -> None:
    got: list[ExportedEvent] = []
    await answering("SECRET-ANSWER", plugins=[Direct(got=got, content=content)]).run("SECRET-QUESTION")
    everything = "".join(repr(event.data) for event in got)
    assert ("SECRET-ANSWER" in everything, "SECRET-QUESTION" in everything) == (content, content)
    added = next(event for event in got if event.name == "agentfp.message.added")
    assert isinstance(added.payload, MessageAdded) if content else added.payload is None
    assert added.data["role"] == "user"


# --- sinks that are bad -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Sink, Direct])
async def test_a_sink_that_raises_is_counted_and_filed_once(kind: Any) -> None:
    got: list[ExportedEvent] = []
    good: list[ExportedEvent] = []

    class Other(Direct):
        name = "other"

    result = await answering(call("look"), "done", tools=[look], plugins=[kind(got=got, fails=True), Other(got=good)]).run("go")
    record = check_record(result)
    assert (result.status, seqs(good)) == ("answered", list(range(len(record))))
    assert len(got) == len(good)
    assert result.plugin_failures == {kind.name: len(got)}
    assert [(failed.plugin, failed.moment, failed.policy) for failed in record.of(PluginFailed)] == [(kind.name, "export_event", "counted")]


async def test_a_sink_that_hangs_is_left_behind_and_what_waits_is_counted() -> None:
    patience = DeliveryOptions(export_seconds=30, flush_seconds=0.05)
    got: list[int] = []

    class Hangs(Plugin):
        name = "hangs"

        @hookimpl
        async def export_event(self, event: ExportedEvent) -> None:
            got.append(event.seq)
            if event.seq == 3:
                await anyio.sleep_forever()

    result = await answering("x", plugins=[Hangs()], delivery=patience).run("go")
    assert (result.status, got) == ("answered", [0, 1, 2, 3])
    assert result.deliveries is not None
    assert result.deliveries.delivered == 3
    assert result.deliveries.dropped == len(result.record) - 3


async def test_an_event_that_takes_too_long_is_given_up_and_the_next_comes() -> None:
    got: list[int] = []

    class Stuck(Plugin):
        name = "stuck"

        @hookimpl
        async def export_event(self, event: ExportedEvent) -> None:
            if event.seq == 1:
                await anyio.sleep_forever()
            got.append(event.seq)

    result = await answering("x", plugins=[Stuck()], delivery=DeliveryOptions(export_seconds=0.02)).run("go")
    assert got == [0, *range(2, len(result.record))]
    assert result.plugin_failures == {"stuck": 1}


# --- how much may wait --------------------------------------------------------------------------------------------------------------


async def test_a_burst_beyond_the_queue_drops_the_oldest_and_says_how_many() -> None:
    got: list[ExportedEvent] = []

    async def burst(ctx: ToolContext[Any]) -> str:
        """Burst."""
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        for n in range(50):
            ctx.emit("app.burst.one", n)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        return "done"

    result = await answering(
        call("burst"), "x", tools=[burst], plugins=[Direct(got=got, content=True)], delivery=DeliveryOptions(max_queue=10)
    ).run("go")
    record = check_record(result)
    burst_events = [event.data["data"] for event in got if event.name == "app.burst.one"]
    assert burst_events == sorted(burst_events)
    assert burst_events[-1] == 49
    assert result.deliveries is not None
    assert result.deliveries.dropped >= 40
    assert result.deliveries.high_water <= 10
    assert result.deliveries.delivered + result.deliveries.dropped == len(record)
    assert len(got) == result.deliveries.delivered
    assert record.of(RunEnded)[0].dropped >= 40


async def test_the_loop_waits_a_moment_for_sinks_that_are_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "RELIEF_AT", 8)
    monkeypatch.setattr(delivery, "RELIEF_SECONDS", 5)
    waiting: list[int] = []
    got: list[ExportedEvent] = []

    async def next_call(request: ModelRequest) -> Any:
        waiting.append(len(got))
        return call("burst") if len(waiting) < 4 else "done"

    async def burst(ctx: ToolContext[Any]) -> str:
        """Burst."""
        for n in range(30):
            ctx.emit("app.burst.one", n)
        return "ok"

    result = await answering(*[next_call] * 4, tools=[burst], plugins=[Sink(got=got)]).run("go")
    assert all(later - earlier >= 25 for earlier, later in itertools.pairwise(waiting))
    assert result.deliveries is not None
    assert (result.deliveries.delivered, result.deliveries.dropped) == (len(result.record), 0)


# --- every end ----------------------------------------------------------------------------------------------------------------------


async def test_a_run_that_fails_is_delivered_to_its_last_event() -> None:
    got: list[ExportedEvent] = []
    with pytest.raises(ModelError, match="away"):
        await answering(ModelError("away"), plugins=[Sink(got=got, steps=3)]).run("go")
    assert seqs(got) == list(range(len(got)))
    assert [event.name for event in got][-2:] == ["agentfp.error.fatal", "agentfp.run.ended"]


@pytest.mark.parametrize("steps", [0, 1, 20])
async def test_a_run_that_is_cancelled_is_delivered_without_a_gap(steps: int) -> None:
    got: list[ExportedEvent] = []

    async def forever(request: ModelRequest) -> str:
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        scope.cancel()
        await anyio.sleep_forever()
        return "never"

    with anyio.CancelScope() as scope:
        await answering(forever, plugins=[Sink(got=got, steps=steps)]).run("go")
    assert scope.cancelled_caught
    assert seqs(got) == list(range(len(got)))
    assert [event.name for event in got][-2:] == ["agentfp.run.cancelled", "agentfp.run.ended"]


async def test_tools_in_threads_are_delivered_like_others() -> None:
    got: list[ExportedEvent] = []
    thread: list[int] = []

    def work(ctx: ToolContext[Any], n: int) -> str:
        """Work."""
        thread.append(threading.get_ident())
        ctx.emit("app.work.done", n)
        return "ok"

    result = await answering([call("work", n=n) for n in range(4)], "x", tools=[work], plugins=[Sink(got=got)]).run("go")
    assert threading.get_ident() not in thread
    assert seqs(got) == list(range(len(check_record(result))))


async def test_events_of_nested_runs_come_to_the_sinks_of_the_outer_one() -> None:
    got: list[ExportedEvent] = []
    inner = answering("inner")
    outer = answering(call("ask", id="c1", request="x"), "done", tools=[inner.as_tool("ask", "Asks.")], plugins=[Sink(got=got)])
    result = await outer.run("go")
    mine = [event for event in got if event.header.path == ()]
    nested = [event for event in got if event.header.path == ("c1",)]
    assert seqs(mine) == list(range(len(result.record)))
    assert seqs(nested) == list(range(len(result.record.children["c1"])))


class Eager(Direct):
    """Wants tokens too."""

    name = "eager"
    transient = True


async def test_a_sink_gets_transient_events_when_it_wants_them_and_not_because_somebody_else_does() -> None:
    quiet: list[ExportedEvent] = []
    eager: list[ExportedEvent] = []

    def tokens(got: list[ExportedEvent]) -> int:
        return sum(event.name == "agentfp.stream.token" for event in got)

    result = await answering("done", plugins=[Direct(got=quiet)]).run("go", on_event={"agentfp.stream.*": lambda event: None})
    assert (tokens(quiet), result.deliveries and result.deliveries.delivered) == (0, len(quiet))
    quiet.clear()
    await answering("done", plugins=[Direct(got=quiet), Eager(got=eager)]).run("go")
    assert tokens(quiet) == 0
    assert tokens(eager) > 0
    assert seqs(quiet) == [seq for seq in seqs(eager) if seq >= 0]


# --- what a sink may keep, and what it gets ------------------------------------------------------------------------------------


class Keeping(Plugin):
    """Counts the events of a run in its state."""

    name = "keeping"

    class Settings(Plugin.Settings):
        seen: Any

    @hookimpl
    def export_event(self, event: ExportedEvent, state: dict[Any, Any]) -> None:
        counts = state.setdefault("counts", [])
        counts.append((event.header.run_id, event.name))
        if event.name == "agentfp.run.ended" and not event.header.path:
            self.settings.seen.append(counts)


async def test_a_sink_has_a_state_for_each_run_and_those_nested_in_it() -> None:
    seen: list[Any] = []
    inner = answering("inner", "inner", plugins=[Keeping(seen=seen)])
    outer = answering(call("ask", id="c1", request="x"), "done", tools=[inner.as_tool("ask", "Asks.")], plugins=[Keeping(seen=seen)])
    again = answering(call("ask", id="c1", request="x"), "done", tools=[inner.as_tool("ask", "Asks.")], plugins=[Keeping(seen=seen)])
    results = [await outer.run("one"), await again.run("two")]
    assert len(seen) == 2
    for counts, result in zip(seen, results, strict=True):
        nested = result.record.children["c1"]
        assert {run_id for run_id, _ in counts} == {result.run_id, nested.headers[0].run_id}
        assert len(counts) == len(result.record) + len(nested)


async def test_a_sink_of_an_agent_and_of_its_nested_agent_gets_each_event_once() -> None:
    got: list[ExportedEvent] = []
    inner = answering("inner", plugins=[Sink(got=got)])
    outer = answering(call("ask", id="c1", request="x"), "done", tools=[inner.as_tool("ask", "Asks.")], plugins=[Sink(got=got)])
    result = await outer.run("go")
    assert len(got) == len(result.record) + len(result.record.children["c1"])


class Picky(Direct):
    """Wants the events of one domain and one more."""

    name = "picky"

    def exports(self, name: str) -> bool:
        return name.startswith("agentfp.tool.") or name == "agentfp.run.ended"


async def test_a_sink_gets_the_events_that_it_wants() -> None:
    got: list[ExportedEvent] = []
    result = await answering(call("look"), "done", tools=[look], plugins=[Picky(got=got)]).run("go")
    names = ["agentfp.tool.started", "agentfp.tool.dispatched", "agentfp.tool.ended", "agentfp.run.ended"]
    assert [event.name for event in got] == names
    assert result.deliveries is not None
    assert result.deliveries.delivered == len(names)


class Unsure(Direct):
    """Cannot say what it wants."""

    name = "unsure"

    def exports(self, name: str) -> bool:
        raise KeyError(name)


async def test_a_sink_that_cannot_say_what_it_wants_gets_all_and_is_counted() -> None:
    got: list[ExportedEvent] = []
    result = await answering("done", plugins=[Unsure(got=got)]).run("go")
    assert result.text == "done"
    assert seqs(got) == list(range(len(result.record)))
    assert result.plugin_failures["unsure"] == len({event.name for event in result.record})


class Hanging(Plugin):
    """Never comes back from an event of a name."""

    name = "hanging"

    class Settings(Plugin.Settings):
        at: str

    @hookimpl
    async def export_event(self, event: ExportedEvent) -> None:
        if event.name == self.settings.at:
            await anyio.sleep_forever()


@pytest.mark.parametrize("at", ["agentfp.agent.run_configured", "agentfp.agent.turn_end", "agentfp.run.ended"])
async def test_the_end_of_a_run_reaches_a_sink_behind_one_that_hangs(at: str) -> None:
    got: list[ExportedEvent] = []
    options = DeliveryOptions(flush_seconds=0.05)
    result = await answering("done", plugins=[Hanging(at=at), Direct(got=got)], delivery=options).run("go")
    assert [event.name for event in got].count("agentfp.run.ended") == 1
    assert got[-1].name == "agentfp.run.ended"
    assert result.deliveries is not None
    assert result.deliveries.dropped
