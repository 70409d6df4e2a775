"""Which rows of the results a sentence speaks of: those with a text that the sentence holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from agentfp_evidence.columns import MAX_ROWS, Rows, flat_numbers, rows_of
from agentfp_evidence.moments import MONTHS, WEEKDAYS
from agentfp_evidence.sources import Source

MAX_NAMED_ROWS = 8
_LONGEST = 6
_WORD = re.compile(r"[^\W_]+")


class NamedRow(NamedTuple):
    """A row that a sentence names."""

    rows: Rows
    at: int

    @property
    def numbers(self) -> dict[str, float]:
        """Its numbers by key."""
        return flat_numbers(self.rows.rows[self.at])


class RowNames:
    """The texts of rows, and the rows that have them; made when first asked for."""

    def __init__(self) -> None:
        self._pending: list[Source] = []
        self._of: dict[str, list[NamedRow]] = {}

    def add(self, source: Source) -> None:
        """Note a source."""
        if source.ground == "evidence":
            self._pending.append(source)

    def named_in(self, sentence: str) -> list[tuple[int, NamedRow]]:
        """The rows that a sentence names, each with the place of its name.

        Args:
            sentence: a part of the answer.
        """
        for source in self._pending:
            for rows in rows_of(source, records=True):
                self._learn(rows)
        self._pending.clear()
        words = [(m.start(), m[0].lower()) for m in _WORD.finditer(sentence)]
        found: list[tuple[int, NamedRow]] = []
        at = 0
        while at < len(words):
            for length in range(min(_LONGEST, len(words) - at), 0, -1):
                key = " ".join(word for _, word in words[at : at + length])
                held = self._of.get(key) or (self._of.get(key[:3]) if key in WEEKDAYS or key in MONTHS else None)
                if held is not None:
                    if len(held) <= MAX_NAMED_ROWS:
                        found.extend((words[at][0], row) for row in held)
                    at += length - 1
                    break
            at += 1
        return found

    def _learn(self, rows: Rows) -> None:
        parts: dict[str, list[int]] = {}
        for i, row in enumerate(rows.rows[:MAX_ROWS]):
            for text in _texts(row):
                words = [w.lower() for w in _WORD.findall(text)]
                if not 0 < len(words) <= _LONGEST or (len(words) == 1 and len(words[0]) < 2 and not text.isupper()):
                    continue
                self._put(" ".join(words), NamedRow(rows, i))
                for word in words if len(words) > 1 else ():
                    if len(word) >= 4 and word.isalpha():
                        parts.setdefault(word, []).append(i)
        for word, places in parts.items():
            held = self._of.get(word, ())
            if len(set(places)) == 1 and all(row.rows is not rows for row in held):  # a part of a name, where no other row has it
                self._put(word, NamedRow(rows, places[0]))

    def _put(self, key: str, row: NamedRow) -> None:
        held = self._of.setdefault(key, [])
        if len(held) <= MAX_NAMED_ROWS:
            held.append(row)


def _texts(row: Any) -> Iterator[str]:
    for value in row.values():
        if isinstance(value, str) and 1 <= len(value) <= 80:
            yield value
        elif isinstance(value, dict):
            yield from (v for v in value.values() if isinstance(v, str) and 2 <= len(v) <= 80)
