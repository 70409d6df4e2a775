"""Reads transcripts of paths: files, folders, globs, stdin; whole JSON, arrays, JSON lines. What is damaged is told, the rest read."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from agentfp.transcripts import Transcript, TranscriptError, TranscriptReader
from agentfp_transcripts.files import Source, expand
from agentfp_transcripts.jsontext import Document, documents
from agentfp_transcripts.problems import Problem
from agentfp_transcripts.registry import Readers

__all__ = ["Read", "read", "read_data"]

Read: TypeAlias = Transcript | Problem


def read(paths: Sequence[str | Path], *, readers: Readers | None = None, stdin: BinaryIO | None = None) -> Iterator[Read]:
    """The transcripts at some paths, one after the other; of JSON lines no more than one line is held.

    Args:
        paths: files (also .gz), folders, globs, ``-`` for stdin.
        readers: what reads them; all that are installed when None.
        stdin: what ``-`` means; the process's when None.

    Yields:
        transcripts, their ids unique, and problems where something could not be read.
    """
    known = Readers.installed()[0] if readers is None else readers
    seen: Counter[str] = Counter()
    for source in expand(paths):
        found = iter([source]) if isinstance(source, Problem) else read_source(source, known, stdin)
        for one in found:
            yield _unique(one, seen) if isinstance(one, Transcript) else one


def read_data(data: Any, *, id: str = "transcript", source: str = "", readers: Readers | None = None) -> list[Read]:
    """The transcripts in parsed JSON data.

    Args:
        data: one transcript, a list of transcripts or of messages, an export.
        id: what to call a transcript that has no name of its own.
        source: where the data stands, for problems.
        readers: what reads it; all that are installed when None.
    """
    known = Readers.installed()[0] if readers is None else readers
    return list(_whole(data, known, id, source or id))


def _unique(transcript: Transcript, seen: Counter[str]) -> Transcript:
    own = transcript.id
    seen[own] += 1
    if seen[own] == 1:
        return transcript
    made = f"{own}#{seen[own]}"
    while made in seen:
        seen[own] += 1
        made = f"{own}#{seen[own]}"
    seen[made] += 1
    return dataclasses.replace(transcript, id=made)


def read_source(source: Source, readers: Readers, stdin: BinaryIO | None = None) -> Iterator[Read]:
    """The transcripts of one file."""
    try:
        with source.open(stdin) as stream:
            yield from _of_documents(documents(stream, source), source, readers)
    except (OSError, EOFError) as error:
        yield Problem(source.name, f"cannot be read: {error.strerror if isinstance(error, OSError) and error.strerror else error}")


def _of_documents(found: Iterator[Document | Problem], source: Source, readers: Readers) -> Iterator[Read]:
    """Transcripts of one document, or of lines: each line by itself, or all of them where lines are parts of transcripts."""
    for document in found:
        if isinstance(document, Problem):
            yield document
        elif not document.is_line:
            yield from _whole(document.data, readers, source.name, document.place, asked=source.asked, notes=document.notes)
        elif readers.find(document.data) is None and (reader := readers.find([document.data])) is not None:
            yield from _gathered(readers, reader, document, found, source)
            return
        else:
            yield from _whole(document.data, readers, document.place, document.place, asked=source.asked, notes=document.notes)


def _gathered(
    readers: Readers, reader: TranscriptReader, first: Document, rest: Iterator[Document | Problem], source: Source
) -> Iterator[Read]:
    lines, notes = [first.data], list(first.notes)
    for document in rest:
        if isinstance(document, Problem):
            yield document
        else:
            lines.append(document.data)
            notes.extend(document.notes)
    if readers.find(lines) is not reader:  # the first line looked like what the others show that it is not
        yield from _whole(lines, readers, source.name, source.name, asked=source.asked, notes=tuple(notes))
        return
    yield from _read(reader, lines, source.name, source.name, tuple(notes))


def _whole(
    data: Any, readers: Readers, id: str, place: str, *, asked: bool = True, notes: tuple[str, ...] = (), depth: int = 0
) -> Iterator[Read]:
    """Transcripts of one JSON value: what a reader knows as it is, as one of a list, or in the lists that it holds."""
    reader = readers.find(data)
    if reader is not None:
        yield from _read(reader, data, id, place, notes)
        return
    if isinstance(data, list) and data and depth < 2:
        if any(readers.find(item) is not None for item in data[:20]):
            for number, item in enumerate(data):
                yield from _whole(item, readers, f"{id}[{number}]", _below(place, f"[{number}]"), notes=notes, depth=depth + 1)
            return
    elif isinstance(data, dict):
        alone = readers.find([data])
        if alone is not None:
            yield from _read(alone, [data], id, place, notes)
            return
        lists = [(key, value) for key, value in data.items() if isinstance(value, list) and value] if depth < 2 else []
        for key, value in lists:
            if readers.find(value) is not None or any(readers.find(item) is not None for item in value[:5]):
                yield from _whole(value, readers, id, _below(place, f".{key}"), notes=notes, depth=depth + 1)
                return
    if readers.only is not None:  # told what it is, though it does not look like it
        yield from _read(readers.only, data, id, place, notes)
        return
    yield Problem(place, _unknown(data), skipped=not asked)


def _below(place: str, step: str) -> str:
    """A place within a place: the file, its line, then a JSON path."""
    return f"{place}{step}" if " $" in place else f"{place} ${step}"


def _unknown(data: Any) -> str:
    if data in ([], {}, None):
        return "is empty"
    if isinstance(data, dict) and data.get("messages") in ([], None) and "messages" in data:
        return "its list of messages is empty"
    kind, inner = ("object", data) if isinstance(data, dict) else (type(data).__name__, None)
    if isinstance(data, list) and isinstance(data[0], dict):
        kind, inner = "list of objects", data[0]
    fields = f" with the fields {', '.join(map(repr, list(inner)[:6]))}" if inner else ""
    return f"no reader knows this {kind}{fields[:200]}; name its format with --format-in, or say where things stand with --map"


def _read(reader: TranscriptReader, data: Any, id: str, place: str, notes: tuple[str, ...]) -> Iterator[Read]:
    try:
        found = list(reader.read(data, id=id, source=place))
    except TranscriptError as error:
        yield Problem(place, str(error).removeprefix(f"{place}: "))
        return
    except RecursionError:
        yield Problem(place, "is nested too deeply")
        return
    except Exception as error:  # whatever a reader did not foresee in foreign data
        yield Problem(place, f"reader {reader.name!r} failed on it: {type(error).__name__}")
        return
    if not found:
        yield Problem(place, f"reader {reader.name!r} found no conversation in it")
    for transcript in found:
        yield dataclasses.replace(transcript, problems=(*transcript.problems, *notes)) if notes else transcript
