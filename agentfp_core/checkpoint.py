"""A checkpoint: the stored events of a conversation as one JSON text, enough to go on from in another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pydantic_core

from agentfp_core.errors import CheckpointError, RecordFormatError, describe_type
from agentfp_core.record import Record

VERSION = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a conversation stands.

    Args:
        record: its record up to there.
    """

    record: Record

    def to_json(self) -> str:
        """The checkpoint as JSON text. It holds what was said, unmasked: keep it where the conversation may be kept."""
        return f'{{"version":{VERSION},"kind":"checkpoint","record":{record_json(self.record)}}}'

    @classmethod
    def from_json(cls, text: str | bytes) -> Checkpoint:
        """Read what :meth:`to_json` wrote.

        Raises:
            CheckpointError: the text is no checkpoint, or of a version that this library does not read.
        """
        data = read_versioned(text, "checkpoint")
        return cls(record_from(data))


def record_json(record: Record) -> str:
    """The stored events of a record as a JSON list of lines."""
    return "[" + ",".join(record.to_lines(checkpoint=True)) + "]"


def read_versioned(text: str | bytes, kind: str) -> dict[str, Any]:
    """Parse a JSON text of this library and check its kind and version.

    Raises:
        CheckpointError: it is something else.
    """
    try:
        data = pydantic_core.from_json(text)
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"a {kind} must be the JSON text that to_json() gave; this is not JSON") from error
    if not isinstance(data, dict) or data.get("kind") != kind:
        raise CheckpointError(f"a {kind} must be the JSON text that its to_json() gave; this is something else")
    if data.get("version") != VERSION:
        version = data.get("version")
        said = version if isinstance(version, int) and abs(version) < 1_000_000 else describe_type(version)
        raise CheckpointError(f"a {kind} of version {said} cannot be read; this library reads version {VERSION}")
    return data


def record_from(data: dict[str, Any]) -> Record:
    """The record inside parsed JSON.

    Raises:
        CheckpointError: it is missing or cannot be read; the cause says where.
    """
    rows = data.get("record")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise CheckpointError("the field 'record' must be a list of objects; the text was changed or cut")
    try:
        return Record.from_lines(rows)
    except RecordFormatError as error:
        raise CheckpointError(f"the field 'record' cannot be read: {error}") from error
