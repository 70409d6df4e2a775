"""Takes the model's notes out of an answer, in pieces of any size: each JSON object's own ``_findings`` member, and nothing else.

What is shown of a text does not depend on how it was cut. Only what may turn out to belong to a note is held back: blanks, a
key being read, a fence line, the rest of an emptied object's line, and a note until it closes or stops being JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any

from agentfp_findings.jsonvalue import BLANKS, JsonValue, Seen
from agentfp_findings.words import KEY

_PROSE = re.compile(r"[^ \t\r\n{\[\]`~]+")
_BLANK = re.compile(r"[ \t\r\n]+")
_OPENING = re.compile(r"(`{3,})[^`]*|(~{3,}).*")
_MAYBE_OPENING = re.compile(r"`{1,2}|~{1,2}|`{3,}[^`]*|~{3,}.*")
_UNREADABLE = object()


class _Fence:
    """A block of code: how it opened, and what of it is held while it may hold notes only."""

    __slots__ = ("before", "emptied", "held", "mark")

    def __init__(self, mark: str, before: str, line: str) -> None:
        self.mark = mark
        self.before = before
        self.held: str | None = before + line
        self.emptied = 0


class _Object:
    """An object being read.

    Attributes:
        before: blanks before it, not shown yet.
        alone: it begins its line, outside of a list and of code.
        shown: its brace is shown, for it has a member that stays.
        gap: what stands before the next key and is not shown yet.
        raw: a key, and of a note all up to where its value ends.
        notes: values of its notes.
    """

    __slots__ = ("alone", "before", "gap", "is_note", "notes", "raw", "shown", "state", "tail", "value", "value_at")

    def __init__(self, before: str, *, alone: bool) -> None:
        self.before = before
        self.alone = alone
        self.shown = False
        self.state = "first"
        self.gap = ""
        self.raw = ""
        self.tail = ""
        self.is_note = False
        self.value = JsonValue()
        self.value_at = 0
        self.notes: list[Any] = []


class AnswerPeeler:
    """A reply filter that takes notes out.

    Attributes:
        notes: the values of the notes in the text so far, one for each object that held any, in the order of the text.
        malformed: notes that the text broke off in, or whose value cannot be read.
    """

    # One is made for each reply, and most replies are calls without a text: what does not change then is set once, for all.
    malformed = 0
    _blank = ""
    _fresh = True  # the blanks begin a line
    _any = False  # something else than blanks was shown
    _removed = False  # something was taken out since then
    _bare = 0  # objects outside of code that came out empty and whole
    _emptied = 0
    _pending: list[str] | None = None  # an emptied object on a line of its own so far: blanks before it and after it
    _brackets = 0
    _last = ""
    _line: str | None = None  # a line that may open or close a block of code
    _object: _Object | None = None
    _fence: _Fence | None = None

    def __init__(self) -> None:
        self.notes: list[Any] = []
        self._out: list[str] = []

    # --- the protocol ---

    def feed(self, text: str) -> str:
        """Take a piece; give what can be shown by now."""
        self._take(text)
        return self._flushed()

    def finish(self) -> str:
        """The text is complete: give the rest."""
        if self._object is not None:
            self._end_object(self._object)
        if self._line is not None:
            self._end_line()
        fence, pending = self._fence, self._pending
        if fence is not None and fence.held is not None:
            if fence.emptied:
                self._blank, self._removed = "", True
            else:
                self._show("")
        if pending is not None:
            self._pending, self._removed = None, True
        if not self._any and self._emptied:
            self._blank = ""
            if self._emptied == self._bare == 1:
                self._out.append("{}")
        if not self._removed:
            self._out.append(self._blank)
        self._blank = ""
        return self._flushed()

    def _flushed(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text

    # --- text ---

    def _take(self, text: str, *, plain_start: bool = False) -> None:
        """Go through a piece.

        Args:
            text: the piece.
            plain_start: its first character begins no block of code.
        """
        at, end = 0, len(text)
        while at < end:
            if self._object is not None:
                at = self._in_object(self._object, text, at)
            elif self._line is not None:
                at = self._in_line(text, at)
            else:
                at = self._in_prose(text, at, plain=plain_start and at == 0)

    def _in_prose(self, text: str, at: int, *, plain: bool) -> int:
        blank = _BLANK.match(text, at)
        if blank is not None:
            if self._pending is not None:
                self._pending[1] += blank[0]
            else:
                self._blank += blank[0]
            return blank.end()
        self._settle()
        char = text[at]
        line_start = self._fresh or "\n" in self._blank
        if char in "`~" and line_start and not plain and (self._fence is None or char == self._fence.mark[0]):
            self._line = ""
            return at
        if char == "{":
            listed = self._brackets > 0 and self._last in ("[", ",")
            self._object = _Object(self._blank, alone=line_start and not listed and self._fence is None)
            self._blank = ""
            return at + 1
        run = _PROSE.match(text, at)
        shown = char if run is None else run[0]
        if char == "[":
            self._brackets += 1
        elif char == "]":
            self._brackets = max(self._brackets - 1, 0)
        self._show(shown)
        return at + len(shown)

    def _settle(self) -> None:
        """More text comes after an emptied object: it goes with its line, or stays as ``{}`` when that line goes on."""
        if self._pending is None:
            return
        before, after = self._pending
        self._pending = None
        if "\n" in after:
            self._blank = before[: before.rfind("\n") + 1] + after[after.rfind("\n") + 1 :]
            self._fresh, self._removed = True, True
        else:
            self._blank = before
            self._show("{}")
            self._blank = after

    def _show(self, text: str) -> None:
        """Show blanks that were held and then a text."""
        if self._fence is not None and self._fence.held is not None:
            self._out.append(self._fence.held)
            self._fence.held, self._any = None, True
        self._out += (self._blank, text)
        self._blank = ""
        if text:
            self._fresh = self._removed = False
            self._any = True
            self._last = text[-1]

    # --- blocks of code ---

    def _in_line(self, text: str, at: int) -> int:
        assert self._line is not None
        newline = text.find("\n", at)
        stop = len(text) if newline < 0 else newline
        self._line += text[at:stop]
        may_be = _MAYBE_OPENING if self._fence is None else re.compile(re.escape(self._fence.mark[0]) + r"+[ \t\r]*")
        if newline >= 0:
            self._end_line()
        elif not may_be.fullmatch(self._line):
            line, self._line = self._line, None
            self._take(line, plain_start=True)
        return stop

    def _end_line(self) -> None:
        line, self._line = self._line or "", None
        fence = self._fence
        if fence is not None:
            marks = line.rstrip(BLANKS)
            if len(marks) < len(fence.mark) or marks.strip(fence.mark[0]):
                self._take(line, plain_start=True)
            elif fence.held is not None and fence.emptied:
                self._fence, self._blank = None, ""
                self._pending = [fence.before, ""]
            else:
                self._show(line)
                self._fence = None
            return
        opening = _OPENING.fullmatch(line)
        if opening is None:
            self._take(line, plain_start=True)
            return
        self._fence = _Fence(opening[1] or opening[2], self._blank, line)
        self._blank, self._fresh = "", False

    # --- objects ---

    def _in_object(self, item: _Object, text: str, at: int) -> int:
        if item.state == "value":
            return self._in_value(item, text, at)
        char = text[at]
        if item.state == "key":
            return self._in_key(item, text, at)
        if char in BLANKS:
            if item.state == "colon":
                item.raw += char
            elif item.state == "after":
                item.tail += char
            else:
                item.gap += char
            return at + 1
        if item.state in ("first", "next"):
            if char == '"':
                item.state, item.raw, item.value = "key", '"', JsonValue()
                item.value.read('"', 0)
                return at + 1
            if char == "}" and item.state == "first":
                self._open(item)
                self._close(item, "}")
                return at + 1
            self._give_up(item, item.gap)
            return at
        if item.state == "colon":
            if char != ":":
                self._give_up(item, item.gap + item.raw)
                return at
            item.state, item.value = "value", JsonValue()
            if item.is_note:
                item.raw += ":"
                item.value_at = len(item.raw)
            else:
                self._open(item)
                self._show(item.gap + item.raw + ":")
            return at + 1
        return self._after_value(item, char, at)

    def _in_key(self, item: _Object, text: str, at: int) -> int:
        stop, seen = item.value.read(text, at)
        item.raw += text[at:stop]
        if seen is Seen.BROKEN:
            self._give_up(item, item.gap + item.raw)
        elif seen is Seen.DONE:
            item.state = "colon"
            item.is_note = json.loads(item.raw) == KEY
        return stop

    def _in_value(self, item: _Object, text: str, at: int) -> int:
        stop, seen = item.value.read(text, at)
        if item.is_note:
            item.raw += text[at:stop]
        elif stop > at:
            self._show(text[at:stop])
        if seen is Seen.DONE:
            item.state, item.tail = "after", ""
            if item.is_note:
                self._read_note(item)
        elif seen is Seen.BROKEN:
            self._give_up(item, item.gap + item.raw if item.is_note else "")
        return stop

    def _read_note(self, item: _Object) -> None:
        try:
            item.notes.append(json.loads(item.raw[item.value_at :]))
        except (ValueError, RecursionError):  # a number or a depth that Python does not read
            self.malformed += 1
            item.notes.append(_UNREADABLE)

    def _after_value(self, item: _Object, char: str, at: int) -> int:
        """What comes after a member: a note leaves with one comma, and with the blanks that only it needed."""
        if char not in ",}":
            if item.shown or not item.is_note:
                self._give_up(item, item.tail)
            else:
                self._empty(item, item.tail)
            return at
        if char == "}":
            if not item.shown:
                self._empty(item, "")
                self._bare += self._fence is None
            else:
                self._close(item, item.tail + "}")
            return at + 1
        item.state = "next"
        if item.shown:
            self._show(item.tail)
            item.gap = ","
        else:
            item.gap = ""
        return at + 1

    def _open(self, item: _Object) -> None:
        """A member stays, so the object does."""
        if not item.shown:
            self._blank = item.before
            self._show("{")
            item.shown = True

    def _close(self, item: _Object, text: str) -> None:
        self._show(item.gap + text if item.state == "first" else text)
        self._keep_notes(item)
        self._object = None

    def _give_up(self, item: _Object, held: str) -> None:
        """This is no JSON: what is held of it is given back as it was written, and reading goes on after it."""
        if not item.shown and item.notes:
            self._blank = item.before
            self._show("{},")
        else:
            self._open(item)
        self._show(held)
        self._keep_notes(item)
        self._object = None

    def _empty(self, item: _Object, after: str) -> None:
        """Nothing of an object stays."""
        self._keep_notes(item)
        self._object = None
        self._emptied += 1
        if self._fence is not None and self._fence.held is not None:
            self._fence.held += item.before + "{}"
            self._fence.emptied += 1
            self._blank = after
        elif item.alone:
            self._pending = [item.before, after]
        else:
            self._blank = item.before
            self._show("{}")
            self._blank = after

    def _keep_notes(self, item: _Object) -> None:
        if item.notes and item.notes[-1] is not _UNREADABLE:
            self.notes.append(item.notes[-1])

    def _end_object(self, item: _Object) -> None:
        """The text ends inside of an object."""
        if item.state == "value" and item.is_note:
            self.malformed += 1
            if not item.shown:
                self._empty(item, "")
            else:
                self._keep_notes(item)
        elif item.state in ("first", "key", "colon"):
            self._open(item)
            self._show(item.gap + item.raw)
            self._keep_notes(item)
        elif not item.shown and item.notes:
            self._empty(item, "")
        else:
            self._show({"next": item.gap, "after": item.tail}.get(item.state, ""))
            self._keep_notes(item)
        self._object = None


def peel(text: str) -> tuple[str, list[Any], int]:
    """Take the notes out of a whole text.

    Args:
        text: an answer.

    Returns:
        What is shown of it, the values of the notes, and how many of them cannot be read.
    """
    peeler = AnswerPeeler()
    shown = peeler.feed(text) + peeler.finish()
    return shown, peeler.notes, peeler.malformed
