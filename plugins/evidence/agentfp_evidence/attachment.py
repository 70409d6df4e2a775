"""Whether a value is stated for the entity that the results have it for. Advisory: a sentence may well speak of two things."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentfp_evidence.context import sentence_around
from agentfp_evidence.index import Posting, places
from agentfp_evidence.report import EvidenceValue, Misattachment
from agentfp_evidence.table import Table

_VALUES = frozenset({"identifier", "number", "money", "percent", "quantity", "time", "date", "datetime", "duration", "email", "phone"})
_Row = tuple[int, tuple[str | int, ...]]


def misattached(table: Table, text: str, values: Sequence[EvidenceValue], keys: Sequence[tuple[str, ...]]) -> Iterator[Misattachment]:
    """Values that the results have for another row than that of the entity beside them.

    Args:
        table: the evidence.
        text: the answer, folded.
        values: the judged values, in order.
        keys: of each value, the keys under which the evidence holds it.
    """
    sentences: dict[tuple[int, int], list[int]] = {}
    for i, value in enumerate(values):
        if value.verdict == "supported" and value.how in ("exact", "part") and value.kind in _VALUES:
            sentences.setdefault(sentence_around(text, value.start, value.end), []).append(i)
    for indices in sentences.values():
        entities = [i for i in indices if values[i].kind == "identifier"]
        if not entities or len(indices) < 2:
            continue
        entity = entities[0]
        own = _postings(table, keys[entity])
        own_rows, own_fields = _rows(own), {_field(p) for p in own}
        others = [i for i in entities[1:] if {_field(p) for p in _postings(table, keys[i])} & own_fields]
        if not own_rows or others or any(_row(p) is None for p in own):
            continue
        for i in indices:
            if i == entity or values[i].value == values[entity].value:
                continue
            held = _postings(table, keys[i])
            rows = _rows(held)
            if not held or any(_row(p) is None for p in held) or rows & own_rows or not _same_list(rows, own_rows):
                continue
            other = _entity_of(table, next(iter(sorted(rows, key=str))), own)
            if other is not None and other.lower() != values[entity].value:
                v = values[i]
                yield Misattachment(
                    value=v.text, stated_for=values[entity].text, served_for=other, start=v.start, end=v.end, sources=places(held)
                )


def _postings(table: Table, keys: tuple[str, ...]) -> list[Posting]:
    return [p for key in keys for p in table.find(key)]


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


def _entity_of(table: Table, row: _Row, like: Sequence[Posting]) -> str | None:
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
