"""The lines of a recording that are about the recording: what opens a part of it, what seals it, and what was lost.

A recording is a file of a record with such lines between: ``{"file": {...}}``. A part is what one writer wrote in one go, as a rule a leg
of a run with its nested runs. Its seal holds a checksum over the part and over the seal before it, so that parts cannot be exchanged.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeAlias

FORMAT = "agentfp.recording/1"
"""Family and version of what this library writes and reads."""
Detail: TypeAlias = Literal["full", "lean"]
HEAD = b'{"file":'


def line_of(note: Mapping[str, Any]) -> str:
    """A note as a line of the file, without its end."""
    return json.dumps({"file": note}, ensure_ascii=False, separators=(",", ":"))


def opening(run_id: str, detail: Detail, at_ns: int) -> dict[str, Any]:
    """The note that opens a part.

    Args:
        run_id: the leg that it begins with.
        detail: whether content is in it.
        at_ns: wall clock.
    """
    return {"format": FORMAT, "run_id": run_id, "detail": detail, "opened_ns": at_ns, "producer": producer()}


@cache
def producer() -> dict[str, str]:
    """Who writes it: versions of this library and of Python. The versions of plugins stand on the record."""
    versions = {name: importlib.metadata.version(name) for name in ("agentfp", "agentfp-recording")}
    return {**versions, "python": platform.python_version()}


def dropped(run_id: str, count: int, first_seq: int, last_seq: int, why: str) -> dict[str, Any]:
    """The note that tells of events that are not in the file."""
    return {"dropped": {"run_id": run_id, "count": count, "first_seq": first_seq, "last_seq": last_seq, "why": why}}


class Checksum:
    """The running checksum of a part.

    Args:
        previous: the checksum in the seal before it; empty for none.
        start: byte of the file at which the part begins.
    """

    def __init__(self, previous: str, start: int) -> None:
        self.previous = previous
        self.start = start
        self.end = start
        self._hash = hashlib.sha256(previous.encode())

    def add(self, data: bytes | memoryview) -> None:
        """Take the bytes that come next."""
        self._hash.update(data)
        self.end += len(data)

    @property
    def hex(self) -> str:
        """The checksum so far."""
        return self._hash.hexdigest()

    def seal(self, run_id: str, status: str, events: int, lost: int) -> dict[str, Any]:
        """The note that seals the part.

        Args:
            run_id: the leg that ended with it.
            status: how.
            events: how many events stand in it.
            lost: how many do not, and should.
        """
        return {
            "sealed": run_id,
            "status": status,
            "events": events,
            "dropped": lost,
            "bytes": [self.start, self.end],
            "previous": self.previous,
            "sha256": self.hex,
        }
