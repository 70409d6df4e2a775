"""Metadata as JSON and back, and a row: an artifact as a store keeps it, payload apart."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from agentfp.artifacts import ArtifactMeta, Origin
from agentfp_artifacts.stores.payload import SHAPES, Shape


@dataclass(slots=True)
class Row:
    """An artifact without its payload.

    Args:
        meta: what is told of it.
        shape: what the payload was.
        seq: grows with every put of a scope; orders those of one millisecond.
        used_at: its place in the order of use: when it was last read, in milliseconds; where a store does not keep that, its ``seq``.
    """

    meta: ArtifactMeta
    shape: Shape
    seq: int
    used_at: int

    @property
    def key(self) -> tuple[int, int, str]:
        """Its place in a list, the newest last."""
        return self.meta.created_at, self.seq, self.meta.ref

    def expired(self, now: int) -> bool:
        """Whether it is gone by now."""
        return self.meta.expires_at is not None and self.meta.expires_at <= now


def meta_dict(meta: ArtifactMeta) -> dict[str, Any]:
    """Metadata as plain JSON; what is not known does not stand in it."""
    found = {field.name: getattr(meta, field.name) for field in dataclasses.fields(meta)}
    if meta.origin is not None:
        found["origin"] = {key: value for key, value in dataclasses.asdict(meta.origin).items() if value is not None}
    found["parent_refs"] = list(meta.parent_refs)
    return {key: value for key, value in found.items() if value is not None and value != []}


def meta_of(found: Any) -> ArtifactMeta:
    """Metadata of plain JSON.

    Raises:
        ValueError: it is no metadata.
    """
    try:
        values = dict(found)
        origin = values.pop("origin", None)
        parents = tuple(values.pop("parent_refs", ()))
        made = ArtifactMeta(**values, origin=None if origin is None else Origin(**origin), parent_refs=parents)
    except (TypeError, ValueError) as error:
        raise ValueError("it holds no metadata of an artifact") from error
    if not _fits(made):
        raise ValueError("it holds metadata that no artifact has")
    return made


def _fits(meta: ArtifactMeta) -> bool:
    """Whether each field is of its type: what was damaged may still be JSON."""
    origin = meta.origin or Origin()
    texts = (meta.ref, meta.kind, meta.media_type, *meta.parent_refs)
    maybe_texts = (meta.label, meta.digest, origin.run_id, origin.tool_call_id)
    numbers = (meta.bytes, meta.created_at, 0 if meta.expires_at is None else meta.expires_at)
    return (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(text, (str, type(None))) for text in maybe_texts)
        and all(type(number) is int for number in numbers)
    )


def row_dict(row: Row) -> dict[str, Any]:
    """A row as plain JSON."""
    return {"shape": row.shape, "seq": row.seq, "meta": meta_dict(row.meta)}


def row_of(found: Any) -> Row:
    """A row of plain JSON.

    Raises:
        ValueError: it is no row.
    """
    if not isinstance(found, dict) or found.get("shape") not in SHAPES or not isinstance(found.get("seq"), int):
        raise ValueError("it is no row of a store")
    return Row(meta_of(found.get("meta")), found["shape"], found["seq"], found["seq"])
