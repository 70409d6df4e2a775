"""Delivery to sinks: bounded queues behind the redaction funnel, worked off in the background, with counted drops."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from agentfp_core.errors import ConfigError
from agentfp_core.loop_lane import LoopLane
from agentfp_core.sinks import Sink, Sinks
from agentfp_core.thread_lane import ThreadLane

if TYPE_CHECKING:
    from agentfp_core.events.base import Event
    from agentfp_core.plugins import Impl
    from agentfp_core.redaction import Funnel
    from agentfp_core.run import Run
    from agentfp_core.segments import SegmentHeader

RELIEF_AT = 512
RELIEF_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryOptions:
    """How patient a run is with its sinks.

    Args:
        max_queue: events that may wait; beyond it the oldest is dropped and counted.
        export_seconds: the most that an async sink may take for one event, and what a sink leaves to be awaited.
        flush_seconds: the most that a run waits for its sinks at its end.

    Raises:
        ConfigError: a value cannot be one; lists all of them.
    """

    max_queue: int = 10_000
    export_seconds: float = 5.0
    flush_seconds: float = 5.0

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        wrong = [name for name, value in values.items() if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0]
        if wrong:
            raise ConfigError([f"DeliveryOptions.{name} must be a number above 0, got {values[name]!r}" for name in wrong])


@dataclass(frozen=True, slots=True)
class DeliveryStats:
    """What became of a run's events at its sinks.

    Args:
        delivered: events that all sinks were called with.
        dropped: events that a sink missed, because the queue was full or the time at the end was up.
        high_water: the longest that a queue was.
    """

    delivered: int = 0
    dropped: int = 0
    high_water: int = 0


class Delivery:
    """The sinks of one run, and the lanes on which events come: one on the event loop, one on a thread, where there are sinks for one.

    Sinks of one lane are handed each event in their order; the lanes do not wait for each other.

    Args:
        run: the run.
        impls: the ``export_event`` hooks, in order.

    Attributes:
        taken: events that were queued up to now.
    """

    def __init__(self, run: Run[Any], impls: tuple[Impl, ...]) -> None:
        self._run = run
        self._options = run.agent.delivery or DeliveryOptions()
        self._filed: set[str] = set()
        plugins = run.agent.plugin_set.by_name
        self.plugins = frozenset(impl.plugin for impl in impls)
        states: dict[str, dict[Any, Any]] = {name: {} for name in self.plugins}
        self._sinks = tuple([Sink(impl, plugins[impl.plugin], states[impl.plugin]) for impl in impls])
        away = {name for name in self.plugins if plugins[name].exports_in_thread}
        self._away_plugins = away
        self._here = LoopLane(self._options, self._failed) if self.plugins - away else None
        self._away = ThreadLane(self._options, self._failed, run.agent.export_thread) if away else None
        self._lanes: tuple[LoopLane | ThreadLane, ...] = tuple([lane for lane in (self._away, self._here) if lane is not None])
        self._routes: dict[str, tuple[Sinks, Sinks]] = {}
        self.taken = 0
        self.wants_transient = any(sink.transient for sink in self._sinks)

    @property
    def stats(self) -> DeliveryStats:
        """The counts so far. An event that sinks of both lanes missed counts twice among the dropped ones."""
        dropped = min(sum([lane.dropped for lane in self._lanes]), self.taken)
        waiting = max([len(lane) for lane in self._lanes])
        high_water = max([lane.high_water for lane in self._lanes])
        return DeliveryStats(max(self.taken - dropped - waiting, 0), dropped, high_water)

    def put(self, event: Event, header: SegmentHeader, mask: Funnel) -> None:
        """Queue an event of this run or of one nested in it, with the funnel of its run."""
        route = self._routes.get(event[1])
        if route is None:
            route = self._routes[event[1]] = self._route(event)
        away, here = route
        if away:
            self._away.put((event, header, mask, away))  # type: ignore[union-attr]
            self.taken += 1
        elif here:
            self.taken += 1
        if here:
            self._here.put((event, header, mask, here))  # type: ignore[union-attr]

    def _route(self, event: Event) -> tuple[Sinks, Sinks]:
        """The sinks of each lane that get events of a name."""
        wanted = [sink for sink in self._sinks if self._wants(sink, event[1], event[0] < 0)]
        away = tuple([sink for sink in wanted if sink.plugin in self._away_plugins])
        return away, tuple([sink for sink in wanted if sink.plugin not in self._away_plugins])

    def _wants(self, sink: Sink, name: str, transient: bool) -> bool:
        """Whether a sink gets events of a name; one that cannot say so gets them."""
        if transient and not sink.transient:
            return False
        try:
            return bool(sink.exports(name))
        except Exception:  # filing it here would put an event before the one that is being queued
            self._count(sink, 1)
            return True

    async def work(self) -> None:
        """Work off what is for sinks on the event loop, until the run ends. Runs as a task beside the run."""
        if self._here is not None:
            await self._here.work()

    def _failed(self, sink: Sink, error: BaseException, count: int = 1) -> None:
        """A sink raised: the first time is filed, all are counted."""
        if sink.plugin not in self._filed and not self._run.closed:
            self._filed.add(sink.plugin)
            self._run.plugin_failed(sink.plugin, "export_event", "", "counted", error)
            count -= 1
        self._count(sink, count)

    def _count(self, sink: Sink, count: int) -> None:
        failures = self._run.plugin_failures
        failures[sink.plugin] = failures.get(sink.plugin, 0) + count

    async def keep_up(self) -> None:
        """File what went wrong at sinks, and slow the run down for a moment where they are far behind, so that nothing is dropped."""
        self.tell_failures()
        for lane in self._lanes:
            if len(lane) >= RELIEF_AT:
                await lane.relieve(RELIEF_AT // 2, time.perf_counter() + RELIEF_SECONDS)

    def tell_failures(self) -> None:
        """File what went wrong at sinks since it was asked last."""
        if self._away is not None:
            self._away.tell_failures()

    async def close(self) -> None:
        """Work off what waits, for a while; what is left is dropped and counted."""
        for lane in self._lanes:
            lane.finish()
        with anyio.move_on_after(self._options.flush_seconds, shield=True):
            for lane in self._lanes:
                await lane.finished()
        for lane in self._lanes:
            lane.give_up()
