"""The rules that all stores of this package share: what a put checks and in which order, what a read refuses, how a list goes on.

A store derives from :class:`BaseStore` and says how rows and payloads are kept.
"""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Any, ClassVar, TypeVar

import anyio.to_thread

from agentfp.artifacts import (
    ArtifactIntegrityError,
    ArtifactMeta,
    ArtifactPage,
    ArtifactRange,
    ArtifactRecord,
    ArtifactStoreError,
    InvalidArtifactError,
    Origin,
    PutArtifact,
    PutResult,
    Scope,
    StreamPut,
    Swept,
    UnknownParentRefError,
)
from agentfp_artifacts.stores.metas import Row
from agentfp_artifacts.stores.noticing import notice
from agentfp_artifacts.stores.payload import canonical_bytes, digest_of, restored
from agentfp_artifacts.stores.refs import is_ref, mint
from agentfp_artifacts.stores.retention import LARGEST, Limits, expiry, gone, plan

LOG = logging.getLogger("agentfp.artifacts")
T = TypeVar("T")
Key = tuple[int, int, str]
MAX_PAGE = 1000
MOST_SCOPES = 10_000
"""Of how many scopes it is remembered when expired artifacts are looked for again."""


def wall_clock() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


class BaseStore(ABC):
    """A store whose work is done in worker threads, unless ``in_thread`` is False.

    Args:
        limits: how much a scope may hold.
        clock: unix time in milliseconds.
    """

    name: ClassVar[str]
    in_thread: ClassVar[bool] = True

    def __init__(self, limits: Limits, clock: Callable[[], int]) -> None:
        self.limits = limits.checked(self.name)
        self.now = clock
        self._look_again: dict[tuple[str | None, str | None, str], int] = {}

    def __repr__(self) -> str:
        return f"<{self.name}>"

    # --- the five verbs, and ranges ---

    async def put(self, scope: Scope, item: PutArtifact) -> PutResult:
        """Store an artifact; see :class:`agentfp.artifacts.ArtifactStore`.

        Args:
            scope: whose it is.
            item: its data and what is said of it.
        """
        return await self._work(self._put, scope, item)

    async def head(self, scope: Scope, ref: str) -> ArtifactMeta | None:
        """What an artifact is, without its data; None when there is none.

        Args:
            scope: whose it is.
            ref: its ref.
        """
        row = await self._work(self._live, scope, ref)
        return None if row is None else row.meta

    async def get(self, scope: Scope, ref: str) -> ArtifactRecord | None:
        """An artifact with its data; None when there is none.

        Args:
            scope: whose it is.
            ref: its ref.
        """
        return await self._work(self._get, scope, ref)

    async def delete(self, scope: Scope, ref: str) -> None:
        """Delete an artifact; nothing happens when there is none.

        Args:
            scope: whose it is.
            ref: its ref.
        """
        if is_ref(ref):
            await self._work(self._remove, scope, ref)

    async def list(self, scope: Scope, *, cursor: str | None = None, limit: int = 50) -> ArtifactPage:
        """A page of the scope's artifacts, the newest first.

        Args:
            scope: whose.
            cursor: of the page before.
            limit: most artifacts of the page, from 1 to 1000.
        """
        return await self._work(self._list, scope, _key_of(cursor), min(max(limit, 1), MAX_PAGE))

    async def get_range(self, scope: Scope, ref: str, offset: int, length: int) -> ArtifactRange | None:
        """Some of an artifact's canonical bytes; only these are read, and they are not verified.

        Args:
            scope: whose.
            ref: the artifact.
            offset: the first byte, from 0.
            length: how many bytes, at most.
        """
        return await self._work(self._range, scope, ref, max(offset, 0), max(length, 0))

    async def sweep(self) -> tuple[Swept, ...]:
        """Delete what has expired, in all scopes."""
        return await self._work(self._sweep)

    def close(self) -> None:  # noqa: B027 - most have nothing open
        """Let go of what is open."""

    # --- the rules ---

    async def _work(self, function: Callable[..., T], *args: Any) -> T:
        if self.in_thread:
            return await anyio.to_thread.run_sync(function, *args)
        return function(*args)

    def _put(self, scope: Scope, item: PutArtifact) -> PutResult:
        now = self.now()
        check_item(item, now)
        if item.digest not in (None, "sha-256"):
            raise InvalidArtifactError("the only digest there is is 'sha-256'; ask for it, or for none")
        self._prove(scope, item.parent_refs)
        raw, shape = canonical_bytes(item.data)
        meta = self._meta(item, len(raw), now, digest_of(raw) if item.digest else None)
        with self._locked(scope):
            swept = self._plan(scope, len(raw), now)
            self._write(scope, Row(meta, shape, self._next_seq(scope), now), raw)
            return PutResult(meta, self._let_go(scope, swept))

    def _meta(self, item: PutArtifact | StreamPut, size: int, now: int, digest: str | None) -> ArtifactMeta:
        return ArtifactMeta(
            ref=mint(),
            kind=item.kind,
            media_type=item.media_type,
            bytes=size,
            created_at=now,
            label=item.label,
            digest=digest,
            expires_at=expiry(item.expires_at, now, self.limits),
            origin=item.origin,
            parent_refs=tuple(item.parent_refs),
        )

    def _prove(self, scope: Scope, parents: Sequence[str]) -> None:
        unresolved = [ref for ref in parents if self._live(scope, ref) is None]
        if unresolved:
            raise UnknownParentRefError(unresolved)

    def _plan(self, scope: Scope, incoming: int, now: int) -> Sequence[Swept]:
        if self.limits.budgeted:
            return plan(self._rows(scope), incoming, self.limits, now)
        return [gone(row, "ttl") for row in self._expired(scope, now)]

    def _expired(self, scope: Scope, now: int) -> Sequence[Row]:
        """What has expired in a scope. It is looked for once in the time that an artifact lives: a put must not look at all there is."""
        key = (scope.tenant, scope.principal, scope.conversation_id)
        if self.limits.ttl_s is None or now < self._look_again.get(key, 0):
            return []
        if len(self._look_again) >= MOST_SCOPES:
            self._look_again.clear()
        self._look_again[key] = now + int(self.limits.ttl_s * 1000)
        return [row for row in self._rows(scope) if row.expired(now)]

    def _let_go(self, scope: Scope, swept: Sequence[Swept]) -> tuple[Swept, ...]:
        """Delete what makes room, once the new artifact is there. What cannot be deleted is left for the next put: this one is done."""
        gone_now = []
        for one in swept:
            try:
                self._remove(scope, one.ref)
            except ArtifactStoreError as error:
                LOG.warning("an artifact that should make room stays: %s", error)
            else:
                gone_now.append(one)
        return tuple(gone_now)

    def _live(self, scope: Scope, ref: Any, *, reading: bool = True) -> Row | None:
        if not is_ref(ref):
            return None
        row = self._find(scope, ref)
        if row is None:
            return None
        now = self.now()
        if row.expired(now):
            self._has_expired(scope, row)
            return None
        if reading and self.limits.budgeted:
            with contextlib.suppress(ArtifactStoreError):  # a disk that takes nothing more can still be read
                self._touch(scope, ref, now)
        return row

    def _has_expired(self, scope: Scope, row: Row) -> None:
        """Let go of what a reader found expired; where that fails, it is as gone for the reader, and a sweep tries again."""
        notice(gone(row, "ttl"))
        with contextlib.suppress(ArtifactStoreError):
            self._remove(scope, row.meta.ref)

    def _get(self, scope: Scope, ref: str) -> ArtifactRecord | None:
        row = self._live(scope, ref)
        raw = None if row is None else self._payload(scope, row)
        if row is None or raw is None:
            return None
        if row.meta.digest is not None and (actual := digest_of(raw)) != row.meta.digest:
            raise ArtifactIntegrityError(ref, row.meta.digest, actual)
        return ArtifactRecord(row.meta, restored(raw, row.shape))

    def _range(self, scope: Scope, ref: str, offset: int, length: int) -> ArtifactRange | None:
        row = self._live(scope, ref)
        if row is None:
            return None
        offset = min(offset, row.meta.bytes)
        part = self._slice(scope, row, offset, min(length, row.meta.bytes - offset))
        return None if part is None else ArtifactRange(row.meta, offset, part)

    def _list(self, scope: Scope, after: Key | None, limit: int) -> ArtifactPage:
        found: list[Row] = []
        now = self.now()
        while len(found) <= limit:
            rows = self._page(scope, after, limit + 1)
            for row in rows:
                if row.expired(now):
                    self._has_expired(scope, row)
                else:
                    found.append(row)
            if len(rows) <= limit:
                break
            after = rows[-1].key
        page = found[:limit]
        return ArtifactPage(tuple([row.meta for row in page]), _cursor(page[-1].key) if len(found) > limit else None)

    # --- what a store says ---

    def _locked(self, scope: Scope) -> AbstractContextManager[Any]:
        """Holds off other puts of the scope, or does nothing where they cannot be in the way."""
        return nullcontext()

    def _next_seq(self, scope: Scope) -> int:
        """A number that grows with every put of a scope."""
        return time.time_ns()

    def _page(self, scope: Scope, after: Key | None, limit: int) -> Sequence[Row]:
        """The newest rows before a key."""
        rows = sorted(self._rows(scope), key=lambda row: row.key, reverse=True)
        return [row for row in rows if after is None or row.key < after][:limit]

    def _touch(self, scope: Scope, ref: str, now: int) -> None:  # noqa: B027 - some do not keep that
        """Note that an artifact was read."""

    @abstractmethod
    def _rows(self, scope: Scope) -> Sequence[Row]:
        """All artifacts of a scope, expired ones too."""

    @abstractmethod
    def _find(self, scope: Scope, ref: str) -> Row | None:
        """One artifact, expired or not."""

    @abstractmethod
    def _payload(self, scope: Scope, row: Row) -> bytes | None:
        """Its canonical bytes; None when it is gone meanwhile."""

    @abstractmethod
    def _slice(self, scope: Scope, row: Row, offset: int, length: int) -> bytes | None:
        """Some of its canonical bytes."""

    @abstractmethod
    def _write(self, scope: Scope, row: Row, raw: bytes) -> None:
        """Keep an artifact: whole, or not at all."""

    @abstractmethod
    def _remove(self, scope: Scope, ref: str) -> None:
        """Let go of an artifact, if it is there."""

    @abstractmethod
    def _sweep(self) -> tuple[Swept, ...]:
        """Delete what has expired, in all scopes."""


