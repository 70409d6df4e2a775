"""Artifacts that a check of an answer may read: of its own conversation, so many and so much, and only while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentfp.artifacts import REF, ArtifactIntegrityError, ArtifactStore, Scope

Refusal: TypeAlias = Literal[
    "closed",
    "invalid-input",
    "no-store",
    "missing-or-expired",
    "kind-mismatch",
    "digest-mismatch",
    "max-reads",
    "max-bytes",
    "invalid-record",
    "store-error",
]


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a read gave: ``data``, or ``refusal``.

    Args:
        data: the artifact's data.
        refusal: why there is none.
    """

    data: Any = None
    refusal: Refusal | None = None

    @property
    def ok(self) -> bool:
        """Whether there is data."""
        return self.refusal is None


class ArtifactReads:
    """Reads artifacts for one check.

    Attributes:
        resolved: refs that were read; a check may cite these and no others.
        refusals: each kind of refusal there was, in order.
        count: reads that reached the store.
        bytes_read: size of what was read.
    """

    def __init__(self, store: ArtifactStore | None, scope: Scope, max_reads: int, max_bytes: int) -> None:
        self._store = store
        self._scope = scope
        self._max_reads = max_reads
        self._max_bytes = max_bytes
        self._found: dict[tuple[str, str], Resolved] = {}
        self._open = True
        self.resolved: set[str] = set()
        self.refusals: dict[Refusal, None] = {}
        self.count = 0
        self.bytes_read = 0

    def close(self) -> None:
        """Nothing can be read from now on."""
        self._open = False

    async def resolve(self, ref: str, kind: str) -> Resolved:
        """Read an artifact.

        Args:
            ref: its ticket.
            kind: what it must be.

        Returns:
            Its data, or why there is none; the answer is unverified then.
        """
        if not self._open:
            return Resolved(refusal="closed")
        if not isinstance(ref, str) or not isinstance(kind, str) or not REF.fullmatch(ref):
            return self._refused("invalid-input")
        if (ref, kind) not in self._found:
            self._found[ref, kind] = await self._read(ref, kind)
        return self._found[ref, kind]

    async def _read(self, ref: str, kind: str) -> Resolved:
        if self._store is None:
            return self._refused("no-store")
        if self.count >= self._max_reads:
            return self._refused("max-reads")
        self.count += 1
        try:
            meta = await self._store.head(self._scope, ref)
            if meta is None:
                return self._refused("missing-or-expired")
            if meta.kind != kind:
                return self._refused("kind-mismatch")
            if self.bytes_read + meta.bytes > self._max_bytes:
                return self._refused("max-bytes")
            self.bytes_read += meta.bytes
            record = await self._store.get(self._scope, ref)
        except ArtifactIntegrityError:
            return self._refused("digest-mismatch")
        except Exception:  # a store may fail in any way; which one is for its own log
            return self._refused("store-error")
        if record is None:
            return self._refused("missing-or-expired")
        if record.meta.ref != ref or record.meta.kind != kind:
            return self._refused("invalid-record")
        if not self._open:
            return Resolved(refusal="closed")
        self.resolved.add(ref)
        return Resolved(record.data)

    def _refused(self, why: Refusal) -> Resolved:
        if self._open:
            self.refusals.setdefault(why)
        return Resolved(refusal=why)
