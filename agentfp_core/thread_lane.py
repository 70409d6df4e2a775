"""The lane of a run's sinks that are called on a thread of the agent's, so that they cost the run's event loop nothing."""

from __future__ import annotations

import contextvars
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from agentfp_core.background import BackgroundWorker
from agentfp_core.sinks import Item, Sink, Views, tell_the_end

if TYPE_CHECKING:
    from agentfp_core.delivery import DeliveryOptions

CHUNK = 128
"""Events of one run that are handed on before another run's turn."""
GATHER_SECONDS = 0.002
"""How long the thread waits for more events before it begins, so that a run does not wake it for each."""
IDLE_SECONDS = 1.0
LANES = 1_000_000
"""Runs of one agent that may wait for the thread; each waits once."""


class ExportThread:
    """The thread of an agent that hands the events of its runs to sinks. It is there while there are events, and a second more."""

    def __init__(self) -> None:
        self._worker = BackgroundWorker(self._work, "export", capacity=LANES, seconds=GATHER_SECONDS, idle_seconds=IDLE_SECONDS)
        self.put: Callable[[ThreadLane], None] = self._worker.put
        self.hurry = self._worker.hurry

    def _work(self, lanes: list[ThreadLane], _: int) -> None:
        for lane in lanes:
            lane.work()


class ThreadLane:
    """The queue of one run for sinks that say they may be called on another thread: on one only, and in order.

    What a hook leaves to be awaited is awaited by the run's event loop, at the end of the run.

    Args:
        options: how patient the run is.
        failed: is told of a sink that raised, how often, and of the first error; on the event loop.
        thread: works the queue off.
    """

    def __init__(self, options: DeliveryOptions, failed: Callable[[Sink, BaseException, int], None], thread: ExportThread) -> None:
        self._options = options
        self._max = options.max_queue
        self._failed = failed
        self._thread = thread
        self._context = contextvars.copy_context()
        self._token = anyio.lowlevel.current_token()
        self._queue: deque[Item] = deque()
        self._noticed = self._inside = self._given_up = False
        self._handing: tuple[Item, int] | None = None
        self._left: deque[tuple[Sink, Awaitable[Any]]] = deque()
        self._awaited: tuple[int, anyio.Event] | None = None
        self._lock = threading.Lock()
        self._failures: dict[Sink, tuple[BaseException, int]] = {}
        self._unmasked = 0
        self._overflown = 0
        self.high_water = 0

    def __len__(self) -> int:
        """How many events wait."""
        return len(self._queue)

    @property
    def dropped(self) -> int:
        """How many were given up."""
        return self._overflown + self._unmasked

    def put(self, item: Item) -> None:
        """Queue an event; the oldest is dropped when there is no room."""
        queue = self._queue
        if len(queue) >= self._max:
            self._drop(1)
        queue.append(item)
        if not self._noticed:
            self._noticed = True
            self._thread.put(self)

    def _drop(self, most: int) -> None:
        for _ in range(most):
            try:
                self._queue.popleft()
            except IndexError:  # the thread was quicker
                return
            self._overflown += 1

    # --- on the thread ---

    def work(self) -> None:
        """Work off a part of the queue."""
        self._noticed = False
        self._context.run(self._some)
        if self._queue:
            self._noticed = True
            self._thread.put(self)  # behind the other runs that wait
            self._thread.hurry()
        awaited = self._awaited
        if awaited is not None and len(self._queue) <= awaited[0]:
            _call_soon(self._token, awaited[1].set)

    def _some(self) -> None:
        queue = self._queue
        self.high_water = max(self.high_water, len(queue))
        for _ in range(CHUNK):
            self._inside = True  # before the event leaves the queue, or the loop would see neither
            if self._given_up:
                break
            try:
                item = queue.popleft()
            except IndexError:
                break
            self._hand(item)
        self._inside = False

    def _hand(self, item: Item) -> None:
        self._handing = (item, -1)
        try:
            views = Views(item)
        except Exception:  # what cannot be masked is not handed out
            self._unmasked += 1
            return
        for place, sink in enumerate(item[3]):
            self._handing = (item, place)  # before it looks, so that a loop which gives up sees who is called last
            if self._given_up:
                return
            try:
                answer = sink.call(views.of(sink), sink.state)
            except BaseException as error:  # a sink only watches, and none may end the thread
                self._note(sink, error)
                continue
            if answer is not None and hasattr(answer, "__await__"):
                self._left.append((sink, answer))
        if self._given_up:
            self._close_left()

    def _note(self, sink: Sink, error: BaseException) -> None:
        with self._lock:
            first, count = self._failures.get(sink, (error, 0))
            self._failures[sink] = (first, count + 1)

    # --- on the loop ---

    def tell_failures(self) -> None:
        """File what went wrong since it was asked last."""
        if not self._failures:
            return
        with self._lock:
            failures, self._failures = self._failures, {}
        for sink, (error, count) in failures.items():
            self._failed(sink, error, count)

    async def relieve(self, below: int, until: float) -> None:
        """Let the thread work until no more than so many events wait, or until it is so late by ``time.perf_counter``."""
        with anyio.move_on_after(until - time.perf_counter()):
            await self._worked_off(below)

    async def _worked_off(self, below: int) -> None:
        done = anyio.Event()
        self._awaited = (below, done)  # the thread looks for it after its last event, so that one of the two sees the other
        self._thread.hurry()
        try:
            if len(self._queue) > below or self._inside:
                await done.wait()
        finally:
            self._awaited = None

    def finish(self) -> None:
        """No more events will come."""
        self._thread.hurry()

    async def finished(self) -> None:
        """Wait until all is worked off, what hooks left to be awaited too."""
        await self._worked_off(0)
        while self._left:
            sink, answer = self._left.popleft()
            try:
                with anyio.fail_after(self._options.export_seconds):
                    await answer
            except Exception as error:  # a sink only watches
                self._failed(sink, error, 1)

    def give_up(self) -> None:
        """Drop and count what waits; sinks are still told how the run ended, but for the one that does not come back."""
        self._given_up = True  # from here on the thread takes no event, and calls nobody but the sink that it is at
        inside, waiting = self._inside, list(self._queue)
        if inside or waiting:
            self._overflown += inside
            self._drop(len(waiting))
            for sink, error in self._tell_the_end(self._handing if inside else None, waiting):
                self._failed(sink, error, 1)
        self._close_left()
        self.tell_failures()

    def _tell_the_end(self, handing: tuple[Item, int] | None, waiting: list[Item]) -> list[tuple[Sink, Exception]]:
        """Hand the last event to the sinks that have not got it and are not being called."""
        if waiting:
            stuck = None if handing is None or handing[1] < 0 else handing[0][3][handing[1]]
            last = waiting[-1]
            return tell_the_end(last, tuple([sink for sink in last[3] if sink is not stuck]))
        if handing is None:
            return []
        item, place = handing
        return tell_the_end(item, item[3][place + 1 :])

    def _close_left(self) -> None:
        while self._left:
            close = getattr(self._left.popleft()[1], "close", None)
            if close is not None:
                close()


def _call_soon(token: Any, call: Callable[[], object]) -> None:
    """Have an event loop call something, without waiting for it: it may be gone."""
    native = getattr(token, "native_token", token)
    soon = getattr(native, "call_soon_threadsafe", None) or native.run_sync_soon
    try:
        soon(call)
    except RuntimeError:  # the loop was closed in the meantime, and nobody waits; of trio this is a RunFinishedError
        return
