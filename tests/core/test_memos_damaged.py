"""A payload that does not fit its type stays unknown to a memo: its plugin's fold decides what becomes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfp import Agent, Record, tool
from agentfp.plugin import Event, Name, Number, Payload, Plugin, PluginError, event, hookimpl
from agentfp.testing import ScriptedModel, call


@event("acme.calls.counted")
class Counted(Payload):
    """A call was counted."""

    tool: Name[str]
    number: Number[int]


class Counter(Plugin):
    """Counts, and passes over what it cannot read."""

    name = "counter"
    events = (Counted,)
    memo_events = ("acme.calls.counted",)

    @hookimpl(moment="after_result", phase="judge")
    def count(self, call: Any, run: Any) -> None:
        run.emit(Counted(call.name, 1), call_id=call.id)

    def initial(self) -> int:
        return 0

    def fold(self, state: int, event: Event) -> int:
        return state + event.payload.number if isinstance(event.payload, Counted) else state


class Strict(Counter):
    """Counts, and cannot do without."""

    def fold(self, state: int, event: Event) -> int:
        return state + event.payload.number  # type: ignore[attr-defined,no-any-return]


@tool
async def look() -> str:
    """Look."""
    return "seen"


def test_a_damaged_payload_is_the_fold_s_own_business() -> None:
    result = Agent(ScriptedModel([call("look"), call("look"), "Done."]), tools=[look], plugins=[Counter()]).run_sync("Go")
    lines = [json.loads(line) for line in result.record.to_lines()]
    damaged = next(line for line in lines if line.get("name") == "acme.calls.counted")
    next(value for value in damaged.values() if isinstance(value, dict))["number"] = "many"
    record = Record.from_lines([json.dumps(line) for line in lines])
    assert (Counter.memo_of(result), Counter.memo_of(record)) == (2, 1)
    with pytest.raises(PluginError, match="its fold raised"):
        Strict.memo_of(record)
