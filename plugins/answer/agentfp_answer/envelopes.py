"""Reads what a result declares of itself, of its text and of what stands beside it on the record. Never raises."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentfp_answer.items import LISTS, Item, read_items
from agentfp_answer.periods import Period, read_period
from agentfp_answer.semantics import faults_of
from agentfp_answer.wire import ABSENT, COVERAGE, ENVELOPES, MARKERS, MAX_DEPTH, SEMANTICS

_BESIDE = f'{{"{ENVELOPES}"'
EnvelopeKind: TypeAlias = Literal["absence", "coverage", "semantics"]


@dataclass(frozen=True, slots=True)
class Envelope:
    """One declaration of a result.

    Args:
        kind: what it is.
        path: where it stands: a JSON pointer into the event ``agentfp.tool.ended`` and on into the JSON text of its field.
        checked: what was looked at.
        not_checked: what was not.
        cannot_cover: what can never be.
        looked_for: of an absence.
        period: the time that the read covered.
        faults: what of it could not be read.
        left_off: items beyond the most that a list holds.
        data: of a described result, all of it.
    """

    kind: EnvelopeKind
    path: str
    checked: tuple[Item, ...] = ()
    not_checked: tuple[Item, ...] = ()
    cannot_cover: tuple[Item, ...] = ()
    looked_for: str | None = None
    period: Period | None = None
    faults: tuple[str, ...] = ()
    left_off: int = 0
    data: Mapping[str, Any] | None = None

    @property
    def has_gap(self) -> bool:
        """Whether it says of anything that it was not looked at or cannot be."""
        return bool(self.not_checked or self.cannot_cover)


def holds_envelopes(private: str | None) -> bool:
    """Whether declarations stand beside a result."""
    return private is not None and private.startswith(_BESIDE)


def may_declare(content: str, private: str | None) -> bool:
    """Whether a result may hold a declaration; looks at the text only, so that other results cost next to nothing."""
    return holds_envelopes(private) or (content.startswith("{") and '"af_' in content)


def parse(text: str) -> Any:
    """JSON data of a text; None for what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def envelopes_of(content: str, private: str | None = None) -> tuple[Envelope, ...]:
    """What a result declares, from the outside in.

    Args:
        content: the tool's own result.
        private: what stands beside it.
    """
    if private is not None and holds_envelopes(private):
        held = parse(private)
        listed = held.get(ENVELOPES) if isinstance(held, dict) else None
        if isinstance(listed, list):
            found = [read for index, data in enumerate(listed[:MAX_DEPTH]) for read in _read(data, f"/private/{ENVELOPES}/{index}")]
            if found:
                return tuple(found)
    if not content.startswith("{") or '"af_' not in content:
        return ()
    return tuple(_walk(parse(content)))


def _walk(data: Any) -> Iterator[Envelope]:
    path = "/content"
    for _ in range(MAX_DEPTH):
        yield from _read(data, path)
        if not isinstance(data, dict) or not isinstance(data.get(COVERAGE), dict) or "result" not in data:
            return
        data, path = data["result"], f"{path}/result"


def _read(data: Any, path: str) -> Iterator[Envelope]:
    """The declaration that a mapping is, if it is one in every point that matters."""
    if not isinstance(data, dict) or sum(marker in data for marker in MARKERS) != 1:
        return
    if data.get(ABSENT) is True:
        made = _made("absence", data, path)
        if made.checked and isinstance(data.get("looked_for"), str):
            yield made
    elif isinstance(data.get(COVERAGE), dict):
        made = _made("coverage", data[COVERAGE], f"{path}/{COVERAGE}")
        if made.checked or made.has_gap:
            yield made
    elif data.get(SEMANTICS) is True and not faults_of(data):
        lists = data.get("coverage")
        yield _made("semantics", data, path, lists if isinstance(lists, dict) else {}, "coverage/")


def _made(kind: EnvelopeKind, data: Mapping[str, Any], path: str, lists: Mapping[str, Any] | None = None, under: str = "") -> Envelope:
    source = data if lists is None else lists
    read = {name: read_items(source.get(name), name) for name in LISTS}
    faults = [f"{under}{fault}" for items in read.values() for fault in items.faults]
    period, wrong = read_period(data["period"]) if data.get("period") is not None else (None, None)
    looked_for = data.get("looked_for")
    return Envelope(
        kind,
        path,
        read["checked"].items,
        read["not_checked"].items,
        read["cannot_cover"].items,
        looked_for=looked_for if isinstance(looked_for, str) else None,
        period=period,
        faults=(*faults, *(() if wrong is None else (wrong,))),
        left_off=sum(items.left_off for items in read.values()),
        data=data if kind == "semantics" else None,
    )
