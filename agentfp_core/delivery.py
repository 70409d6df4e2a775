"""Delivery to sinks: a bounded queue behind the redaction funnel, worked off in the background, with counted drops."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from agentfp_core.cancelling import stray
from agentfp_core.errors import ConfigError
from agentfp_core.redaction import NO_CONTENT, full_data, lean_data
from agentfp_core.segments import event_line

if TYPE_CHECKING:
    from agentfp_core.events.base import Event, Payload
    from agentfp_core.plugins import Impl, Plugin
    from agentfp_core.redaction import Funnel
    from agentfp_core.run import Run
    from agentfp_core.segments import SegmentHeader

RELIEF_AT = 512
RELIEF_SECONDS = 0.25
CHUNK = 128


class ExportedEvent:
    """An event as a sink gets it: masked, and without content unless the sink's settings ask for it.

    Attributes:
        seq, name, ts_ns, offset_ns, turn, iteration, call_id, source: see :class:`agentfp.events.Event`.
        header: the segment's header: root_id, run_id, session, identity, path, and in ``redaction`` the names of what
            this view was masked by up to this event.
    """

    __slots__ = ("_data", "_event", "_full", "header")

    def __init__(self, event: Event, header: SegmentHeader, *, full: bool) -> None:
        self._event = event
        self.header = header
        self._full = full
        self._data: dict[str, Any] | None = None

    if TYPE_CHECKING:
        seq: int
        name: str
        ts_ns: int
        offset_ns: int
        turn: int
        iteration: int
        call_id: str | None
        source: str
    else:
        seq = property(attrgetter("_event.seq"))
        name = property(attrgetter("_event.name"))
        ts_ns = property(attrgetter("_event.ts_ns"))
        offset_ns = property(attrgetter("_event.offset_ns"))
        turn = property(attrgetter("_event.turn"))
        iteration = property(attrgetter("_event.iteration"))
        call_id = property(attrgetter("_event.call_id"))
        source = property(attrgetter("_event.source"))

    @property
    def data(self) -> Mapping[str, Any]:
        """The payload's fields; only names, numbers and digests in a lean view."""
        if self._data is None:
            self._data = full_data(self._event.payload) if self._full else lean_data(self._event.payload)
        return self._data

    @property
    def payload(self) -> Payload | None:
        """The typed payload, masked; None in a lean view."""
        return self._event.payload if self._full else None

    def to_line(self) -> str:
        """The event as one line of a saved record, to stand after its header's line; without content in a lean view."""
        return event_line(self._event if self._full else NO_CONTENT.apply(self._event))

    def __repr__(self) -> str:
        return f"ExportedEvent({self._event.name!r}, seq={self._event.seq})"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryOptions:
    """How patient a run is with its sinks.

    Args:
        max_queue: events that may wait; beyond it the oldest is dropped and counted.
        export_seconds: the most that one sink may take for one event.
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
        dropped: events that were given up, because the queue was full or the time at the end was up.
        high_water: the longest the queue was.
    """

    delivered: int = 0
    dropped: int = 0
    high_water: int = 0


class _Sink:
    """One ``export_event`` hook in one run."""

    __slots__ = ("call", "content", "exports", "is_async", "plugin", "state", "transient")

    def __init__(self, impl: Impl, plugin: Plugin, state: dict[Any, Any]) -> None:
        self.call = impl.call
        self.is_async = impl.is_async
        self.plugin = impl.plugin
        self.content = plugin.sees_content
        self.transient = plugin.transient
        self.exports = plugin.exports
        self.state = state


