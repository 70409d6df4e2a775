"""Artifacts as a tool or the application has them: the store's verbs in one scope, each of them on the record."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from agentfp.artifacts import (
    ArtifactError,
    ArtifactIntegrityError,
    ArtifactMeta,
    ArtifactPage,
    ArtifactRange,
    ArtifactRecord,
    ArtifactStore,
    ArtifactStream,
    InvalidArtifactError,
    Origin,
    PutArtifact,
    PutResult,
    Scope,
    StreamPut,
    UnknownParentRefError,
)
from agentfp.plugin import Payload
from agentfp_artifacts.events import Deleted, Expired, Op, Reason, Refused, Resolved, minted
from agentfp_artifacts.masking import Mask, masked_data, masked_words, without_secrets
from agentfp_artifacts.stores.noticing import noticing
from agentfp_artifacts.stores.payload import canonical_bytes
from agentfp_artifacts.stores.refs import is_ref

LINEAGE = 1000
"""Most ancestors that are looked up."""


class ScopedArtifacts:
    """A store's artifacts in one scope. Tools have it as ``ctx.artifacts``.

    Args:
        store: the store.
        scope: whose artifacts.
        tell: files an event; None where there is no run.
        tool: the tool that works with them.
        origin: what stands on what it puts.
        masking: gives what masks a text, once the run has secrets.

    Attributes:
        tell: files an event.
    """

    def __init__(
        self,
        store: ArtifactStore,
        scope: Scope,
        *,
        tell: Callable[[Payload], object] | None = None,
        tool: str | None = None,
        origin: Origin | None = None,
        masking: Callable[[], Mask | None] | None = None,
    ) -> None:
        self._store = store
        self._scope = scope
        self.tell: Callable[[Payload], object] = tell or _untold
        self._tool = tool
        self._origin = origin
        self._masking = masking

    async def put(
        self,
        *,
        kind: str,
        media_type: str,
        data: Any,
        label: str | None = None,
        digest: str | None = None,
        expires_at: int | None = None,
        parent_refs: Sequence[str] = (),
    ) -> ArtifactMeta:
        """Store an artifact.

        Args:
            kind: what it is, in your own words, such as ``dataset/rows``; tools that want one ask for its kind.
            media_type: its media type.
            data: bytes, a text, or plain JSON data.
            label: words for people.
            digest: ``sha-256`` for one that ``get`` verifies.
            expires_at: unix time in milliseconds from which it is gone.
            parent_refs: the artifacts it was made of.

        Returns:
            What is known of it, the ``ref`` that stands for it among it.

        Raises:
            InvalidArtifactError: it cannot be stored as it is.
            UnknownParentRefError: a parent is not there.
            ArtifactStoreError: the store failed.
        """
        with self._watched("put"):
            mask = self._masking() if self._masking is not None else None
            if mask is not None:
                data = masked_data(data, mask)
                kind, media_type, label = [masked_words(words, mask) for words in (kind, media_type, label)]
            item = PutArtifact(
                kind=kind,
                media_type=media_type,
                data=data,
                label=label,
                digest=digest,
                expires_at=expires_at,
                origin=self._origin,
                parent_refs=parent_refs,
            )
            done = await self._store.put(self._scope, item)
        return self._put(done)

    async def head(self, ref: str) -> ArtifactMeta | None:
        """What an artifact is, without its data; None when there is none."""
        with self._watched("head", ref):
            meta = await self._store.head(self._scope, ref)
        self._redeemed("head", "head", ref, meta)
        return meta

    async def get(self, ref: str) -> ArtifactRecord | None:
        """An artifact with its data; None when there is none.

        Raises:
            ArtifactIntegrityError: the data is not what was put.
        """
        with self._watched("get", ref):
            found = await self._store.get(self._scope, ref)
        self._redeemed("get", "get", ref, None if found is None else found.meta)
        return found

    async def get_range(self, ref: str, offset: int, length: int) -> ArtifactRange | None:
        """Some of an artifact's bytes, from ``offset`` on and ``length`` at most; None when there is none.

        Only these are read, where the store can do so, and they are not verified.

        Args:
            ref: the artifact.
            offset: the first byte, from 0.
            length: bytes at most.
        """
        with self._watched("get", ref):
            read = getattr(self._store, "get_range", None)
            if callable(read):
                part: ArtifactRange | None = await read(self._scope, ref, offset, length)
            else:
                found = await self._store.get(self._scope, ref)
                part = None if found is None else _part(found, offset, length)
        self._redeemed("get", "range", ref, None if part is None else part.meta)
        return part

    async def delete(self, ref: str) -> None:
        """Delete an artifact; nothing happens when there is none."""
        with self._watched("delete", ref):
            await self._store.delete(self._scope, ref)
        if is_ref(ref):
            self.tell(Deleted(ref, self._tool))

    async def list(self, *, cursor: str | None = None, limit: int = 50) -> ArtifactPage:
        """A page of artifacts, the newest first.

        Args:
            cursor: where the page before ended; None for the first.
            limit: how many at most.
        """
        with self._watched("list"):
            return await self._store.list(self._scope, cursor=cursor, limit=limit)

    async def lineage(self, ref: str) -> tuple[ArtifactMeta, ...]:
        """An artifact and all that it was made of, nearest first; what is gone by now is left out.

        Args:
            ref: the artifact.
        """
        found: dict[str, ArtifactMeta] = {}
        waiting = [ref]
        with self._watched("head", ref):
            for at in waiting:
                meta = None if at in found or len(found) >= LINEAGE else await self._store.head(self._scope, at)
                if meta is not None:
                    found[at] = meta
                    waiting += meta.parent_refs
        return tuple(found.values())

    @property
    def can_stream(self) -> bool:
        """Whether the store can take and give streams."""
        return all(callable(getattr(self._store, name, None)) for name in ("put_stream", "get_stream"))

    async def put_stream(
        self,
        body: AsyncIterator[bytes],
        *,
        kind: str,
        media_type: str,
        bytes: int,
        label: str | None = None,
        expires_at: int | None = None,
        parent_refs: Sequence[str] = (),
    ) -> ArtifactMeta:
        """Store a stream without having all of it in memory.

        Args:
            body: its chunks.
            kind: see :meth:`put`.
            media_type: its media type.
            bytes: how many bytes it has.
            label: words for people.
            expires_at: unix time in milliseconds from which it is gone.
            parent_refs: the artifacts it was made of.

        Raises:
            InvalidArtifactError: it has another length, or the store cannot stream.
        """
        mask = self._masking() if self._masking is not None else None
        if mask is not None:
            body = without_secrets(body, mask)
            kind, media_type, label = [masked_words(words, mask) for words in (kind, media_type, label)]
        item = StreamPut(
            kind=kind, media_type=media_type, bytes=bytes, label=label, expires_at=expires_at, origin=self._origin, parent_refs=parent_refs
        )
        with self._watched("put"):
            done: PutResult = await self._streaming("put_stream")(self._scope, item, body)
        return self._put(done)

    async def get_stream(self, ref: str) -> ArtifactStream | None:
        """An artifact's bytes in chunks, not verified; None when there is none.

        Raises:
            InvalidArtifactError: the store cannot stream.
        """
        with self._watched("get", ref):
            found: ArtifactStream | None = await self._streaming("get_stream")(self._scope, ref)
        self._redeemed("get", "stream", ref, None if found is None else found.meta)
        return found

    # --- the record ---

    def _streaming(self, verb: str) -> Any:
        member = getattr(self._store, verb, None)
        if not callable(member):
            raise InvalidArtifactError("this store cannot stream; put and get the artifact whole, or take file_artifacts or s3_artifacts")
        return member

    def _put(self, done: PutResult) -> ArtifactMeta:
        for swept in done.swept:
            self.tell(Expired(swept.ref, swept.reason, swept.kind, swept.bytes, self._tool))
        self.tell(minted(done.meta, self._tool))
        return done.meta

    def _redeemed(self, op: Op, via: Literal["head", "get", "range", "stream"], ref: object, meta: ArtifactMeta | None) -> None:
        if meta is None:
            self.tell(Refused(op, "missing_or_expired", _named(ref), None, self._tool))
        else:
            self.tell(Resolved(meta.ref, via, meta.kind, meta.bytes, self._tool))

    @contextmanager
    def _watched(self, op: Op, ref: object = None) -> Iterator[None]:
        with noticing() as gone:
            try:
                yield
            except ArtifactError as error:
                self.tell(Refused(op, reason_of(error), _named(ref), str(error), self._tool))
                raise
            except Exception as error:  # a store of somebody else may raise anything; its words may hold anything
                self.tell(Refused(op, "unavailable", _named(ref), type(error).__name__, self._tool))
                raise
            finally:
                for swept in gone:
                    self.tell(Expired(swept.ref, swept.reason, swept.kind, swept.bytes, self._tool))


def _untold(payload: Payload) -> None:
    """There is no run to tell."""


def reason_of(error: ArtifactError) -> Reason:
    """The word for an error on the record; by its code, for a store may have classes of its own."""
    reasons: dict[str, Reason] = {
        InvalidArtifactError.code: "invalid_input",
        UnknownParentRefError.code: "unknown_parent",
        ArtifactIntegrityError.code: "digest_mismatch",
    }
    return reasons.get(error.code, "unavailable")


def _part(found: ArtifactRecord, offset: int, length: int) -> ArtifactRange:
    """A range of a whole artifact, of a store that cannot read a range alone."""
    begin = min(max(offset, 0), found.meta.bytes)
    return ArtifactRange(found.meta, begin, canonical_bytes(found.data)[0][begin : begin + max(length, 0)])


def _named(ref: object) -> str | None:
    return ref if isinstance(ref, str) and is_ref(ref) else None
