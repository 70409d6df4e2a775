"""The calls of a record: what each was called with and what it came to."""

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

short = reprlib.Repr()
short.maxstring, short.maxdict, short.maxother = 60, 8, 80


@dataclass(frozen=True, slots=True)
class Called:
    """A call as it was taken up.

    Args:
        id: its id.
        tool: the tool's name, as the model wrote it; in a masked copy a name that no tool has is masked.
        arguments_json: the arguments with which it ran, or would have run.
        outcome: how it ended; None while it waits.
        ran: whether the tool's code ran.
        cause: one word or name for why it did not run.
        content: the tool's own result as text, or what stands in its place; None while it waits.
        error: what it raised, for the developer: the class and its text. The model read ``content``.
    """

    id: str
    tool: str
    arguments_json: str
    outcome: str | None = None
    ran: bool = False
    cause: str | None = None
    content: str | None = None
    error: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments; ``{}`` when they are no JSON object."""
        try:
            value = jsontext.parse(self.arguments_json)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def __str__(self) -> str:
        shown = ", ".join(f"{key}={short.repr(value)}" for key, value in self.arguments.items())
        end = "waits" if self.outcome is None else "ran, " + self.outcome if self.ran else f"did not run: {self.outcome}"
        return f"{self.tool}({shown})  [{end}{f', {self.cause}' if self.cause else ''}{f', {self.error}' if self.error else ''}]"


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
            if payload.tool is not None and call_id in arguments:  # said in full, also where what the model wrote is masked
                arguments[call_id] = (payload.tool, arguments[call_id][1])
        elif isinstance(payload, ToolEnded):
            ended[call_id] = payload
        elif isinstance(payload, VerdictFiled) and payload.arguments is not None and call_id in arguments:
            arguments[call_id] = (arguments[call_id][0], payload.arguments)
    made = []
    for call_id in started:
        name, text = arguments[call_id]
        end = ended.get(call_id)
        if end is None:
            made.append(Called(call_id, name, text))
        else:
            error = ": ".join([said for said in (end.error_class, end.error) if said]) or None
            made.append(Called(call_id, name, text, end.outcome, end.ran, end.cause, end.content, error))
    return made
