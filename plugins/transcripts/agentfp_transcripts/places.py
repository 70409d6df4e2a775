"""Where a value stands in a message: finds the place that a source's path names, and cuts an answer at its values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from agentfp.transcripts import JudgedValue, Transcript, ValueSource

Key: TypeAlias = str | int
_CHARACTERS = re.compile(r"characters (\d+)-(\d+)")
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")


def segments(text: str, values: Sequence[JudgedValue]) -> Iterator[tuple[str, int | None]]:
    """A text in pieces: those that are a value with its number, the others with None. Of values that overlap the first is taken."""
    position = 0
    for number, value in sorted(enumerate(values), key=lambda one: (one[1].start, -one[1].end)):
        if value.start < position or value.end <= value.start or value.end > len(text):
            continue
        if value.start > position:
            yield text[position : value.start], None
        yield text[value.start : value.end], number
        position = value.end
    if position < len(text):
        yield text[position:], None


def keys_of(path: str) -> tuple[Key, ...] | None:
    """The keys of a JSON path such as ``$.rows[2].price``; None if it is none."""
    if not path.startswith("$"):
        return None
    keys: list[Key] = []
    position = 1
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            return None
        name, index, single, double = found.groups()
        if index is not None:
            keys.append(int(index))
        else:
            keys.append(name if name is not None else re.sub(r"\\(.)", r"\1", single if single is not None else double))
        position = found.end()
    return tuple(keys)


def characters_of(path: str) -> tuple[int, int] | None:
    """Begin and end of a source in text."""
    found = _CHARACTERS.fullmatch(path)
    return (int(found[1]), int(found[2])) if found else None


def data_of(content: str) -> Any:
    """A message's content as JSON data; None if it is no object and no list."""
    if content[:64].lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def describe(source: ValueSource, transcript: Transcript) -> str:
    """A source in words: which message, of which tool, where in it."""
    if source.message is None:
        return f"given besides{f' {source.path}' if source.path else ''}"
    if not 0 <= source.message < len(transcript.messages):
        return f"message {source.message}"
    message = transcript.messages[source.message]
    who = message.tool_name or message.role if message.role == "tool" else message.role
    return f"message {source.message} {who}{f' {source.path}' if source.path else ''}"


def excerpt(source: ValueSource, transcript: Transcript, *, around: int = 60, size: int = 400) -> str | None:
    """What stands at a source: the object or row that the value is in, or the text around it.

    Args:
        source: the source.
        transcript: the transcript.
        around: characters of text on either side.
        size: characters at most.
    """
    if source.message is None or not 0 <= source.message < len(transcript.messages):
        return None
    content = transcript.messages[source.message].content
    if (span := characters_of(source.path)) is not None:
        start, end = max(0, span[0] - around), min(len(content), span[1] + around)
        return f"{'…' if start else ''}{content[start:end]}{'…' if end < len(content) else ''}"
    keys = keys_of(source.path)
    value = data_of(content) if keys is not None else None
    row: Any = value
    for key in (keys or ())[:-1]:
        try:
            row = row[key]
        except (KeyError, IndexError, TypeError):
            return None
    if value is None:
        return None
    text = json.dumps(row, ensure_ascii=False, default=str)
    return text if len(text) <= size else f"{text[: size - 1]}…"
