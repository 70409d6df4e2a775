"""What happened to artifacts. No event holds any of their data."""

from __future__ import annotations

from typing import Literal

from agentfp.artifacts import ArtifactMeta, Origin, SweepReason
from agentfp.plugin import Content, Hash, Name, Number, Payload, event

Op = Literal["put", "head", "get", "delete", "list", "dispatch", "place"]
Reason = Literal["missing_or_expired", "unknown_parent", "digest_mismatch", "invalid_input", "kind_mismatch", "unavailable"]


@event("agentfp.artifacts.minted")
class Minted(Payload):
    """An artifact was stored."""

    ref: Name[str]
    kind: Name[str]
    media_type: Name[str]
    bytes: Number[int]
    created_at: Number[int]
    label: Content[str | None] = None
    digest: Hash[str | None] = None
    expires_at: Number[int | None] = None
    origin_run_id: Name[str | None] = None
    origin_call_id: Name[str | None] = None
    parent_refs: Name[tuple[str, ...]] = ()
    tool: Name[str | None] = None

    def __str__(self) -> str:
        return f"{self.bytes} bytes of {self.kind} are kept as {self.ref}"


@event("agentfp.artifacts.resolved")
class Resolved(Payload):
    """A ref was redeemed: for what the artifact is, for its data, or for some of them."""

    ref: Name[str]
    via: Name[Literal["head", "get", "range", "stream"]]
    kind: Name[str]
    bytes: Number[int]
    tool: Name[str | None] = None


@event("agentfp.artifacts.expired")
class Expired(Payload):
    """An artifact is gone: its time was up, or it made room."""

    ref: Name[str]
    reason: Name[SweepReason]
    kind: Name[str]
    bytes: Number[int]
    tool: Name[str | None] = None

    def __str__(self) -> str:
        return f"{self.ref} is kept no longer ({self.reason})"


@event("agentfp.artifacts.deleted")
class Deleted(Payload):
    """A tool deleted an artifact, or one that was not there."""

    ref: Name[str]
    tool: Name[str | None] = None


@event("agentfp.artifacts.refused")
class Refused(Payload):
    """Something that was asked of the store did not happen."""

    op: Name[Op]
    reason: Name[Reason]
    ref: Name[str | None] = None
    detail: Content[str | None] = None
    tool: Name[str | None] = None

    def __str__(self) -> str:
        return f"{self.op} of {self.ref or 'an artifact'} is refused: {self.reason}"


@event("agentfp.artifacts.presented")
class Presented(Payload):
    """The model shows an artifact to the person: what, as what, and what it is, for when it is gone. The call is the event's."""

    ref: Name[str]
    view: Name[str]
    kind: Name[str]
    media_type: Name[str]
    bytes: Number[int]
    label: Content[str | None] = None


@event("agentfp.artifacts.placed")
class Placed(Payload):
    """A result was too long and the model reads a ticket in its place. The call is the event's."""

    ref: Name[str]
    chars: Number[int]
    threshold: Number[int]
    tool: Name[str]

    def __str__(self) -> str:
        return f"the result of {self.tool} has {self.chars} characters; the model gets a ticket for {self.ref}"


EVENTS = (Minted, Resolved, Expired, Deleted, Refused, Presented, Placed)


def minted(meta: ArtifactMeta, tool: str | None) -> Minted:
    """The event of a new artifact."""
    origin = meta.origin or Origin()
    return Minted(
        meta.ref,
        meta.kind,
        meta.media_type,
        meta.bytes,
        meta.created_at,
        meta.label,
        meta.digest,
        meta.expires_at,
        origin.run_id,
        origin.tool_call_id,
        tuple(meta.parent_refs),
        tool,
    )
