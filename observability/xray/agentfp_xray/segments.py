"""One segment or subsegment while it is open, and the JSON document that it becomes."""

from __future__ import annotations

import json
import math
import os
import random
import re
from collections.abc import Callable
from typing import Any

from agentfp_xray.limits import MAX_ANNOTATIONS, MAX_DOCUMENT_BYTES, MAX_TEXT, key_of, name_of

OF_ROOT = 12
"""Annotations of a trace that are kept for its root."""
W3C = re.compile(r"^(?:1-)?([0-9a-f]{8})-?([0-9a-f]{24})$")
_RANDOM = random.Random()
"""Of our own: no program seeds it. It takes its seed from the system, and a process that is forked off takes another one."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_RANDOM.seed)


def new_id() -> str:
    """The id of a segment."""
    return f"{_RANDOM.getrandbits(64):016x}"


def trace_id_of(given: str | None, start_ns: int) -> str:
    """The id of a trace: the caller's, where it is one of X-Ray or of the W3C; else a new one.

    Args:
        given: id of the caller's trace.
        start_ns: when the trace begins, since the epoch.
    """
    found = W3C.match(given) if given is not None else None
    if found is not None:
        return f"1-{found[1]}-{found[2]}"
    return f"1-{start_ns // 1_000_000_000 & 0xFFFFFFFF:08x}-{_RANDOM.getrandbits(96):024x}"


class Trace:
    """What the segments of one trace share.

    Args:
        trace_id: its id.
        ship: is handed each segment when it has ended, and when that was.
    """

    def __init__(self, trace_id: str, ship: Callable[[Segment, int], None]) -> None:
        self.trace_id = trace_id
        self.ship = ship
        self._annotations = MAX_ANNOTATIONS - OF_ROOT

    def may_annotate(self) -> bool:
        """Whether there is room for one more annotation below the root; takes it."""
        self._annotations -= 1
        return self._annotations >= 0


class Segment:
    """A segment of a trace; below another one, a subsegment.

    Args:
        trace: which it belongs to.
        parent: what it hangs from; None for the root.
        name: its name.
        start_ns: when it began.
        remote: whether it is a call of somebody else's service.
    """

    __slots__ = (
        "_id",
        "_name",
        "_parent",
        "_remote",
        "_start_ns",
        "annotations",
        "error",
        "exception",
        "fault",
        "metadata",
        "throttle",
        "trace",
    )

    def __init__(self, trace: Trace, parent: Segment | None, name: str, start_ns: int, *, remote: bool = False) -> None:
        self.trace = trace
        self._parent = parent
        self._id = new_id()
        self._name = name
        self._start_ns = start_ns
        self._remote = remote
        self.annotations: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.error = self.fault = self.throttle = False
        self.exception: str | None = None

    def end(self, end_ns: int) -> None:
        """End it, and hand it over; nothing of it changes any more."""
        self.trace.ship(self, max(end_ns, self._start_ns))

    def document(self, end_ns: int | None) -> str:
        """Its document, at most as large as the service takes.

        Args:
            end_ns: when it ended; None while it goes on.
        """
        made: dict[str, Any] = {"name": name_of(self._name), "id": self._id, "trace_id": self.trace.trace_id}
        made["start_time"] = _seconds(self._start_ns)
        if end_ns is None:
            made["in_progress"] = True
        else:
            made["end_time"] = _seconds(end_ns)
        if self._parent is not None:
            made |= {"type": "subsegment", "parent_id": self._parent._id}
        if self._remote:
            made["namespace"] = "remote"
        made |= {flag: True for flag in ("error", "fault", "throttle") if getattr(self, flag)}
        if self.exception is not None:
            made["cause"] = {"exceptions": [{"id": new_id(), "type": name_of(self.exception)}]}
        annotations, metadata = self._indexed()
        whole = json.dumps(made | _filled(annotations=annotations, metadata={"agentfp": metadata} if metadata else {}))
        if len(whole) <= MAX_DOCUMENT_BYTES:  # ASCII, so that characters are bytes
            return whole
        return json.dumps(made | {"metadata": {"agentfp": {"oversize": True, "bytes": len(whole)}}})

    def _indexed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Annotations as far as the trace has room for them; the others are metadata."""
        annotations: dict[str, Any] = {}
        metadata = {key: _value(value) for key, value in self.metadata.items()}
        for key, value in self.annotations.items():
            room = len(annotations) < OF_ROOT if self._parent is None else self.trace.may_annotate()
            (annotations if room else metadata)[key_of(key)] = _value(value)
        return annotations, metadata


def _seconds(ns: int) -> float:
    """To the microsecond; the nearest number that a float can be."""
    return round(ns / 1_000) / 1_000_000


def _value(value: Any) -> Any:
    plain = isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))
    return value if plain else str(value)[:MAX_TEXT]


def _filled(**parts: dict[str, Any]) -> dict[str, Any]:
    return {key: part for key, part in parts.items() if part}
