"""The chain: records, each with the hash of the one before; segments of it, each with a header and a seal.

A file is lines of JSON: a header, records, a seal; then perhaps the next segment. What was not sealed, because the process was killed,
is as good as what was: the next header names the hash it goes on from.
"""

from __future__ import annotations

import hashlib
from typing import Any

from agentfp_audit.canonical import NAME, canonical, canonical_bytes

FORMAT = "agentfp.audit/1"
ALGORITHM = "sha-256"
ZEROS = "0" * 64
"""What the first record of all goes on from."""
GENESIS = "audit.genesis"
GAP = "audit.gap"


def hash_of(record: dict[str, Any]) -> str:
    """The hash of a record, its own field ``hash`` left out."""
    return hashlib.sha256(canonical_bytes({key: value for key, value in record.items() if key != "hash"})).hexdigest()


def header_line(chain_head: str, first_seq: int, opened_ns: int, library: str) -> str:
    """The line that a segment begins with."""
    return canonical(
        {
            "format": FORMAT,
            "hash_algorithm": ALGORITHM,
            "canonicalization": NAME,
            "chain_head": chain_head,
            "first_seq": first_seq,
            "opened_ns": opened_ns,
            "library": library,
        }
    )


def seal_line(final_hash: str, first_seq: int, record_count: int, signature: dict[str, str] | None) -> str:
    """The line that a segment ends with."""
    sealed: dict[str, Any] = {"final_hash": final_hash, "first_seq": first_seq, "record_count": record_count}
    return canonical(sealed if signature is None else {**sealed, "signature": signature})


class Chain:
    """The end of a chain, to which records are added.

    Args:
        head: hash of the last record.
        seq: number of the next one.
    """

    def __init__(self, head: str = ZEROS, seq: int = 0) -> None:
        self.head = head
        self.seq = seq

    def add(self, event_type: str, timestamp_ns: int, payload: Any, meta: dict[str, Any]) -> str:
        """Make the next record, as a line. What it holds is written once: the hash is put in where its key stands in the order."""
        begin = f'{{"event_type":{canonical(event_type)},'
        rest = (
            f'"meta":{canonical(meta, 1)},"payload":{canonical(payload, 1)},'
            f'"prev_hash":"{self.head}","seq":{self.seq},"timestamp_ns":{timestamp_ns}}}'
        )
        self.head = hashlib.sha256(f"{begin}{rest}".encode("utf-8", "replace")).hexdigest()
        self.seq += 1
        return f'{begin}"hash":"{self.head}",{rest}'
