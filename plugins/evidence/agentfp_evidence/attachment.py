"""Whether a value is stated for the entity that the results have it for. Advisory: a sentence may well speak of two things."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from agentfp_evidence.context import sentence_starts
from agentfp_evidence.index import Posting, places
from agentfp_evidence.report import EvidenceValue, Misattachment

_VALUES = frozenset({"identifier", "number", "money", "percent", "quantity", "time", "date", "datetime", "duration", "email", "phone"})
_ITEM = re.compile(r"(?m)^(?:\d{1,3}[.)]|[-*\u2022]|#{2,6}) ")
_Row = tuple[int, tuple[str | int, ...]]


def misattached(text: str, values: Sequence[EvidenceValue], postings: Mapping[tuple[int, int], Sequence[Posting]]) -> Iterator[Misattachment]:
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
            rows = _rows(held)
            if not held or any(_row(p) is None for p in held) or rows & own_rows or not _same_list(rows, own_rows):
                continue
            other = _entity_of(next(iter(sorted(rows, key=str))), own)
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
        gap = text.find("\n\n", starts[at]) if at >= 0 else -1
        if at >= 0 and (gap < 0 or values[i].start < gap) and "\n" in text[starts[at] : end].strip():
            groups.setdefault((starts[at], end), []).append(i)
        else:
            at = bisect_right(sentences, values[i].start) - 1
            groups.setdefault((sentences[at], -1), []).append(i)
    yield from groups.values()


def _of(postings: Mapping[tuple[int, int], Sequence[Posting]], value: EvidenceValue) -> Sequence[Posting]:
    return postings.get((value.start, value.end), ())


def _path(posting: Posting) -> tuple[str | int, ...]:
    keys: list[str | int] = []
    node = posting.node
    while node is not None:
        node, key = node
        keys.append(key)
    return tuple(reversed(keys))


def _row(posting: Posting) -> _Row | None:
    path = _path(posting)
    for i in range(len(path) - 1, -1, -1):
        if isinstance(path[i], int):
            return (id(posting.source), path[: i + 1])
    return None


def _rows(postings: Sequence[Posting]) -> set[_Row]:
    return {row for p in postings if p.source.ground == "evidence" and (row := _row(p)) is not None}


def _field(posting: Posting) -> str:
    return str(next((k for k in reversed(_path(posting)) if isinstance(k, str)), ""))


def _same_list(a: set[_Row], b: set[_Row]) -> bool:
    return {(source, path[:-1]) for source, path in a} <= {(source, path[:-1]) for source, path in b}


def _entity_of(row: _Row, like: Sequence[Posting]) -> str | None:
    """The value that another row has in the entity's field."""
    for posting in like:
        if id(posting.source) != row[0]:
            continue
        data = posting.source.reading.data
        value = data[0] if data else None
        inner = _path(posting)[len(row[1]) :]
        try:
            for key in (*row[1], *inner):
                value = value[key]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            continue
        return str(value)
    return None
