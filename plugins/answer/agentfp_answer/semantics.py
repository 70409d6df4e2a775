"""What makes a described result one: the rules that whoever writes one and whoever reads one share."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_COUNTED = re.compile(r"(?:^|[^a-z])(sum|count|total|cumulative|counter|delta)s?(?:[^a-z]|$)", re.IGNORECASE)
_EMPTY: tuple[Any, ...] = (None, "", [], {}, ())


class Fault(NamedTuple):
    """What keeps a result from being a described one: a code to look it up by, and words."""

    code: str
    words: str


def faults_of(data: Mapping[str, Any]) -> list[Fault]:
    """All that is wrong of a described result.

    Args:
        data: ``facts``, ``series``, ``edges``, ``grain``, ``provenance``, ``clarify`` and so on, as JSON data.
    """
    found: list[Fault] = []
    if all(data.get(name) is None for name in ("facts", "series", "edges", "clarify")):
        found.append(Fault("nothing-described", "it describes nothing; give facts, series, edges or clarify"))
    for name, check in (("facts", _fact), ("series", _point), ("edges", _edge)):
        found += _rows(name, data.get(name), check)
    grain, provenance = data.get("grain"), data.get("provenance")
    if data.get("series") is not None and grain is None:
        found.append(Fault("series-without-grain", "series need a grain: what one point stands for"))
    if grain is not None:
        found += _grain(grain)
    if data.get("facts") is not None or data.get("series") is not None:
        found += [
            Fault(f"no-{name.replace('_', '-')}", f"facts and series need provenance.{name}")
            for name in ("measured_at", "source")
            if not isinstance(provenance, Mapping) or provenance.get(name) in _EMPTY
        ]
    if provenance is not None and not isinstance(provenance, Mapping):
        found.append(Fault("provenance-no-mapping", "provenance is a mapping"))
    elif isinstance(provenance, Mapping) and not _age(provenance.get("age_seconds", 0)):
        found.append(Fault("bad-age", "provenance.age_seconds is a number of seconds from 0"))
    return found


def _rows(name: str, rows: Any, check: Any) -> list[Fault]:
    if rows is None:
        return []
    if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
        return [Fault(f"{name}-no-list", f"{name} is a list of mappings")]
    if not rows:
        return [Fault(f"{name}-empty", f"{name} is empty; say with absent() that nothing was found, or leave it out")]
    for index, row in enumerate(rows):
        wrong = "is no mapping" if not isinstance(row, Mapping) else check(row)
        if wrong:
            return [Fault(f"bad-{name}", f"{name}[{index}] {wrong}")]
    return []


def _fact(row: Mapping[str, Any]) -> str | None:
    return None if row.get("entity") not in _EMPTY else "needs 'entity': what the fact is about"


def _point(row: Mapping[str, Any]) -> str | None:
    t = row.get("t")
    if isinstance(t, bool) or not isinstance(t, (str, int, float)):
        return "needs 't', a text or a number"
    missing = [name for name in ("entity", "metric") if row.get(name) in _EMPTY] + ([] if "value" in row else ["value"])
    return f"needs {', '.join(map(repr, missing))}" if missing else None


def _edge(row: Mapping[str, Any]) -> str | None:
    missing = [name for name in ("from", "to", "kind") if row.get(name) in _EMPTY]
    return f"needs {', '.join(map(repr, missing))}" if missing else None


def _grain(grain: Any) -> list[Fault]:
    if not isinstance(grain, Mapping) or all(value in _EMPTY for value in grain.values()):
        return [Fault("empty-grain", "grain is a mapping that says something")]
    aggregation = grain.get("aggregation")
    if isinstance(aggregation, str) and _COUNTED.search(aggregation) and not isinstance(grain.get("is_counter"), bool):
        words = "an aggregation that adds up needs grain.is_counter, true or false: a counter must not be added up again"
        return [Fault("counter-aggregation-unstated", words)]
    return []


def _age(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value) and value >= 0