class Delivery:
    """The queue of one run.

    Args:
        run: the run.
        impls: the ``export_event`` hooks, in order.
    """

    def __init__(self, run: Run[Any], impls: tuple[Impl, ...]) -> None:
        self._run = run
        self._options = run.agent.delivery or DeliveryOptions()
        self._max = self._options.max_queue
        self._queue: deque[tuple[Event, SegmentHeader, Funnel]] = deque()
        self._waiting: anyio.Event | None = None
        self._closing = False
        self._done = anyio.Event()
        self._scope = anyio.CancelScope(shield=True)
        self._failed: set[str] = set()
        plugins = run.agent.plugin_set.by_name
        self.plugins = frozenset(impl.plugin for impl in impls)
        self._states: dict[str, dict[Any, Any]] = {name: {} for name in self.plugins}
        self._sinks = [_Sink(impl, plugins[impl.plugin], self._states[impl.plugin]) for impl in impls]
        self._sinks_of: dict[str, tuple[_Sink, ...]] = {}
        self._handing: tuple[Event, tuple[_Sink, ...], int] | None = None
        self.wants_transient = any(sink.transient for sink in self._sinks)
        self.delivered = 0
        self.dropped = 0
        self.high_water = 0

    @property
    def stats(self) -> DeliveryStats:
        """The counts so far."""
        return DeliveryStats(self.delivered, self.dropped, self.high_water)

    def put(self, event: Event, header: SegmentHeader, mask: Funnel) -> None:
        """Queue an event of this run or of one nested in it, with the funnel of its run, which it goes through once."""
        name = event[1]
        sinks = self._sinks_of.get(name)
        if sinks is None:
            sinks = self._sinks_of[name] = tuple([sink for sink in self._sinks if self._wants(sink, name, event[0] < 0)])
        if not sinks:
            return
        queue = self._queue
        if len(queue) >= self._max:
            queue.popleft()
            self.dropped += 1
        queue.append((event, header, mask))
        if self._waiting is not None:
            self._waiting.set()
            self._waiting = None

    def _wants(self, sink: _Sink, name: str, transient: bool) -> bool:
        """Whether a sink gets events of a name; one that cannot say so gets them."""
        if transient and not sink.transient:
            return False
        try:
            return bool(sink.exports(name))
        except Exception:  # a sink only watches; filing it here would put an event before the one that is being queued
            failures = self._run.plugin_failures
            failures[sink.plugin] = failures.get(sink.plugin, 0) + 1
            return True

    async def work(self) -> None:
        """Work the queue off until the run closes it. Runs as a task beside the run, and is not cancelled with it.

        Nobody else takes from the queue, so that a sink is handed one event at a time, in order.
        """
        with self._scope:
            while self._queue or not self._closing:
                if self._queue:
                    await self._some()
                    await anyio.lowlevel.checkpoint()
                else:
                    self._waiting = anyio.Event()
                    await self._waiting.wait()
        self._done.set()

    async def _some(self) -> None:
        queue = self._queue
        self.high_water = max(self.high_water, len(queue))
        for _ in range(min(CHUNK, len(queue))):
            event, header, mask = queue.popleft()
            name = event[1]
            try:
                event = mask(event)
                lean = ExportedEvent(event, mask.header(header, lean=True), full=False)
            except Exception:  # what cannot be masked is not handed out
                self.dropped += 1
                continue
            sinks = self._sinks_of[name]
            try:
                for place, sink in enumerate(sinks):
                    try:
                        answer = sink.call(ExportedEvent(event, mask.header(header), full=True) if sink.content else lean, sink.state)
                        if answer is not None and hasattr(answer, "__await__"):
                            self._handing = (event, sinks, place + 1)
                            with anyio.fail_after(self._options.export_seconds):
                                await answer
                            self._handing = None
                    except Exception as error:  # a sink only watches
                        self._count(sink, error)
                    except BaseException as error:
                        if not stray(error):
                            raise
                        self._count(sink, error)
            except BaseException:  # the time is up in the middle of it
                self.dropped += 1
                raise
            self.delivered += 1

    def _count(self, sink: _Sink, error: BaseException) -> None:
        if sink.plugin in self._failed or self._run.closed:
            failures = self._run.plugin_failures
            failures[sink.plugin] = failures.get(sink.plugin, 0) + 1
            return
        self._failed.add(sink.plugin)
        self._run.plugin_failed(sink.plugin, "export_event", "", "counted", error)

    @property
    def crowded(self) -> bool:
        """Whether the queue has grown so long that the loop should wait."""
        return len(self._queue) >= RELIEF_AT

    async def relieve(self) -> None:
        """Slow the loop down for a moment when the queue grows, so that sinks keep up and nothing is dropped."""
        until = time.perf_counter() + RELIEF_SECONDS
        while len(self._queue) > RELIEF_AT // 2 and time.perf_counter() < until:
            await anyio.lowlevel.checkpoint()

    async def close(self) -> None:
        """Work off what waits, for a while; what is left is dropped and counted."""
        self._closing = True
        if self._waiting is not None:
            self._waiting.set()
            self._waiting = None
        with anyio.move_on_after(self._options.flush_seconds, shield=True):
            await self._done.wait()
        if not self._done.is_set():
            self._tell_the_end()
        self.dropped += len(self._queue)
        self._queue.clear()
        self._scope.cancel()

    def _tell_the_end(self) -> None:
        """Hand the last event, the end of the run, to the sinks that need no waiting for: what they hold open, they close."""
        handing = self._handing
        if self._queue:
            event, header, mask = self._queue[-1]
            sinks = self._sinks_of[event.name]
        elif handing is not None:
            event, header, mask = handing[0], self._run.header, self._run.mask
            sinks = handing[1][handing[2] :]
        else:
            return
        for sink in sinks:
            if sink.is_async:
                continue
            try:
                view = mask(event)
                exported = ExportedEvent(view, mask.header(header, lean=not sink.content), full=sink.content)
                answer = sink.call(exported, sink.state)
                if isinstance(answer, Coroutine):
                    answer.close()
            except Exception as error:  # a sink only watches
                self._count(sink, error)
