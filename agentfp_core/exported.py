"""An event as a sink gets it, behind redaction."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from agentfp_core.redaction import NO_CONTENT, full_data, lean_data
from agentfp_core.segments import event_line

if TYPE_CHECKING:
    from agentfp_core.events.base import Event, Payload
    from agentfp_core.segments import SegmentHeader


class ExportedEvent:
    """An event as a sink gets it: masked, and without content unless the sink's settings ask for it.

    Attributes:
        seq, name, ts_ns, offset_ns, turn, iteration, call_id, source: see :class:`agentfp.events.Event`.
        header: the segment's header: root_id, run_id, session, identity, path, and in ``redaction`` the names of what
            this view was masked by up to this event.
    """

    __slots__ = ("_data", "_event", "_full", "header")

    def __init__(self, event: Event, header: SegmentHeader, *, full: bool) -> None:
        self._event = event
        self.header = header
        self._full = full
        self._data: dict[str, Any] | None = None

    if TYPE_CHECKING:
        seq: int
        name: str
        ts_ns: int
        offset_ns: int
        turn: int
        iteration: int
        call_id: str | None
        source: str
    else:
        seq = property(attrgetter("_event.seq"))
        name = property(attrgetter("_event.name"))
        ts_ns = property(attrgetter("_event.ts_ns"))
        offset_ns = property(attrgetter("_event.offset_ns"))
        turn = property(attrgetter("_event.turn"))
        iteration = property(attrgetter("_event.iteration"))
        call_id = property(attrgetter("_event.call_id"))
        source = property(attrgetter("_event.source"))

    @property
    def data(self) -> Mapping[str, Any]:
        """The payload's fields; only names, numbers and digests in a lean view."""
        if self._data is None:
            self._data = full_data(self._event.payload) if self._full else lean_data(self._event.payload)
        return self._data

    @property
    def payload(self) -> Payload | None:
        """The typed payload, masked; None in a lean view."""
        return self._event.payload if self._full else None

    def to_line(self) -> str:
        """The event as one line of a saved record, to stand after its header's line; without content in a lean view."""
        return event_line(self._event if self._full else NO_CONTENT.apply(self._event))

    def __repr__(self) -> str:
        return f"ExportedEvent({self._event.name!r}, seq={self._event.seq})"