def check_item(item: PutArtifact | StreamPut, now: int) -> None:
    """See that an artifact can be stored, its data apart.

    Raises:
        InvalidArtifactError: it cannot.
    """
    for name, value in (("kind", item.kind), ("media_type", item.media_type)):
        if not isinstance(value, str) or not value.strip():
            raise InvalidArtifactError(f"{name} is blank; say what it is")
    if not isinstance(item.label, (str, type(None))):
        raise InvalidArtifactError(f"label is a {type(item.label).__name__}; give a text, or leave it out")
    for name, value in (("kind", item.kind), ("media_type", item.media_type), ("label", item.label or "")):
        if _has_surrogate(value):
            raise InvalidArtifactError(f"{name} holds a lone surrogate, which no encoding can hold; mend the text")
    parents = item.parent_refs
    if isinstance(parents, str) or not isinstance(parents, Sequence) or not all(isinstance(ref, str) for ref in parents):
        raise InvalidArtifactError("parent_refs is no list of refs; give one, or leave it out")
    if not _is_origin(item.origin):
        raise InvalidArtifactError("origin is no Origin with texts; give one, or leave it out")
    if isinstance(item, StreamPut) and (type(item.bytes) is not int or not 0 <= item.bytes < LARGEST):
        raise InvalidArtifactError("bytes is no whole number from 0; say how many bytes the stream has")
    expires_at = item.expires_at
    if expires_at is None:
        return
    if isinstance(expires_at, bool) or not isinstance(expires_at, (int, float)) or not math.isfinite(expires_at):
        raise InvalidArtifactError("expires_at is no number; give unix time in milliseconds, or leave it out")
    if not now < expires_at < LARGEST:
        raise InvalidArtifactError("expires_at is not in the future; give unix time in milliseconds, or leave it out")


