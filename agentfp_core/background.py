"""A thread that works for a sink: it takes from a bounded queue, in batches, so that no backend can hold up a run; all is counted."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

LOGGER = logging.getLogger("agentfp.background")
EXIT_SECONDS = 2.0
"""For how long the end of the process waits for what is queued."""
IDLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class WorkerStats:
    """What became of what a sink was handed: ``accepted`` is the sum of ``done``, ``failed``, ``dropped`` and ``waiting``.

    Args:
        accepted: handed over.
        done: delivered.
        failed: of which delivery failed.
        dropped: given up because too many waited.
        waiting: neither yet.
        high_water: the most that ever waited.
        last_error: the class of the last failure.
    """

    accepted: int = 0
    done: int = 0
    failed: int = 0
    dropped: int = 0
    waiting: int = 0
    high_water: int = 0
    last_error: str | None = None


class BackgroundWorker(Generic[T]):
    """A bounded queue and the thread that works it off. One thread: batches never overtake each other.

    The thread starts with the first item, ends with :meth:`close`, and starts again with the next one. A process that exits in between has
    it work on for two seconds. A forked process has a queue of its own, empty, for its parent delivers the parent's.

    Args:
        work: delivers a batch, in order; told how many items were dropped since the last batch that it delivered. It gives how many items
            of the batch are lost, None for none; a batch of which it raises is lost whole.
        name: of the sink, in messages and of the thread.
        capacity: items that may wait; beyond it the oldest is dropped and counted.
        batch: the most items of one batch; so many are delivered at once.
        seconds: how long the first item of a batch waits for others.
        weight: as much of what ``put`` is told of each item makes a batch that waits no longer.
        on_error: is handed each failure and the number of items that it cost, on the thread. The first, second, fourth, ... failure is
            logged besides, without the words of the error.
        idle_seconds: after so long without items the thread ends, so that a worker nobody uses any more can go; the next item starts one.

    Raises:
        ValueError: a size is less than 1, or ``seconds`` less than 0.
    """

    def __init__(
        self,
        work: Callable[[list[T], int], int | None],
        name: str,
        *,
        capacity: int = 10_000,
        batch: int = 100,
        seconds: float = 0.0,
        weight: int | None = None,
        on_error: Callable[[Any, int], Any] | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        if capacity < 1 or batch < 1 or not seconds >= 0:
            raise ValueError(f"a worker's capacity and batch are at least 1 and its seconds at least 0, got {capacity}, {batch}, {seconds}")
        self._work = work
        self._name = name
        self._capacity = capacity
        self._batch = min(batch, capacity)
        self._seconds = seconds
        self._enough = weight
        self._on_error = on_error
        self._idle_seconds = idle_seconds
        self._at_exit = False
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._queue: deque[T] = deque()
        self._thread: threading.Thread | None = None
        self._accepted = self._done = self._failed = self._dropped = self._told = self._failures = self._high_water = 0
        self._last_error: str | None = None
        self._asleep = self._closing = self._urgent = False
        self._hurried = self._weight = 0
        self._taken: tuple[int, int] | None = None

    @property
    def stats(self) -> WorkerStats:
        """The counts so far."""
        self._see_fork()
        with self._changed:
            waiting = len(self._queue) + (self._taken[1] if self._taken else 0)
            return WorkerStats(self._accepted, self._done, self._failed, self._dropped, waiting, self._high_water, self._last_error)

    def put(self, item: T, weight: int = 0) -> None:
        """Hand an item over. Waits for nothing but the queue's lock, from whatever thread it is called.

        Args:
            item: the item.
            weight: how much it adds to a batch.
        """
        self._see_fork()
        with self._changed:
            queue = self._queue
            self._accepted += 1
            if len(queue) >= self._capacity:
                queue.popleft()
                self._dropped += 1
            queue.append(item)
            self._weight += weight
            if len(queue) > self._high_water:
                self._high_water = len(queue)
            if self._thread is None:
                self._start()
            elif self._asleep and (len(queue) == 1 or self._is_full):
                self._changed.notify_all()

    def hurry(self) -> None:
        """Have what waits worked off at once: the first item of a batch waits for no others."""
        self._see_fork()
        with self._changed:
            if self._queue:
                self._urgent = True
                self._changed.notify_all()

    def flush(self, seconds: float) -> bool:
        """Wait until what waits now is settled, in whatever way.

        Args:
            seconds: to wait at most.

        Returns:
            Whether it is.
        """
        self._see_fork()
        with self._changed:
            if self._thread is None:
                return True
            self._hurried += 1
            self._changed.notify_all()
            upto = self._accepted
            try:
                return self._changed.wait_for(lambda: self._settled >= upto, seconds)
            finally:
                self._hurried -= 1

    def close(self, seconds: float) -> bool:
        """Deliver what waits, and end the thread; the next item starts another.

        Args:
            seconds: to wait at most. What is not delivered by then still counts as waiting, and the thread goes on with it.

        Returns:
            Whether all was settled in time.
        """
        self._see_fork()
        with self._changed:
            thread = self._thread
            if thread is None:
                return True
            self._closing = True
            self._changed.notify_all()
            ended = self._changed.wait_for(lambda: self._thread is not thread, seconds)
        if ended and thread is not threading.current_thread():
            thread.join(seconds)
        return ended

    def report(self, error: BaseException, count: int, why: str | None = None) -> None:
        """Tell of a failure: to ``on_error``, in ``stats`` and, the first, second, fourth, ... time, in the log.

        For ``work`` that gives the number of lost items and has an error for them.

        Args:
            error: what happened.
            count: items that are lost by it.
            why: words for the log, which hold nothing of the items; the class of the error when left out.
        """
        with self._changed:
            self._failures += 1
            failures = self._failures
            self._last_error = type(error).__name__
        if failures & (failures - 1) == 0:
            LOGGER.warning("%s lost %d items: %s (failure %d)", self._name, count, why or type(error).__name__, failures)
        if self._on_error is not None:
            try:
                self._on_error(error, count)
            except Exception:
                LOGGER.warning("on_error of %s raised", self._name)

    def _see_fork(self) -> None:
        if self._pid != os.getpid():  # the thread is the parent's, and perhaps somebody held its lock
            self._begin()

    @property
    def _settled(self) -> int:
        """All items up to this one, by the order in which they came, are settled."""
        return (self._taken[0] if self._taken else self._accepted - len(self._queue)) if self._queue or self._taken else self._accepted

    @property
    def _is_full(self) -> bool:
        """Whether what waits is a batch."""
        return len(self._queue) >= self._batch or (self._enough is not None and self._weight >= self._enough)

    def _start(self) -> None:
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=f"agentfp-{self._name}", daemon=True)
        self._thread.start()
        if not self._at_exit:
            self._at_exit = True
            leaving = weakref.WeakMethod(self.close)

            def at_exit() -> None:
                close = leaving()
                if close is not None:
                    close(EXIT_SECONDS)

            atexit.register(at_exit)
            weakref.finalize(self, atexit.unregister, at_exit).atexit = False

    # --- on the thread -----------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            items, untold = batch
            error: BaseException | None = None
            try:
                lost = self._work(items, untold) or 0
            except BaseException as raised:  # also one that would end the thread: the batch is lost, and the next one may do better
                error, lost = raised, len(items)
            if error is not None:
                self.report(error, lost)
            with self._changed:
                lost = max(0, min(lost, len(items)))
                self._done += len(items) - lost
                self._failed += lost
                if error is None:
                    self._told += untold
                self._taken = None
                self._changed.notify_all()

    def _next(self) -> tuple[list[T], int] | None:
        """The next batch, once there is one; None when the thread is to end."""
        with self._changed:
            self._wait()
            queue = self._queue
            if not queue:
                self._thread = None
                self._changed.notify_all()
                return None
            first = self._accepted - len(queue)
            items = [queue.popleft() for _ in range(min(self._batch, len(queue)))]
            self._taken = (first, len(items))
            self._urgent = self._urgent and bool(queue)
            self._weight = 0
            return items, self._dropped - self._told

    def _wait(self) -> None:
        """Until there is a batch, its first item has waited long enough, or somebody is waiting for the thread."""
        self._asleep = True
        while not self._queue and not self._closing:
            if not self._changed.wait(self._idle_seconds):
                return
        until = time.monotonic() + self._seconds
        while not self._is_full and not (self._hurried or self._urgent or self._closing):
            left = until - time.monotonic()
            if left <= 0:
                break
            self._changed.wait(left)
        self._asleep = False
