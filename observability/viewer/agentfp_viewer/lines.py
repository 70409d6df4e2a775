"""The lines of a file of JSON lines, by their places: read once from the front, and any one of them again, without holding the file."""

from __future__ import annotations

import gzip
import lzma
import os
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

BLOCK = 1 << 20
_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\x00"


class Line(NamedTuple):
    """One line.

    Args:
        number: from 1.
        offset: where it begins in the file, in bytes.
        text: its bytes, without the end of the line.
        whole: whether the end of the line was there.
    """

    number: int
    offset: int
    text: bytes
    whole: bool


class LineFile:
    """A file that grows at its end, or is complete.

    Args:
        path: the file; one packed with gzip or xz is unpacked to a temporary file first.
        progress: called with the bytes read so far and the size of the file.

    Raises:
        OSError: it cannot be opened or unpacked.
    """

    def __init__(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        self.path = path
        self._progress = progress
        self._lock = threading.Lock()
        with _open(path) as file:
            self._file = os.dup(file.fileno())
        self.close = weakref.finalize(self, os.close, self._file)  # also when the last reader lets go of it
        self._position = 0
        self._number = 0
        self._identity = self._seen()

    @property
    def size(self) -> int:
        """Its size now, in bytes."""
        return os.fstat(self._file).st_size

    @property
    def was_replaced(self) -> bool:
        """Whether what was read is no longer the file at the path: another took its place, or it was cut."""
        return self.size < self._position or self._seen() != self._identity

    def _seen(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:  # gone: what is open can still be read
            return getattr(self, "_identity", None)
        return found.st_dev, found.st_ino

    def new_lines(self) -> Iterator[Line]:
        """The lines that were not given yet. A last line without an end is given as not whole, and again when there is more of it."""
        rest: list[bytes] = []
        start = position = self._position
        while block := self._read_at(position, BLOCK):
            position += len(block)
            if b"\n" not in block:
                rest.append(block)
                continue
            *lines, last = block.split(b"\n")
            for text in lines:
                if rest:
                    text = b"".join([*rest, text])
                    rest.clear()
                self._number += 1
                begin, start = start, start + len(text) + 1
                self._position = start
                yield Line(self._number, begin, text, True)
            rest = [last] if last else []
            if self._progress is not None:
                self._progress(position, self.size)
        if rest:
            yield Line(self._number + 1, start, b"".join(rest), False)

    def take_last(self, line: Line) -> None:
        """Count a line without an end as read."""
        self._number, self._position = line.number, line.offset + len(line.text)

    def _read_at(self, offset: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._file, size, offset)
        with self._lock:  # where it is not there, the place in the file is shared
            os.lseek(self._file, offset, os.SEEK_SET)
            return os.read(self._file, size)

    def read(self, offset: int, size: int) -> bytes:
        """Some bytes of the file; fewer where it ends before."""
        parts: list[bytes] = []
        while size > 0 and (part := self._read_at(offset, size)):
            parts.append(part)
            offset, size = offset + len(part), size - len(part)
        return b"".join(parts)


def _open(path: Path) -> BinaryIO:
    file = path.open("rb")
    head = file.read(len(_XZ))
    file.seek(0)
    if not head.startswith((_GZIP, _XZ)):
        return file
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115  # as long as it is looked at
    try:
        with file, lzma.LZMAFile(file) if head.startswith(_XZ) else gzip.GzipFile(fileobj=file) as packed:
            while part := packed.read1(BLOCK):
                unpacked.write(part)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile):  # cut off or damaged: what is there is shown
        pass
    unpacked.flush()
    return unpacked
