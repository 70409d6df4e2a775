"""Checks logs offline, line by line: the first record that does not fit is named, and memory does not grow with the log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentfp_audit.canonical import NAME
from agentfp_audit.chain import ALGORITHM, FORMAT, GAP, GENESIS, ZEROS, hash_of, header_leaf, record_leaf
from agentfp_audit.merkle import Tree
from agentfp_audit.signing import Checker, wrong_signature

SAYS = (
    "The chain shows that the log is whole and unchanged in itself, not who wrote it: compare final_hash with one that was kept elsewhere."
)
SEAL_FIELDS = {"final_hash", "first_seq", "merkle_root", "record_count", "signature"}
LONGEST_LINE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """What a check came to.

    Args:
        valid: nothing is wrong.
        checked: records that fit, in order.
        broken_at: number of the first record that does not fit; None where it is no record, or nothing is wrong.
        reason: what is wrong.
        where: file and line of it.
        final_hash: hash of the last record that fits; to be compared with an anchor.
        sealed: the log ends with a seal; one of a process that runs or was killed does not.
        signed: seals with a signature that was checked.
        runs: runs that begin in it.
        lost: events that are not in the log, as it says itself.
    """

    valid: bool
    checked: int
    broken_at: int | None = None
    reason: str | None = None
    where: str | None = None
    final_hash: str = ZEROS
    sealed: bool = False
    signed: int = 0
    runs: int = 0
    lost: int = 0

    def __bool__(self) -> bool:
        return self.valid


class _BrokenError(Exception):
    def __init__(self, reason: str, at: int | None = None) -> None:
        self.reason, self.at = reason, at
        super().__init__(reason)


@dataclass(slots=True)
class _State:
    """Where the check stands."""

    check: Checker | None
    head: str = ZEROS
    seq: int = 0
    first: bool = True
    open: bool = False
    first_seq: int = 0
    count: int = 0
    tree: Tree = field(default_factory=Tree)
    signed: int = 0
    runs: int = 0
    lost: int = 0
    checked: int = 0
    torn: bool = False

    def verdict(self, broken: _BrokenError | None = None, where: str | None = None) -> AuditVerdict:
        return AuditVerdict(
            valid=broken is None,
            checked=self.checked,
            broken_at=None if broken is None else broken.at,
            reason=None if broken is None else broken.reason,
            where=where,
            final_hash=self.head,
            sealed=broken is None and not self.open and not self.torn,
            signed=self.signed,
            runs=self.runs,
            lost=self.lost,
        )

    def header(self, data: dict[str, Any]) -> None:
        for name, value in (("format", FORMAT), ("hash_algorithm", ALGORITHM), ("canonicalization", NAME)):
            if data.get(name) != value:
                raise _BrokenError(f"{name} is {data.get(name)!r}, and this checks {value!r}")
        head, first_seq = data.get("chain_head"), data.get("first_seq")
        if not isinstance(head, str) or not isinstance(first_seq, int) or isinstance(first_seq, bool):
            raise _BrokenError("a header without chain_head or first_seq")
        if (first_seq == 0) != (head == ZEROS):
            raise _BrokenError(f"a header that begins at {first_seq} goes on from {'nothing' if head == ZEROS else 'a record'}", first_seq)
        if self.first:  # a later segment alone is checked from its own header on
            self.head, self.seq = head, first_seq
        elif (head, first_seq) != (self.head, self.seq):
            raise _BrokenError(f"a segment that begins at {first_seq} does not go on from the record before, {self.seq - 1}", first_seq)
        self.first, self.open, self.torn = False, True, False
        self.first_seq, self.count = first_seq, 0
        self.tree = Tree()
        try:
            self.tree.add(header_leaf(data))
        except ValueError as error:
            raise _BrokenError(f"a header that cannot be hashed: {error}") from error

    def record(self, data: dict[str, Any]) -> None:
        if not self.open:
            raise _BrokenError("a record that belongs to no segment", self.seq)
        if data.get("seq") != self.seq or isinstance(data.get("seq"), bool):
            raise _BrokenError(f"record {self.seq} is missing: here stands {data.get('seq')!r}", self.seq)
        if data.get("prev_hash") != self.head:
            raise _BrokenError(f"record {self.seq} does not go on from the one before", self.seq)
        try:
            fits = data.get("hash") == hash_of(data)
        except (TypeError, ValueError) as error:
            raise _BrokenError(f"record {self.seq} cannot be hashed: {error}", self.seq) from error
        if not fits:
            raise _BrokenError(f"record {self.seq} was changed: its hash is of something else", self.seq)
        self.head, self.seq, self.count, self.checked = data["hash"], self.seq + 1, self.count + 1, self.checked + 1
        self.tree.add(record_leaf(self.head))
        if data.get("event_type") == GENESIS:
            self.runs += 1
        elif data.get("event_type") == GAP and isinstance(data.get("payload"), dict) and isinstance(data["payload"].get("count"), int):
            self.lost += data["payload"]["count"]

    def seal(self, data: dict[str, Any]) -> None:
        if not self.open:
            raise _BrokenError("a seal that belongs to no segment")
        if data.get("record_count") != self.count or data.get("first_seq") != self.first_seq:
            sealed = f"{data.get('record_count')!r} records from {data.get('first_seq')!r} on"
            raise _BrokenError(f"the seal is of {sealed}, and here are {self.count} from {self.first_seq} on", self.seq)
        if data.get("final_hash") != self.head:
            raise _BrokenError("the seal is of another last record", self.seq - 1 if self.count else None)
        if data.get("merkle_root") != self.tree.root().hex():
            raise _BrokenError("the seal's root is not that of this header and these records: the header was changed, or the seal")
        if unknown := data.keys() - SEAL_FIELDS:
            raise _BrokenError(f"a seal with fields that are none of it: {', '.join(sorted(unknown))}", self.seq)
        if self.check is not None:
            if wrong := wrong_signature(data, self.check):
                raise _BrokenError(wrong, self.seq)
            self.signed += 1
        self.open = False


def verify_audit(
    sources: str | Path | Iterable[str | Path], *, key: Checker | None = None, final_hash: str | None = None, sealed: bool = False
) -> AuditVerdict:
    """Check a log: each record, its place and its hash, each header and seal.

    Args:
        sources: the file, or files of one chain in their order.
        key: checks the seals' signatures; then a seal without one is an error.
        final_hash: the hash of the last record, as it was kept elsewhere.
        sealed: the log must end with a seal; one of a process that runs or was killed does not.

    Raises:
        OSError: a file cannot be read.
    """
    state = _State(key)
    where: str | None = None
    try:
        for path in [sources] if isinstance(sources, (str, Path)) else sources:
            for number, line in _lines(Path(path)):
                where = f"{path}:{number}"
                _take(state, line)
        if sealed and (state.open or state.torn):
            raise _BrokenError("the log does not end with a seal", state.seq)
        if final_hash is not None and state.head != final_hash:
            raise _BrokenError("the last record is not the one whose hash was kept", state.seq)
    except _BrokenError as broken:
        return state.verdict(broken, where)
    return state.verdict()


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            yield number, line


def _take(state: _State, line: bytes) -> None:
    try:
        data = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and "format" in data:
        state.header(data)
    elif state.torn:
        raise _BrokenError("a line without an end, and something behind it", state.seq)
    elif not isinstance(data, dict) or not line.endswith(b"\n"):
        if line.endswith(b"\n"):
            raise _BrokenError("a line that is no JSON object", state.seq)
        state.torn = True  # what a killed process leaves; nothing but a new segment may follow
    elif "final_hash" in data:
        state.seal(data)
    else:
        state.record(data)
