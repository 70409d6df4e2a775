"""A log on the disk: opened at its end, appended to, sealed, begun anew when it has grown large."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from glob import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio

from agentfp_audit.canonical import canonical, canonical_bytes
from agentfp_audit.chain import ZEROS, Chain, hash_of, header_leaf, header_of, record_leaf, seal_of
from agentfp_audit.errors import AuditError
from agentfp_audit.merkle import Tree
from agentfp_audit.signing import Signer

try:
    import fcntl
except ImportError:  # Windows: two processes with one log break its chain, which the check then says
    fcntl = None  # type: ignore[assignment]

BLOCK = 65_536
DIGITS = 12
LIBRARY = f"agentfp-audit {version('agentfp-audit')}"
Entry = tuple[str, int, Any, dict[str, Any]]
"""Of a record: its type, its time in nanoseconds, its payload, its meta data."""


class AuditLog:
    """A log that is written by one process at a time.

    Args:
        path: the file; made with its folders, readable by its owner only; gone on with where it is there.
        signer: signs the seals.
        fsync: wait for the disk after each write.
        rotate_bytes: a log that is longer is sealed and set aside, as ``NAME.FIRST_SEQ.jsonl``.
        anchor: takes the hash of the last record and its number, to keep them where the writer of the log cannot change them;
            called at the end of each run and at each seal, on the thread that writes; an async one runs in a loop of its own.
    """

    def __init__(
        self,
        path: Path,
        *,
        signer: Signer | None = None,
        fsync: bool = False,
        rotate_bytes: int | None = None,
        anchor: Callable[[str, int], Any] | None = None,
    ) -> None:
        self.path = path
        self._signer = signer
        self._fsync = fsync
        self._rotate = rotate_bytes
        self._anchor = anchor
        self._file: int | None = None
        self._chain = Chain()
        self._tree = Tree()
        self._first_seq = 0
        self._size = 0
        self._anchored = -1

    @property
    def head(self) -> tuple[str, int]:
        """Hash of the last record, and how many there are in the whole chain."""
        return self._chain.head, self._chain.seq

    def write(self, entries: Sequence[Entry]) -> None:
        """Append records; all or none.

        Raises:
            AuditError: another process writes to it, or its end cannot be understood.
            OSError: it cannot be written.
        """
        if self._file is None:
            self._open()
        before = self._chain.head, self._chain.seq
        lines, leaves = [], []
        try:
            for entry in entries:
                lines.append(self._chain.add(*entry))
                leaves.append(record_leaf(self._chain.head))
            self._append(lines)
        except BaseException:
            self._chain.head, self._chain.seq = before
            raise
        for leaf in leaves:
            self._tree.add(leaf)
        if self._rotate is not None and self._size > self._rotate:
            self.seal()
            self.path.rename(self.path.with_name(f"{self.path.stem}.{self._first_seq:0{DIGITS}d}{self.path.suffix}"))

    def anchor(self) -> None:
        """Give the hash of the last record away, if it is new."""
        if self._anchor is not None and self._chain.seq != self._anchored and self._chain.seq:
            kept = self._anchor(self._chain.head, self._chain.seq - 1)
            if isinstance(kept, Awaitable):
                anyio.run(_awaited, kept)
            self._anchored = self._chain.seq

    def seal(self) -> None:
        """End the segment and close the file. A log without records since it was opened is sealed, too."""
        if self._file is None:
            return
        seal = seal_of(self._chain.head, self._first_seq, self._chain.seq - self._first_seq, self._tree.root())
        if self._signer is not None:
            seal["signature"] = {"algorithm": self._signer.algorithm, "value": self._signer.sign(canonical_bytes(seal))}
        self._append([canonical(seal)])
        self.release()
        self.anchor()

    def release(self) -> None:
        """Close the file without a seal."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, lines: Sequence[str]) -> None:
        assert self._file is not None
        data = memoryview("".join([f"{line}\n" for line in lines]).encode("utf-8", "replace"))
        written = 0
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
            if self._fsync:
                os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, self._size)  # half a batch is no record
            raise
        self._size += len(data)

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    raise AuditError(f"another process writes to the log {str(self.path)!r}; give each its own, as with {{pid}}") from error
            self._go_on()
            self._first_seq = self._chain.seq
            header = header_of(self._chain.head, self._first_seq, time.time_ns(), LIBRARY)
            self._append([canonical(header)])
            self._tree = Tree()
            self._tree.add(header_leaf(header))
        except BaseException:
            self.release()
            raise

    def _go_on(self) -> None:
        """Find the end of what is there; a last line that a killed process did not end is taken away."""
        assert self._file is not None
        self._size = os.fstat(self._file).st_size
        tail = _last_line(self._file, self._size)
        if tail and not tail.endswith(b"\n"):
            self._size -= len(tail)
            os.ftruncate(self._file, self._size)
            tail = _last_line(self._file, self._size)
        if tail:
            self._chain = _chain_after(tail, self.path)
        elif not self._chain.seq:
            self._after_the_last_set_aside()

    def _after_the_last_set_aside(self) -> None:
        """Begin a file behind those that an earlier process set aside."""
        aside = sorted(self.path.parent.glob(f"{escape(self.path.stem)}.{'[0-9]' * DIGITS}{escape(self.path.suffix)}"))
        if aside:
            with aside[-1].open("rb") as file:
                self._chain = _chain_after(_last_line(file.fileno(), aside[-1].stat().st_size), aside[-1])


async def _awaited(kept: Awaitable[Any]) -> None:
    await kept


def _chain_after(line: bytes, path: Path) -> Chain:
    """The end of a chain, of the last line of its file."""
    try:
        data = json.loads(line)
        if "format" in data:
            head, seq = data["chain_head"], data["first_seq"]
        elif "final_hash" in data:
            head, seq = data["final_hash"], data["first_seq"] + data["record_count"]
        elif data["hash"] == hash_of(data):
            head, seq = data["hash"], data["seq"] + 1
        else:
            raise ValueError
        if not (isinstance(head, str) and isinstance(seq, int) and (seq == 0) == (head == ZEROS)):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"the last line of {str(path)!r} is none of an audit log, or was changed"
        raise AuditError(f"{what}; set the file aside and check it: agentfp audit verify") from error
    return Chain(head, seq)


def _last_line(file: int, end: int) -> bytes:
    """The last line up to a place, with its end if it has one."""
    tail, at = b"", end
    while at:
        begin = max(at - BLOCK, 0)
        os.lseek(file, begin, os.SEEK_SET)
        tail = os.read(file, at - begin) + tail
        found = tail.rstrip(b"\n").rfind(b"\n") if tail.endswith(b"\n") else tail.rfind(b"\n")
        if found >= 0:
            return tail[found + 1 :]
        at = begin
    return tail
