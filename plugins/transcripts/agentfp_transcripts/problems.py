"""What of the input could not be read."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WITHIN = re.compile(r"(?::\d+| document \d+)?(?: \$.*)?\Z")


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

    @property
    def file(self) -> str:
        """The file, without the place in it."""
        return _WITHIN.sub("", self.place)

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"
