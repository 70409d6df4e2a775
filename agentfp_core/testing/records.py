"""What must hold of every record, and when two records tell of the same events."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pydantic_core

from agentfp_core.events.agent import IterationEnd, IterationStart
from agentfp_core.events.base import Event, Mark, marks_of, payload_json
from agentfp_core.events.context import Served
from agentfp_core.events.message import MessageAdded
from agentfp_core.events.tool import ToolDispatched, ToolEnded, ToolStarted
from agentfp_core.memos import HasRecord, record_of
from agentfp_core.record import Record
from agentfp_core.state import RunState

ID_FIELDS = frozenset({"id", "child_run", "resumed_from", "caused_by_call", "calls"})
TIME_FIELDS = frozenset({"elapsed", "duration"})
SHOWN = 12


def assert_record_valid(source: HasRecord | Record, *, gaps: bool = False) -> None:
    """Check what must hold of the record of any run, however it ended.

    One outcome a call; ``tool.started`` and ``tool.ended`` in pairs; one ``iteration_end`` an ``iteration_start``; every tool message
    answers one call, in call order; ``seq`` grows without a gap; every model call can be rebuilt and has its receipt; the record
    is the same after it was written and read. Calls and the iteration of an open pause may be open. Nested runs are checked too.

    Args:
        source: a record, or a result, pause or outcome with one.
        gaps: whether events may be missing, as they are in what was read from a checkpoint.

    Raises:
        AssertionError: lists everything that does not hold.
    """
    __tracebackhide__ = True
    problems = record_problems(record_of(source), gaps=gaps)
    if problems:
        raise AssertionError(listed("the record is not valid", problems))


def record_problems(record: Record, *, gaps: bool = False) -> list[str]:
    """Everything that does not hold of a record and of those nested in it."""
    problems = event_problems(list(record), gaps=gaps)
    if record.redacted:
        problems.append(f"this is a redacted copy ({', '.join(record.redacted)}); only a live record can be checked")
    else:
        problems += _receipts(record) + _round_trip(record)
    for call_id, child in record.children.items():
        problems += [f"in the nested run of call {call_id}: {problem}" for problem in record_problems(child, gaps=gaps)]
    return problems


def event_problems(events: list[Event], *, gaps: bool = False) -> list[str]:
    """What does not hold of events as such, in the order of their record."""
    checker = _Checker()
    problems = _sequence(events, gaps=gaps)
    for event in events:
        checker.take(event)
    return problems + checker.finish()


def _sequence(events: list[Event], *, gaps: bool) -> list[str]:
    problems = []
    for before, after in itertools.pairwise(events):
        if after.seq <= before.seq:
            problems.append(f"seq goes from {before.seq} back to {after.seq} ({after.name})")
        elif after.seq != before.seq + 1 and not gaps:
            problems.append(f"seq jumps from {before.seq} ({before.name}) to {after.seq} ({after.name})")
    if events and events[0].seq != 0 and not gaps:
        problems.append(f"the first event has seq {events[0].seq}, not 0")
    return problems


class _Checker:
    """Reads events in order and notes what does not go together."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.proposed: dict[str, str] = {}
        self.batch: list[str] = []
        self.started: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.landed: list[str] = []
        self.open_iterations = 0
        self.paused = False

    def take(self, event: Event) -> None:
        payload, call_id = event.payload, event.call_id or ""
        if isinstance(payload, MessageAdded):
            self.message(payload)
        elif isinstance(payload, ToolStarted):
            self.started[call_id] += 1
            self.known(call_id, event)
        elif isinstance(payload, ToolDispatched):
            self.problems += [f"call {each} is dispatched after its end (seq {event.seq})" for each in payload.calls if self.ended[each]]
        elif isinstance(payload, ToolEnded):
            self.ended[call_id] += 1
            self.known(call_id, event)
        elif isinstance(payload, IterationStart):
            if self.open_iterations:
                self.problems.append(f"iteration {payload.iteration} starts (seq {event.seq}) while another one is open")
            self.open_iterations += 1
        elif isinstance(payload, IterationEnd):
            if not self.open_iterations:
                self.problems.append(f"an iteration ends (seq {event.seq}) while none is open")
            self.open_iterations = max(self.open_iterations - 1, 0)
        elif event.name.startswith("agentfp.pause."):
            self.paused = event.name in ("agentfp.pause.request", "agentfp.pause.answered")

    def known(self, call_id: str, event: Event) -> None:
        if call_id not in self.proposed:
            self.problems.append(f"{event.name} (seq {event.seq}) is about call {call_id!r}, which no message proposes")

    def message(self, payload: MessageAdded) -> None:
        if payload.tool_calls:
            self.close_batch()
            self.batch = [call.id for call in payload.tool_calls]
            for call in payload.tool_calls:
                if call.id in self.proposed:
                    self.problems.append(f"two calls have the id {call.id!r}")
                self.proposed[call.id] = call.name
        elif payload.role == "tool":
            call_id = payload.tool_call_id or ""
            if call_id not in self.batch:
                self.problems.append(f"the tool message {payload.message_id} answers call {call_id!r}, which is not of the last batch")
            elif not self.ended[call_id] and self.started[call_id]:
                self.problems.append(f"the message of call {call_id} stands before its outcome")
            self.landed.append(call_id)

    def close_batch(self) -> None:
        """Nothing of a batch may be open when the next one begins, or at the end."""
        if self.batch and self.landed != self.batch and not self.paused:
            self.problems.append(f"the calls {self.batch} are answered by messages of {self.landed}")
        self.batch, self.landed = [], []

    def finish(self) -> list[str]:
        self.close_batch()
        for call_id, name in self.proposed.items():
            starts, ends = self.started[call_id], self.ended[call_id]
            if not starts and not ends:
                continue  # of a history from outside: what was said there left no events of calls
            if starts != 1 or ends > 1 or (ends == 0 and not self.paused):
                self.problems.append(f"call {call_id} of {name!r} has {starts} starts and {ends} outcomes")
        if self.open_iterations and not self.paused:
            self.problems.append("an iteration was started and not ended")
        return self.problems


