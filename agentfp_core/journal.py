"""The journal: the private, unmasked file that a run streams its record to, and that a killed run is resumed from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentfp_core.record import Record
from agentfp_core.segments import SegmentHeader, event_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfp_core.events.base import Event, Payload

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
        self._current: str | None = None

    def __repr__(self) -> str:
        return f"Journal({str(self.path)!r})"

    def begin(self, header: SegmentHeader, earlier: Record | None = None) -> None:
        """Open a segment; what the file does not hold of the conversation yet is written before it."""
        if self._file is None:
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            self._end_torn_line()
            if earlier is not None and len(earlier) and os.fstat(self._file).st_size == 0:
                self._buffer.extend(line + "\n" for line in earlier.to_lines())
        self._buffer.append(header.to_line() + "\n")
        self._current = header.run_id
        self.flush()

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
        """Append an event; it reaches the file at the next :meth:`flush`."""
        if run_id != self._current:
            self._buffer.append(json.dumps({"switch": run_id}) + "\n")
            self._current = run_id
        self._buffer.append(event_line(event) + "\n")

    def flush(self) -> None:
        """Hand all lines to the operating system."""
        if self._file is None or not self._buffer:
            return
        data = memoryview("".join(self._buffer).encode("utf-8", "surrogatepass"))
        self._buffer.clear()
        while data:
            data = data[os.write(self._file, data) :]
        if self._fsync:
            os.fsync(self._file)

    def close(self) -> None:
        """Flush and close the file; the journal can be begun again."""
        self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def load(self, *, types: Iterable[type[Payload]] = ()) -> Record:
        """Read the journal back, up to its last complete line."""
        return Record.load(self.path, types=types)
