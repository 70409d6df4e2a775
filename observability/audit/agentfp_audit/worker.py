"""The thread that writes the log, so that no run waits for hashes or a disk. What finds the queue full is counted, and told in the log."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass

from agentfp_audit.chain import GAP
from agentfp_audit.log import AuditLog, Entry

log = logging.getLogger("agentfp.audit")
IDLE_SECONDS = 5.0
"""After so long without events the thread ends; the next event starts one."""
GATHER_SECONDS = 0.05
"""For how long events are gathered for one write: so much a killed process may lose."""


@dataclass(frozen=True, slots=True)
class AuditStats:
    """What became of the events that were handed in; ``accepted`` is the sum of the others.

    Args:
        accepted: handed in.
        written: in the log.
        dropped: not in the log; a record of type ``audit.gap`` says so, where one could be written.
        waiting: not worked off yet.
        last_error: why the last ones were dropped.
    """

    accepted: int
    written: int
    dropped: int
    waiting: int
    last_error: str | None


class Worker:
    """Writes entries to a log, in a thread of its own.

    Args:
        audit: the log.
        max_queue: events that may wait.
    """

    def __init__(self, audit: AuditLog, *, max_queue: int) -> None:
        self._log = audit
        self._max = max_queue
        self._some = threading.Condition()
        self._queue: deque[list[Entry]] = deque()
        self._thread: threading.Thread | None = None
        self._urgent = self._stopping = False
        self._accepted = self._done = self._written = self._dropped = self._untold = 0
        self._last_error: str | None = None

    def put(self, entries: list[Entry], *, last: bool = False) -> int:
        """Hand entries in; one of them is an event, the others go before it.

        Args:
            entries: of one event.
            last: its run ends with it.

        Returns:
            How many events were handed in up to it, for :meth:`wait`.
        """
        with self._some:
            self._accepted += 1
            if len(self._queue) >= self._max and not last:
                self._lose(1, "the writer is behind and its queue is full")
                self._done += 1
                return self._accepted
            self._queue.append(entries)
            self._urgent = self._urgent or last
            if last or len(self._queue) == 1:
                self._some.notify_all()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="agentfp-audit", daemon=True)
                self._thread.start()
            return self._accepted

    def wait(self, number: int, seconds: float) -> bool:
        """Wait until so many events were worked off."""
        with self._some:
            return self._some.wait_for(lambda: self._done >= number, seconds)

    def stats(self) -> AuditStats:
        """The counts up to now."""
        with self._some:
            waiting = self._accepted - self._written - self._dropped
            return AuditStats(self._accepted, self._written, self._dropped, waiting, self._last_error)

    def stop(self, seconds: float = 2.0) -> None:
        """Work off what waits, for a while, and seal the log."""
        with self._some:
            thread, self._stopping = self._thread, True
            self._some.notify_all()
        if thread is not None and thread.is_alive():
            thread.join(seconds)
        if thread is None or not thread.is_alive():
            self._seal()
        with self._some:
            self._stopping = False

    # --- the thread ---

    def _work(self) -> None:
        while True:
            with self._some:
                if not self._some.wait_for(lambda: bool(self._queue) or self._stopping, IDLE_SECONDS) or not self._queue:
                    self._thread = None
                    return
                self._some.wait_for(lambda: self._urgent or self._stopping, GATHER_SECONDS)
                batch, untold, ends = list(self._queue), self._untold, self._urgent
                self._queue.clear()
                self._untold, self._urgent = 0, False
            count = len(batch)
            gap = [(GAP, time.time_ns(), {"count": untold}, {"run_id": "unattributed"})] if untold else []
            try:
                self._log.write([*gap, *(entry for entries in batch for entry in entries)])
            except Exception as error:  # whatever is wrong with the log, the runs go on
                with self._some:
                    self._lose(count, f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}")
                    self._untold += untold
            else:
                with self._some:
                    self._written += count
                if ends:
                    self._anchor()
            with self._some:
                self._done += count
                self._some.notify_all()

    def _anchor(self) -> None:
        try:
            self._log.anchor()
        except Exception as error:  # the anchor is the user's code
            log.warning("the hash of the audit log could not be anchored: %s", type(error).__name__)

    def _seal(self) -> None:
        try:
            self._log.seal()
        except Exception as error:  # what was written is there; it has no seal
            log.warning("the audit log could not be sealed: %s", type(error).__name__)
            self._log.release()

    def _lose(self, count: int, why: str) -> None:
        """Count events as dropped; with the lock held."""
        self._dropped += count
        self._untold += count
        self._last_error = why
        if self._dropped & (self._dropped - 1) == 0:
            log.warning("%d events are not in the audit log up to now; the last one because: %s", self._dropped, why)
