"""The thread that writes the log, so that no run waits for hashes or a disk. What finds the queue full is counted, and told in the log."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from agentfp.plugin import BackgroundWorker
from agentfp_audit.chain import GAP
from agentfp_audit.log import AuditLog, Entry

log = logging.getLogger("agentfp.audit")
GATHER_SECONDS = 0.05
"""For how long events are gathered for one write: so much a killed process may lose."""
BATCH = 1_000
"""Events of one write."""
FULL = "the writer is behind and its queue is full"


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


@dataclass(frozen=True, slots=True)
class Item:
    """What is written for one event.

    Args:
        entries: the event's own, and what goes before it.
        is_last: its run ends with it.
    """

    entries: list[Entry]
    is_last: bool


class Writer:
    """Writes entries to a log, in a thread of its own.

    Args:
        audit: the log.
        max_queue: events that may wait; beyond it the oldest is dropped and counted.
    """

    def __init__(self, audit: AuditLog, *, max_queue: int) -> None:
        self._log = audit
        self._worker: BackgroundWorker[Item] = BackgroundWorker(
            self._work, "audit", capacity=max_queue, batch=BATCH, seconds=GATHER_SECONDS
        )
        self._failed = 0
        self._why: str | None = None

    def put(self, item: Item) -> None:
        """Hand in what is to be written for an event; the end of a run is written at once."""
        self._worker.put(item)
        if item.is_last:
            self._worker.hurry()

    def wait(self, seconds: float) -> bool:
        """Wait until what was handed in is worked off; gives whether it is."""
        return self._worker.flush(seconds)

    def stats(self) -> AuditStats:
        """The counts up to now."""
        stats = self._worker.stats
        why = self._why or (FULL if stats.dropped else None)
        return AuditStats(stats.accepted, stats.done, stats.failed + stats.dropped, stats.waiting, why)

    def stop(self, seconds: float = 2.0) -> None:
        """Work off what waits, for a while, and seal the log."""
        if not self._worker.close(seconds):
            return  # the thread is still at it
        try:
            self._log.seal()
        except Exception as error:  # what was written is there; it has no seal
            log.warning("the audit log could not be sealed: %s", type(error).__name__)
            self._log.release()

    # --- the thread ---

    def _work(self, items: list[Item], dropped: int) -> int:
        untold = dropped + self._failed
        gap = [(GAP, time.time_ns(), {"count": untold}, {"run_id": "unattributed"})] if untold else []
        try:
            self._log.write([*gap, *(entry for item in items for entry in item.entries)])
        except Exception as error:  # whatever is wrong with the log, the runs go on
            self._why = f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}"
            self._failed = untold + len(items)
            self._worker.report(error, len(items), self._why)
            return len(items)
        self._failed = 0
        if any(item.is_last for item in items):
            self._anchor()
        return 0

    def _anchor(self) -> None:
        try:
            self._log.anchor()
        except Exception as error:  # the anchor is the user's code
            log.warning("the hash of the audit log could not be anchored: %s", type(error).__name__)
