"""The record of a conversation: segments of immutable events, appended to, folded, cut at a position, saved and loaded."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pydantic_core

from agentfp_core.errors import RecordFormatError
from agentfp_core.events.app import AppEvent
from agentfp_core.events.base import Event, Payload, UnknownPayload, payload_from, payload_json
from agentfp_core.events.catalog import CATALOG
from agentfp_core.patterns import matcher

if TYPE_CHECKING:
    from agentfp_core.messages import History
    from agentfp_core.model import ModelRequest
    from agentfp_core.redaction import RedactionPolicy

S = TypeVar("S")
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
        return json.dumps({"agentfp": FORMAT, "segment": data}, ensure_ascii=False, separators=(",", ":"))

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


class Record:
    """The one store of a conversation: what happened, in order. Everything else is computed from it.

    A record is a sequence of events with gap-free ``seq`` from 0, in segments, one a leg of a run. Nested runs have
    records of their own in ``children``, by the id of the call that started them.

    Attributes:
        children: records of nested runs.
        torn_line: number of the last line, when it was torn in the file that this was read from.
        secrets: values that :meth:`save` masks, as runs of this process were told them; written nowhere.
    """

    def __init__(
        self, segments: Iterable[tuple[Segment, int]] = (), children: Mapping[str, Record] | None = None, secrets: set[str] | None = None
    ) -> None:
        self._parts: list[tuple[Segment, int]] = list(segments)
        self.children: dict[str, Record] = dict(children or {})
        self.torn_line: int | None = None
        self.secrets: set[str] = set() if secrets is None else secrets

    # --- reading ---

    @property
    def headers(self) -> list[SegmentHeader]:
        """The header of each segment."""
        return [segment.header for segment, _ in self._parts]

    @property
    def root_id(self) -> str:
        """Id of the conversation."""
        return self._parts[0][0].header.root_id if self._parts else ""

    @property
    def run_id(self) -> str:
        """Id of the last leg."""
        return self._parts[-1][0].header.run_id if self._parts else ""

    @property
    def redacted(self) -> tuple[str, ...]:
        """Names of the redaction policies that were applied to this copy; empty for a live record."""
        return tuple(dict.fromkeys(name for header in self.headers for name in header.redaction))

    def __len__(self) -> int:
        return sum(length if length >= 0 else len(segment.events) for segment, length in self._parts)

    def __iter__(self) -> Iterator[Event]:
        for segment, length in self._parts:
            events = segment.events
            for index in range(len(events) if length < 0 else length):
                yield events[index]

    def __reversed__(self) -> Iterator[Event]:
        for segment, length in reversed(self._parts):
            events = segment.events
            for index in range((len(events) if length < 0 else length) - 1, -1, -1):
                yield events[index]

    def __getitem__(self, seq: int) -> Event:
        for segment, length in reversed(self._parts):
            size = len(segment.events) if length < 0 else length
            if size and segment.events[0].seq <= seq <= segment.events[size - 1].seq:
                found = segment.events[_find(segment.events, seq, size)]
                if found.seq == seq:
                    return found
        raise IndexError(f"the record has no event with seq {seq}")

    def __repr__(self) -> str:
        return f"Record({self.root_id!r}, {len(self)} events, {len(self._parts)} segments)"

    def of(self, kind: type[P]) -> list[P]:
        """All payloads of one type, in order; of a type unknown while loading too."""
        name = kind.event_name
        return [upgrade(event, kind).payload for event in self if event.name == name]  # type: ignore[misc]

    def events(self, pattern: str = "*", *, run_id: str | None = None, call_id: str | None = None) -> list[Event]:
        """The events that match.

        Args:
            pattern: a name, ``agentfp.<domain>.*`` or ``*``.
            run_id: only of this leg.
            call_id: only about this tool call.
        """
        fits = matcher(pattern)
        found = self.of_run(run_id) if run_id is not None else self
        return [e for e in found if fits(e.name) and (call_id is None or e.call_id == call_id)]

    def of_run(self, run_id: str) -> Iterator[Event]:
        """The events of one leg."""
        for segment, length in self._parts:
            if segment.header.run_id == run_id:
                yield from segment.events[: None if length < 0 else length]

    def fold(self, initial: S, step: Callable[[S, Event], S]) -> S:
        """Compute something from all events, in order."""
        state = initial
        for event in self:
            state = step(state, event)
        return state

    def at(self, seq: int) -> Record:
        """The record as it was right after the event with this seq; shares the events.

        Raises:
            IndexError: there is no such event.
        """
        self[seq]
        parts = []
        for segment, length in self._parts:
            size = len(segment.events) if length < 0 else length
            upto = _find(segment.events, seq, size, after=True)
            if upto:
                parts.append((segment, upto))
        return Record(parts, self.children, self.secrets)

    @property
    def history(self) -> History:
        """The messages, as a fold of the record."""
        from agentfp_core.state import RunState

        return RunState.of(self).history(self)

    def served_at(self, call: int) -> ModelRequest:
        """The request of model call ``call`` (from 1, over the whole conversation), rebuilt from the record alone.

        Raises:
            RecordFormatError: there was no such call, or this copy is redacted.
        """
        from agentfp_core.served import served_at

        return served_at(self, call)

    def receipt(self, call: int) -> str:
        """The receipt that was filed when model call ``call`` was served."""
        from agentfp_core.served import served_event

        return served_event(self, call).receipt

    # --- growing ---

    def open_segment(self, header: SegmentHeader) -> Record:
        """A record that goes on from this one with a new leg; earlier segments are shared, this one stays as it is."""
        frozen = [(segment, len(segment.events) if length < 0 else length) for segment, length in self._parts]
        return Record([*frozen, (Segment(header), -1)], self.children, set(self.secrets))

    @property
    def tail(self) -> Segment:
        """The segment that events are appended to."""
        return self._parts[-1][0]

    @property
    def next_seq(self) -> int:
        """Seq of the event to come."""
        for segment, length in reversed(self._parts):
            size = len(segment.events) if length < 0 else length
            if size:
                return segment.events[size - 1].seq + 1
        return self._parts[-1][0].header.first_seq if self._parts else 0

    def sealed(self) -> Record:
        """This record with its length fixed: what is appended to the run afterwards does not show."""
        return Record([(s, len(s.events) if n < 0 else n) for s, n in self._parts], self.children, self.secrets)

    # --- files ---

    def to_lines(self, *, checkpoint: bool = False, policy: RedactionPolicy | None = None) -> Iterator[str]:
        """The record as lines of JSON: for each segment a header, then its events; children follow.

        Args:
            checkpoint: leave out diagnostic events, as checkpoints do.
            policy: a redaction policy; each event goes through it and through the mask of known secret values once, and
                the headers name both.
        """
        if policy is None:
            yield from self._lines(_as_it_is, (), checkpoint=checkpoint)
        else:
            yield from self._masked_lines(policy, checkpoint=checkpoint)

    def _masked_lines(self, policy: RedactionPolicy | None, *, checkpoint: bool = False) -> Iterator[str]:
        from agentfp_core.redaction import SECRETS, funnel

        names = (*((SECRETS,) if self.secrets else ()), *(() if policy is None else policy.names))
        return self._lines(funnel(policy, self.secrets), names, checkpoint=checkpoint)

    def _lines(self, mask: Callable[[Event], Event], names: tuple[str, ...], *, checkpoint: bool) -> Iterator[str]:
        for segment, length in self._parts:
            header = dataclasses.replace(segment.header, redaction=(*segment.header.redaction, *names)) if names else segment.header
            yield header.to_line()
            events = segment.events
            for index in range(len(events) if length < 0 else length):
                event = events[index]
                if not (checkpoint and event.payload.event_kind == "diagnostic"):
                    yield event_line(mask(event))
        for child in self.children.values():
            yield from child._lines(mask, names, checkpoint=checkpoint)

    def save(self, path: str | Path, *, policy: RedactionPolicy | None = None) -> None:
        """Write the record to a file of JSON lines, for people to read: known secret values are masked in it.

        Args:
            path: the file; replaced if it is there.
            policy: what else to mask. Without one the file holds everything that was said, known secret values apart.
        """
        with Path(path).open("w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in self._masked_lines(policy))

    @classmethod
    def load(cls, path: str | Path, *, types: Iterable[type[Payload]] = ()) -> Record:
        """Read a file of JSON lines: a saved record or a journal. Runs no code of the file's.

        A last line that is torn is left out and its number stands in ``torn_line``.

        Args:
            path: the file.
            types: event types of plugins; events of other types are kept as they are.

        Raises:
            RecordFormatError: the file is no record, of another version, or broken before its last line.
        """
        return cls.from_lines(Path(path).read_bytes().split(b"\n"), types=types)

    @classmethod
    def from_lines(cls, lines: Iterable[str | bytes | Mapping[str, Any]], *, types: Iterable[type[Payload]] = ()) -> Record:
        """Read what :meth:`to_lines` gives, as text or parsed."""
        return _Reader({**CATALOG, **{t.event_name: t for t in types}}).read(lines)


class _Reader:
    """Puts segments read from lines together to a record with its nested records."""

    def __init__(self, types: Mapping[str, type[Payload]]) -> None:
        self.types = types
        self.segments: dict[str, Segment] = {}
        self.current: Segment | None = None

    def read(self, lines: Iterable[str | bytes | Mapping[str, Any]]) -> Record:
        rows = [(number, line) for number, line in enumerate(lines, 1) if line]
        torn: int | None = None
        for index, (number, line) in enumerate(rows):
            try:
                if isinstance(line, Mapping):
                    self.take(line, None)
                else:
                    self.take(pydantic_core.from_json(line), line)
            except (ValueError, TypeError) as error:
                if isinstance(error, RecordFormatError):
                    raise RecordFormatError(f"line {number}: {error}") from error
                if index != len(rows) - 1 or index == 0:
                    raise RecordFormatError(f"line {number} is not JSON; the file is no record or was damaged") from error
                torn = number
        record = self.assemble()
        record.torn_line = torn
        return record

    def take(self, data: Any, line: str | bytes | None) -> None:
        if not isinstance(data, Mapping):
            raise RecordFormatError(f"a line holds a {type(data).__name__} where an object belongs; this is no record")
        if "segment" in data:
            if data.get("agentfp") != FORMAT:
                raise RecordFormatError(f"records of version {data.get('agentfp')!r} cannot be read; this library reads version {FORMAT}")
            header = SegmentHeader.of(data["segment"])
            self.current = self.segments.setdefault(header.run_id, Segment(header))
        elif "switch" in data:
            if not isinstance(data["switch"], str) or data["switch"] not in self.segments:
                raise RecordFormatError("a line switches to a segment that was not opened")
            self.current = self.segments[data["switch"]]
        elif self.current is None:
            raise RecordFormatError("the first line must be a segment header; this is no record")
        else:
            event, events = event_from(data, self.types, line=line), self.current.events
            if events and event.seq <= events[-1].seq:
                raise RecordFormatError(f"event {event.seq} comes after event {events[-1].seq}; the file was changed")
            events.append(event)

    def assemble(self) -> Record:
        if not self.segments:
            raise RecordFormatError("there is no segment in it; this is no record")
        by_path: dict[tuple[str, ...], list[Segment]] = {}
        for segment in self.segments.values():
            by_path.setdefault(segment.header.path, []).append(segment)
        records = {path: Record(_joined(segments)) for path, segments in by_path.items()}
        top = min(records, key=len)
        for path in sorted(records, key=len):
            parent = records.get(path[:-1]) if path != top else None
            if parent is not None:
                parent.children[path[-1]] = records[path]
        return records[top]


def _joined(segments: list[Segment]) -> list[tuple[Segment, int]]:
    """Segments with their lengths. One that goes on from the middle of an earlier one is a later branch, which counts."""
    parts: list[tuple[Segment, int]] = []
    for segment in segments:
        first = segment.events[0].seq if segment.events else segment.header.first_seq
        parts = [(earlier, _find(earlier.events, first, length)) for earlier, length in parts]
        parts.append((segment, len(segment.events)))
    return parts


def _as_it_is(event: Event) -> Event:
    return event


def _find(events: list[Event], seq: int, size: int, *, after: bool = False) -> int:
    """Index of the event with this seq among the first ``size``, or how many have a seq up to it."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if events[middle].seq < seq or (after and events[middle].seq == seq):
            low = middle + 1
        else:
            high = middle
    return low


def upgrade(event: Event, kind: type[P]) -> Event:
    """The event with its payload as ``kind``, when it was read without that type being known."""
    payload = event.payload
    if type(payload) is UnknownPayload or (type(payload) is AppEvent and kind is not AppEvent):
        return event._replace(payload=payload_from(kind, pydantic_core.from_json(payload.data)))
    return event
