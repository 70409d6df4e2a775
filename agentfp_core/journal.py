"""The journal: the private, unmasked file that a run streams its record to, and that a killed run is resumed from."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentfp_core.errors import UsageError
from agentfp_core.record import Record
from agentfp_core.segments import SegmentHeader, event_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfp_core.events.base import Event, Payload

try:
    import fcntl
except ImportError:  # no POSIX: two runs on one file are not told apart there
    fcntl = None  # type: ignore[assignment]

BLOCK = 65_536
"""Bytes that are read at a time from the end of a file."""


class Journal:
    """An append-only file of JSON lines. What a tool may depend on is in the kernel's hands before the tool runs.

    The file is not masked: it holds everything that was said. It is made readable by its owner only.

    Args:
        path: the file; made if it is not there, appended to if it is.
        fsync: also wait for the disk at each flush. Without it a killed process loses nothing; a power cut may.
    """

    def __init__(self, path: str | Path, *, fsync: bool = False) -> None:
        self.path = Path(path)
        self._fsync = fsync
        self._file: int | None = None
        self._buffer: list[str] = []
        self._unwritten = b""
        self._current: str | None = None
        self._runs = 0

    def __repr__(self) -> str:
        return f"Journal({str(self.path)!r})"

    def begin(self, header: SegmentHeader, earlier: Record | None = None) -> None:
        """Open a segment; what the file does not hold of the conversation yet is written before it.

        Args:
            header: of the run's leg.
            earlier: the record of the legs before it.

        Raises:
            UsageError: another run writes to the file.
        """
        opened = self._file is None
        if opened:
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._lock()
        self._runs += 1
        if opened:
            assert self._file is not None
            self._end_torn_line()
            if earlier is not None and len(earlier) and os.fstat(self._file).st_size == 0:
                self._buffer.extend(line + "\n" for line in earlier.to_lines())
        self._buffer.append(header.to_line() + "\n")
        self._current = header.run_id
        self.flush()

    def _lock(self) -> None:
        """Keep others off the file while runs write to it: lines of two that do not know of each other could not be told apart."""
        if fcntl is None or self._runs:
            return
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            self._file = None
            raise UsageError(f"another run writes to the journal {str(self.path)!r}; give each run a file of its own") from None
        except OSError:  # a file system without locks
            return

    def end(self) -> None:
        """A run that had begun writes no more."""
        self._runs = max(self._runs - 1, 0)
        if not self._runs and self._file is not None and fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _end_torn_line(self) -> None:
        """End a last line that a killed process left without its end: a whole one is kept, as reading does, half of one is cut off."""
        assert self._file is not None
        with self.path.open("rb") as file:
            size = start = file.seek(0, os.SEEK_END)
            tail = b""
            while start and b"\n" not in tail:
                start = max(start - BLOCK, 0)
                file.seek(start)
                tail = file.read(size - start)
        line = tail[tail.rfind(b"\n") + 1 :]
        if not line:
            return
        try:
            json.loads(line)
        except ValueError:
            os.truncate(self.path, size - len(line))
        else:
            os.write(self._file, b"\n")

    def write(self, event: Event, run_id: str) -> None:
        """Append an event; it reaches the file at the next :meth:`flush`.

        Args:
            event: the event.
            run_id: the leg that it is of.
        """
        if run_id != self._current:
            self._buffer.append(json.dumps({"switch": run_id}) + "\n")
            self._current = run_id
        self._buffer.append(event_line(event) + "\n")

    def flush(self) -> None:
        """Hand all lines to the operating system."""
        if self._file is None or not (self._buffer or self._unwritten):
            return
        self._unwritten += "".join(self._buffer).encode("utf-8", "surrogatepass")
        self._buffer.clear()
        written, data = 0, memoryview(self._unwritten)
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
        finally:  # on a full disk, the next try goes on in the middle of the line at which this one stopped
            self._unwritten = bytes(data[written:])
        if self._fsync:
            os.fsync(self._file)

    def close(self) -> None:
        """Flush and close the file; the journal can be begun again."""
        try:
            self.flush()
        finally:
            if self._file is not None:
                os.close(self._file)
                self._file = None
                self._runs = 0

    def load(self, *, types: Iterable[type[Payload]] = ()) -> Record:
        """Read the journal back, up to its last complete line."""
        return Record.load(self.path, types=types)
