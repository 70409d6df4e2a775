"""What commands print: data on stdout, everything else on stderr, colours and columns on a terminal only."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_LISTED = re.compile(r"(?m)^(?:\s+\S|[-*]\s|\d+[.)]\s)|:$")
"""In a paragraph of lines that are not to be joined."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


_kept: TextIO | None = None
"""The real stdout, while ``sys.stdout`` is another stream."""


def out() -> TextIO:
    """Where results go."""
    return sys.stdout if _kept is None else _kept


@contextlib.contextmanager
def results_only() -> Iterator[None]:
    """In a pipe stdout holds results and nothing else: what tools, plugins and modules print goes to stderr."""
    global _kept
    if on_terminal():
        yield
        return
    before, _kept = _kept, out()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _kept = before


def on_terminal() -> bool:
    """Whether stdout is a terminal."""
    return out().isatty()


def interactive() -> bool:
    """Whether somebody sits there who can be asked."""
    return sys.stdin.isatty() and on_terminal()


def clean(text: str) -> str:
    """A text that cannot steer the terminal: what a model or a tool wrote may hold escape sequences."""
    return _CONTROL.sub(
        lambda found: f"\\x{ord(found[0]):02x}" if ord(found[0]) < 256 else f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n")
    )


def shown(text: str) -> str:
    """A text as it goes to stdout: cleaned on a terminal, as it is in a pipe."""
    return clean(text) if on_terminal() else text


def one_line(text: str, size: int = 100) -> str:
    """A text in one line, cut where it is too long.

    Args:
        text: the text.
        size: characters that may be shown.
    """
    line = clean(" ".join(text.split()))
    return line if len(line) <= size else f"{line[: size - 1]}…"


def counted(number: int, what: str) -> str:
    """A number of things, in words.

    Args:
        number: how many.
        what: one of them.
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


def wrapped(text: str, indent: int = 0) -> str:
    """A text of paragraphs for people: on a terminal in lines that fit it, in a pipe as it is.

    Args:
        text: the text.
        indent: blanks before each line.
    """
    import shutil
    import textwrap

    blanks = " " * indent
    if not on_terminal():
        return textwrap.indent(text, blanks)
    width = max(shutil.get_terminal_size().columns - 1, indent + 20)
    lines = [line for part in text.split("\n\n") for line in ([*part.splitlines(), ""] if _LISTED.search(part) else [part, ""])]
    return "\n".join([textwrap.fill(line, width, initial_indent=blanks, subsequent_indent=blanks) for line in lines[:-1]])


def console(*, stderr: bool = False) -> Console:
    """A console of rich, for a terminal."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def styled(text: str, style: str, stream: TextIO) -> str:
    """A text in a style where the stream is a terminal that wants colours.

    Args:
        text: the text.
        style: ``red``, ``green``, ``yellow``, ``cyan``, ``bold`` or ``dim``.
        stream: where it goes.
    """
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    codes = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}
    return f"\x1b[{codes[style]}m{text}\x1b[0m"


def data(value: Any, *, lines: bool = False) -> None:
    """Print JSON data.

    Args:
        value: the data.
        lines: in one line, for output of one object a line.
    """
    print(to_json(value, lines=lines), file=out(), flush=lines)


def to_json(value: Any, *, lines: bool = False) -> str:
    """JSON text that stdout can hold."""
    plain = not (out().encoding or "ascii").lower().replace("-", "").startswith("utf")  # what it cannot write, JSON has escapes for
    return json.dumps(value, ensure_ascii=plain, indent=None if lines else 2, default=str)


def say(text: str = "", style: str | None = None) -> None:
    """Print a line of the command's result.

    Args:
        text: the line.
        style: ``red``, ``green``, ``yellow``, ``cyan``, ``bold`` or ``dim``, for a terminal; plain when None.
    """
    line = shown(text)
    print(line if style is None else styled(line, style, out()), file=out())


def note(text: str, style: str | None = None) -> None:
    """Print a line beside the result, to stderr.

    Args:
        text: the line.
        style: ``red``, ``green``, ``yellow``, ``cyan``, ``bold`` or ``dim``, for a terminal; plain when None.
    """
    line = clean(text)
    print(line if style is None else styled(line, style, sys.stderr), file=sys.stderr, flush=True)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], styles: Sequence[str] | None = None) -> None:
    """Print a table: in columns with headers on a terminal, else its rows with tabs between the cells.

    Args:
        headers: of the columns.
        rows: the cells.
        styles: of the columns, for a terminal.
    """
    made = [[" ".join(str(cell).split()) if not on_terminal() else str(cell) for cell in row] for row in rows]
    if not on_terminal():
        for row in made:
            print("\t".join(row), file=out())
        return
    from rich.table import Table
    from rich.text import Text

    to = console()
    longest = max((len(row[0]) for row in made if row), default=0)
    grid = Table(box=None, pad_edge=False, header_style="dim", show_header=any(headers))
    for index, header in enumerate(headers):
        whole = min(longest, to.width // 2) if index == 0 else None  # names stand first, and are not broken
        grid.add_column(header, style=None if styles is None else styles[index] or None, overflow="fold", min_width=whole)
    for row in made:
        grid.add_row(*[Text(clean(cell)) for cell in row])
    to.print(grid, soft_wrap=False)
