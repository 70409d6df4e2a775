"""The trace of the runs that one caller waits for: a run, and those nested in it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from agentfp.plugin import ExportedEvent, SegmentHeader
from agentfp_xray.leg import HANDLERS, Leg
from agentfp_xray.segments import Segment, Trace, trace_id_of

ENDED = "agentfp.run.ended"
WANTED = frozenset({*HANDLERS, ENDED})
"""Events that say something of a trace."""
Item: TypeAlias = "tuple[Segment, int] | str"
"""A segment and when it ended; or a document that was made already."""
HELD = 500
"""Segments of one turn that wait for its end; from then on they go out as they come, so that a long turn costs no memory."""


def sampled(run_id: str, rate: float) -> bool:
    """Whether a run is traced: all of it or nothing, the same in every process."""
    return int(hashlib.sha256(run_id.encode()).hexdigest()[:8], 16) / 2**32 < rate


class Turn:
    """The open segments of a run and of those nested in it.

    Args:
        service: the name of the root.
        rate: the share of runs that is traced.
        ship: is handed what is to be sent, once it is its time.
    """

    def __init__(self, service: str, rate: float, ship: Callable[[Item], None]) -> None:
        self._service = service
        self._rate = rate
        self._ship = ship
        self._legs: dict[str, Leg] = {}
        self._trace: Trace | None = None
        self._traced: bool | None = None
        self._held: list[Item] | None = []
        self._lock = threading.Lock()

    def handle(self, event: ExportedEvent) -> bool:
        """Take an event in, in the order of the record; gives whether the turn is over with it."""
        with self._lock:
            return self._handle(event)

    def _handle(self, event: ExportedEvent) -> bool:
        header = event.header
        if self._traced is None:
            self._traced = sampled(header.run_id, self._rate)
        if not self._traced:
            return event.name == ENDED and not header.path
        leg = self._legs.get(header.run_id)
        if leg is None:
            leg = self._legs[header.run_id] = Leg(self._root_of(event), event)
        if event.name == ENDED:
            self._over(leg, event)
            return not self._legs
        handler = HANDLERS.get(event.name)
        if handler is not None:
            handler(leg, event)
        return False

    def unfinished(self) -> list[Item]:
        """What was held back, and a document of each segment that goes on. May be asked from another thread than that of the events."""
        with self._lock:
            held, self._held = self._held or [], None
            return [*held, *[segment.document(None) for leg in self._legs.values() for segment in leg.open()]]

    def _over(self, leg: Leg, event: ExportedEvent) -> None:
        """A leg is over: those nested in it whose end never came are broken off."""
        path = event.header.path
        del self._legs[event.header.run_id]
        inner = [other for other in self._legs.values() if len(other.header.path) > len(path) and other.header.path[: len(path)] == path]
        for nested in reversed(inner):
            del self._legs[nested.header.run_id]
            nested.end(event)
        leg.end(event)
        if not self._legs:
            for item in self._held or ():
                self._ship(item)
            self._held = None

    def _root_of(self, event: ExportedEvent) -> Segment:
        header = event.header
        outer = self._legs.get(header.parent_run or "")
        if outer is not None:
            nested = Segment(outer.root.trace, outer.span_of_call(header.path[-1]), f"agent_{header.agent_id or 'agent'}", event.ts_ns)
            nested.metadata["run_id"] = header.run_id
            return nested
        self._trace = Trace(trace_id_of(header.trace_id, event.ts_ns), self._take)
        self._held = []
        root = Segment(self._trace, None, self._service, event.ts_ns)
        root.annotations |= _of_run(header)
        return root

    def _take(self, segment: Segment, end_ns: int) -> None:
        held = self._held
        if held is None:
            self._ship((segment, end_ns))
            return
        held.append((segment, end_ns))
        if len(held) >= HELD:
            self._held = None
            for waiting in held:
                self._ship(waiting)


def _of_run(header: SegmentHeader) -> dict[str, Any]:
    made: dict[str, Any] = {"run_id": header.run_id}
    optional = {"agent": header.agent_id, "session_id": header.session_id, "resumed_from": header.resumed_from}
    return made | {key: value for key, value in optional.items() if value is not None}
