"""The protocol of artifact stores: scopes, metadata, what is put and got, the five verbs, and the errors stores raise."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from agentfp_core.errors import AgentfpError

REF = re.compile(r"art_[A-Za-z0-9]{22}")
"""What a ref looks like."""
SweepReason: TypeAlias = Literal["ttl", "max_bytes", "max_count"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose artifacts these are. What was put in one scope cannot be read, listed or deleted from another.

    Args:
        conversation_id: the conversation.
        tenant: the organisation; an empty text is none.
        principal: the person or account; an empty text is none.
    """

    conversation_id: str
    tenant: str | None = None
    principal: str | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an artifact comes from.

    Args:
        run_id: the run leg.
        tool_call_id: the call.
    """

    run_id: str | None = None
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactMeta:
    """What is known of an artifact without its data.

    Args:
        ref: the ticket: ``art_`` and 22 letters and digits, minted at random.
        kind: what it is, in the words of whoever made it.
        media_type: its media type.
        bytes: size of its canonical bytes.
        created_at: unix time in milliseconds.
        label: words for people.
        digest: ``sha-256:`` and 64 hex digits of its canonical bytes, where one was asked for.
        expires_at: unix time in milliseconds from which it is gone.
        origin: where it comes from.
        parent_refs: the artifacts it was made of.
    """

    ref: str
    kind: str
    media_type: str
    bytes: int
    created_at: int
    label: str | None = None
    digest: str | None = None
    expires_at: int | None = None
    origin: Origin | None = None
    parent_refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PutArtifact:
    """What is to be stored.

    Args:
        kind: what it is; not blank.
        media_type: its media type; not blank.
        data: bytes, a text, or plain JSON data (dicts with text keys, lists, texts, numbers, flags, None).
        label: words for people.
        digest: ``sha-256`` for one that ``get`` verifies.
        expires_at: unix time in milliseconds; in the future.
        origin: where it comes from.
        parent_refs: live artifacts of the same scope that it was made of.
    """

    kind: str
    media_type: str
    data: Any
    label: str | None = None
    digest: str | None = None
    expires_at: int | None = None
    origin: Origin | None = None
    parent_refs: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPut:
    """What is to be stored of a stream; see :class:`PutArtifact`.

    Args:
        bytes: how many bytes the stream has; another number is refused.
    """

    kind: str
    media_type: str
    bytes: int
    label: str | None = None
    expires_at: int | None = None
    origin: Origin | None = None
    parent_refs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Swept:
    """An artifact that is gone: it expired, or made room for another."""

    ref: str
    reason: SweepReason
    kind: str
    bytes: int


@dataclass(frozen=True, slots=True)
class PutResult:
    """What a put gave: the new artifact, and those that it swept away."""

    meta: ArtifactMeta
    swept: tuple[Swept, ...] = ()


@dataclass(frozen=True, slots=True)
class ArtifactRecord:
    """An artifact with its data, as it was put."""

    meta: ArtifactMeta
    data: Any


@dataclass(frozen=True, slots=True)
class ArtifactPage:
    """Some artifacts of a scope, the newest first; ``cursor`` where there are more."""

    artifacts: tuple[ArtifactMeta, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ArtifactStream:
    """An artifact whose canonical bytes come in chunks; they are not verified."""

    meta: ArtifactMeta
    body: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class ArtifactRange:
    """Some of an artifact's canonical bytes, from ``offset`` on; they are not verified."""

    meta: ArtifactMeta
    offset: int
    data: bytes


