"""Time travel: the stops of a run, and what was known, served and changed at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agentfp import Record
from agentfp.events import Event, RunEnded, Served
from agentfp.plugin import MemoSource, ModelRequest, nearest, record_of
from agentfp_recording.reading import RecordingFile

Kind: TypeAlias = Literal["start", "iteration", "served", "llm_turn", "decision", "tool_call", "assess", "pause", "end"]
_KINDS: dict[str, Kind] = {
    "agentfp.agent.run_configured": "start",
    "agentfp.agent.iteration_start": "iteration",
    "agentfp.context.served": "served",
    "agentfp.stream.llm_end": "llm_turn",
    "agentfp.agent.route_decided": "decision",
    "agentfp.tool.ended": "tool_call",
    "agentfp.evidence.checked": "assess",
    "agentfp.answer.drafted": "assess",
    "agentfp.answer.refused": "assess",
    "agentfp.answer.not_assessed": "assess",
    "agentfp.answer.assessed": "assess",
    "agentfp.pause.request": "pause",
    "agentfp.run.ended": "end",
}


@dataclass(frozen=True, slots=True)
class Stop:
    """A place worth stopping at.

    Args:
        index: its number among the stops, from 0.
        step_id: a name that stays: ``tool_call#3`` is the third tool call that ended.
        kind: what happened there.
        label: a word on it: a tool's name, a status.
        seq: the event that makes it one.
        last_seq: the last event before the next stop.
        call_id: the tool call it is about.
        prologue: whether events come before it that belong to it.
    """

    index: int
    step_id: str
    kind: Kind
    label: str
    seq: int
    last_seq: int
    call_id: str | None = None
    prologue: bool = False


def stops_of(record: Record) -> tuple[Stop, ...]:
    """The stops of a record. Events between two belong to the earlier one; a record without any has its start and its end."""
    found: list[tuple[Kind, Event]] = []
    counts: dict[str, int] = {}
    tools: dict[str, str] = {}
    first: Event | None = None
    last: Event | None = None
    for event in record:
        first, last = first or event, event
        if event.name == "agentfp.tool.started":
            tools[event.call_id or ""] = getattr(event.payload, "tool", None) or ""
        kind = _KINDS.get(event.name)
        if kind is not None:
            found.append((kind, event))
    if first is None or last is None:
        return ()
    if not found:
        found = [("start", first), *([("end", last)] if last is not first else [])]  # type: ignore[list-item]
    made = []
    for index, (kind, event) in enumerate(found):
        counts[kind] = counts.get(kind, 0) + 1
        end = found[index + 1][1].seq - 1 if index + 1 < len(found) else last.seq
        label = tools.get(event.call_id or "", "") if kind == "tool_call" else _label(event)
        prologue = index == 0 and event.seq > first.seq
        made.append(Stop(index, f"{kind}#{counts[kind]}", kind, label, event.seq, end, event.call_id, prologue))
    return tuple(made)


def _label(event: Event) -> str:
    payload = event.payload
    if isinstance(payload, Served):
        return f"model call {payload.call}"
    if isinstance(payload, RunEnded):
        return payload.status
    chosen = getattr(payload, "chosen", None) or getattr(payload, "action", None)
    return chosen if isinstance(chosen, str) else ""


class TimeTravel:
    """Goes back and forth in a record. It runs no code of the run: all it shows stands on the record.

    Args:
        source: a result, a record, a checkpoint, or the path of a recording.
        path: call ids that lead to a nested run.

    Attributes:
        whole: the record that is travelled in.
        stops: its stops.
        at: number of the stop where one is.
    """

    def __init__(self, source: MemoSource | RecordingFile, path: Sequence[str] = ()) -> None:
        if isinstance(source, RecordingFile):
            record = source.record()
        elif isinstance(source, (str, Path)):
            record = RecordingFile(source).record()
        else:
            record = record_of(source)
        for call_id in path:
            if call_id not in record.children:
                raise KeyError(f"there is no nested run {call_id!r}; {nearest(call_id, record.children)}")
            record = record.children[call_id]
        self.whole = record
        self.stops = stops_of(record)
        self.at = 0

    @property
    def stop(self) -> Stop:
        """Where one is.

        Raises:
            IndexError: the record is empty.
        """
        return self.stops[self.at]

    def jump(self, to: str | int) -> Stop:
        """Go to a stop.

        Args:
            to: its number, its ``step_id``, or the id of a tool call.

        Raises:
            IndexError: there is no stop of this number.
            KeyError: there is none of this name; names the nearest.
        """
        if isinstance(to, int):
            if not -len(self.stops) <= to < len(self.stops):
                raise IndexError(f"there is no stop {to}; there are {len(self.stops)}")
            self.at = to % len(self.stops)
            return self.stop
        for stop in self.stops:
            if to in (stop.step_id, stop.call_id):
                self.at = stop.index
                return stop
        raise KeyError(f"there is no stop {to!r}; {nearest(to, [stop.step_id for stop in self.stops])}")

    def forward(self) -> Stop:
        """Go to the next stop; at the last one, stay."""
        self.at = min(self.at + 1, len(self.stops) - 1)
        return self.stop

    def back(self) -> Stop:
        """Go to the stop before; at the first one, stay."""
        self.at = max(self.at - 1, 0)
        return self.stop

    def state(self) -> Record:
        """The record as it was at this stop: its history, and what any plugin makes of it."""
        return self.whole.at(self.stop.seq)

    def changed(self) -> list[Event]:
        """The events of this stop, up to the next one."""
        first = -1 if self.stop.prologue else self.stop.seq
        return [event for event in self.whole if first <= event.seq <= self.stop.last_seq]

    def served(self) -> ModelRequest | None:
        """The request that was last served at this stop, rebuilt; None before the first one.

        Raises:
            RecordFormatError: this copy is redacted, or was changed.
        """
        call = 0
        for event in self.whole:
            if event.seq > self.stop.seq:
                break
            if isinstance(event.payload, Served):
                call = event.payload.call
        return self.whole.served_at(call) if call else None

    def drill(self, call_id: str | None = None) -> TimeTravel:
        """Travel in the nested run of a tool call.

        Args:
            call_id: the call; that of this stop when left out.

        Raises:
            KeyError: no agent ran there.
        """
        return TimeTravel(self.whole, [call_id or self.stop.call_id or ""])

    def __repr__(self) -> str:
        return f"TimeTravel({self.whole!r}, at {self.stop.step_id if self.stops else 'nothing'})"


def state_at(source: Any, seq: int) -> Record:
    """The record as it was right after an event; -1 is before the first one.

    Args:
        source: a result, a record, or the path of a recording.
        seq: of the event.

    Raises:
        IndexError: there is no such event.
    """
    whole = TimeTravel(source).whole
    return Record() if seq == -1 else whole.at(seq)
