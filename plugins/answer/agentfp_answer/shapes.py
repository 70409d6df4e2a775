"""Whether a result holds anything: one reader for everybody who asks."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from agentfp_answer.envelopes import parse
from agentfp_answer.wire import ABSENT, COVERAGE, MAX_DEPTH, SEMANTICS, SEMANTICS_NOTE

ShapeKind: TypeAlias = Literal["declared-absent", "undeclared-empty", "non-empty", "clarify", "unknown"]


class Shape(NamedTuple):
    """What a result holds.

    Args:
        kind: ``declared-absent`` says itself that there is nothing, ``undeclared-empty`` is an empty list and says nothing of it,
            ``clarify`` asks something back, ``unknown`` cannot be told.
        rows: of a list.
        path: where the list stands in the result.
    """

    kind: ShapeKind
    rows: int | None = None
    path: str = ""


def shape_of(outcome: str, content: str, *, rows_at: str | None = None) -> Shape:
    """The shape of a result.

    Args:
        outcome: of the call; a result that is none has no shape.
        content: the tool's own result.
        rows_at: a key of the result under which its rows stand, as the application says.
    """
    if outcome == "absent":
        return Shape("declared-absent")
    if outcome not in ("success", "partial") or content[:1] not in ("[", "{"):
        return Shape("unknown")
    return _of(parse(content), rows_at)


def _of(data: Any, rows_at: str | None) -> Shape:
    covered, path = False, ""
    for _ in range(MAX_DEPTH):
        if isinstance(data, list):
            if data:
                return Shape("non-empty", len(data), path)
            return Shape("declared-absent" if covered else "undeclared-empty", 0, path)
        if not isinstance(data, dict):
            return Shape("unknown")
        if data.get(ABSENT) is True:
            return Shape("declared-absent")
        described = data.get(SEMANTICS) is True or data.get("note") == SEMANTICS_NOTE
        if described and data.get("clarify") is not None:
            return Shape("clarify")
        if isinstance(data.get(COVERAGE), dict) and "result" in data:
            covered, data, path = True, data["result"], f"{path}/result"
            continue
        if rows_at is not None and isinstance(data.get(rows_at), list):
            data, path = data[rows_at], f"{path}/{rows_at}"
            continue
        for name in ("facts", "series", "edges"):
            if described and isinstance(data.get(name), list) and data[name]:
                return Shape("non-empty", len(data[name]), f"{path}/{name}")
        return Shape("unknown")
    return Shape("unknown")
