"""A record's segments: the header of each leg, its events, and both as lines of JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, TypeVar

import pydantic_core

from agentfp_core.errors import RecordFormatError
from agentfp_core.events.app import AppEvent
from agentfp_core.events.base import Event, Payload, UnknownPayload, payload_from, payload_json
from agentfp_core.events.catalog import CATALOG
from agentfp_core.jsonable import without_surrogates

P = TypeVar("P", bound=Payload)

FORMAT = 1
"""Version of the file format that this library writes and reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whom a run is for, as its caller named them; at least one field, none of them empty.

    Args:
        tenant: the organisation.
        principal: the person or account.
        conversation_id: the conversation, in the caller's own terms.
    """

    tenant: str | None = None
    principal: str | None = None
    conversation_id: str | None = None

    def __post_init__(self) -> None:
        values = (self.tenant, self.principal, self.conversation_id)
        if not any(values) or any(v is not None and (not isinstance(v, str) or not v) for v in values):
            raise TypeError("an identity has at least one of tenant, principal and conversation_id, each a non-empty text")


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentHeader:
    """What holds for all events of one leg of a run; stands once, before them.

    Args:
        root_id: the conversation, the same in all its segments and in its nested runs.
        run_id: this leg.
        first_seq: seq of its first event.
        started_ns: wall clock at its begin.
        agent_id: the agent's name, when it was given one.
        session_id: the hosting session, when the caller named it.
        correlation_id: the caller's own id for what it belongs to, when there was one.
        trace_id: id of the caller's trace, when there was one.
        identity: whom it is for, when the caller named them.
        path: call ids that lead to a nested run, outermost first.
        parent_run: the run that called it.
        resumed_from: the leg that it goes on from.
        redaction: names of the policies that were applied to this copy; empty for a live record.
    """

    root_id: str
    run_id: str
    first_seq: int
    started_ns: int
    agent_id: str | None = None
    session_id: str | None = None
    correlation_id: str | None = None
    trace_id: str | None = None
    identity: Identity | None = None
    path: tuple[str, ...] = ()
    parent_run: str | None = None
    resumed_from: str | None = None
    redaction: tuple[str, ...] = ()

    def to_line(self) -> str:
        """The header as one line of JSON."""
        data = {k: v for k, v in dataclasses.asdict(self).items() if v is not None and v != ()}
        if self.identity is not None:
            data["identity"] = {k: v for k, v in dataclasses.asdict(self.identity).items() if v is not None}
        return without_surrogates(json.dumps({"agentfp": FORMAT, "segment": data}, ensure_ascii=False, separators=(",", ":")))

    def joined(self, later: SegmentHeader) -> SegmentHeader:
        """This header, and what the header of the same leg says that stands later in the file: it was masked more from there on."""
        names = tuple(dict.fromkeys((*self.redaction, *later.redaction)))
        return self if names == self.redaction else dataclasses.replace(self, redaction=names)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> SegmentHeader:
        """Read a header.

        Raises:
            RecordFormatError: fields are missing or of the wrong type.
        """
        try:
            known = {f.name for f in dataclasses.fields(cls)}
            values = {key: value for key, value in data.items() if key in known}
            identity = values.get("identity")
            values["identity"] = Identity(**identity) if identity is not None else None
            values["path"] = tuple(values.get("path", ()))
            values["redaction"] = tuple(values.get("redaction", ()))
            header = cls(**values)
        except (TypeError, ValueError, AttributeError) as error:
            raise RecordFormatError("a segment header cannot be read: fields are missing or of the wrong type") from error
        texts = (header.agent_id, header.session_id, header.parent_run, header.resumed_from)
        fits = (
            all(isinstance(text, str) for text in (header.root_id, header.run_id, *header.path, *header.redaction))
            and all(text is None or isinstance(text, str) for text in texts)
            and _is_number(header.first_seq)
            and header.first_seq >= 0
            and _is_number(header.started_ns)
        )
        if not fits:
            raise RecordFormatError("a segment header has fields of the wrong type")
        return header


def _is_number(value: Any) -> bool:
    """Whether it is a whole number that a time, a position or a count may be."""
    return type(value) is int and -(2**63) <= value < 2**63


class Segment:
    """The events of one leg. Records that grow from one another share it; each sees only its own length of it."""

    __slots__ = ("header", "events")

    def __init__(self, header: SegmentHeader, events: list[Event] | None = None) -> None:
        self.header = header
        self.events: list[Event] = [] if events is None else events


def event_line(event: Event) -> str:
    """One event as one line of JSON."""
    call = "" if event.call_id is None else f'"call":{encode_basestring(event.call_id)},'
    app = '"app":true,' if type(event.payload) is AppEvent else ""
    return (
        f'{{"seq":{event.seq},"name":{encode_basestring(event.name)},"ts":{event.ts_ns},"off":{event.offset_ns},"turn":{event.turn},'
        f'"iter":{event.iteration},{call}{app}"src":{encode_basestring(event.source)},"data":{payload_json(event.payload).decode()}}}'
    )


def event_from(data: Any, types: Mapping[str, type[Payload]] = CATALOG, *, line: str | bytes | None = None) -> Event:
    """Read one event; one of a type that is not among ``types`` is kept as :class:`UnknownPayload`.

    Args:
        data: the parsed line.
        types: payload classes by event name.
        line: the line itself, from which the payload of an unknown type is kept byte for byte.

    Raises:
        RecordFormatError: the data is no event, or its payload does not fit its type.
    """
    try:
        name, body, call = data["name"], data["data"], data.get("call")
        numbers = (data["seq"], data["ts"], data["off"], data["turn"], data["iter"])
        if not all(map(_is_number, numbers)) or numbers[0] < 0 or not isinstance(name, str) or not isinstance(data["src"], str):
            raise RecordFormatError("an event cannot be read: fields are of the wrong type")
        if call is not None and not isinstance(call, str):
            raise RecordFormatError("an event cannot be read: its call id is no text")
        app = data.get("app") is True and not name.startswith("agentfp.")
        cls = None if app else types.get(name)
        unknown = AppEvent if app else UnknownPayload
        payload: Payload = unknown(_raw(body, line)) if cls is None else payload_from(cls, body)
        seq, ts, offset, turn, iteration = numbers
        return Event(seq, name, ts, offset, turn, iteration, call, data["src"], payload)
    except (KeyError, TypeError, AttributeError) as error:
        raise RecordFormatError(f"an event cannot be read: {type(error).__name__} at {error}") from error


def _raw(body: Any, line: str | bytes | None) -> str:
    """The JSON text of a payload: as it stands in the line where that can be told, else written anew."""
    if line is not None:
        text = line if isinstance(line, str) else line.decode()
        begin = text.find('"data":') + 7  # inside of a text the quotes would be escaped
        raw = text.rstrip()[begin:-1]
        try:
            if pydantic_core.from_json(raw) == body:
                return raw
        except ValueError:
            pass
    return pydantic_core.to_json(body).decode()


def upgrade(event: Event, kind: type[P]) -> Event:
    """The event with its payload as ``kind``, when it was read without that type being known."""
    payload = event.payload
    if type(payload) is UnknownPayload or (type(payload) is AppEvent and kind is not AppEvent):
        return event._replace(payload=payload_from(kind, pydantic_core.from_json(payload.data)))
    return event


def place_of(events: list[Event], seq: int, size: int, *, after: bool = False) -> int:
    """Index of the event with this seq among the first ``size``, or how many have a seq up to it."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if events[middle].seq < seq or (after and events[middle].seq == seq):
            low = middle + 1
        else:
            high = middle
    return low
