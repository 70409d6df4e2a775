"""The record of a conversation: segments of immutable events, appended to, folded, cut at a position, saved and loaded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentfp_core.errors import ConfigError
from agentfp_core.events.base import Event, Payload
from agentfp_core.events.catalog import CATALOG
from agentfp_core.patterns import SHARED, matcher, misspelt
from agentfp_core.segments import Segment, SegmentHeader, event_line, place_of, upgrade

if TYPE_CHECKING:
    from agentfp_core.messages import History
    from agentfp_core.model import ModelRequest
    from agentfp_core.redaction import RedactionPolicy

S = TypeVar("S")
P = TypeVar("P", bound=Payload)


def _as_it_is(event: Event) -> Event:
    return event


class Record:
    """The one store of a conversation: what happened, in order. Everything else is computed from it.

    A record is a sequence of events with gap-free ``seq`` from 0, in segments, one a leg of a run. Nested runs have
    records of their own in ``children``, by the id of the call that started them.

    Attributes:
        children: records of nested runs.
        torn_line: number of the last line, when it was torn in the file that this was read from.
        secrets: values that :meth:`save` masks, as runs of this process were told them; written nowhere.
        policy: the redaction policy of its run in this process, which :meth:`save` applies; None after loading.
    """

    def __init__(
        self,
        segments: Iterable[tuple[Segment, int]] = (),
        children: Mapping[str, Record] | None = None,
        secrets: set[str] | None = None,
        policy: RedactionPolicy | None = None,
    ) -> None:
        self._parts: list[tuple[Segment, int]] = list(segments)
        self.children: dict[str, Record] = dict(children or {})
        self.torn_line: int | None = None
        self.secrets: set[str] = set() if secrets is None else secrets
        self.policy = policy

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
                found = segment.events[place_of(segment.events, seq, size)]
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

        Raises:
            ConfigError: no event can match, for the library has none of that name.
        """
        fits = matcher(pattern)
        found = self.of_run(run_id) if run_id is not None else self
        fitting = [e for e in found if fits(e.name) and (call_id is None or e.call_id == call_id)]
        if not fitting and pattern.split(".")[1:2] not in SHARED and (wrong := misspelt(pattern, CATALOG, domains=False)):
            raise ConfigError([wrong])
        return fitting

    def of_run(self, run_id: str) -> Iterator[Event]:
        """The events of one leg."""
        for segment, length in self._parts:
            if segment.header.run_id == run_id:
                yield from segment.events[: None if length < 0 else length]

    def fold(self, initial: S, step: Callable[[S, Event], S]) -> S:
        """Compute something from all events, in order.

        Args:
            initial: what to begin with.
            step: gives what comes next, of what there is and an event.
        """
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
            upto = place_of(segment.events, seq, size, after=True)
            if upto:
                parts.append((segment, upto))
        return Record(parts, self.children, self.secrets, self.policy)

    def steps(self) -> list[dict[str, Any]]:
        """What happened, step by step, as JSON data; what ``agentfp steps --json`` prints as ``steps``."""
        from agentfp_core.steps import walk

        steps: list[dict[str, Any]] = walk(self)["steps"]
        return steps

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
        from agentfp_core.rebuilding import served_at

        return served_at(self, call)

    def receipt(self, call: int) -> str:
        """The receipt that was filed when model call ``call`` was served."""
        from agentfp_core.rebuilding import served_event

        return served_event(self, call).receipt

    def changed_calls(self) -> tuple[int, ...]:
        """Numbers of the model calls whose request no longer hashes to its receipt: the record was changed, or lacks a part. Empty is good.

        Raises:
            RecordFormatError: this copy is redacted, earlier legs are missing, or its events do not go together.
        """
        from agentfp_core.rebuilding import changed_calls

        return tuple(changed_calls(self, self.root_id, self.redacted))

    # --- growing ---

    def open_segment(self, header: SegmentHeader) -> Record:
        """A record that goes on from this one with a new leg; earlier segments are shared, this one stays as it is."""
        frozen = [(segment, len(segment.events) if length < 0 else length) for segment, length in self._parts]
        return Record([*frozen, (Segment(header), -1)], self.children, set(self.secrets), self.policy)

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
        return Record([(s, len(s.events) if n < 0 else n) for s, n in self._parts], self.children, self.secrets, self.policy)

    # --- files ---

    def to_lines(self, *, checkpoint: bool = False, policy: RedactionPolicy | None = None) -> Iterator[str]:
        """The record as lines of JSON: for each segment a header, then its events; children follow.

        Args:
            checkpoint: leave out diagnostic events, as checkpoints do.
            policy: a redaction policy; each event goes through it, through that of its run and through the mask of known
                secret values, and the headers name what was applied. Without one nothing is masked.
        """
        if policy is None:
            yield from self._lines(_as_it_is, (), checkpoint=checkpoint)
            for child in self.children.values():
                yield from child.to_lines(checkpoint=checkpoint)
        else:
            yield from self._masked_lines(policy, self.secrets, checkpoint=checkpoint)

    def _masked_lines(self, policy: RedactionPolicy | None, secrets: set[str], *, checkpoint: bool = False) -> Iterator[str]:
        from agentfp_core.redaction import funnel

        mask = funnel(self.policy if policy is None else policy.joined(self.policy), secrets)
        if secrets:  # whether any of them stands in it is known when all of it was looked at
            for event in self:
                mask.by_value(event)
        yield from self._lines(mask, mask.names, checkpoint=checkpoint)
        for child in self.children.values():
            yield from child._masked_lines(policy, secrets, checkpoint=checkpoint)

    def _lines(self, mask: Callable[[Event], Event], names: tuple[str, ...], *, checkpoint: bool) -> Iterator[str]:
        for segment, length in self._parts:
            header = dataclasses.replace(segment.header, redaction=(*segment.header.redaction, *names)) if names else segment.header
            yield header.to_line()
            events = segment.events
            for index in range(len(events) if length < 0 else length):
                event = events[index]
                if not (checkpoint and event.payload.event_kind == "diagnostic"):
                    yield event_line(mask(event))

    def save(self, path: str | Path, *, policy: RedactionPolicy | None = None) -> None:
        """Write the record to a file of JSON lines, for people to read. What its run masks in all it serves is masked here too.

        Args:
            path: the file; replaced if it is there.
            policy: what to mask besides the policy of the run and known secret values.
        """
        with Path(path).open("w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in self._masked_lines(policy, self.secrets))

    @classmethod
    def load(cls, path: str | Path, *, types: Iterable[type[Payload]] = ()) -> Record:
        """Read a file of JSON lines: a saved record, a recording or a journal. Runs no code of the file's.

        A last line that is torn is left out and its number stands in ``torn_line``.

        Args:
            path: the file.
            types: event types of plugins; events of other types are kept as they are.

        Raises:
            RecordFormatError: the file is no record, of another version, or broken before its last line.
        """
        from agentfp_core.record_file import open_lines, unpacked

        with open_lines(path) as lines:
            return cls.from_lines(unpacked(lines), types=types)

    @classmethod
    def from_lines(cls, lines: Iterable[str | bytes | Mapping[str, Any]], *, types: Iterable[type[Payload]] = ()) -> Record:
        """Read what :meth:`to_lines` gives, as text or parsed.

        Args:
            lines: the lines, the header of the record first.
            types: event types of plugins; events of other types are kept as they are.
        """
        from agentfp_core.record_reader import RecordReader

        return RecordReader({**CATALOG, **{t.event_name: t for t in types}}).read(lines)
