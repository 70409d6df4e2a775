"""One JSON value, recognised a piece at a time by JSON's own grammar."""

from __future__ import annotations

import enum
import re

BLANKS = " \t\r\n"
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_DIGITS = "0123456789"
_NUMBER_DONE = frozenset({"zero", "int", "frac", "exp"})
_NUMBER: dict[str, tuple[tuple[str, str], ...]] = {
    "minus": (("0", "zero"), ("123456789", "int")),
    "zero": ((".", "dot"), ("eE", "e")),
    "int": ((_DIGITS, "int"), (".", "dot"), ("eE", "e")),
    "dot": ((_DIGITS, "frac"),),
    "frac": ((_DIGITS, "frac"), ("eE", "e")),
    "e": (("+-", "sign"), (_DIGITS, "exp")),
    "sign": ((_DIGITS, "exp"),),
    "exp": ((_DIGITS, "exp"),),
}
_LITERALS = {"t": "rue", "f": "alse", "n": "ull"}


class Seen(enum.Enum):
    """What became of the value in a piece of text."""

    MORE = "more"
    DONE = "done"
    BROKEN = "broken"


class JsonValue:
    """Recognises one value. :meth:`read` takes text until the value ends or stops being JSON."""

    __slots__ = ("_key", "_left", "_open", "_state")

    def __init__(self) -> None:
        self._state = "value"
        self._open: list[str] = []
        self._key = False
        self._left = ""

    def read(self, text: str, start: int) -> tuple[int, Seen]:
        """Go on in a piece of text.

        Args:
            text: the piece.
            start: where in it to go on.

        Returns:
            Where reading stopped, and why: at the end of the piece, after the value, or at what cannot be part of one.
        """
        at, end = start, len(text)
        while at < end:
            if self._state == "string":
                plain = _PLAIN.match(text, at)
                if plain is not None:
                    at = plain.end()
                    continue
            elif self._state in _NUMBER and self._number(text[at]):
                at += 1
                continue
            elif self._state in _NUMBER_DONE:
                if self._ended() is Seen.DONE:
                    return at, Seen.DONE
                continue
            seen = self._step(text[at])
            if seen is Seen.BROKEN:
                return at, seen
            at += 1
            if seen is Seen.DONE:
                return at, seen
        return at, Seen.MORE

    def _number(self, char: str) -> bool:
        for chars, state in _NUMBER[self._state]:
            if char in chars:
                self._state = state
                return True
        return False

    def _step(self, char: str) -> Seen:
        state = self._state
        if state == "string":
            return self._in_string(char)
        if state in ("escape", "hex"):
            return self._escaped(char)
        if state == "literal":
            if char != self._left[0]:
                return Seen.BROKEN
            self._left = self._left[1:]
            return self._ended() if not self._left else Seen.MORE
        if char in BLANKS:
            return Seen.BROKEN if state in _NUMBER else Seen.MORE
        if state in ("key", "first-key"):
            if char == '"':
                self._state, self._key = "string", True
                return Seen.MORE
            return self._close(char) if state == "first-key" else Seen.BROKEN
        if state == "colon":
            self._state = "value"
            return Seen.MORE if char == ":" else Seen.BROKEN
        if state == "after":
            if char == ",":
                self._state = "key" if self._open[-1] == "}" else "value"
                return Seen.MORE
            return self._close(char)
        if state == "first-value" and char == "]":
            return self._close(char)
        return self._begin(char) if state in ("value", "first-value") else Seen.BROKEN

    def _begin(self, char: str) -> Seen:
        if char == '"':
            self._state, self._key = "string", False
        elif char == "{":
            self._open.append("}")
            self._state = "first-key"
        elif char == "[":
            self._open.append("]")
            self._state = "first-value"
        elif char in _LITERALS:
            self._state, self._left = "literal", _LITERALS[char]
        elif char == "-":
            self._state = "minus"
        elif char in _DIGITS:
            self._state = "zero" if char == "0" else "int"
        else:
            return Seen.BROKEN
        return Seen.MORE

    def _in_string(self, char: str) -> Seen:
        if char == '"':
            if self._key:
                self._state = "colon"
                return Seen.MORE
            return self._ended()
        if char == "\\":
            self._state = "escape"
            return Seen.MORE
        return Seen.BROKEN

    def _escaped(self, char: str) -> Seen:
        if self._state == "escape":
            if char == "u":
                self._state, self._left = "hex", "...."
            elif char in '"\\/bfnrt':
                self._state = "string"
            else:
                return Seen.BROKEN
            return Seen.MORE
        if char not in "0123456789abcdefABCDEF":
            return Seen.BROKEN
        self._left = self._left[1:]
        if not self._left:
            self._state = "string"
        return Seen.MORE

    def _close(self, char: str) -> Seen:
        if not self._open or char != self._open[-1]:
            return Seen.BROKEN
        self._open.pop()
        return self._ended()

    def _ended(self) -> Seen:
        self._state = "after"
        return Seen.MORE if self._open else Seen.DONE
