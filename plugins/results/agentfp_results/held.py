"""The period that a result declares: what was asked of the store, what the store holds, and the verdict over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from agentfp.plugin import nearest
from agentfp_results.grammar import Range, instant
from agentfp_results.wire import PERIOD_KEYS

Verdict: TypeAlias = Literal["covered", "partly-held", "not-held", "unknown", "undeclared"]
ORDER = ("not-held", "partly-held", "unknown", "covered")
"""The least held first."""


class Declared(NamedTuple):
    """A period as a result declares it. Both ends of a range are in it here.

    Args:
        queried: what was read.
        held: what there is to read; None where that is not known.
        data: the declaration as it was written.
    """

    queried: Range
    held: Range | None
    data: Mapping[str, Any]


def read_declared(given: Any) -> tuple[Declared | None, str]:
    """Read a period. Malformed, it gives None and words that say why."""
    if not isinstance(given, Mapping):
        return None, "period must be a mapping with `queried` and `held`"
    for key in given:
        if key not in PERIOD_KEYS:
            return None, f"period has an unknown key {key!r}; {nearest(str(key), PERIOD_KEYS)}"
    queried, why = _range(given.get("queried"), "queried")
    if queried is None:
        return None, why
    held: Range | None = None
    if given.get("held") != "unknown":
        held, why = _range(given.get("held"), "held")
        if held is None:
            return None, f"{why}, or 'unknown'"
    if given.get("read_at") is not None and instant(given["read_at"], strict=False) is None:
        return None, "period.read_at must be an instant with a zone, such as 2027-03-04T09:15:00Z"
    return Declared(queried, held, given), ""


def _range(given: Any, name: str) -> tuple[Range | None, str]:
    if not isinstance(given, Mapping) or set(given) != {"from", "to"}:
        return None, f"period.{name} must be a mapping with `from` and `to`"
    ends = [instant(given[key], strict=False) for key in ("from", "to")]
    for key, end in zip(("from", "to"), ends, strict=True):
        if end is None:
            return None, f"period.{name}.{key} must be an instant with a zone, such as 2027-03-04T09:15:00Z"
    start, end = ends
    assert start is not None
    assert end is not None
    return (Range(start.ns, end.ns), "") if start.ns <= end.ns else (None, f"period.{name}: `from` is after `to`")


def verdict_of(declared: Declared) -> Verdict:
    """How much of what was read the store holds; no clock is looked at."""
    queried, held = declared.queried, declared.held
    if held is None:
        return "unknown"
    if held.start <= queried.start and queried.end <= held.end:
        return "covered"
    return "not-held" if queried.end < held.start or queried.start > held.end else "partly-held"


def least_held(all_of: Iterable[Declared]) -> tuple[Verdict, Declared] | None:
    """Of several declarations of one call the one that is held least."""
    judged = [(verdict_of(declared), declared) for declared in all_of]
    return min(judged, key=lambda pair: ORDER.index(pair[0])) if judged else None
