"""The JSON documents in a stream of bytes: one, several one after the other, or one a line; damaged ones told with their place."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

from agentfp_transcripts.files import Source
from agentfp_transcripts.problems import Problem

_BAD_BYTES = "bytes that are no UTF-8 were replaced"
_LONG_NUMBER = "holds a number of too many digits"
_PYTHON = re.compile(r"\s*(?:[\[({]\s*)*(?:'|[A-Z]\w*\()")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON value.

    Args:
        data: the value.
        place: the file, and the line where it is one of several.
        is_line: whether it is one of several.
        notes: what was odd about its text.
    """

    data: Any
    place: str
    is_line: bool = False
    notes: tuple[str, ...] = ()


def documents(stream: BinaryIO, source: Source) -> Iterator[Document | Problem]:
    """The documents of a stream. JSON lines are read one by one; anything else is read whole.

    Args:
        stream: the bytes.
        source: the file that they are of.
    """
    lines = _numbered(_readable(stream, source))
    first = next(lines, None)
    if first is None:
        yield Problem(source.name, "is empty", skipped=not source.asked)
        return
    if isinstance(first, Problem):
        yield first
        return
    number, line, notes = first
    value, problem = _parse(line)
    if problem is None:
        second = next(lines, None)
        if second is None and not source.has_lines:
            yield Document(value, source.name, notes=notes)
        else:
            yield from _lines(chain([first], [second] if second is not None else [], lines), source)
    elif source.has_lines:
        yield from _lines(chain([first], lines), source)
    else:
        yield from _text(number, line, notes, lines, source)


def _readable(stream: BinaryIO, source: Source) -> Iterator[bytes | Problem]:
    """The lines as bytes; one that breaks off, as in a gzip file that was cut, ends them with a problem."""
    utf16 = False
    first = True
    while True:
        try:
            line = stream.readline()
        except (OSError, EOFError, ValueError) as error:
            yield Problem(source.name, f"breaks off: {type(error).__name__}: {error}")
            return
        except Exception as error:  # zlib has an error of its own
            yield Problem(source.name, f"breaks off: {type(error).__name__}: {error}")
            return
        if not line:
            return
        if first:
            first = False
            utf16 = line.startswith(_UTF16)
            line = line.removeprefix(codecs.BOM_UTF8)
        if utf16:  # as Windows shells write it: lines of bytes are no lines of text
            text = (line + stream.read()).decode("utf-16", "replace")
            yield from (part.encode("utf-8", "surrogatepass") for part in text.splitlines(keepends=True))
            return
        yield line


def _numbered(lines: Iterable[bytes | Problem]) -> Iterator[tuple[int, str, tuple[str, ...]] | Problem]:
    """Lines that are not blank, as text with their numbers."""
    for number, line in enumerate(lines, 1):
        if isinstance(line, Problem):
            yield line
        elif line := line.rstrip():
            try:
                yield number, line.decode("utf-8"), ()
            except UnicodeDecodeError:
                yield number, line.decode("utf-8", "replace"), (_BAD_BYTES,)


def _parse(text: str) -> tuple[Any, str | None]:
    """A value, or what is wrong with its text; no word of the text itself."""
    try:
        return json.loads(text), None
    except json.JSONDecodeError as error:
        at = f" at column {error.colno}" if error.lineno == 1 else ""
        return None, f"is not JSON: {error.msg}{at}{_printed(text)}"
    except RecursionError:
        return None, "is nested too deeply"
    except ValueError:  # Python refuses to read such a number
        return None, _LONG_NUMBER


def _printed(text: str) -> str:
    """What to do about text that Python printed, which looks much like JSON."""
    return "; it is what Python prints: save json.dumps(...) of it" if _PYTHON.match(text) else ""


def _lines(lines: Iterable[tuple[int, str, tuple[str, ...]] | Problem], source: Source) -> Iterator[Document | Problem]:
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        number, text, notes = line
        value, problem = _parse(text)
        place = f"{source.name}:{number}"
        yield Document(value, place, is_line=True, notes=notes) if problem is None else Problem(place, problem)


def _text(
    number: int, line: str, notes: tuple[str, ...], rest: Iterator[tuple[int, str, tuple[str, ...]] | Problem], source: Source
) -> Iterator[Document | Problem]:
    """A text whose first line is no document by itself: one over many lines, several of these, or lines of which the first is bad."""
    taken: list[tuple[int, str, tuple[str, ...]]] = [(number, line, notes)]
    broken: list[Problem] = []
    for more in rest:
        if isinstance(more, Problem):
            broken.append(more)
        else:
            taken.append(more)
    notes = tuple(dict.fromkeys(note for _, _, some in taken for note in some))
    found, problem = _several("\n".join(text for _, text, _ in taken), [number for number, _, _ in taken])
    if found and problem is None:
        alone = len(found) == 1
        for count, value in enumerate(found, 1):
            yield Document(value, source.name if alone else f"{source.name} document {count}", is_line=not alone, notes=notes)
    elif any(text.startswith("{") and _parse(text)[1] is None for _, text, _ in taken[1:]):
        yield from _lines(taken, source)
    else:
        yield Problem(source.name, problem or "is not JSON", skipped=False)
    yield from broken


def _several(text: str, numbers: Sequence[int]) -> tuple[list[Any], str | None]:
    """The documents that stand in a text one after the other; each line of it has a number."""
    decoder = json.JSONDecoder()
    found: list[Any] = []
    position, size = 0, len(text)
    while position < size:
        if text[position].isspace() or text[position] == "\x1e":
            position += 1
            continue
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            number = numbers[min(text.count("\n", 0, error.pos), len(numbers) - 1)]
            return found, f"is not JSON: {error.msg} in line {number}, column {error.colno}{_printed(text)}"
        except RecursionError:
            return found, "is nested too deeply"
        except ValueError:
            return found, _LONG_NUMBER
        found.append(value)
    return found, None
