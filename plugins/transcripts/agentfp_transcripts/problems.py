"""What of the input could not be read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read. The rest was.

    Args:
        place: the file, and the line or item in it.
        text: what is wrong.
        skipped: it was found in a folder and need not be a transcript at all, so nothing may be wrong.
    """

    place: str
    text: str
    skipped: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"
