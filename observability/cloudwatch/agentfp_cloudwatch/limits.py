"""What CloudWatch Logs accepts, as its API reference said on CHECKED, and how log events are cut into batches that fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

CHECKED = "2026-12-01"
"""The day on which the numbers below were last compared with the reference of PutLogEvents."""
MAX_BATCH_EVENTS = 10_000
"""Log events of one call."""
MAX_BATCH_BYTES = 1_048_576
"""Bytes of one call: of all messages as UTF-8, and EVENT_OVERHEAD for each."""
EVENT_OVERHEAD = 26
"""Bytes that each log event counts beside its message."""
MAX_EVENT_BYTES = 1_048_576
"""Bytes of one log event, its overhead with it."""
MAX_SPAN_MS = 24 * 3600 * 1000
"""Between the first and the last log event of one call."""
MAX_FUTURE_MS = 2 * 3600 * 1000
"""How far ahead of the service's clock a log event may be."""
MAX_AGE_MS = 14 * 24 * 3600 * 1000
"""How far behind it a log event may be."""


class LogLine(NamedTuple):
    """A log event: when, in milliseconds since the epoch, and what."""

    timestamp: int
    message: str

    @property
    def size(self) -> int:
        """Bytes as the service counts them."""
        return len(self.message.encode()) + EVENT_OVERHEAD


def sendable(lines: Iterable[LogLine], now_ms: int) -> list[LogLine]:
    """The log events whose time the service accepts, by time; those of one time in their order."""
    accepted = [line for line in lines if now_ms - MAX_AGE_MS < line.timestamp < now_ms + MAX_FUTURE_MS]
    return sorted(accepted, key=lambda line: line.timestamp)


def batches(lines: Iterable[LogLine], *, max_events: int = MAX_BATCH_EVENTS, max_bytes: int = MAX_BATCH_BYTES) -> Iterator[list[LogLine]]:
    """Cut log events into batches that one call takes.

    Args:
        lines: by time.
        max_events: of one batch.
        max_bytes: of one batch; a log event that is larger makes one of its own.
    """
    batch: list[LogLine] = []
    size = 0
    for line in lines:
        more = line.size
        full = len(batch) >= max_events or size + more > max_bytes
        if batch and (full or line.timestamp - batch[0].timestamp >= MAX_SPAN_MS):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += more
    if batch:
        yield batch
