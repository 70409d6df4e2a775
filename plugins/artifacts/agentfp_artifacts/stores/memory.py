"""The store in memory: quick, and gone with the process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from agentfp.artifacts import ArtifactStream, PutResult, Scope, StreamPut, Swept
from agentfp_artifacts.stores.base import BaseStore, check_chunk, check_item, check_length, ending, wall_clock
from agentfp_artifacts.stores.metas import Row
from agentfp_artifacts.stores.retention import Limits, gone, least_used, plan

MEBIBYTE = 1024 * 1024
CHUNK = 256 * 1024
ScopeKey = tuple[str, str, str]


class _Bucket:
    """The artifacts of one scope, and what a put must know of them without looking at each."""

    __slots__ = ("bytes", "next_expiry", "rows", "seq")

    def __init__(self) -> None:
        self.rows: OrderedDict[str, tuple[Row, bytes]] = OrderedDict()  # the one used least recently first
        self.bytes = 0
        self.seq = 0
        self.next_expiry: int | None = None  # nothing expires before; what would have may be gone by now

    def look_again(self, now: int) -> None:
        """See when the next of them expires, of those that have not."""
        times = [at for row, _ in self.rows.values() if (at := row.meta.expires_at) is not None and at > now]
        self.next_expiry = min(times, default=None)


class MemoryStore(BaseStore):
    """Keeps artifacts in this process.

    Attributes:
        dropped: how many were evicted to make room.
    """

    name: ClassVar[str] = "memory_artifacts"
    in_thread: ClassVar[bool] = False

    def __init__(self, limits: Limits, clock: Callable[[], int]) -> None:
        super().__init__(limits, clock)
        self.dropped = 0
        self._buckets: dict[ScopeKey, _Bucket] = {}
        self._lock = threading.RLock()

    async def put_stream(self, scope: Scope, item: StreamPut, body: AsyncIterator[bytes]) -> PutResult:
        """Store a stream.

        Args:
            scope: whose it is.
            item: what is said of it.
            body: its data, in chunks.
        """
        now = self.now()
        check_item(item, now)
        self._prove(scope, item.parent_refs)
        got = bytearray()
        async with ending(body):
            async for chunk in body:
                check_chunk(chunk)
                got += chunk
                if len(got) > item.bytes:
                    break
        check_length(item.bytes, len(got))
        meta = self._meta(item, len(got), now, None)
        with self._locked(scope):
            swept = self._plan(scope, len(got), now)
            self._write(scope, Row(meta, "bytes", self._next_seq(scope), now), bytes(got))
            return PutResult(meta, self._let_go(scope, swept))

    async def get_stream(self, scope: Scope, ref: str) -> ArtifactStream | None:
        """An artifact's bytes in chunks.

        Args:
            scope: whose it is.
            ref: its ref.
        """
        row = self._live(scope, ref)
        raw = None if row is None else self._payload(scope, row)
        return None if row is None or raw is None else ArtifactStream(row.meta, _chunks(raw))

    # --- keeping ---

    def _locked(self, scope: Scope) -> AbstractContextManager[Any]:
        return self._lock

    def _bucket(self, scope: Scope) -> _Bucket | None:
        return self._buckets.get((scope.tenant or "", scope.principal or "", scope.conversation_id))

    def _plan(self, scope: Scope, incoming: int, now: int) -> Sequence[Swept]:
        bucket = self._bucket(scope)
        if bucket is None:
            return plan((), incoming, self.limits, now)
        rows = [row for row, _ in bucket.rows.values()] if bucket.next_expiry is not None and bucket.next_expiry <= now else None
        others = (0, 0)
        if rows is None:
            by_use = (row for row, _ in bucket.rows.values())
            rows, others = least_used(by_use, incoming, self.limits, len(bucket.rows), bucket.bytes)
        swept = plan(rows, incoming, self.limits, now, beside=others)
        if bucket.next_expiry is not None and bucket.next_expiry <= now:
            bucket.look_again(now)  # the put will be done now, and what has expired is let go of
        self.dropped += sum(one.reason != "ttl" for one in swept)
        return swept

    def _next_seq(self, scope: Scope) -> int:
        bucket = self._buckets.setdefault((scope.tenant or "", scope.principal or "", scope.conversation_id), _Bucket())
        bucket.seq += 1
        return bucket.seq

    def _rows(self, scope: Scope) -> Sequence[Row]:
        with self._lock:
            bucket = self._bucket(scope)
            return [] if bucket is None else [row for row, _ in bucket.rows.values()]

    def _find(self, scope: Scope, ref: str) -> Row | None:
        bucket = self._bucket(scope)
        found = None if bucket is None else bucket.rows.get(ref)
        return None if found is None else found[0]

    def _touch(self, scope: Scope, ref: str, now: int) -> None:
        with self._lock:
            bucket = self._bucket(scope)
            found = None if bucket is None else bucket.rows.get(ref)
            if bucket is not None and found is not None:
                found[0].used_at = now
                bucket.rows.move_to_end(ref)

    def _payload(self, scope: Scope, row: Row) -> bytes | None:
        bucket = self._bucket(scope)
        found = None if bucket is None else bucket.rows.get(row.meta.ref)
        return None if found is None else found[1]

    def _slice(self, scope: Scope, row: Row, offset: int, length: int) -> bytes | None:
        raw = self._payload(scope, row)
        return None if raw is None else raw[offset : offset + length]

    def _write(self, scope: Scope, row: Row, raw: bytes) -> None:
        bucket = self._bucket(scope)
        assert bucket is not None  # made by _next_seq, under the same lock
        bucket.rows[row.meta.ref] = row, raw
        bucket.bytes += len(raw)
        at = row.meta.expires_at
        if at is not None and (bucket.next_expiry is None or at < bucket.next_expiry):
            bucket.next_expiry = at

    def _remove(self, scope: Scope, ref: str) -> None:
        with self._lock:
            bucket = self._bucket(scope)
            found = None if bucket is None else bucket.rows.pop(ref, None)
            if bucket is None or found is None:
                return
            bucket.bytes -= len(found[1])

    def _sweep(self) -> tuple[Swept, ...]:
        now = self.now()
        swept: list[Swept] = []
        with self._lock:
            for key, bucket in list(self._buckets.items()):
                tenant, principal, conversation = key
                if bucket.next_expiry is not None and bucket.next_expiry <= now:
                    expired = [gone(row, "ttl") for row, _ in bucket.rows.values() if row.expired(now)]
                    self._let_go(Scope(conversation, tenant, principal), expired)
                    bucket.look_again(now)
                    swept += expired
                if not bucket.rows:
                    del self._buckets[key]
        return tuple(swept)


async def _chunks(raw: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(raw), CHUNK):
        yield raw[at : at + CHUNK]


def memory_artifacts(
    *,
    ttl_s: float | None = None,
    max_bytes_per_scope: int | None = 32 * MEBIBYTE,
    max_count_per_scope: int | None = 256,
    clock: Callable[[], int] = wall_clock,
) -> MemoryStore:
    """A store in memory.

    Args:
        ttl_s: seconds after which an artifact expires.
        max_bytes_per_scope: most bytes of a scope; the ones used least recently make room.
        max_count_per_scope: most artifacts of a scope.
        clock: unix time in milliseconds; for tests.

    Raises:
        TypeError: a limit is no number above 0.
    """
    return MemoryStore(Limits(ttl_s, max_bytes_per_scope, max_count_per_scope), clock)
