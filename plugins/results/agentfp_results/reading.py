"""Reads what a result declares: its envelopes from the outside in, what is malformed of them left out and never raised about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from agentfp_results.held import Declared, read_declared
from agentfp_results.items import wrong_item
from agentfp_results.semantics import check_semantics, not_covered
from agentfp_results.wire import ABSENT, COVERAGE, DEPTH_MOST, ITEMS_MOST, SEMANTICS

LISTS = ("checked", "not_checked", "cannot_cover")
_decoder = json.JSONDecoder()


class Envelope(NamedTuple):
    """One declaration of a result.

    Args:
        kind: ``absent``, ``coverage`` or ``described``.
        checked: what was looked at; each item is words, or a mapping.
        not_checked: what was not.
        cannot_cover: what cannot be.
        looked_for: what is absent.
        period: the period that was read; None for none.
        provenance: where it comes from, as data.
        data: the envelope as it was written.
        dropped: words for each part that could not be read.
    """

    kind: str
    checked: tuple[Any, ...] = ()
    not_checked: tuple[Any, ...] = ()
    cannot_cover: tuple[Any, ...] = ()
    looked_for: str | None = None
    period: Declared | None = None
    provenance: Mapping[str, Any] | None = None
    data: Mapping[str, Any] = {}
    dropped: tuple[str, ...] = ()


def leading_object(text: str) -> Any:
    """The JSON object that a text begins with; None when there is none."""
    if not text.startswith("{") or '"af_' not in text:
        return None
    try:
        return _decoder.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def envelopes_of(data: Any) -> list[Envelope]:
    """What a result declares, from the outside in."""
    found: list[Envelope] = []
    for _ in range(DEPTH_MOST):
        if not isinstance(data, Mapping):
            break
        if data.get(ABSENT) is True:
            envelope = _absent(data)
            found += [envelope] if envelope is not None else []
            break
        if isinstance(data.get(COVERAGE), Mapping) and set(data) == {COVERAGE, "result"}:
            found.append(_coverage(data[COVERAGE]))
            data = data["result"]
            continue
        if data.get(SEMANTICS) is True:
            envelope = _described(data)
            found += [envelope] if envelope is not None else []
        break
    return found


def _absent(data: Mapping[str, Any]) -> Envelope | None:
    looked_for = data.get("looked_for")
    if data.get("outcome") != "nothing_found" or not isinstance(looked_for, str) or not looked_for.strip():
        return None
    made = _limits("absent", data)
    return made._replace(looked_for=looked_for) if made.checked else None


def _coverage(data: Mapping[str, Any]) -> Envelope:
    return _limits("coverage", data)


def _described(data: Mapping[str, Any]) -> Envelope | None:
    try:
        wrong = check_semantics(data)
    except (TypeError, ValueError, AttributeError, RecursionError):
        return None
    if wrong is not None:
        return None
    inner = data.get("coverage")
    made = _limits("described", inner if isinstance(inner, Mapping) else {})
    period, why = _period(data)
    dropped = (*made.dropped, why) if why else made.dropped
    provenance = data.get("provenance")
    return made._replace(period=period, data=data, dropped=dropped, provenance=provenance if isinstance(provenance, Mapping) else None)


def _limits(kind: str, data: Mapping[str, Any]) -> Envelope:
    dropped: list[str] = []
    lists: dict[str, tuple[Any, ...]] = {}
    for name in LISTS:
        items = data.get(name)
        kept = []
        if items is not None and not isinstance(items, (list, tuple)):
            dropped.append(f"{name} is no list")
            items = None
        for item in (items or ())[:ITEMS_MOST]:
            wrong = wrong_item(name, item)
            if wrong is None:
                kept.append(item)
            else:
                dropped.append(wrong)
        if items is not None and len(items) > ITEMS_MOST:
            dropped.append(f"{name} has {len(items)} items; {ITEMS_MOST} are read")
        lists[name] = tuple(kept)
    period, why = _period(data)
    if why:
        dropped.append(why)
    provenance = data.get("provenance")
    kept_provenance = provenance if isinstance(provenance, Mapping) else None
    checked, not_checked, cannot_cover = (lists[name] for name in LISTS)
    return Envelope(kind, checked, not_checked, cannot_cover, None, period, kept_provenance, data, tuple(dropped))


def _period(data: Mapping[str, Any]) -> tuple[Declared | None, str]:
    given = data.get("period")
    if given is None:
        return None, ""
    try:
        return read_declared(given)
    except (TypeError, ValueError, OverflowError):
        return None, "period cannot be read"


def served(data: Any, depth: int = 0) -> Any:
    """What the model reads of a result that declares something: without what is for screens only.

    Returns:
        The data; the same object where nothing is left out.
    """
    if not isinstance(data, Mapping) or depth >= DEPTH_MOST:
        return data
    if data.get(ABSENT) is True:
        return _without_screens(data)
    if isinstance(data.get(COVERAGE), Mapping) and set(data) == {COVERAGE, "result"}:
        limits, inner = _without_screens(data[COVERAGE]), served(data["result"], depth + 1)
        return data if limits is data[COVERAGE] and inner is data["result"] else {COVERAGE: limits, "result": inner}
    if data.get(SEMANTICS) is True and envelopes_of(data):
        return _projection(data)
    return data


def _without_screens(data: Mapping[str, Any]) -> Mapping[str, Any]:
    changed = {}
    for name in LISTS:
        items = data.get(name)
        if isinstance(items, (list, tuple)) and any(isinstance(item, Mapping) and ("short" in item or "kind" in item) for item in items):
            changed[name] = [
                {key: value for key, value in item.items() if key not in ("short", "kind")} if isinstance(item, Mapping) else item
                for item in items
            ]
    return {**data, **changed} if changed else data


def _projection(data: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: data[name] for name in ("series", "facts", "edges", "grain", "provenance", "period") if data.get(name) is not None}
    coverage = data.get("coverage")
    envelope = _limits("described", coverage if isinstance(coverage, Mapping) else {})
    gaps = not_covered({"not_checked": envelope.not_checked, "cannot_cover": envelope.cannot_cover})
    if gaps:
        made["not_covered"] = gaps
    if data.get("clarify") is not None:
        made["clarify"] = data["clarify"]
    if isinstance(data.get("note"), str):
        made["note"] = data["note"]
    return made
