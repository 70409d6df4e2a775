"""Whether a result is empty, as every consumer reads it: the call's outcome first, then what the result declares, then its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from agentfp_results.wire import ABSENT, COVERAGE, DEPTH_MOST, SEMANTICS

Shape: TypeAlias = Literal["declared-absent", "undeclared-empty", "non-empty", "clarify", "unknown"]


class Emptiness(NamedTuple):
    """What a result holds.

    Args:
        shape: whether it is empty, and whether it says so.
        rows: how many rows it has, where that can be told.
    """

    shape: Shape
    rows: int | None = None


def emptiness(data: Any, outcome: str = "success", *, rows_at: str | None = None) -> Emptiness:
    """Read whether a result is empty.

    Args:
        data: the result as JSON data.
        outcome: of its call.
        rows_at: the top-level key under which its rows stand, where the application says so.
    """
    if outcome == "absent":
        return Emptiness("declared-absent", 0)
    if outcome not in ("success", "partial"):
        return Emptiness("unknown")
    inside = False
    for _ in range(DEPTH_MOST):
        if isinstance(data, Mapping) and isinstance(data.get(COVERAGE), Mapping) and set(data) == {COVERAGE, "result"}:
            data, inside = data["result"], True
            continue
        break
    else:
        return Emptiness("unknown")
    if isinstance(data, Mapping) and data.get(ABSENT) is True:
        return Emptiness("declared-absent", 0)
    if isinstance(data, Mapping) and data.get(SEMANTICS) is True:
        rows = sum(len(data[name]) for name in ("facts", "series", "edges") if isinstance(data.get(name), list))
        if not rows:
            return Emptiness("clarify" if data.get("clarify") is not None else "unknown")
        return Emptiness("non-empty", rows)
    if rows_at is not None and isinstance(data, Mapping):
        data = data.get(rows_at)
    if not isinstance(data, list):
        return Emptiness("unknown")
    if not data:
        return Emptiness("declared-absent" if inside else "undeclared-empty", 0)
    return Emptiness("non-empty", len(data))
