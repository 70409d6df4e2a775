"""What a store lets go of: the dials, and the plan of each put. Pure functions, shared by all stores."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass

from agentfp.artifacts import InvalidArtifactError, SweepReason, Swept
from agentfp_artifacts.stores.metas import Row

LARGEST = 2**63
"""Where whole numbers end that every store can keep."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a scope may hold, and for how long.

    Args:
        ttl_s: seconds after which an artifact expires; None for never.
        max_bytes_per_scope: most bytes of a scope; the ones used least recently make room. None for no limit.
        max_count_per_scope: most artifacts of a scope. None for no limit.
    """

    ttl_s: float | None = None
    max_bytes_per_scope: float | None = None
    max_count_per_scope: float | None = None

    @property
    def budgeted(self) -> bool:
        """Whether a put may have to make room."""
        return self.max_bytes_per_scope is not None or self.max_count_per_scope is not None

    def checked(self, store: str) -> Limits:
        """These limits.

        Raises:
            TypeError: one of them is no number above 0; names it and the store.
        """
        for name in ("ttl_s", "max_bytes_per_scope", "max_count_per_scope"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
                raise TypeError(f"{store}: {name} is a finite number above 0, got {value!r}; leave it out for no limit")
        return self


def expiry(stated: int | None, now: int, limits: Limits) -> int | None:
    """When an artifact expires: as stated, and no later than the store's limit says."""
    own = None if limits.ttl_s is None else min(now + int(limits.ttl_s * 1000), LARGEST - 1)
    known = [int(at) for at in (stated, own) if at is not None]
    return min(known) if known else None


def plan(rows: Iterable[Row], incoming: int, limits: Limits, now: int, *, beside: tuple[int, int] = (0, 0)) -> list[Swept]:
    """What a put of so many bytes sweeps away: what has expired, then what was used least recently, until there is room.

    Args:
        rows: the artifacts of the scope, or those that may have to go.
        incoming: bytes that are to be put.
        limits: the dials.
        now: unix time in milliseconds.
        beside: how many the others are that are there, and how many bytes they have.

    Raises:
        InvalidArtifactError: it would not fit even alone.
    """
    live: list[Row] = []
    swept: list[Swept] = []
    for row in rows:
        if row.expired(now):
            swept.append(gone(row, "ttl"))
        else:
            live.append(row)
    most_bytes, most_count = limits.max_bytes_per_scope, limits.max_count_per_scope
    if most_bytes is not None and incoming > most_bytes:
        raise InvalidArtifactError(f"{incoming} bytes are more than the {most_bytes:g} that a scope may hold; put less, or raise the limit")
    by_use = [(row.used_at, row.meta.ref, row) for row in live]
    heapq.heapify(by_use)  # a put at the limit takes one or two of many
    count, total = len(live) + beside[0], sum([row.meta.bytes for row in live]) + beside[1]
    while by_use:
        reason: SweepReason = "max_count"
        if most_count is None or count + 1 <= most_count:
            reason = "max_bytes"
            if most_bytes is None or total + incoming <= most_bytes:
                break
        row = heapq.heappop(by_use)[2]
        swept.append(gone(row, reason))
        total -= row.meta.bytes
        count -= 1
    return swept


def least_used(rows: Iterable[Row], incoming: int, limits: Limits, count: int, size: int) -> tuple[list[Row], tuple[int, int]]:
    """Of rows in the order in which they were used, those that may have to make room for a put; the others are not looked at.

    Args:
        rows: the artifacts of the scope that have not expired, the one used least recently first.
        incoming: bytes that are to be put.
        limits: the dials.
        count: how many rows there are.
        size: how many bytes they have.

    Returns:
        The rows, and count and bytes of the others: what :func:`plan` takes.
    """
    found: list[Row] = []
    most_bytes, most_count = limits.max_bytes_per_scope, limits.max_count_per_scope
    in_order = iter(rows)
    while (most_count is not None and count >= most_count) or (most_bytes is not None and size + incoming > most_bytes):
        row = next(in_order, None)
        if row is None:
            break
        found.append(row)
        count, size = count - 1, size - row.meta.bytes
    return found, (count, size)


def gone(row: Row, reason: SweepReason) -> Swept:
    """That an artifact is gone."""
    return Swept(row.meta.ref, reason, row.meta.kind, row.meta.bytes)
