"""A message's content as HTML, with the places marked that values come from; what is long and unmarked is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from agentfp.transcripts import ValueSource
from agentfp_transcripts.places import Key, characters_of, data_of, keys_of

_MANY = 12
_KEPT = 4
_LONG = 600
_WHOLE = 6_000
_AROUND = 400
_DEEP = 40

Marks = Mapping[str, str]
"""The id of the mark for each path."""


def content_html(content: str, marks: Marks) -> str:
    """A content as the inside of ``<pre>``.

    Args:
        content: of a tool's or another message.
        marks: for each path that is a source, the id that its mark gets.
    """
    wanted = {keys: mark for path, mark in marks.items() if (keys := keys_of(path)) is not None}
    data = data_of(content)
    if data is not None:
        return "".join(_json(data, wanted, (), 0))
    spans = [(*span, mark) for path, mark in marks.items() if (span := characters_of(path)) is not None]
    return _text(content, sorted(spans))


def _json(data: Any, wanted: Mapping[tuple[Key, ...], str], path: tuple[Key, ...], depth: int) -> Iterator[str]:
    mark = wanted.get(path)
    if mark is not None:
        yield f'<mark id="{mark}">'
    if isinstance(data, (dict, list)) and data and depth < _DEEP:
        below = {keys: own for keys, own in wanted.items() if len(keys) > len(path) and keys[: len(path)] == path}
        yield from _branch(data, below, path, depth)
    else:
        yield escape(_leaf(data, whole=mark is not None))
    if mark is not None:
        yield "</mark>"


def _branch(data: Any, below: Mapping[tuple[Key, ...], str], path: tuple[Key, ...], depth: int) -> Iterator[str]:
    """An object or a list, one entry a line; of many entries the first few and those with a mark in them."""
    entries: list[tuple[Key, Any]] = list(data.items()) if isinstance(data, dict) else list(enumerate(data))
    marked = {keys[len(path)] for keys in below}
    inner = "  " * (depth + 1)
    yield "{" if isinstance(data, dict) else "["
    left_out = 0
    for number, (key, value) in enumerate(entries):
        if len(entries) > _MANY and number >= _KEPT and key not in marked:
            left_out += 1
            continue
        if left_out:
            yield f"\n{inner}<i>… {left_out} left out</i>"
            left_out = 0
        name = f"<b>{escape(json.dumps(str(key), ensure_ascii=False))}</b>: " if isinstance(data, dict) else ""
        yield f"\n{inner}{name}"
        yield from _json(value, below, (*path, key), depth + 1)
        yield "," if number < len(entries) - 1 else ""
    if left_out:
        yield f"\n{inner}<i>… {left_out} left out</i>"
    yield f"\n{'  ' * depth}{'}' if isinstance(data, dict) else ']'}"


def _leaf(data: Any, *, whole: bool) -> str:
    try:
        text = json.dumps(data, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return "…"
    return text if whole or len(text) <= _LONG else f"{text[:_LONG]}…"


def _text(content: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """Text with its marks; of a long one the parts around them."""
    made: list[str] = []
    position = 0
    for start, end, mark in spans:
        if start < position or end > len(content) or end <= start:
            continue
        made.append(_between(content[position:start], first=position == 0, last=False))
        made.append(f'<mark id="{mark}">{escape(content[start:end])}</mark>')
        position = end
    made.append(_between(content[position:], first=position == 0, last=True))
    return "".join(made)


def _between(text: str, *, first: bool, last: bool) -> str:
    if first and last:
        return escape(text) if len(text) <= _WHOLE else f"{escape(text[:_WHOLE])}<i>… {len(text) - _WHOLE} characters left out</i>"
    if len(text) <= 2 * _AROUND:
        return escape(text)
    before = "" if first else escape(text[:_AROUND])
    after = "" if last else escape(text[-_AROUND:])
    left = len(text) - _AROUND * (2 - first - last)
    return f"{before}<i>… {left} characters left out …</i>{after}"


class Shelf:
    """The messages of one transcript that values come from, each with the ids of its marks.

    Args:
        prefix: begins the ids; unique on the page.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.messages: dict[int, dict[str, str]] = {}

    def put(self, source: ValueSource) -> str | None:
        """The id of the place of a source; None for what is no message."""
        if source.message is None:
            return None
        marks = self.messages.setdefault(source.message, {})
        if not source.path:
            return self.id_of(source.message)
        return marks.setdefault(source.path, f"{self.id_of(source.message)}-{len(marks)}")

    def id_of(self, message: int) -> str:
        """The id of a message on the page."""
        return f"{self._prefix}m{message}"
