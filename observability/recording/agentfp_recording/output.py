"""One recording while it is written: whole batches of lines, appended; a batch that fails leaves no trace but a count."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentfp.plugin import ExportedEvent, SegmentHeader
from agentfp_recording import envelope
from agentfp_recording.envelope import Checksum, Detail

try:
    import fcntl
except ImportError:  # Windows: two processes that write one conversation at once may mix their lines
    fcntl = None  # type: ignore[assignment]

ENDED = "agentfp.run.ended"
BINARY = getattr(os, "O_BINARY", 0)  # without it Windows writes other ends of lines
TAIL = 65_536
"""Bytes that are looked at at the end of a file that is gone on with."""


@dataclass
class Lost:
    """Events of one leg that are in no file."""

    count: int
    first_seq: int
    last_seq: int
    why: str

    @classmethod
    def of(cls, event: ExportedEvent, why: str) -> Lost:
        """One event."""
        return cls(1, event.seq, event.seq, why)

    def joined(self, other: Lost | None) -> Lost:
        """These and others of the same leg."""
        if other is None:
            return self
        first, last = min(self.first_seq, other.first_seq), max(self.last_seq, other.last_seq)
        return Lost(self.count + other.count, first, last, self.why)


class Output:
    """A recording that is written.

    Args:
        path: the file; made with its folders, readable by its owner only; appended to where it is there.
        owner: the run with whose end a part of it ends.
        detail: what stands in it.
        fsync: wait for the disk after each batch.

    Attributes:
        lost: how many events of it are not in the file.
        begun: whether any is.
    """

    def __init__(self, path: Path, owner: str, detail: Detail, *, fsync: bool = False) -> None:
        self.path = path
        self.owner = owner
        self.lost = 0
        self._detail: Detail = detail
        self._fsync = fsync
        self._file: int | None = None
        self._size = -1
        self._sum = Checksum("", 0)
        self._events = 0
        self._current: str | None = None
        self._headers: dict[str, SegmentHeader] = {}
        self._untold: dict[str, Lost] = {}
        self._inode = -1
        self.begun = False

    def write(self, events: Sequence[ExportedEvent]) -> None:
        """Append events.

        Raises:
            OSError: it cannot be written; then none of them is in it.
        """
        run_id = events[0].header.run_id
        self._open()
        with self._alone():
            head = self._begin_part(run_id) if self._moved_on() else []
            try:
                self._append_events(head, events)
            except OSError:
                if head:
                    self._size = -1  # the next write begins the part
                raise
        self._events += len(events)
        self.begun = True
        self._untold.clear()

    def _append_events(self, head: list[str], events: Sequence[ExportedEvent]) -> None:
        lines, current, headers = head, self._current, dict(self._headers)
        lines += [
            envelope.line_of(envelope.dropped(run, lost.count, lost.first_seq, lost.last_seq, lost.why))
            for run, lost in self._untold.items()
        ]
        for event in events:
            header = event.header
            if headers.get(header.run_id) is not header and headers.get(header.run_id) != header:
                lines.append(header.to_line())
                headers[header.run_id] = header
            elif header.run_id != current:
                lines.append(json.dumps({"switch": header.run_id}))
            current = header.run_id
            lines.append(event.to_line())
        self._append(lines)
        self._current, self._headers = current, headers

    def seal(self, end: ExportedEvent) -> None:
        """End the part with its checksum, after the event that ends the leg.

        Raises:
            OSError: it cannot be written.
        """
        with self._alone():
            if self._moved_on():
                return  # another writer wrote after the last event, so that there is no part to seal
            note = self._sum.seal(end.header.run_id, str(end.data.get("status", "")), self._events, self.lost)
            self._append([envelope.line_of(note)])

    def lose(self, run_id: str, lost: Lost) -> None:
        """Count events that are not in the file; it says so when it can be written again."""
        self.lost += lost.count
        self._untold[run_id] = lost.joined(self._untold.get(run_id))

    def release(self) -> None:
        """Close the file for now; it is opened again when there is more."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, lines: Sequence[str]) -> None:
        assert self._file is not None
        data = memoryview("".join([line + "\n" for line in lines]).encode("utf-8", "surrogatepass"))
        written = 0
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
            if self._fsync:
                os.fsync(self._file)
        except OSError:
            self._take_back()
            raise
        self._sum.add(data)
        self._size += len(data)

    def _take_back(self) -> None:
        """Cut off what a failed batch left, so that no line is broken in the middle of the file."""
        assert self._file is not None
        try:
            os.ftruncate(self._file, self._size)
        except OSError:
            self._size = -1
            self.release()

    # --- opening ---

    def _open(self) -> None:
        if self._file is not None and not self._is_ours():
            self.release()
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | BINARY, 0o600)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other writers off the file for one write, where the system can."""
        file = self._file
        assert file is not None
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if fcntl is not None and self._file is not None:  # a file that was closed on the way is unlocked
                with contextlib.suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_UN)

    def _moved_on(self) -> bool:
        """Whether the file does not end where this writer left it."""
        assert self._file is not None
        found = os.fstat(self._file)
        return (found.st_ino, found.st_size) != (self._inode, self._size)

    def _begin_part(self, run_id: str) -> list[str]:
        """Begin a part at the end of the file: it is new, of an earlier leg, of a killed process, or another writer wrote to it.

        Returns:
            The lines that open it.
        """
        assert self._file is not None
        found = os.fstat(self._file)
        size = found.st_size
        tail = self._read(max(size - TAIL, 0), size)
        last = tail[tail.rfind(b"\n") + 1 :]
        if last:
            size = self._end_torn(last, size)
            tail = b""
        self._inode, self._size = found.st_ino, size
        self._sum = Checksum(_previous_seal(tail), size)
        self._events = 0
        self._current, self._headers = None, {}
        return [envelope.line_of(envelope.opening(run_id, self._detail, time.time_ns()))]

    def _is_ours(self) -> bool:
        """Whether the open file still is the one of the path: somebody may have moved it away."""
        assert self._file is not None
        try:
            return self.path.stat().st_ino == self._inode
        except OSError:
            return False

    def _end_torn(self, last: bytes, size: int) -> int:
        """End a last line that has no end: a whole one is kept, of another one only the length matters, so it is cut off."""
        assert self._file is not None
        try:
            json.loads(last)
        except ValueError:
            cut = self._begin_of_last_line(size)
            os.ftruncate(self._file, cut)
            return cut
        os.write(self._file, b"\n")
        return size + 1

    def _read(self, begin: int, end: int) -> bytes:
        assert self._file is not None
        os.lseek(self._file, begin, os.SEEK_SET)
        return os.read(self._file, end - begin)

    def _begin_of_last_line(self, size: int) -> int:
        at = size
        while at:
            begin = max(at - TAIL, 0)
            found = self._read(begin, at).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            at = begin
        return 0


def _previous_seal(tail: bytes) -> str:
    """The checksum in the last line, if that is a seal."""
    line = tail.rstrip(b"\n")
    line = line[line.rfind(b"\n") + 1 :]
    if not line.startswith(envelope.HEAD):
        return ""
    try:
        found: Any = json.loads(line)["file"].get("sha256", "")
    except (ValueError, AttributeError):
        return ""
    return found if isinstance(found, str) else ""
