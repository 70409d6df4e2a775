"""A thread that works for a sink: taking from a bounded queue, in batches, so that nothing it does can hold up a run."""

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
from typing import Any

LOGGER = logging.getLogger("agentfp.console")
EXIT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class WorkerStats:
    """What became of the events of a sink: ``accepted`` is the sum of the other four.

    Args:
        accepted: handed over to it.
        done: written.
        failed: of which writing failed.
        dropped: given up because too many waited.
        waiting: neither yet.
        last_error: class of the last failure.
    """

    accepted: int = 0
    done: int = 0
    failed: int = 0
    dropped: int = 0
    waiting: int = 0
    last_error: str | None = None


class Worker:
    """The queue and the thread.

    Args:
        work: writes a batch, told how many events were dropped since the last one. A batch of which it raises has failed.
        name: of the thread, for messages.
        capacity: events that may wait; beyond it the oldest is dropped and counted.
        batch: as many make a batch that is written at once.
        weight: as much of what ``put`` is told of each makes one too.
        seconds: how long the first event of a batch waits for others.
        on_error: is handed each failure and the number of events it cost; the first, second, fourth, ... are logged besides.
    """

    def __init__(
        self,
        work: Callable[[list[Any], int], None],
        name: str,
        *,
        capacity: int,
        batch: int = 1,
        weight: int = 2**62,
        seconds: float = 0.0,
        on_error: Callable[[Any, int], None] | None = None,
    ) -> None:
        self._work = work
        self._name = name
        self._capacity = capacity
        self._batch = batch
        self._full = weight
        self._weight = 0
        self._seconds = seconds
        self._on_error = on_error
        self._queue: deque[Any] = deque()
        self._accepted = self._done = self._failed = self._dropped = self._told = self._failures = 0
        self._last_error: str | None = None
        self._begin()
        leaving = weakref.WeakMethod(self.close)
        atexit.register(lambda: (close := leaving()) and close(EXIT_SECONDS))

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._asleep = False
        self._flushing = False
        self._working = 0
        self._closed = False

    @property
    def stats(self) -> WorkerStats:
        """The counts so far."""
        with self._changed:
            waiting = len(self._queue) + self._working
            return WorkerStats(self._accepted, self._done, self._failed, self._dropped, waiting, self._last_error)

    def put(self, item: Any, weight: int = 0) -> None:
        """Hand an event over; never waits for anything but the queue's lock.

        Args:
            item: the event.
            weight: how much it adds to a batch.
        """
        if self._pid != os.getpid():  # a fork has no thread of its parent's, and perhaps its lock
            self._begin()
        with self._changed:
            self._accepted += 1
            if len(self._queue) >= self._capacity:
                self._queue.popleft()
                self._dropped += 1
            self._queue.append(item)
            self._weight += weight
            if self._thread is None:
                self._start()
            elif self._asleep and (len(self._queue) == 1 or self._enough):
                self._changed.notify_all()

    def _start(self) -> None:
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"agentfp {self._name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._wait()
                if not self._queue and self._closed:
                    self._thread = None
                    self._changed.notify_all()
                    return
                items = list(self._queue)
                self._queue.clear()
                self._working = len(items)
                self._weight = 0
                dropped, self._told = self._dropped - self._told, self._dropped
            error: BaseException | None = None
            try:
                self._work(items, dropped)
            except BaseException as raised:  # also one that would end this thread; the batch is lost, and the next one may do better
                error = raised
            if error is not None:
                self._report(error, len(items))
            with self._changed:
                self._working = 0
                self._done += 0 if error else len(items)
                self._failed += len(items) if error else 0
                self._last_error = type(error).__name__ if error else self._last_error
                self._changed.notify_all()

    @property
    def _enough(self) -> bool:
        return len(self._queue) >= self._batch or self._weight >= self._full

    def _wait(self) -> None:
        """Until there is a batch, its first event has waited long enough, or somebody is waiting for the thread."""
        self._asleep = True
        while not self._queue and not self._closed:
            self._changed.wait()
        until = time.monotonic() + self._seconds
        while self._queue and not self._enough and not self._flushing and not self._closed:
            left = until - time.monotonic()
            if left <= 0:
                break
            self._changed.wait(left)
        self._asleep = False

    def _report(self, error: BaseException, count: int) -> None:
        self._failures += 1
        if self._failures & (self._failures - 1) == 0:
            LOGGER.warning("%s lost %d events: %s (failure %d)", self._name, count, type(error).__name__, self._failures)
        if self._on_error is not None:
            try:
                self._on_error(error, count)
            except Exception:
                LOGGER.warning("on_error of %s raised", self._name, exc_info=False)

    def flush(self, seconds: float) -> bool:
        """Wait until what is waiting now is written.

        Args:
            seconds: to wait at most.

        Returns:
            Whether it is.
        """
        with self._changed:
            if self._thread is None:
                return not self._queue
            self._flushing = True
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: not self._queue and not self._working, seconds)
            finally:
                self._flushing = False

    def close(self, seconds: float) -> bool:
        """Write what is waiting and end the thread; the next event starts another.

        Args:
            seconds: to wait at most.

        Returns:
            Whether all was written in time.
        """
        with self._changed:
            thread = self._thread
            if thread is None:
                return True
            self._closed = True
            self._changed.notify_all()
            ended = self._changed.wait_for(lambda: self._thread is None, seconds)
        if ended:
            thread.join(seconds)
        return ended