def _receipts(record: Record) -> list[str]:
    """One pass over the record, as `served_at` makes for one call: the folded state must have the receipt that was filed."""
    problems = []
    state = RunState(record.root_id)
    for event in record:
        try:
            state.apply(event)
            if isinstance(event.payload, Served) and state.served.receipt() != event.payload.receipt:
                problems.append(f"model call {event.payload.call} (seq {event.seq}) cannot be rebuilt: another receipt comes out")
        except Exception as error:  # a record that breaks the fold is what this looks for
            return [*problems, f"the record breaks off for the kernel at seq {event.seq} ({event.name}): {type(error).__name__}: {error}"]
    return problems


def _round_trip(record: Record) -> list[str]:
    try:
        lines = list(record.to_lines())
        again = list(Record.from_lines(lines).to_lines())
    except Exception as error:  # what cannot be written or read back is what this looks for
        return [f"the record cannot be written and read back: {type(error).__name__}: {error}"]
    changed = [before for before, after in zip(lines, again, strict=False) if before != after]
    if changed or len(lines) != len(again):
        return [f"the record is another one after it was written and read: {(changed or ['its length'])[0][:200]}"]
    return []


# --- the same events --------------------------------------------------------------------------------------------------------


def assert_same_events(a: HasRecord | Record, b: HasRecord | Record) -> None:
    """Check that two records tell of the same events: the same names, sources, places and contents in the same order.

    Times, durations and digests may differ, and so may ids, as long as the same one stands in the same places.

    Args:
        a: a record, or a result, pause or outcome with one.
        b: another one.

    Raises:
        AssertionError: shows where they part.
    """
    __tracebackhide__ = True
    difference = events_difference(record_of(a), record_of(b))
    if difference:
        raise AssertionError(f"the records tell of different events:\n{difference}")


def events_difference(a: Record, b: Record) -> str:
    """Where two records part, as a few lines of a diff; empty when they are the same."""
    left, right = plain_events(a), plain_events(b)
    if left == right:
        return ""
    first = next((i for i, (x, y) in enumerate(zip(left, right, strict=False)) if x != y), min(len(left), len(right)))
    start = max(first - 2, 0)
    cut = slice(start, first + SHOWN)
    diff = difflib.unified_diff([_clip(x) for x in left[cut]], [_clip(x) for x in right[cut]], "a", "b", lineterm="", n=2)
    return "\n".join(diff) or f"event {first}:\n- {left[first : first + 1]}\n+ {right[first : first + 1]}"


def _clip(line: str) -> str:
    return line if len(line) <= 400 else f"{line[:400]}… ({len(line)} characters)"


def plain_events(record: Record) -> list[str]:
    """The events of a record as lines without times, their ids and digests numbered in the order in which they appear."""
    found = {record.root_id, *[value for header in record.headers for value in (header.run_id, header.parent_run or "")]}
    for event in record:
        found.add(event.call_id or "")
        found.update(_walk(event.payload, _is_id))
    found.discard("")
    rename = _Renamer(found)
    lines = []
    for event in record:
        data = _untimed(pydantic_core.from_json(payload_json(event.payload)))
        place = f"turn {event.turn} iteration {event.iteration} {event.call_id or '-'} {event.source}"
        lines.append(rename(f"{event.name} {place} {json.dumps(data, ensure_ascii=False, sort_keys=True)}"))
    for call_id, child in record.children.items():
        lines += [f"{rename(call_id)} > {line}" for line in plain_events(child)]
    return lines


class _Renamer:
    """Puts numbers in place of ids, in the order in which they appear in texts."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._names: dict[str, str] = {}
        joined = "|".join(re.escape(each) for each in sorted(ids, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<![\w-])(?:{joined})(?![\w-])") if joined else None

    def __call__(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(lambda m: self._names.setdefault(m[0], f"#{len(self._names)}"), text)


def _is_id(name: str, mark: Mark) -> bool:
    return mark is Mark.HASH or name in ID_FIELDS or name.endswith("_id")


def _walk(value: Any, wanted: Callable[[str, Mark], bool]) -> Iterator[str]:
    """The texts in the wanted fields of a payload and its parts."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return
    marks = marks_of(type(value))
    for field in dataclasses.fields(value):
        mark, item = marks[field.name], getattr(value, field.name)
        items = item if isinstance(item, tuple) else (item,)
        if not isinstance(mark, Mark):
            for each in items:
                yield from _walk(each, wanted)
        elif wanted(field.name, mark):
            yield from (each for each in items if isinstance(each, str))


def _untimed(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _untimed(v) for k, v in data.items() if not (k.endswith(("_ms", "_ns", "_seconds")) or k in TIME_FIELDS)}
    return [_untimed(item) for item in data] if isinstance(data, list) else data


def listed(head: str, problems: Sequence[str]) -> str:
    """A message that lists problems, one a line."""
    return f"{head}; {len(problems)} problem{'s' if len(problems) > 1 else ''}:\n" + "\n".join(f"  {problem}" for problem in problems)
