"""Whether a value is stated for the entity that the results have it for. Advisory: a sentence may well speak of two things."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from agentfp_evidence.context import sentence_starts
from agentfp_evidence.index import Posting, places
from agentfp_evidence.reading import Node, data_at
from agentfp_evidence.report import EvidenceValue, Misattachment
from agentfp_evidence.sources import Source

_VALUES = frozenset({"identifier", "number", "money", "percent", "quantity", "time", "date", "datetime", "duration", "email", "phone"})
_ITEM = re.compile(r"(?m)^(?:\d{1,3}[.)]|[-*\u2022]|#{2,6}) ")


class _Row(NamedTuple):
    id: int
    list_id: int
    source: Source
    node: Node


def misattached(
    text: str, values: Sequence[EvidenceValue], postings: Mapping[tuple[int, int], Sequence[Posting]]
) -> Iterator[Misattachment]:
    """Values that the results have for another row than that of the entity beside them.

    Args:
        text: the answer, folded.
        values: the judged values, in order.
        postings: where each value stands in the evidence, by its place in the answer.
    """
    for indices in _groups(text, values):
        entities = [i for i in indices if values[i].kind == "identifier"]
        if not entities or len(indices) < 2:
            continue
        entity = entities[0]
        own = _of(postings, values[entity])
        own_rows, own_fields = _rows(own), {_field(p) for p in own}
        others = [i for i in entities[1:] if {_field(p) for p in _of(postings, values[i])} & own_fields]
        if not own_rows or others or any(_row(p) is None for p in own):
            continue
        for i in indices:
            if i == entity or values[i].value == values[entity].value:
                continue
            held = _of(postings, values[i])
            if any(id(p.item) in own_rows for p in held):
                continue
            rows = _rows(held)
            if not held or any(_row(p) is None for p in held) or rows.keys() & own_rows.keys():
                continue
            beside = {row.list_id for row in own_rows.values()}
            if any(row.list_id not in beside for row in rows.values()):
                continue
            other = _entity_of(next(iter(rows.values())), own)
            if other is not None and other.lower() != values[entity].value:
                v = values[i]
                yield Misattachment(
                    value=v.text, stated_for=values[entity].text, served_for=other, start=v.start, end=v.end, sources=places(held)
                )


def _groups(text: str, values: Sequence[EvidenceValue]) -> Iterator[list[int]]:
    """The values that speak of one thing: those of a sentence or a row of a table; of an item of a list, its sub-items included."""
    chosen = [i for i, v in enumerate(values) if v.verdict == "supported" and v.how in ("exact", "part") and v.kind in _VALUES]
    starts = [m.start() for m in _ITEM.finditer(text)]
    sentences = sentence_starts(text)
    groups: dict[tuple[int, int], list[int]] = {}
    for i in chosen:
        at = bisect_right(starts, values[i].start) - 1
        end = starts[at + 1] if at + 1 < len(starts) else len(text)
        gap = text.find("\n\n", starts[at], end) if at >= 0 else -1
        if at >= 0 and (gap < 0 or values[i].start < gap) and "\n" in text[starts[at] : end].strip():
            groups.setdefault((starts[at], end), []).append(i)
        else:
            at = bisect_right(sentences, values[i].start) - 1
            groups.setdefault((sentences[at], -1), []).append(i)
    yield from groups.values()


def _of(postings: Mapping[tuple[int, int], Sequence[Posting]], value: EvidenceValue) -> Sequence[Posting]:
    return postings.get((value.start, value.end), ())


def _row(posting: Posting) -> _Row | None:
    """The row that a value stands in: the nearest item of a list; nodes of one reading are shared, so they tell rows apart."""
    node = posting.item
    return None if node is None else _Row(id(node), id(node[0]), posting.source, node)


def _rows(postings: Sequence[Posting]) -> dict[int, _Row]:
    return {row.id: row for p in postings if p.source.ground == "evidence" and (row := _row(p)) is not None}


def _field(posting: Posting) -> str:
    node = posting.node
    while node is not None:
        if isinstance(node[1], str):
            return node[1]
        node = node[0]
    return ""


def _entity_of(row: _Row, like: Sequence[Posting]) -> str | None:
    """The value that another row has in the entity's field."""
    for posting in like:
        if posting.source is not row.source:
            continue
        inner: list[str | int] = []
        node = posting.node
        while node is not None and not isinstance(node[1], int):
            inner.append(node[1])
            node = node[0]
        value = data_at(row.source.reading, row.node)
        for key in reversed(inner):
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return str(value)
    return None
