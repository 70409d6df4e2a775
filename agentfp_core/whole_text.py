"""Text that comes in pieces cut in the middle of a character: servers that count in UTF-16 cut an emoji into two halves."""

from __future__ import annotations

import re

from agentfp_core.jsonable import without_surrogates

_HALF = re.compile("[\ud800-\udfff]")


class WholeText:
    """Puts characters together that were cut in two. One object takes one text."""

    def __init__(self) -> None:
        self._first = ""

    def feed(self, piece: str) -> str:
        """What is whole by now.

        Args:
            piece: the next one; may begin or end with half a character.
        """
        if self._first:
            piece = self._first + piece
            self._first = ""
        if _HALF.search(piece) is None:
            return piece
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._first = piece[:-1], piece[-1]
        return without_surrogates(piece)

    def finish(self) -> str:
        """What is left: a sign for a character whose other half never came."""
        left, self._first = self._first, ""
        return without_surrogates(left)
