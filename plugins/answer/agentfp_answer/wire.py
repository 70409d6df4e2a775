"""The declarations as they stand in a result: the reserved keys, the fixed words for the model, and what of them a model reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

ABSENT = "af_absent"
COVERAGE = "af_coverage"
SEMANTICS = "af_semantics"
MARKERS = (ABSENT, COVERAGE, SEMANTICS)
ENVELOPES = "af_envelopes"
PRIVATE = "private"
MAX_DEPTH = 8
"""Declarations around one another that are read."""

ABSENCE_NOTE = "Nothing was found where it was looked for. That says nothing of the places that were not checked or cannot be covered."
COVERAGE_NOTE = "This covers what was checked and nothing else. It says nothing of what was not checked or cannot be covered."
SEMANTICS_NOTE = "Each value holds for its own entity and for the time at which it was measured, and for nothing else."

_FOR_PEOPLE = ("short", "kind")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def as_text(data: Any) -> str:
    """JSON data as a tool's result is written."""
    return _encode(data)


class Minted(dict[str, Any]):
    """What stands beside a result that this package made, so that it can be told from what a server sent."""


def served_semantics(whole: Mapping[str, Any]) -> dict[str, Any]:
    """What a model reads of a described result: its data, where that is from, and what it does not cover."""
    kept = ("facts", "series", "edges", "grain", "provenance", "period")
    made = {name: whole[name] for name in kept if whole.get(name) is not None}
    lists = whole.get("coverage")
    if isinstance(lists, Mapping):
        lines = [_line(item) for name in ("not_checked", "cannot_cover") for item in lists.get(name) or () if isinstance(item, Mapping)]
        if lines:
            made["not_covered"] = lines
    if whole.get("clarify") is not None:
        made["clarify"] = whole["clarify"]
    return {**made, "note": SEMANTICS_NOTE}


def _line(item: Mapping[str, Any]) -> str:
    return f"{item['what']} — {item['why']}" if item.get("why") else str(item.get("what"))


def served(data: Any, depth: int = MAX_DEPTH) -> Any:
    """What a model reads of a result that holds declarations; the same object where it may read all of it.

    Args:
        data: a result, as JSON data.
        depth: how many declarations around one another are looked into.
    """
    if not isinstance(data, dict) or not depth:
        return data
    if data.get(SEMANTICS) is True:
        return served_semantics(data)
    if data.get(ABSENT) is True:
        return _plain(data)
    if isinstance(data.get(COVERAGE), dict) and "result" in data:
        own, inner = _plain(data[COVERAGE]), served(data["result"], depth - 1)
        return data if own is data[COVERAGE] and inner is data["result"] else {**data, COVERAGE: own, "result": inner}
    return data


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """A declaration whose items say what and why, and nothing that is for people alone."""
    made = dict(data)
    for name in ("checked", "not_checked", "cannot_cover"):
        items = data.get(name)
        if isinstance(items, list) and any(isinstance(item, dict) and not item.keys().isdisjoint(_FOR_PEOPLE) for item in items):
            made[name] = [
                {key: value for key, value in item.items() if key not in _FOR_PEOPLE} if isinstance(item, dict) else item for item in items
            ]
    return data if all(made[key] is data[key] for key in data) else made
