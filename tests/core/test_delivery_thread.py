"""Sinks that are called on a thread: what they get is the same, the event loop has nothing to do with it, and a bad one harms nobody."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Awaitable
from typing import Any

import anyio
import anyio.to_thread
import pytest

from agentfp import Agent, ConfigError, DeliveryOptions, ToolContext
from agentfp.events import PluginFailed
from agentfp.model import ModelRequest
from agentfp.plugin import ExportedEvent, Plugin, hookimpl
from agentfp_core import delivery
from agentfp_core.redaction import SecretMask
from agentfp_core.testing.scripted import ScriptedModel
from tests.core.running import answering, call, check_record

pytestmark = pytest.mark.anyio
WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


def look() -> str:
    """Look."""
    return "seen"


class Away(Plugin):
    """Keeps what it gets, and on which thread."""

    name = "away"
    exports_in_thread = True

    class Settings(Plugin.Settings):
        content: bool = False
        got: Any
        at: Any = None

    @hookimpl
    def export_event(self, event: ExportedEvent, state: dict[Any, Any]) -> Awaitable[None] | None:
        self.settings.got.append((event, threading.get_ident(), WHO.get(), state))
        return self.settings.at(event) if self.settings.at is not None else None


class Other(Away):
    name = "other"


class Here(Plugin):
    """The same on the event loop."""

    name = "here"

    class Settings(Plugin.Settings):
        got: Any

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        self.settings.got.append((event, threading.get_ident()))


def seqs(got: list[Any]) -> list[int]:
    return [each[0].seq for each in got]


def names(got: list[Any]) -> list[str]:
    return [each[0].name for each in got]


def stuck_at(name: str, until: threading.Event) -> Any:
    def wait(event: ExportedEvent) -> None:
        if event.name == name:
            until.wait(30)

    return wait


@pytest.mark.parametrize("calls", [0, 3, 60])
async def test_every_event_comes_in_order_on_one_other_thread_before_the_run_returns(calls: int) -> None:
    got: list[Any] = []
    WHO.set("the caller")
    script = [call("look")] * calls
    result = await answering(*script, "done", tools=[look], plugins=[Away(got=got)], context_budget={}).run("go")
    record = check_record(result)
    assert (seqs(got), names(got)) == (list(range(len(record))), [event.name for event in record])
    assert len({thread for _, thread, _, _ in got}) == 1
    assert got[0][1] != threading.get_ident()
    assert {who for _, _, who, _ in got} == {"the caller"}
    assert len({id(state) for _, _, _, state in got}) == 1
    assert result.deliveries is not None
    assert (result.deliveries.delivered, result.deliveries.dropped) == (len(record), 0)


@pytest.mark.parametrize("content", [False, True])
async def test_content_only_where_the_settings_ask_for_it(content: bool) -> None:
    got: list[Any] = []
    await answering("SECRET-ANSWER", plugins=[Away(got=got, content=content)]).run("SECRET-QUESTION")
    everything = "".join(repr(event.data) for event, *_ in got)
    assert ("SECRET-ANSWER" in everything, "SECRET-QUESTION" in everything) == (content, content)


async def test_many_runs_of_an_agent_share_the_thread_and_each_is_told_in_order() -> None:
    got: list[Any] = []

    async def one(number: int) -> None:
        results[number] = await agent.run(f"go {number}")

    results: dict[int, Any] = {}
    agent = Agent(ScriptedModel(lambda request: f"done {request.messages[-1].text}"), plugins=[Away(got=got)])
    async with anyio.create_task_group() as tasks:
        for number in range(30):
            tasks.start_soon(one, number)
    for result in results.values():
        mine = [event.seq for event, *_ in got if event.header.run_id == result.run_id]
        assert mine == list(range(len(result.record)))
    assert len({thread for _, thread, _, _ in got}) == 1


async def test_the_run_goes_on_while_a_sink_is_held_up() -> None:
    got: list[Any] = []
    free = threading.Event()

    async def reply(request: ModelRequest) -> str:
        free.set()  # would never come if the sink held the loop up
        return "done"

    result = await answering(reply, plugins=[Away(got=got, at=stuck_at("agentfp.agent.run_configured", free))]).run("go")
    assert (result.text, seqs(got)) == ("done", list(range(len(result.record))))


async def test_an_async_sink_cannot_be_called_on_a_thread() -> None:
    class Wrong(Plugin):
        name = "wrong"
        exports_in_thread = True

        @hookimpl
        async def export_event(self, event: ExportedEvent) -> None: ...

    with pytest.raises(ConfigError, match="'wrong': its export_event is async, and no thread awaits it; leave `exports_in_thread` out"):
        answering("x", plugins=[Wrong()])


async def test_what_a_hook_leaves_to_be_awaited_is_awaited_on_the_loop_before_the_run_returns() -> None:
    got: list[Any] = []
    awaited: list[tuple[int, int]] = []

    async def later(seq: int) -> None:
        await anyio.lowlevel.checkpoint()
        awaited.append((seq, threading.get_ident()))
        if seq == 2:
            raise RuntimeError("too late")

    result = await answering("done", plugins=[Away(got=got, at=lambda event: later(event.seq))]).run("go")
    assert awaited == [(seq, threading.get_ident()) for seq in range(len(result.record))]
    assert result.plugin_failures == {"away": 1}


# --- sinks that are bad -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, SystemExit, KeyboardInterrupt])
async def test_a_sink_that_raises_is_counted_and_harms_nobody(error: type[BaseException]) -> None:
    got: list[Any] = []
    good: list[Any] = []

    def fail(event: ExportedEvent) -> None:
        raise error("sink away")

    result = await answering("done", plugins=[Away(got=got, at=fail), Other(got=good)]).run("go")
    assert (result.text, seqs(good)) == ("done", list(range(len(result.record))))
    assert result.plugin_failures == {"away": len(got)}
    assert len(got) == len(good)


async def test_a_failure_that_is_seen_during_the_run_is_filed_once() -> None:
    good: list[Any] = []
    seen = threading.Event()

    async def next_call(request: ModelRequest) -> Any:
        assert await anyio.to_thread.run_sync(seen.wait, 30)
        return call("look")

    def fail(event: ExportedEvent) -> None:
        raise RuntimeError("sink away")

    plugins = [Away(got=[], at=fail), Other(got=good, at=lambda event: seen.set())]
    agent = answering(next_call, next_call, "done", tools=[look], plugins=plugins)
    result = await agent.run("go")
    record = check_record(result)
    filed = record.of(PluginFailed)
    assert [(failed.plugin, failed.moment, failed.policy) for failed in filed] == [("away", "export_event", "counted")]
    assert result.plugin_failures == {"away": len(good)}


@pytest.mark.parametrize("at", ["agentfp.agent.run_configured", "agentfp.agent.turn_end", "agentfp.run.ended"])
async def test_a_sink_that_does_not_come_back_is_left_behind_what_waits_is_counted_and_others_hear_the_end(at: str) -> None:
    got: list[Any] = []
    good: list[Any] = []
    free = threading.Event()
    options = DeliveryOptions(flush_seconds=0.1)
    agent = answering("done", "done", plugins=[Away(got=got, at=stuck_at(at, free)), Other(got=good)], delivery=options)
    result = await agent.run("go")
    try:
        assert result.text == "done"
        assert names(got)[-1] == at
        assert (names(good).count("agentfp.run.ended"), names(good)[-1]) == (1, "agentfp.run.ended")
        assert result.deliveries is not None
        assert result.deliveries.delivered == len(got) - 1
        assert result.deliveries.delivered + result.deliveries.dropped == len(result.record)
        before = len(got), len(good)
    finally:
        free.set()
    await agent.run("again")  # on the thread, which is free again, behind what it was stuck at
    assert [event.header.run_id for event, *_ in got[before[0] :]].count(result.run_id) == 0
    assert [event.header.run_id for event, *_ in good[before[1] :]].count(result.run_id) == 0


async def test_sinks_of_the_loop_and_of_the_thread_do_not_wait_for_each_other() -> None:
    got: list[Any] = []
    here: list[Any] = []

    class Hangs(Plugin):
        name = "hangs"

        @hookimpl
        async def export_event(self, event: ExportedEvent) -> None:
            await anyio.sleep_forever()

    options = DeliveryOptions(flush_seconds=0.1)
    result = await answering("x", plugins=[Hangs(), Away(got=got)], delivery=options).run("go")
    assert seqs(got) == list(range(len(result.record)))
    assert result.deliveries is not None
    assert (result.deliveries.delivered, result.deliveries.dropped) == (0, len(result.record))
    got.clear()
    free = threading.Event()
    agent = answering("x", plugins=[Here(got=here), Away(got=got, at=stuck_at("agentfp.run.ended", free))], delivery=options)
    result = await agent.run("go")
    free.set()
    assert seqs(here) == seqs(got) == list(range(len(result.record)))
    assert {thread for _, thread in here} == {threading.get_ident()}
    assert result.deliveries is not None
    assert (result.deliveries.delivered, result.deliveries.dropped) == (len(result.record) - 1, 1)


@pytest.mark.parametrize("flush_seconds", [0.0001, 0.001, 0.003])
async def test_runs_that_give_their_sinks_up_count_each_event_once_and_call_nobody_twice(flush_seconds: float) -> None:
    first: list[Any] = []
    second: list[Any] = []
    nap = threading.Event()
    plugins = [Away(got=first, at=lambda event: nap.wait(0.0003) and None), Other(got=second, at=lambda event: nap.wait(0.0001) and None)]
    for _ in range(25):
        agent = answering("done", plugins=plugins, delivery=DeliveryOptions(flush_seconds=flush_seconds))
        result = await agent.run("go")
        assert result.deliveries is not None
        assert result.deliveries.delivered + result.deliveries.dropped == len(result.record)
        for got in (first, second):
            mine = [event.seq for event, *_ in list(got) if event.header.run_id == result.run_id]
            assert mine == sorted(set(mine))
        both = [{event.seq for event, *_ in list(got) if event.header.run_id == result.run_id} for got in (first, second)]
        assert len(both[0] & both[1]) >= result.deliveries.delivered


# --- how much may wait --------------------------------------------------------------------------------------------------------------


async def test_a_burst_beyond_the_queue_drops_the_oldest_and_says_how_many() -> None:
    got: list[Any] = []
    held, free, some = threading.Event(), threading.Event(), threading.Event()

    def hold(event: ExportedEvent) -> None:
        held.set()
        free.wait(30)
        if len(got) == 11:
            some.set()

    async def burst(ctx: ToolContext[Any]) -> str:
        """Burst."""
        await anyio.to_thread.run_sync(held.wait, 30)
        for n in range(50):
            ctx.emit("app.burst.one", n)
        free.set()
        assert await anyio.to_thread.run_sync(some.wait, 30)
        return "done"

    plugins = [Away(got=got, content=True, at=hold)]
    agent = answering(call("burst"), "x", tools=[burst], plugins=plugins, delivery=DeliveryOptions(max_queue=10))
    result = await agent.run("go")
    kept = [event.data["data"] for event, *_ in got if event.name == "app.burst.one"]
    assert kept == sorted(kept)
    assert kept[-1] == 49
    assert result.deliveries is not None
    assert result.deliveries.dropped >= 40
    assert result.deliveries.high_water <= 10
    assert len(got) == result.deliveries.delivered == len(check_record(result)) - result.deliveries.dropped


async def test_the_loop_waits_a_moment_for_the_thread_when_it_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "RELIEF_AT", 8)
    monkeypatch.setattr(delivery, "RELIEF_SECONDS", 30)
    got: list[Any] = []
    waiting: list[int] = []
    held = threading.Event()

    def slow(event: ExportedEvent) -> None:
        if len(got) < 3:
            held.wait(30)

    async def next_call(request: ModelRequest) -> Any:
        waiting.append(len(got))
        return call("burst") if len(waiting) < 4 else "done"

    async def burst(ctx: ToolContext[Any]) -> str:
        """Burst."""
        for n in range(30):
            ctx.emit("app.burst.one", n)
        held.set()
        return "ok"

    result = await answering(*[next_call] * 4, tools=[burst], plugins=[Away(got=got, at=slow)]).run("go")
    emitted = [event.seq for event in result.record if event.name == "agentfp.agent.iteration_start"]
    assert all(behind - seen <= 8 for behind, seen in zip(emitted[1:], waiting[1:], strict=True))
    assert result.deliveries is not None
    assert (result.deliveries.delivered, result.deliveries.dropped) == (len(result.record), 0)


async def test_a_run_that_is_cancelled_is_delivered_without_a_gap() -> None:
    got: list[Any] = []

    async def forever(request: ModelRequest) -> str:
        scope.cancel()
        await anyio.sleep_forever()
        return "never"

    with anyio.CancelScope() as scope:
        await answering(forever, plugins=[Away(got=got)]).run("go")
    assert seqs(got) == list(range(len(got)))
    assert names(got)[-2:] == ["agentfp.run.cancelled", "agentfp.run.ended"]


async def test_a_mask_that_two_threads_use_while_values_come_masks_each_of_them() -> None:
    secrets: set[str] = set()
    mask = SecretMask(secrets)
    leaked: list[str] = []
    rounds = 300

    def use() -> None:
        for number in range(rounds):
            for known in (f"known-value-{number:04}", f"known-value-{number // 2:04}"):
                secrets.add(known)
                if known in mask.mask_text(f"<{known}>"):
                    leaked.append(known)

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(anyio.to_thread.run_sync, use)
    assert not leaked


def test_one_agent_in_one_event_loop_after_the_other() -> None:
    got: list[Any] = []
    agent = answering("one", "two", "three", plugins=[Away(got=got)])
    lengths = [len(agent.run_sync("go").record) for _ in range(3)]
    assert seqs(got) == [seq for length in lengths for seq in range(length)]
