"""What holds for the record of every run, however it went."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from agentfp import (
    Record,
)
from agentfp.events import (
    CostTick,
    IterationEnd,
    IterationStart,
    LlmEnd,
    MessageAdded,
    RouteDecided,
    RunConfigured,
    RunEnded,
    Served,
    ToolDispatched,
    ToolEnded,
    ToolStarted,
)
from agentfp.model import Message, ToolCall


def calls_of(record: Record) -> dict[str, ToolCall | Any]:
    """Every proposed call of a record, by id."""
    found = [c for one in record if isinstance(one.payload, MessageAdded) for c in one.payload.tool_calls or ()]
    assert len({c.id for c in found}) == len(found), "two calls share an id"
    return {c.id: c for c in found}


def outcomes_of(record: Record) -> dict[str, ToolEnded]:
    """The outcome of each call; two for one call are a fault."""
    ended = [(one.call_id or "", one.payload) for one in record if isinstance(one.payload, ToolEnded)]
    assert len(dict(ended)) == len(ended), "a call has two outcomes"
    return dict(ended)


def check_settled(record: Record) -> None:
    """Every call has one outcome and one message; every leg and iteration that began is ended."""
    calls, outcomes = calls_of(record), outcomes_of(record)
    assert set(calls) == set(outcomes)
    started = [one.call_id for one in record if isinstance(one.payload, ToolStarted)]
    assert sorted(map(str, started)) == sorted(calls)
    landed = [one.payload.tool_call_id for one in record if isinstance(one.payload, MessageAdded) and one.payload.role == "tool"]
    assert landed == list(calls), "tool messages stand in call order, one a call"
    kinds = Counter(type(one.payload) for one in record)
    assert kinds[IterationStart] == kinds[IterationEnd]
    assert isinstance(list(record)[-1].payload, RunEnded)


def check_order(record: Record) -> None:
    """What comes before what, leg by leg."""
    seqs = [one.seq for one in record]
    assert seqs == sorted(set(seqs))
    for header in record.headers:
        leg = [one.payload for one in record.of_run(header.run_id)]
        if len(leg) > 1:
            assert isinstance(leg[0], RunConfigured)
            assert sum(isinstance(p, RunConfigured) for p in leg) == 1
            assert all(not isinstance(p, RunEnded) for p in leg[:-1])
    stage, starting = "between", False
    live: list[str] = []
    waiting: list[str] = []
    dispatched: set[str] = set()
    ended: set[str] = set()
    for one in record:
        payload = one.payload
        match payload:
            case IterationStart():
                assert stage == "between", stage
                stage = "compose"
            case Served():
                assert stage == "compose", stage
                stage = "call"
            case LlmEnd():
                assert stage == "call", stage
                stage = "billed"
            case CostTick():
                assert stage == "billed", stage
            case RouteDecided():
                assert stage == "billed", stage
                stage = "routed"
            case MessageAdded(tool_calls=tuple() as made) if made:
                assert stage == "routed", stage
                live, starting, dispatched, ended = [c.id for c in made], True, set(), set()
                waiting = live.copy()
                continue
            case ToolStarted():
                assert starting, "a call was taken up late"
                assert one.call_id == waiting.pop(0)
                continue
            case ToolDispatched():
                assert not set(payload.calls) & ended, "a call that had ended was dispatched"
                dispatched |= set(payload.calls)
            case ToolEnded():
                assert one.call_id in live
                ended.add(one.call_id or "")
                assert not payload.ran or one.call_id in dispatched, "a call ran that was not dispatched"
            case MessageAdded(role="tool"):
                assert set(live) <= ended, "a message landed before all calls of the batch had ended"
            case IterationEnd():
                stage = "between"
        if isinstance(payload, RunConfigured):
            starting = bool(waiting)  # killed in the middle of it; the next leg goes on
            continue
        assert not waiting, "something came between the calls of a batch being taken up"
        starting = False


ID = re.compile("call_[0-9a-f]{20,}")


def shown(messages: Iterable[Message]) -> list[tuple[Any, ...]]:
    """Messages without what differs from run to run: ids and turns."""
    return [
        (m.role, ID.sub("call", m.content), m.notes, m.author, m.tool_name, m.parts, [(c.name, c.arguments_json) for c in m.tool_calls])
        for m in messages
    ]
