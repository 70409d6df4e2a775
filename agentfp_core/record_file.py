"""Reads a file of a record event by event, in memory that does not grow with the file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from agentfp_core.errors import RecordFormatError
from agentfp_core.event_types import event_types
from agentfp_core.events.base import Event, Payload, UnknownPayload
from agentfp_core.events.catalog import CATALOG
from agentfp_core.record_reader import FOREIGN, RecordReader
from agentfp_core.segments import Segment, SegmentHeader

if TYPE_CHECKING:
    from gzip import GzipFile
    from lzma import LZMAFile

    from _typeshed import WriteableBuffer

    from agentfp_core.file_steps import FileSteps
    from agentfp_core.model import ModelRequest


XZ = b"\xfd7zXZ\x00"
GZIP = b"\x1f\x8b"


def open_lines(path: str | Path, *, as_far_as_it_goes: bool = False) -> BinaryIO:
    """Open a file of lines; one that is packed with xz or gzip is unpacked as it is read.

    Args:
        path: the file.
        as_far_as_it_goes: a packed file that is cut off ends where it breaks off, and raises nothing.

    Raises:
        OSError: it cannot be read.
    """
    file = Path(path).open("rb")  # noqa: SIM115 - it is the caller's
    head = file.peek(len(XZ))
    if head.startswith(XZ):
        import lzma

        return _Packed(_AsItComes(lzma.LZMAFile(file), as_far_as_it_goes), file)
    if head.startswith(GZIP):
        import gzip

        return _Packed(_AsItComes(gzip.GzipFile(fileobj=file), as_far_as_it_goes), file)
    return file


class _AsItComes(RawIOBase):
    """What is unpacked of a file, up to the place where it breaks off: one that is cut off is read as far as it goes."""

    def __init__(self, content: LZMAFile | GzipFile, quiet: bool) -> None:
        self._content = content
        self._quiet = quiet

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._content.seek(offset, whence)

    def readinto(self, buffer: WriteableBuffer) -> int:
        with memoryview(buffer) as view:
            try:
                data = self._content.read1(len(view))
            except Exception as error:
                if self._quiet and _is_damage(error):
                    return 0
                raise
            view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._content.close()
        super().close()


class _Packed(BufferedReader):
    """What is in a packed file, which is not opened a second time: it may be a pipe."""

    def __init__(self, content: RawIOBase, file: BinaryIO) -> None:
        super().__init__(content)
        self._file = file

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._file.close()


@contextlib.contextmanager
def _unpacking() -> Iterator[None]:
    """Say in the words of a record what is wrong with a packed file."""
    try:
        yield
    except Exception as error:
        if _is_damage(error):
            raise RecordFormatError(f"the packed file cannot be unpacked to its end: {error}") from error
        raise


def _is_damage(error: Exception) -> bool:
    """Whether an error says that a packed file is cut off or damaged."""
    import gzip
    import lzma
    import zlib

    return isinstance(error, (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error))


def unpacked(lines: BinaryIO) -> Iterator[bytes]:
    """The lines of a file.

    Raises:
        RecordFormatError: it is packed and damaged.
    """
    with _unpacking():
        yield from lines


def _first(lines: BinaryIO) -> bytes:
    """What a file begins with, without blanks: a foreign one may have no lines at all."""
    with _unpacking():
        first = lines.read(64).lstrip()[:1]
        lines.seek(0)
        return first


class RecordFile:
    """A saved record, a recording or a journal, of any size, packed with xz or gzip or not. It is read through here, and in each iteration.

    Iterating gives each event with the header of its leg, in the order of the file: nested runs between the events of the run that they
    are nested in where the file was streamed. Of a file that holds several conversations it is the last one, and of a conversation that
    was gone on with from an earlier place the later branch, as in :meth:`agentfp.Record.load`.

    Args:
        path: the file.
        types: event types of plugins; those of the plugins that were on and are installed when left out. Events of other types are
            kept as they are.

    Attributes:
        path: the file.
        headers: of the legs of the conversation, nested ones too, in the order in which they began.
        notes: what lines say about the file itself, each with the number of its line.
        plugins: names of the plugins that were on in any leg.
        torn_line: number of the last line, when it is torn.
        problem: what is wrong with a damaged file: why reading stopped before its end, or that its first header is missing. What can be
            read of it is read. None for a whole one.

    Raises:
        RecordFormatError: there is nothing of a record in the file.
        OSError: it cannot be read.
    """

    def __init__(self, path: str | Path, *, types: Iterable[type[Payload]] | None = None) -> None:
        self.path = Path(path)
        self.problem: str | None = None
        scan = _Scan()
        self._end = 0
        with self.lines() as lines:
            if _first(lines) not in (b"{", b""):
                raise RecordFormatError(f"line 1 is not JSON: {FOREIGN}")
            try:
                for number, line in enumerate(unpacked(lines), 1):
                    scan.line(number, line)
                    self._end = scan.at = scan.at + len(line)
            except RecordFormatError as error:
                if not scan.segments:
                    raise
                self.problem = str(error)
        if not scan.segments:
            raise RecordFormatError("there is no run in it" if scan.at else "there is nothing in it")
        self._begins = scan.begins
        self.torn_line = scan.torn_line
        self.notes: list[tuple[int, Any]] = scan.notes
        self.plugins = tuple(scan.plugins)
        known = event_types(self.plugins) if types is None else types
        self.types: Mapping[str, type[Payload]] = {**CATALOG, **{t.event_name: t for t in known}}
        last = next(reversed(scan.segments.values())).header.root_id
        headless = scan.segments.get("")
        if headless is not None:
            headless.header = replace(headless.header, root_id=last)
            self.problem = self.problem or "its first header is missing, so whose run it begins with is not known"
        self._ends = scan.ends(last)
        self.headers: list[SegmentHeader] = [s.header for s in scan.segments.values() if s.header.root_id == last]

    @property
    def root_id(self) -> str:
        """Id of the conversation."""
        return self.headers[-1].root_id

    @property
    def redacted(self) -> tuple[str, ...]:
        """Names of the redaction policies that were applied to this copy."""
        return tuple(dict.fromkeys(name for header in self.headers for name in header.redaction))

    def __iter__(self) -> Iterator[tuple[SegmentHeader, Event]]:
        return self._read(0, ())

    def lines(self) -> BinaryIO:
        """The file, opened for its lines, as far as it can be unpacked; to be closed."""
        return open_lines(self.path, as_far_as_it_goes=self.problem is not None)

    def events(self, path: tuple[str, ...] = ()) -> Iterator[Event]:
        """The events of the run, or of one that is nested in it.

        Args:
            path: call ids that lead to the nested run.
        """
        return (event for header, event in self if header.path == path)

    def steps(self, path: tuple[str, ...] = ()) -> FileSteps:
        """What happened, step by step, as JSON data; what ``agentfp steps --json`` prints.

        Args:
            path: call ids that lead to a nested run; only its steps are given then.
        """
        from agentfp_core.file_steps import FileSteps

        return FileSteps(self, path)

    def served_at(self, call: int, path: tuple[str, ...] = ()) -> ModelRequest:
        """The request of a model call, rebuilt; see :meth:`agentfp.Record.served_at`.

        Args:
            call: its number, from 1.
            path: call ids that lead to the nested run that made it.

        Raises:
            RecordFormatError: there was no such call, or this copy is redacted.
        """
        from agentfp_core.rebuilding import rebuild

        return rebuild(self.events(path), self.root_id, self.redacted, call)

    def changed_calls(self, path: tuple[str, ...] = ()) -> list[int]:
        """Model calls whose request does not hash to the receipt that was filed when it was sent; empty for a true record.

        Args:
            path: call ids that lead to the nested run that made them.

        Raises:
            RecordFormatError: this copy is redacted.
        """
        from agentfp_core.rebuilding import changed_calls

        return changed_calls(self.events(path), self.root_id, self.redacted)

    def nested(self, path: tuple[str, ...]) -> Iterator[tuple[SegmentHeader, Event]]:
        """The events of a nested run, and of those in it, of a file in which they stand together, as in a saved record."""
        begin = self._begins.get(path)
        return iter(()) if begin is None else self._read(begin, path)

    def _read(self, begin: int, path: tuple[str, ...]) -> Iterator[tuple[SegmentHeader, Event]]:
        """Read from a byte on, up to where a run begins that is not beneath the path."""
        reader = _Flat(self.types)
        headers = {header.run_id: header for header in self.headers}
        with self.lines() as lines:
            lines.seek(begin)
            at = number = 0
            while begin + at < self._end:  # not one line more: a packed file may break off there
                line = lines.readline()
                at, number = at + len(line), number + 1
                try:
                    event = reader.line(number, line)
                except RecordFormatError as error:
                    self.problem = str(error)
                    return
                if reader.current is None:
                    continue
                run = reader.current.header
                if run.path[: len(path)] != path:
                    return
                if event is not None and run.run_id in headers and event.seq < self._ends[run.run_id]:
                    yield headers[run.run_id], event


NOTHING = UnknownPayload("null")


class _Flat(RecordReader):
    """Keeps no event but the last seq of each leg, and takes events whose header is missing."""

    def __init__(self, types: Mapping[str, type[Payload]]) -> None:
        super().__init__(types)
        self.seqs: dict[str, int] = {}

    def take(self, data: Any, line: str | bytes | None) -> Event | None:
        if self.current is None and isinstance(data, Mapping) and type(data.get("seq")) is int and "name" in data:
            self.current = self.segments[""] = Segment(SegmentHeader(root_id="", run_id="", first_seq=data["seq"], started_ns=0))
        return super().take(data, line)

    def keep(self, event: Event, segment: Segment) -> Event:
        run = segment.header.run_id
        before = self.seqs.get(run, -1)
        if event.seq <= before:
            raise RecordFormatError(f"event {event.seq} comes after event {before}; the file was changed")
        self.seqs[run] = event.seq
        return event


class _Scan(_Flat):
    """What has to be known of a file before its events are handed out: the legs, where a later one goes on from, notes, plugins."""

    def __init__(self) -> None:
        super().__init__({})
        self.firsts: dict[str, int] = {}
        self.notes: list[tuple[int, Any]] = []
        self.plugins: dict[str, None] = {}
        self.begins: dict[tuple[str, ...], int] = {}
        self.at = 0
        self._number = 0

    def line(self, number: int, line: str | bytes | Mapping[str, Any]) -> Event | None:
        self._number = number
        return super().line(number, line)

    def note(self, note: Any) -> None:
        self.notes.append((self._number, note))

    def keep(self, event: Event, segment: Segment) -> Event:
        self.firsts.setdefault(segment.header.run_id, event.seq)
        return super().keep(event, segment)

    def event(self, data: Mapping[str, Any], line: str | bytes | None) -> Event:
        seq, name = data.get("seq"), data.get("name")
        if type(seq) is not int or seq < 0 or not isinstance(name, str):
            raise RecordFormatError("an event cannot be read: fields are of the wrong type")
        return Event(seq, name, 0, 0, 0, 0, None, "", NOTHING)

    def take(self, data: Any, line: str | bytes | None) -> Event | None:
        if isinstance(data, Mapping) and data.get("name") == "agentfp.agent.run_configured":
            listed = data["data"].get("plugins", ()) if isinstance(data.get("data"), Mapping) else ()
            self.plugins.update((str(entry["name"]), None) for entry in listed if isinstance(entry, Mapping) and "name" in entry)
        event = super().take(data, line)
        if event is None and self.current is not None:
            self.begins.setdefault(self.current.header.path, self.at)
        return event

    def ends(self, root_id: str) -> dict[str, int]:
        """The seq at which each leg of a conversation ends: where a later one of the same path begins, or nowhere."""
        made: dict[str, int] = {}
        paths: dict[tuple[str, ...], list[str]] = {}
        for run, segment in self.segments.items():
            if segment.header.root_id != root_id:
                continue
            first = self.firsts.get(run, segment.header.first_seq)
            earlier = paths.setdefault(segment.header.path, [])
            for other in earlier:
                made[other] = min(made[other], first)
            earlier.append(run)
            made[run] = 2**63
        return made
