"""Which results of a turn hold a value: kept only while the evidence plugin is on, for values that rest on set-aside results."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[^\W_](?:[\w.,:/@%+-]*[^\W_])?")
MOST_WORDS = 200_000
"""Words of a turn's results after which nothing is said any more."""
MOST_CARRIERS = 8


def data_words(text: str) -> list[str]:
    """Words that are data and not speech: those with a digit and at least four characters, each once, as they are written."""
    found = (match[0] for match in _WORD.finditer(text))
    return list(dict.fromkeys(word for word in found if len(word) >= 4 and any(map(str.isdigit, word))))


def spelling(word: str) -> str:
    """What is the same for two ways to write a word."""
    return word.replace(",", "").casefold()


class Carriers:
    """The data words of one turn, with the results that hold them, and what the person said."""

    __slots__ = ("_holders", "_places", "_said", "_words", "turn")

    def __init__(self, turn: int) -> None:
        self.turn = turn
        self._holders: dict[str, list[str]] = {}
        self._places: dict[str, int] = {}
        self._said: set[str] = set()
        self._words = 0

    def add_result(self, call_id: str, text: str) -> None:
        """Take in a result as the model reads it."""
        self._places.setdefault(call_id, len(self._places))
        words = data_words(text)
        self._words += len(words)
        for word in words if self._words <= MOST_WORDS else ():
            holders = self._holders.setdefault(spelling(word), [])
            if len(holders) <= MOST_CARRIERS and call_id not in holders:
                holders.append(call_id)

    def add_said(self, text: str) -> None:
        """Take in what the person says: a value of theirs rests on no result."""
        self._said.update(spelling(word) for word in data_words(text))

    def of(self, spellings: Iterable[str], also: Iterable[str] = ()) -> list[str] | None:
        """The results that hold a value in any of its spellings, in order; None when that cannot be said.

        Args:
            spellings: of the value.
            also: results that are known to hold it; those of other turns do not count.
        """
        words = [spelling(word) for word in spellings]
        if self._words > MOST_WORDS or any(word in self._said for word in words):
            return None
        found = {call_id for word in words for call_id in self._holders.get(word, ())}
        found.update(call_id for call_id in also if call_id in self._places)
        return sorted(found, key=self._places.__getitem__) if 0 < len(found) <= MOST_CARRIERS else None
