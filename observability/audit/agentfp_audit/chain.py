"""The chain: records, each with the hash of the one before; segments of it, each with a header and a seal.

A file is lines of JSON: a header, records, a seal; then perhaps the next segment. What was not sealed, because the process was killed,
is as good as what was: the next header names the hash it goes on from. A seal holds the root of a tree over the header and the records,
so that the header is bound too, and one record can be shown without the others.
"""

from __future__ import annotations

import hashlib
from typing import Any

from agentfp_audit.canonical import NAME, canonical, canonical_bytes
from agentfp_audit.merkle import leaf_hash

FORMAT = "agentfp.audit/1"
ALGORITHM = "sha-256"
ZEROS = "0" * 64
"""What the first record of all goes on from."""
GENESIS = "audit.genesis"
GAP = "audit.gap"


def hash_of(record: dict[str, Any]) -> str:
    """The hash of a record, its own field ``hash`` left out."""
    return hashlib.sha256(canonical_bytes({key: value for key, value in record.items() if key != "hash"})).hexdigest()


def header_of(chain_head: str, first_seq: int, opened_ns: int, library: str) -> dict[str, Any]:
    """What a segment begins with.

    Args:
        chain_head: hash of the record before it.
        first_seq: number of its first record.
        opened_ns: when it was begun, in nanoseconds since 1970.
        library: who writes it.
    """
    return {
        "format": FORMAT,
        "hash_algorithm": ALGORITHM,
        "canonicalization": NAME,
        "chain_head": chain_head,
        "first_seq": first_seq,
        "opened_ns": opened_ns,
        "library": library,
    }


def seal_of(final_hash: str, first_seq: int, record_count: int, merkle_root: bytes) -> dict[str, Any]:
    """What a segment ends with, not signed yet.

    Args:
        final_hash: hash of its last record.
        first_seq: number of its first one.
        record_count: how many there are.
        merkle_root: root of the tree over its header and its records.
    """
    return {"final_hash": final_hash, "first_seq": first_seq, "merkle_root": merkle_root.hex(), "record_count": record_count}


def header_leaf(header: Any) -> bytes:
    """The first leaf of a segment's tree: its header."""
    return leaf_hash(canonical_bytes(header))


def record_leaf(record_hash: str) -> bytes:
    """The leaf of a record, of its hash."""
    return leaf_hash(bytes.fromhex(record_hash))


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
