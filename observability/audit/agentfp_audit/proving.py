"""Shows one record to belong to a sealed log, to somebody who gets none of the other records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentfp_audit.chain import hash_of, header_leaf, record_leaf
from agentfp_audit.errors import ProofError
from agentfp_audit.merkle import path_of, root_by
from agentfp_audit.signing import Checker, wrong_signature
from agentfp_audit.verifying import SEAL_FIELDS, verify_audit

FORMAT = "agentfp.audit.proof/1"
SAYS = "The proof shows that the record stands in the segment of this seal; that the seal is genuine, its signature shows."


@dataclass(frozen=True, slots=True)
class AuditProof:
    """A record, and what it takes to see that it stands where it says.

    Args:
        record: the record, as the log has it.
        path: hashes that lead from it to the root in the seal, from the bottom up, as hexadecimal digits.
        seal: the seal of its segment, with its signature if it has one.
    """

    record: dict[str, Any]
    path: tuple[str, ...]
    seal: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """As JSON data, to be given to somebody."""
        return {"format": FORMAT, "record": self.record, "path": list(self.path), "seal": self.seal}

    @classmethod
    def from_json(cls, data: Any) -> AuditProof:
        """The proof that somebody gave.

        Args:
            data: as :meth:`to_json` made it.

        Raises:
            ProofError: it is none.
        """
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ProofError(f"this is no proof of a record: its format is not {FORMAT!r}; make one with agentfp audit prove")
        match data:
            case {"record": dict(record), "path": list(path), "seal": dict(seal), **others} if others.keys() == {"format"}:
                if all(isinstance(one, str) for one in path):
                    return cls(record, tuple(path), seal)
        raise ProofError("this proof is not whole: it needs a record, a path and a seal, and nothing else")


@dataclass(frozen=True, slots=True)
class ProofVerdict:
    """What the check of a proof came to.

    Args:
        valid: the record stands in the sealed segment.
        reason: why not.
        seq: number of the record.
        signed: the signature of the seal was checked.
    """

    valid: bool
    reason: str | None = None
    seq: int | None = None
    signed: bool = False

    def __bool__(self) -> bool:
        return self.valid


def prove_record(sources: str | Path | Iterable[str | Path], seq: int) -> AuditProof:
    """Make the proof of a record.

    Args:
        sources: the log, or files of one chain in their order.
        seq: number of the record.

    Raises:
        ProofError: the log is broken, has no such record, or the record's segment has no seal.
        OSError: a file cannot be read.
    """
    paths = [Path(sources)] if isinstance(sources, (str, Path)) else [Path(source) for source in sources]
    verdict = verify_audit(paths)
    if not verdict:
        raise ProofError(f"nothing can be proved of a broken log: {verdict.reason} ({verdict.where})")
    leaves: list[bytes] = []
    found: dict[str, Any] | None = None
    for data in _lines(paths):
        if "format" in data:
            if found is not None:
                break  # the segment before has no seal
            leaves = [header_leaf(data)]
        elif "final_hash" in data:
            if found is not None:
                return AuditProof(found, tuple(one.hex() for one in path_of(leaves, seq - data["first_seq"] + 1)), data)
        else:
            leaves.append(record_leaf(data["hash"]))
            found = data if data["seq"] == seq else found
    if found is None:
        raise ProofError(f"there is no record {seq} in this log: it holds {verdict.checked} records")
    raise ProofError(f"the segment of record {seq} has no seal: its writer runs, or was killed; only what was sealed can be proved")


def _lines(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """The lines of a log that was verified; the end of one that a killed process left is none."""
    for path in paths:
        with path.open("rb") as file:
            yield from (json.loads(line) for line in file if line.endswith(b"\n"))


def verify_proof(proof: AuditProof, *, key: Checker | None = None) -> ProofVerdict:
    """Check that a record stands in a segment, of its proof alone.

    Args:
        proof: as somebody gave it.
        key: checks the seal's signature; then a seal without one is an error.
    """
    record, seal = proof.record, proof.seal
    seq = record.get("seq")
    numbers = (seq, seal.get("first_seq"), seal.get("record_count"))
    if any(not isinstance(number, int) or isinstance(number, bool) for number in numbers):
        return ProofVerdict(False, "the record or the seal has no number")
    reason = _wrong(proof, key)
    return ProofVerdict(reason is None, reason, numbers[0], reason is None and key is not None)


def _wrong(proof: AuditProof, key: Checker | None) -> str | None:
    record, seal = proof.record, proof.seal
    try:
        if record.get("hash") != hash_of(record):
            return "the record was changed: its hash is of something else"
        leaf, path = record_leaf(record["hash"]), [bytes.fromhex(one) for one in proof.path]
    except (TypeError, ValueError) as error:
        return f"the record or its path cannot be hashed: {error}"
    if unknown := seal.keys() - SEAL_FIELDS:
        return f"a seal with fields that are none of it: {', '.join(sorted(unknown))}"
    root = root_by(leaf, record["seq"] - seal["first_seq"] + 1, seal["record_count"] + 1, path)
    if root is None or root.hex() != seal.get("merkle_root"):
        return "the record does not stand in the segment that was sealed"
    return None if key is None else wrong_signature(seal, key)