def check_chunk(chunk: Any) -> int:
    """The length of a chunk of a stream.

    Raises:
        InvalidArtifactError: it is no bytes.
    """
    if not isinstance(chunk, (bytes, bytearray)):
        raise InvalidArtifactError(f"the stream gave a {type(chunk).__name__}; its chunks are bytes")
    return len(chunk)


def check_length(declared: int, got: int) -> None:
    """See that a stream has the length that was declared.

    Raises:
        InvalidArtifactError: it has not.
    """
    if declared != got:
        raise InvalidArtifactError(f"the stream has {got} bytes and {declared} were declared; nothing was stored")


@asynccontextmanager
async def ending(body: AsyncIterator[bytes]) -> AsyncIterator[AsyncIterator[bytes]]:
    """Ends a stream that is not read to its end."""
    try:
        yield body
    finally:
        end = getattr(body, "aclose", None)
        if end is not None:
            await end()


def _is_origin(origin: Any) -> bool:
    if not isinstance(origin, Origin):
        return origin is None
    return all(each is None or (isinstance(each, str) and not _has_surrogate(each)) for each in (origin.run_id, origin.tool_call_id))


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _cursor(key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


def _key_of(cursor: str | None) -> Key | None:
    if cursor is None:
        return None
    try:
        created_at, seq, ref = json.loads(base64.urlsafe_b64decode(cursor))
        if not all(type(number) is int and abs(number) < LARGEST for number in (created_at, seq)):
            raise ValueError("it holds no place in a list")
        return created_at, seq, str(ref)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidArtifactError("this is no cursor of a page; take the one of the page before") from error
