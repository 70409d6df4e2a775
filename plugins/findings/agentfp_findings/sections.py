"""Parts of the ledger's piece as they are kept: entries in the order in which results were first named, each encoded once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

MOST_ENTRIES = 64
MOST_IDS = 32


class Head(NamedTuple):
    """The first lines of a section, each after a newline; how many they are, and their bytes."""

    text: str
    lines: int
    size: int


def size_of(text: str) -> int:
    """Bytes of a text."""
    return len(text) if text.isascii() else len(text.encode())


class Section:
    """Entries by rank, each of one or more lines.

    Attributes:
        count: lines in all.
        changes: how often an entry came or went.
    """

    __slots__ = ("_head", "_lines", "_ranks", "changes", "count")

    def __init__(self) -> None:
        self._ranks: list[int] = []
        self._lines: dict[int, tuple[str, ...]] = {}
        self._head: Head | None = None
        self.count = self.changes = 0

    def put(self, rank: int, lines: tuple[str, ...]) -> None:
        """Set the lines of an entry that is not there yet."""
        place = bisect_left(self._ranks, rank)
        self._ranks.insert(place, rank)
        self._lines[rank] = lines
        self.count += len(lines)
        self.changes += 1
        if place < MOST_ENTRIES:
            self._head = None

    def drop(self, rank: int) -> None:
        """Take an entry out, if it is there."""
        lines = self._lines.pop(rank, None)
        if lines is not None:
            place = bisect_left(self._ranks, rank)
            del self._ranks[place]
            self.count -= len(lines)
            self.changes += 1
            if place < MOST_ENTRIES:
                self._head = None

    def head(self) -> Head:
        """The first lines, as many as are served at most; made anew only when one of them has changed."""
        if self._head is None:
            lines = list(islice(self, MOST_ENTRIES))
            text = "".join(["\n" + line for line in lines])
            self._head = Head(text, len(lines), size_of(text))
        return self._head

    def __iter__(self) -> Iterator[str]:
        for rank in self._ranks:
            yield from self._lines[rank]


class Ids:
    """Ids in the order in which they came, each with its JSON text."""

    __slots__ = ("_head", "_texts")

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._head: str | None = None

    def __len__(self) -> int:
        return len(self._texts)

    def put(self, call_id: str, text: str) -> None:
        """Add an id at the end."""
        if len(self._texts) < MOST_IDS:
            self._head = None
        self._texts[call_id] = text

    def drop(self, call_id: str) -> None:
        """Take an id out, if it is there."""
        if self._texts.pop(call_id, None) is not None:
            self._head = None

    def line(self) -> str:
        """How many ids there are, and the first of them."""
        if self._head is None:
            self._head = ",".join(islice(self._texts.values(), MOST_IDS))
        return f'{{"count":{len(self._texts)},"ids":[{self._head}]}}'


def ids_line(ids: dict[str, str]) -> str:
    """How many ids there are, and the first of them.

    Args:
        ids: each with its JSON text.
    """
    return f'{{"count":{len(ids)},"ids":[{",".join(islice(ids.values(), MOST_IDS))}]}}'


def closing(omitted: int) -> str:
    """The last line of a section, where it omits something."""
    return f'\n{{"omitted":{omitted}}}' if omitted > 0 else ""