@runtime_checkable
class ArtifactStore(Protocol):
    """Keeps artifacts. Five verbs, the scope first.

    A missing, an expired, a foreign and a malformed ref are the same to every verb: there is no such artifact.

    A store may also have ``put_stream(scope, StreamPut, AsyncIterator[bytes]) -> PutResult``, ``get_stream(scope, ref) -> ArtifactStream
    | None`` and ``get_range(scope, ref, offset, length) -> ArtifactRange | None``, all async. One that cannot stream does not have them.
    """

    async def put(self, scope: Scope, item: PutArtifact) -> PutResult:
        """Store an artifact under a new ref. A refused put stores nothing and evicts nothing.

        Args:
            scope: whose it is.
            item: its data and what is said of it.

        Raises:
            InvalidArtifactError: it cannot be stored as it is.
            UnknownParentRefError: a parent is not there.
            ArtifactStoreError: the store failed; a full disk, say.
        """
        ...

    async def head(self, scope: Scope, ref: str) -> ArtifactMeta | None:
        """What an artifact is, without its data; None when there is none.

        Args:
            scope: whose it is.
            ref: its ref.
        """
        ...

    async def get(self, scope: Scope, ref: str) -> ArtifactRecord | None:
        """An artifact with its data; None when there is none.

        Args:
            scope: whose it is.
            ref: its ref.

        Raises:
            ArtifactIntegrityError: the data is not what was put.
        """
        ...

    async def delete(self, scope: Scope, ref: str) -> None:
        """Delete an artifact; nothing happens when there is none.

        Args:
            scope: whose it is.
            ref: its ref.
        """
        ...

    async def list(self, scope: Scope, *, cursor: str | None = None, limit: int = 50) -> ArtifactPage:
        """A page of the scope's artifacts, the newest first.

        Args:
            scope: whose they are.
            cursor: where the page before ended; None for the first.
            limit: how many at most.
        """
        ...


# --- errors -------------------------------------------------------------------------------------------------------------------
# None of their messages holds data, a tenant or a principal.


class ArtifactError(AgentfpError):
    """Something went wrong with an artifact."""

    code = "ERR_ARTIFACT"


class InvalidArtifactError(ArtifactError):
    """An artifact cannot be stored as it is; nothing was stored."""

    code = "ERR_INVALID_ARTIFACT"


class UnknownParentRefError(ArtifactError):
    """An artifact names parents that are not there in its scope; nothing was stored.

    Args:
        unresolved: their refs.
    """

    code = "ERR_UNKNOWN_PARENT_REF"

    def __init__(self, unresolved: Sequence[str]) -> None:
        self.unresolved = tuple(unresolved)
        named = ", ".join(repr(ref) if REF.fullmatch(ref) else "(no ref)" for ref in self.unresolved)
        super().__init__(f"parent_refs names {named}, which is not there in this scope; name live artifacts, or leave it out")

    def __reduce__(self) -> tuple[object, ...]:
        return UnknownParentRefError, (self.unresolved,)


class ArtifactIntegrityError(ArtifactError):
    """The data of an artifact is not what was put.

    Args:
        ref: the artifact.
        expected: the digest that it was put with.
        actual: the digest of what is there.
    """

    code = "ERR_ARTIFACT_INTEGRITY"

    def __init__(self, ref: str, expected: str, actual: str) -> None:
        self.ref, self.expected, self.actual = ref, expected, actual
        super().__init__(f"artifact {ref!r} is not what was put: its digest was {expected} and is {actual}; put it again")

    def __reduce__(self) -> tuple[object, ...]:
        return ArtifactIntegrityError, (self.ref, self.expected, self.actual)


class ArtifactStoreError(ArtifactError):
    """A store failed; what it was asked to do did not happen."""

    code = "ERR_ARTIFACT_STORE"


class UnreadableArtifactFileError(ArtifactStoreError):
    """A file of a store is there and cannot be read: damaged, or of a newer version.

    Args:
        file: its path. The message has the last part of it only: folders may be named after tenants and people.
        problem: what is wrong with it.
    """

    code = "ERR_UNREADABLE_ARTIFACT_FILE"

    def __init__(self, file: str, problem: str) -> None:
        self.file, self.problem = file, problem
        name = PurePath(file).name
        super().__init__(f"artifact file {name!r} cannot be read: {problem}; move it away, or read it with the version that wrote it")

    def __reduce__(self) -> tuple[object, ...]:
        return UnreadableArtifactFileError, (self.file, self.problem)
