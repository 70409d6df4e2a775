"""One end of a period, and both, in an argument: written exactly or not at all, and read back."""

from __future__ import annotations

import datetime
from typing import Any, Literal, TypeAlias

from agentfp_results.grammar import MILLISECOND, SECOND, Gap, Instant, Range, day, day_of, instant, iso, to_datetime, wall, wall_text

As: TypeAlias = Literal["iso", "epoch-ms", "epoch-s", "date", "wall"]
Edge: TypeAlias = Literal["inclusive", "exclusive"]
AS = ("iso", "epoch-ms", "epoch-s", "date", "wall")
EDGES = ("inclusive", "exclusive")


def write_end(ns: int, as_: As, in_zone: datetime.tzinfo | None, *, step: int) -> Any:
    """One end of a range as an argument; None where it cannot be said so."""
    if as_ == "epoch-ms":
        return ns // MILLISECOND if ns % MILLISECOND == 0 else None
    if as_ == "epoch-s":
        return ns // SECOND if ns % SECOND == 0 else None
    if ns % MILLISECOND:
        return None
    try:
        if as_ == "iso":
            return iso(ns, step=step)
        if in_zone is None:
            return None
        if as_ == "wall":
            return wall_text(ns, in_zone, step=step)
        local = to_datetime(ns, in_zone)
        return local.date().isoformat() if day_of(local.date(), in_zone).start == ns else None
    except (OverflowError, ValueError):
        return None


def read_end(value: Any, as_: As, in_zone: datetime.tzinfo | None) -> Instant | None:
    """One end of a range out of an argument."""
    if as_ in ("epoch-ms", "epoch-s"):
        unit = MILLISECOND if as_ == "epoch-ms" else SECOND
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        whole = int(value) if isinstance(value, int) or (value == value and abs(value) < 1e15 and value.is_integer()) else None
        return None if whole is None or abs(whole) > 10**15 else Instant(whole * unit, unit)
    if as_ == "iso":
        return instant(value, strict=True)
    if in_zone is None:
        return None
    if as_ == "wall":
        try:
            return wall(value, in_zone)
        except Gap:
            return None
    found = day(value, in_zone)
    return None if found is None else Instant(found.start, found.end - found.start)


def write_ends(window: Range, as_: As, edge: Edge, in_zone: datetime.tzinfo | None) -> tuple[Any, Any, bool] | None:
    """Both ends, and whether they say a little more than the window. The first is always in the range."""
    if as_ == "epoch-s":
        start, end = window.start // SECOND, -(-window.end // SECOND)
        rounded = (start * SECOND, end * SECOND) != window
        return start, end - 1 if edge == "inclusive" else end, rounded
    if as_ == "date":
        first = write_end(window.start, as_, in_zone, step=SECOND)
        after = write_end(window.end, as_, in_zone, step=SECOND)
        if first is None or after is None:
            return None
        last = (datetime.date.fromisoformat(after) - datetime.timedelta(days=1)).isoformat()
        return first, last if edge == "inclusive" else after, False
    whole = window.start % SECOND == 0 and window.end % SECOND == 0
    step = SECOND if whole and as_ != "epoch-ms" else MILLISECOND
    end = window.end - step if edge == "inclusive" else window.end
    ends = write_end(window.start, as_, in_zone, step=step), write_end(end, as_, in_zone, step=step)
    return None if ends[0] is None or ends[1] is None else (*ends, False)


def read_ends(start: Any, end: Any, as_: As, edge: Edge, in_zone: datetime.tzinfo | None) -> Range | None:
    """The range that two ends say; an inclusive end has its last written place in it."""
    first, last = read_end(start, as_, in_zone), read_end(end, as_, in_zone)
    if first is None or last is None:
        return None
    until = last.ns + last.step if edge == "inclusive" else last.ns
    return Range(first.ns, until) if first.ns < until else None


def types_of(as_: As) -> tuple[str, ...]:
    """JSON types that an end may have."""
    return ("integer", "number") if as_ in ("epoch-ms", "epoch-s") else ("string",)
