"""Where each key and value of a TOML text stands. The text was parsed before: this scanner only has to find, not to judge."""

from __future__ import annotations

import bisect
import re
import tomllib
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

Path: TypeAlias = "tuple[str | int, ...]"
"""Names of tables and keys, and places in arrays, from the root."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
_LONG_BASIC = re.compile(r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''(?:[^']|'{1,2}(?!'))*'{3,5}", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\n]*")


class Place(NamedTuple):
    """A place in a text, counted from 1."""

    line: int
    column: int


def positions(text: str) -> Mapping[Path, Place]:
    """The places of all tables, keys and array items.

    Args:
        text: a valid TOML text with plain line ends.
    """
    scanner = _Scanner(text)
    scanner.document()
    starts = [0, *[match.end() for match in re.finditer("\n", text)]]
    found = {}
    for path, offset in scanner.found.items():
        line = bisect.bisect_right(starts, offset)
        found[path] = Place(line, offset - starts[line - 1] + 1)
    return found


class _Scanner:
    """Walks over a text from its begin to its end.

    Args:
        text: the text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Path, int] = {}
        self._items: dict[Path, int] = {}

    def document(self) -> None:
        """All of it."""
        table: Path = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match.group()

    def _header(self) -> Path:
        start = self.at
        many = self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        names = [name for name, _ in self._key()]
        self.at += 2 if many else 1
        table: Path = ()
        for index, name in enumerate(names):
            table = (*table, name)
            last = index == len(names) - 1
            if last and not many:
                self.found[table] = start
            self.found.setdefault(table, start)
            if last and many:
                self._items[table] = self._items.get(table, 0) + 1
            if table in self._items:
                table = (*table, self._items[table] - 1)
                self.found.setdefault(table, start)
        return table

    def _key(self) -> list[tuple[str, int]]:
        """The parts of a dotted key, and where each begins."""
        parts = []
        while True:
            self._skip(_SPACE)
            start = self.at
            quote = self.text[self.at]
            raw = self._skip(_BASIC if quote == '"' else _LITERAL if quote == "'" else _BARE)
            name = tomllib.loads(f"k = {raw}")["k"] if quote in "\"'" else raw
            parts.append((name, start))
            self._skip(_SPACE)
            if not raw or not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def _pair(self, table: Path) -> None:
        parts = self._key()
        path = table
        for name, start in parts:
            path = (*path, name)
            self.found.setdefault(path, start)
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _value(self, path: Path) -> None:
        text = self.text
        opening = text[self.at : self.at + 1]
        if opening == "[":
            self._array(path)
        elif opening == "{":
            self._inline(path)
        elif opening == '"':
            self._skip(_LONG_BASIC if text.startswith('"""', self.at) else _BASIC)
        elif opening == "'":
            self._skip(_LONG_LITERAL if text.startswith("'''", self.at) else _LITERAL)
        else:
            self._skip(_SCALAR)

    def _array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while self._to_next("]"):
            self.found[(*path, index)] = self.at
            self._value((*path, index))
            index += 1

    def _inline(self, path: Path) -> None:
        self.at += 1
        while self._to_next("}"):
            self._pair(path)

    def _to_next(self, closing: str) -> bool:
        """Go to the next item, or behind the end."""
        self._skip(_BLANK)
        if self.text.startswith(",", self.at):
            self.at += 1
            self._skip(_BLANK)
        if self.at >= len(self.text) or self.text[self.at] == closing:
            self.at += 1
            return False
        return True
