"""What the checks of sinks need to know of a sink: how it is made for a backend with a fault, what arrived there, and its counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from agentfp_core.plugins import Plugin

Fault: TypeAlias = Literal["none", "dead", "stuck", "throttling", "lying"]
"""What is wrong with a backend.

``dead``: every delivery fails at once. ``stuck``: none ends before ``heal``. ``throttling``: the first two tries of a delivery are
refused as "too fast". ``lying``: it says that it took a delivery, and that it refused part of it, or says what makes no sense.
"""


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """What arrived at a backend, in the order in which it came.

    Args:
        text: all of it.
        run_id: the run it belongs to, where it says so.
        seq: its number in the run; None for what is not one event, such as a span.
    """

    text: str
    run_id: str | None = None
    seq: int | None = None


def _nothing() -> None:
    """There is nothing to mend."""


@dataclass(frozen=True, slots=True)
class SinkBackend:
    """A backend of the checks.

    Args:
        make: makes a sink that delivers to it; takes further settings of the sink.
        seen: what arrived.
        heal: ends the fault.
    """

    make: Callable[..., Plugin]
    seen: Callable[[], Sequence[SeenEvent]]
    heal: Callable[[], None] = field(default=_nothing)


@dataclass(frozen=True, slots=True)
class SinkCounts:
    """What became of what a sink was handed: ``accepted`` is the sum of the others.

    Args:
        accepted: handed over.
        delivered: that the backend took.
        lost: dropped, or refused by the backend.
        waiting: neither yet.
    """

    accepted: int
    delivered: int
    lost: int
    waiting: int


def counts_of(stats: Any) -> SinkCounts:
    """The counts in :class:`agentfp.plugin.WorkerStats`, or in what has its fields.

    Args:
        stats: the object.
    """
    return SinkCounts(stats.accepted, stats.done, stats.failed + stats.dropped, stats.waiting)
