"""The lane of a run's sinks that are called on its event loop: a bounded queue, worked off by a task beside the run."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from agentfp_core.cancelling import stray
from agentfp_core.sinks import Item, Sink, Sinks, Views, tell_the_end

if TYPE_CHECKING:
    from agentfp_core.delivery import DeliveryOptions

CHUNK = 128


class LoopLane:
    """The queue of one run for sinks that are async, or do not say that they may be called elsewhere.

    Args:
        options: how patient the run is.
        failed: is told of a sink that raised.
    """

    def __init__(self, options: DeliveryOptions, failed: Callable[[Sink, BaseException], None]) -> None:
        self._options = options
        self._max = options.max_queue
        self._failed = failed
        self._queue: deque[Item] = deque()
        self._waiting: anyio.Event | None = None
        self._closing = False
        self._done = anyio.Event()
        self._scope = anyio.CancelScope(shield=True)
        self._handing: tuple[Item, int] | None = None
        self.dropped = 0
        self.high_water = 0

    def __len__(self) -> int:
        """How many events wait."""
        return len(self._queue)

    def put(self, item: Item) -> None:
        """Queue an event; the oldest is dropped when there is no room."""
        queue = self._queue
        if len(queue) >= self._max:
            queue.popleft()
            self.dropped += 1
        queue.append(item)
        if self._waiting is not None:
            self._waiting.set()
            self._waiting = None

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
            item = queue.popleft()
            try:
                views = Views(item)
            except Exception:  # what cannot be masked is not handed out
                self.dropped += 1
                continue
            try:
                await self._hand(item, views)
            except BaseException:  # the time is up in the middle of it
                self.dropped += 1
                raise

    async def _hand(self, item: Item, views: Views) -> None:
        for place, sink in enumerate(item[3], 1):
            try:
                answer = sink.call(views.of(sink), sink.state)
                if answer is not None and hasattr(answer, "__await__"):
                    self._handing = (item, place)
                    with anyio.fail_after(self._options.export_seconds):
                        await answer
                    self._handing = None
            except Exception as error:  # a sink only watches
                self._failed(sink, error)
            except BaseException as error:
                if not stray(error):
                    raise
                self._failed(sink, error)

    async def relieve(self, below: int, until: float) -> None:
        """Let the task work until no more than so many events wait, or until it is so late by ``time.perf_counter``."""
        while len(self._queue) > below and time.perf_counter() < until:
            await anyio.lowlevel.checkpoint()

    def finish(self) -> None:
        """No more events will come."""
        self._closing = True
        if self._waiting is not None:
            self._waiting.set()
            self._waiting = None

    async def finished(self) -> None:
        """Wait until all is worked off."""
        await self._done.wait()

    def give_up(self) -> None:
        """Drop and count what waits; sinks that need no waiting for are still told how the run ended."""
        if not self._done.is_set():
            for sink, error in tell_the_end(*self._last()):
                self._failed(sink, error)
        self.dropped += len(self._queue)
        self._queue.clear()
        self._scope.cancel()

    def _last(self) -> tuple[Item, Sinks]:
        if self._queue:
            item = self._queue[-1]
            return item, item[3]
        assert self._handing is not None
        item, place = self._handing
        return item, item[3][place:]
