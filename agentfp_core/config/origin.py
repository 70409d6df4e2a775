"""Where a value of the configuration came from, and a problem with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from.

    Args:
        kind: a file; an overlay of it; an environment variable; an argument in code; or nobody said anything.
        file: the file, as its path was given.
        line: in the file, from 1.
        column: in the line, from 1.
        name: of the overlay or the environment variable.
    """

    kind: Literal["file", "overlay", "environment", "override", "default"]
    file: str | None = None
    line: int | None = None
    column: int | None = None
    name: str | None = None

    @property
    def place(self) -> str:
        """Where to go and change it."""
        if self.kind == "environment":
            return f"environment variable {self.name}"
        if self.file is None:
            return self.kind
        return self.file if self.line is None else f"{self.file}:{self.line}:{self.column}"

    def __str__(self) -> str:
        return f"{self.place} ([env.{self.name}])" if self.kind == "overlay" else self.place


OVERRIDE = Origin("override")
DEFAULT = Origin("default")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, or odd, and where.

    Args:
        origin: where.
        text: what, and what to do; never a value.
    """

    origin: Origin
    text: str

    def masked(self, mask: Callable[[str], str]) -> Problem:
        """The same with its text masked.

        Args:
            mask: masks a text.
        """
        return Problem(self.origin, mask(self.text))

    def __str__(self) -> str:
        return self.text if self.origin.kind == "override" else f"{self.origin.place}: {self.text}"
