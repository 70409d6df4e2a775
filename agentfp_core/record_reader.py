"""Reads a record, with its nested records, from lines of JSON: a saved file, a journal, a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pydantic_core

from agentfp_core.errors import RecordFormatError
from agentfp_core.events.base import Event, Payload
from agentfp_core.record import Record
from agentfp_core.segments import FORMAT, Segment, SegmentHeader, event_from, place_of

FOREIGN = (
    "the file is no record or was damaged. A recording begins with the header of a run; "
    "for transcripts there are agentfp check and agentfp view"
)


class RecordReader:
    """Puts segments read from lines together to a record with its nested records."""

    def __init__(self, types: Mapping[str, type[Payload]]) -> None:
        self.types = types
        self.segments: dict[str, Segment] = {}
        self.current: Segment | None = None
        self.torn_line: int | None = None
        self.begun = False

    def read(self, lines: Iterable[str | bytes | Mapping[str, Any]]) -> Record:
        """The record in the lines.

        Raises:
            RecordFormatError: they hold none; names the line.
        """
        for number, line in enumerate(lines, 1):
            self.line(number, line)
        record = self.assemble()
        record.torn_line = self.torn_line
        return record

    def line(self, number: int, line: str | bytes | Mapping[str, Any]) -> Event | None:
        """Take one line; one that is not JSON may be the last one only, when its writer was killed.

        Returns:
            The event, if the line is one.

        Raises:
            RecordFormatError: it is no line of a record.
        """
        if isinstance(line, bytes):
            line = line.strip(b"\r\n")
        elif isinstance(line, str):
            line = line.strip("\r\n")
        elif not isinstance(line, Mapping):
            raise RecordFormatError(f"line {number} holds a {type(line).__name__} where an object belongs; this is no record")
        if not line:
            return None
        if self.torn_line is not None:
            raise RecordFormatError(f"line {self.torn_line} is not JSON; the file is no record or was damaged")
        try:
            if isinstance(line, Mapping):
                return self.take(line, None)
            return self.take(pydantic_core.from_json(line), line)
        except (ValueError, TypeError) as error:
            if isinstance(error, RecordFormatError):
                raise RecordFormatError(f"line {number}: {error}") from error
            if not self.begun:
                raise RecordFormatError(f"line {number} is not JSON: {FOREIGN}") from error
            self.torn_line = number
            return None

    def take(self, data: Any, line: str | bytes | None) -> Event | None:
        """Take one line: a header, a switch to another segment, a note about the file, or an event, which is given back."""
        if not isinstance(data, Mapping):
            raise RecordFormatError(f"a line holds a {type(data).__name__} where an object belongs; this is no record")
        self.begun = True
        if "segment" in data:
            if data.get("agentfp") != FORMAT:
                raise RecordFormatError(f"records of version {data.get('agentfp')!r} cannot be read; this library reads version {FORMAT}")
            header = SegmentHeader.of(data["segment"])
            self.current = self.segments.setdefault(header.run_id, Segment(header))
            self.current.header = self.current.header.joined(header)
        elif "switch" in data:
            if not isinstance(data["switch"], str) or data["switch"] not in self.segments:
                raise RecordFormatError("a line switches to a segment that was not opened")
            self.current = self.segments[data["switch"]]
        elif "file" in data:
            self.note(data["file"])
        elif self.current is None:
            raise RecordFormatError(FOREIGN)
        else:
            return self.keep(self.event(data, line), self.current)
        return None

    def event(self, data: Mapping[str, Any], line: str | bytes | None) -> Event:
        """Read an event."""
        return event_from(data, self.types, line=line)

    def note(self, note: Any) -> None:
        """Take what a line says about the file itself; it is no part of the record."""

    def keep(self, event: Event, segment: Segment) -> Event:
        """Keep an event."""
        if segment.events and event.seq <= segment.events[-1].seq:
            raise RecordFormatError(f"event {event.seq} comes after event {segment.events[-1].seq}; the file was changed")
        segment.events.append(event)
        return event

    def assemble(self) -> Record:
        """Put what was taken together."""
        if not self.segments:
            raise RecordFormatError("there is no run in it" if self.begun else "there is nothing in it")
        by_path: dict[tuple[str, ...], list[Segment]] = {}
        last = next(reversed(self.segments.values())).header.root_id  # of a file that was used for several conversations, the last one
        for segment in [segment for segment in self.segments.values() if segment.header.root_id == last]:
            by_path.setdefault(segment.header.path, []).append(segment)
        records = {path: Record(_joined(segments)) for path, segments in by_path.items()}
        top = min(records, key=len)
        for path in sorted(records, key=len):
            parent = records.get(path[:-1]) if path != top else None
            if parent is not None:
                parent.children[path[-1]] = records[path]
        return records[top]


def _joined(segments: list[Segment]) -> list[tuple[Segment, int]]:
    """Segments with their lengths. One that goes on from the middle of an earlier one is a later branch, which counts."""
    parts: list[tuple[Segment, int]] = []
    for segment in segments:
        first = segment.events[0].seq if segment.events else segment.header.first_seq
        parts = [(earlier, place_of(earlier.events, first, length)) for earlier, length in parts]
        parts.append((segment, len(segment.events)))
    return parts
