"""Numbers of results as rows and columns: lists of objects, and maps of objects, with their numeric and text fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agentfp_evidence.normalise import MOST_DIGITS
from agentfp_evidence.reading import Node
from agentfp_evidence.sources import Source

MAX_ROWS = 5_000
MAX_FIELDS = 64
MAX_GROUP_FIELDS = 8
MAX_GROUPS = 50


@dataclass(frozen=True)
class Rows:
    """Objects of one list or map.

    Args:
        rows: the objects.
        node: place of the list or map.
        source: the result.
        key: the key that the list stands under.
        is_text: they were read out of a table of text.
    """

    rows: Sequence[Mapping[str, Any]]
    node: Node
    source: Source
    key: str = ""
    is_text: bool = False

    @cached_property
    def having(self) -> Counter[tuple[str, str]]:
        """How many rows have each value of a text field."""
        return Counter((key, str(v)) for row in self.rows for key, v in row.items() if isinstance(v, (str, bool)))

    def numeric_fields(self) -> list[str]:
        """Fields that are a number in some row, at most :data:`MAX_FIELDS`."""
        names: dict[str, None] = {}
        for row in self.rows:
            for key, value in row.items():
                if is_number(value):
                    names[key] = None
        return list(names)[:MAX_FIELDS]

    def groups(self) -> Iterator[tuple[str, str, list[Mapping[str, Any]]]]:
        """Rows that share the value of a text field: the field, the value and the rows."""
        texts: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
        for row in self.rows:
            for key, value in row.items():
                if isinstance(value, (str, bool)):
                    texts.setdefault(key, {}).setdefault(str(value), []).append(row)
        used = 0
        for key, by_value in texts.items():
            if used == MAX_GROUP_FIELDS:
                return
            if 2 <= len(by_value) <= MAX_GROUPS and len(by_value) < len(self.rows):
                used += 1
                for value, rows in by_value.items():
                    yield key, value, rows


def is_number(value: Any) -> bool:
    """Whether JSON data is a number that can be reckoned with."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value and abs(value) < 10**MOST_DIGITS


def rows_of(source: Source, *, records: bool = False) -> Iterator[Rows]:
    """The rows of a result: of its JSON data, and of the tables that its texts show.

    Args:
        source: the result.
        records: also the single things that it describes: an object with numbers, or a text of labelled values.
    """
    for i, data in enumerate(source.reading.data):
        if isinstance(data, (dict, list)):
            yield from rows_in(data, source, None if i == 0 else (None, i))
            if records and isinstance(data, dict) and flat_numbers(data):
                yield Rows([data], None if i == 0 else (None, i), source)
    for node, table in source.reading.tables:
        if not table.is_record or records:
            yield Rows(table.rows[:MAX_ROWS], node, source, is_text=True)


def records_of(source: Source) -> Iterator[tuple[Any, Node]]:
    """What a result holds as data: its JSON documents, and the single things that its texts describe line by line.

    Args:
        source: the result.
    """
    for i, data in enumerate(source.reading.data):
        if isinstance(data, (dict, list)):
            yield data, None if i == 0 else (None, i)
    for node, table in source.reading.tables:
        yield table.rows, node


def rows_in(data: Any, source: Source, node: Node = None, key: str = "") -> Iterator[Rows]:
    """The lists and maps of at least two objects in JSON data."""
    stack: list[tuple[Any, Node, str]] = [(data, node, key)]
    while stack:
        value, place, name = stack.pop()
        if isinstance(value, dict):
            inner = [v for v in value.values() if isinstance(v, dict)]
            if len(inner) >= 2 and len(inner) == len(value):
                yield Rows(inner[:MAX_ROWS], place, source, name)
            stack.extend((v, (place, str(k)), str(k)) for k, v in reversed(list(value.items())) if isinstance(v, (dict, list)))
        else:
            objects = [v for v in value if isinstance(v, dict)]
            if len(objects) >= 2:
                yield Rows(objects[:MAX_ROWS], place, source, name)
            stack.extend((v, (place, i), name) for i, v in reversed(list(enumerate(value))) if isinstance(v, (dict, list)))


def lists_in(data: Any, node: Node = None, key: str = "") -> Iterator[tuple[str, int, Node]]:
    """The key, length and place of each list in JSON data, and of each map whose values are all objects."""
    stack: list[tuple[Any, Node, str]] = [(data, node, key)]
    while stack:
        value, place, name = stack.pop()
        if isinstance(value, dict):
            if value and all(isinstance(v, dict) for v in value.values()):
                yield name, len(value), place
            stack.extend((v, (place, str(k)), str(k)) for k, v in value.items() if isinstance(v, (dict, list)))
        else:
            yield name, len(value), place
            stack.extend((v, (place, i), name) for i, v in enumerate(value) if isinstance(v, (dict, list)))


def flat_numbers(row: Any) -> dict[str, float]:
    """The numbers of an object by key, those of objects right in it included: ``prices.economy``."""
    found: dict[str, float] = {}
    if not isinstance(row, dict):
        return found
    for key, value in row.items():
        if is_number(value):
            found[str(key)] = float(value)
        elif isinstance(value, dict):
            found.update({f"{key}.{k}": float(v) for k, v in value.items() if is_number(v)})
    return found
