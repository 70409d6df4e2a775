"""Which tools ran in a run, with which arguments: read from the record, and asserted in a line."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any

from agentfp_core import jsontext
from agentfp_core.events.hook import VerdictFiled
from agentfp_core.events.message import MessageAdded
from agentfp_core.events.tool import ToolEnded, ToolStarted
from agentfp_core.memos import HasRecord, record_of
from agentfp_core.record import Record

_short = reprlib.Repr()
_short.maxstring, _short.maxdict, _short.maxother = 60, 8, 80


@dataclass(frozen=True, slots=True)
class Called:
    """A call as it was taken up.

    Args:
        id: its id.
        tool: the tool's name, as the model wrote it.
        arguments_json: the arguments with which it ran, or would have run.
        outcome: how it ended; None while it waits.
        ran: whether the tool's code ran.
        cause: one word or name for why it did not run.
    """

    id: str
    tool: str
    arguments_json: str
    outcome: str | None = None
    ran: bool = False
    cause: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments; ``{}`` when they are no JSON object."""
        try:
            value = jsontext.parse(self.arguments_json)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def __str__(self) -> str:
        shown = ", ".join(f"{key}={_short.repr(value)}" for key, value in self.arguments.items())
        end = "waits" if self.outcome is None else "ran, " + self.outcome if self.ran else f"did not run: {self.outcome}"
        return f"{self.tool}({shown})  [{end}{f', {self.cause}' if self.cause else ''}]"


def calls_of(source: HasRecord | Record) -> list[Called]:
    """The calls of a record, in the order in which they were proposed.

    Args:
        source: a record, or a result, pause or outcome with one.
    """
    arguments: dict[str, tuple[str, str]] = {}
    started: list[str] = []
    ended: dict[str, ToolEnded] = {}
    for event in record_of(source):
        payload, call_id = event.payload, event.call_id or ""
        if isinstance(payload, MessageAdded):
            arguments |= {call.id: (call.name, call.arguments) for call in payload.tool_calls or ()}
        elif isinstance(payload, ToolStarted):
            started.append(call_id)
        elif isinstance(payload, ToolEnded):
            ended[call_id] = payload
        elif isinstance(payload, VerdictFiled) and payload.arguments is not None and call_id in arguments:
            arguments[call_id] = (arguments[call_id][0], payload.arguments)
    made = []
    for call_id in started:
        end = ended.get(call_id)
        name, text = arguments[call_id]
        made.append(Called(call_id, name, text) if end is None else Called(call_id, name, text, end.outcome, end.ran, end.cause))
    return made


def assert_called(source: HasRecord | Record, tool: str, /, **arguments: Any) -> Called:
    """Check that a tool ran, with these arguments among those it ran with.

    Args:
        source: a record, or a result, pause or outcome with one.
        tool: the tool's name.
        **arguments: arguments that the call must have, as JSON data; others may be there.

    Returns:
        The first call that fits.

    Raises:
        AssertionError: shows the calls that there were.
    """
    __tracebackhide__ = True
    calls = calls_of(source)
    for call in calls:
        if call.tool == tool and call.ran and _fits(call, arguments):
            return call
    wanted = f"{tool}({', '.join(f'{key}={_short.repr(value)}' for key, value in arguments.items())})"
    raise AssertionError(f"no call {wanted} ran; {_those(calls)}")


def assert_not_called(source: HasRecord | Record, tool: str, /, **arguments: Any) -> None:
    """Check that a tool did not run, or not with these arguments. A call that was proposed and refused did not run.

    Args:
        source: a record, or a result, pause or outcome with one.
        tool: the tool's name.
        **arguments: only calls that have these arguments count.

    Raises:
        AssertionError: shows the call.
    """
    __tracebackhide__ = True
    found = [call for call in calls_of(source) if call.tool == tool and call.ran and _fits(call, arguments)]
    if found:
        raise AssertionError(f"{tool} ran and should not have:\n" + "\n".join(f"  {call}" for call in found))


def _fits(call: Called, wanted: dict[str, Any]) -> bool:
    had = call.arguments
    return all(key in had and had[key] == value for key, value in wanted.items())


def _those(calls: list[Called]) -> str:
    return "the calls were:\n" + "\n".join(f"  {call}" for call in calls) if calls else "there was no call of any tool"
