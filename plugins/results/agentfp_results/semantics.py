"""The rules of a described result: one set for those who make it, those who read it, and those who check samples of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentfp.plugin import nearest
from agentfp_results.wire import COUNTERS

KEYS = ("facts", "series", "edges", "grain", "provenance", "period", "coverage", "not_covered", "clarify", "render", "note")
_COUNTER = re.compile(rf"\b(?:{'|'.join(COUNTERS)})s?\b", re.IGNORECASE)
_POINT = ("t", "entity", "metric", "value")


def check_semantics(data: Mapping[str, Any]) -> str | None:
    """What is wrong with the facts, series and edges of a described result; None for nothing."""
    for key in data:
        if key not in KEYS and not key.startswith("af_"):
            return f"a described result has no key {key!r}; {nearest(key, KEYS)}"
    if not any(data.get(name) is not None for name in ("facts", "series", "edges", "clarify")):
        return "a described result needs facts, series, edges, or a question in clarify"
    for name, rule in (("facts", _fact), ("series", _point), ("edges", _edge)):
        items = data.get(name)
        if items is None:
            continue
        if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Sequence) or not items:
            return f"{name} must be a list with one item at least; leave it out where there is none"
        for item in items:
            wrong = rule(item) if isinstance(item, Mapping) else f"an item of {name} must be a mapping"
            if wrong is not None:
                return wrong
    return _grain(data) or _provenance(data)


def _fact(item: Mapping[str, Any]) -> str | None:
    entity = item.get("entity")
    return None if isinstance(entity, str) and entity.strip() else "a fact needs the `entity` that it is about"


def _point(item: Mapping[str, Any]) -> str | None:
    missing = next((key for key in _POINT if key not in item), None)
    if missing is not None:
        return f"a point of a series needs {missing!r}"
    if isinstance(item["t"], bool) or not isinstance(item["t"], (str, int, float)):
        return "`t` of a point is a text or a number"
    return None if isinstance(item["entity"], str) and isinstance(item["metric"], str) else "entity and metric of a point are texts"


def _edge(item: Mapping[str, Any]) -> str | None:
    missing = next((key for key in ("from", "to", "kind") if not isinstance(item.get(key), str) or not item[key].strip()), None)
    return None if missing is None else f"an edge needs {missing!r}"


def _grain(data: Mapping[str, Any]) -> str | None:
    grain = data.get("grain")
    if grain is None:
        return "series-without-grain: say how the points were made, in `grain`" if data.get("series") else None
    if not isinstance(grain, Mapping) or not any(value not in (None, "", [], {}) for value in grain.values()):
        return "`grain` must say something"
    aggregation = grain.get("aggregation")
    if isinstance(aggregation, str) and _COUNTER.search(aggregation) and not isinstance(grain.get("is_counter"), bool):
        return "counter-aggregation-unstated: say in grain.is_counter whether the values are those of a counter"
    return None


def _provenance(data: Mapping[str, Any]) -> str | None:
    given = data.get("provenance")
    needed = data.get("facts") is not None or data.get("series") is not None
    if given is None:
        return "facts and series need provenance with measured_at and source" if needed else None
    if not isinstance(given, Mapping):
        return "`provenance` must be a mapping"
    if needed and not all(given.get(key) not in (None, "") for key in ("measured_at", "source")):
        return "provenance of facts and series needs measured_at and source"
    age = given.get("age_seconds")
    if age is not None and (isinstance(age, bool) or not isinstance(age, (int, float)) or not math.isfinite(age) or age < 0):
        return "provenance.age_seconds is a number of seconds from 0 on"
    return None


def not_covered(coverage: Mapping[str, Any]) -> list[str]:
    """What a result does not cover, in words: first what was not checked, then what cannot be."""
    said = []
    for name in ("not_checked", "cannot_cover"):
        for item in coverage.get(name) or ():
            what, why = (item, None) if isinstance(item, str) else (item["what"], item.get("why"))
            said.append(what if why is None else f"{what} — {why}")
    return said
