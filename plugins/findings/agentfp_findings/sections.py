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
    """

    __slots__ = ("_head", "_lines", "_ranks", "count")

    def __init__(self) -> None:
        self._ranks: list[int] = []
        self._lines: dict[int, tuple[str, ...]] = {}
        self._head: Head | None = None
        self.count = 0

    def put(self, rank: int, lines: tuple[str, ...]) -> None:
        """Set the lines of an entry that is not there yet."""
        place = bisect_left(self._ranks, rank)
        self._ranks.insert(place, rank)
        self._lines[rank] = lines
        self.count += len(lines)
        if place < MOST_ENTRIES:
            self._head = None

    def drop(self, rank: int) -> None:
        """Take an entry out, if it is there."""
        lines = self._lines.pop(rank, None)
        if lines is not None:
            place = bisect_left(self._ranks, rank)
            del self._ranks[place]
            self.count -= len(lines)
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


def ids_line(ids: dict[str, str]) -> str:
    """How many ids there are, and the first of them.

    Args:
        ids: each with its JSON text.
    """
    return f'{{"count":{len(ids)},"ids":[{",".join(islice(ids.values(), MOST_IDS))}]}}'
