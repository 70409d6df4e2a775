"""The fenced code blocks of a page, each with the marks that stand over it; nothing that looks like a block is passed over."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

MARKS = frozenset({"file", "more", "runs", "output", "exit", "problems"})
LANGUAGES = frozenset({"python", "toml", "sh", "text"})
_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->")


class PageError(AssertionError):
    """A page holds something that these tests could not run."""


@dataclass(frozen=True)
class Block:
    """One block.

    Args:
        page: name of the page.
        line: where its fence stands.
        language: the word after the fence.
        text: what stands in it.
        marks: by name, of the comment over it.
    """

    page: str
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.page}:{self.line} ({self.language})"


def blocks_of(page: str, text: str) -> list[Block]:
    """The blocks of a page, in order.

    Raises:
        PageError: a fence is left open, is not of the form that is looked for, or a comment is no mark of a block or a table.
    """
    found: list[Block] = []
    opened: tuple[int, str, dict[str, str]] | None = None
    body: list[str] = []
    pending: tuple[int, str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if opened is not None:
            if line.startswith("```"):
                found.append(Block(page, opened[0], opened[1], "\n".join(body) + "\n", opened[2]))
                opened = None
            else:
                body.append(line)
        elif line.startswith("```"):
            opened, body = (number, line[3:].strip(), _marks(page, pending)), []
            pending = None
        elif line.lstrip().startswith(("```", "~~~")):
            raise PageError(f"{page}:{number}: a fence must begin its line and be made of three backticks")
        elif line.strip():
            if pending is not None and not line.startswith("|"):
                raise PageError(f"{page}:{pending[0]}: a comment stands over something that is neither a block nor a table")
            comment = _COMMENT.fullmatch(line.strip())
            pending = (number, comment[1]) if comment is not None else None
    if opened is not None:
        raise PageError(f"{page}:{opened[0]}: the fence is left open")
    if pending is not None:
        raise PageError(f"{page}:{pending[0]}: a comment stands over nothing")
    for block in found:
        if block.language not in LANGUAGES:
            raise PageError(f"{block}: a block is one of {', '.join(sorted(LANGUAGES))}")
    return found


def _marks(page: str, comment: tuple[int, str] | None) -> dict[str, str]:
    if comment is None:
        return {}
    marks = {}
    for part in comment[1].split(";"):
        name, _, value = part.partition(":")
        if name.strip() not in MARKS:
            raise PageError(f"{page}:{comment[0]}: there is no mark {name.strip()!r}; the marks are {', '.join(sorted(MARKS))}")
        marks[name.strip()] = value.strip()
    return marks


def tables_of(text: str) -> dict[str, list[list[str]]]:
    """The rows of each table with a comment ``<!-- names: LABEL -->`` over it, by label; head and rule left out."""
    found: dict[str, list[list[str]]] = {}
    label: str | None = None
    rows: list[list[str]] = []
    for line in [*text.split("\n"), ""]:
        comment = _COMMENT.fullmatch(line.strip())
        if comment is not None and comment[1].startswith("names:"):
            label, rows = comment[1].removeprefix("names:").strip(), []
        elif line.startswith("|") and label is not None:
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif label is not None and rows:
            found[label], label = rows[2:], None
    return found


def names_in(cell: str) -> list[str]:
    """The words in backticks of a cell."""
    return re.findall(r"`([^`]+)`", cell)


def pages(root: Path) -> list[Path]:
    """The pages whose blocks are run."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
