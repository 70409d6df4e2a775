"""The plugin: its settings, its event, its hook, and what it knows of a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pydantic

from agentfp.plugin import CallView, Event, MemoSource, Name, Note, Number, Payload, Plugin, ResultView, Run, event, hookimpl


@event("result_age.result.old")
class OldResult(Payload):
    """A result was older than the settings allow; the event's ``call_id`` says whose."""

    tool: Name[str]
    seconds: Number[int]


class ResultAge(Plugin):
    """Looks for a time stamp in each result, and adds a sentence where it is too old."""

    name = "result_age"
    version = "0.1.0"
    events = (OldResult,)
    memo_events = (OldResult.event_name,)

    class Settings(Plugin.Settings):
        """Settings of the plugin: ``ResultAge(seconds=60)`` in code, ``[plugins.result_age]`` in a file.

        Args:
            seconds: how old a result may be.
            field: the field of a result, at its top, that holds its time in ISO 8601.
        """

        seconds: int = pydantic.Field(3600, gt=0)
        field: str = "as_of"

    @hookimpl(phase="note")
    def after_result(self, result: ResultView, call: CallView, run: Run[Any]) -> Note | None:
        """Look at each result. What the tool said stays as it is: a note stands beside it."""
        stamp = _time_in(result.content, self.settings.field) if result.outcome == "success" else None
        age = 0 if stamp is None else int((run.now() - stamp).total_seconds())
        if age <= self.settings.seconds:
            return None
        run.emit(OldResult(call.name, age), call_id=call.id)
        return Note(f"This result is {age // 60} minutes old. Say so if you use it.")

    # What the plugin knows of a run is computed of its events: live, after a resume and on a saved recording alike.

    def initial(self) -> tuple[str, ...]:
        """Before the first event."""
        return ()

    def fold(self, state: tuple[str, ...], event: Event) -> tuple[str, ...]:
        """After an event of ``memo_events``."""
        return (*state, event.payload.tool) if isinstance(event.payload, OldResult) else state

    @classmethod
    def old(cls, source: MemoSource) -> tuple[str, ...]:
        """The tools whose results were old, in order.

        Args:
            source: a result, a record, or the path of a recording.
        """
        found: tuple[str, ...] = cls.memo_of(source)
        return found


def _time_in(content: str, field: str) -> datetime | None:
    """The time of a result; None where it has none that can be read. Results are foreign: nothing is taken for granted."""
    try:
        stamp = datetime.fromisoformat(json.loads(content)[field])
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return stamp if stamp.tzinfo is not None else stamp.replace(tzinfo=UTC)
