"""What a run is doing right now, from its events, as one line. No event costs more than the one before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["paused", "tool", "streaming", "idle", "none"]

TEMPLATES: Mapping[str, str] = {
    "idle": "Thinking…",
    "streaming": "{partial}",
    "tool": "Using {tool_name}…",
    "tool.progress": "{progress_message}",
    "tool.progress.generic": "{tool_name} has reported {progress_count} time(s)…",
    "paused": "Waiting for you: {question}",
}
LEAN: Mapping[str, str] = {"streaming": "Answering…", "paused": "Waiting for you"}
"""In place of the templates that show what somebody wrote."""
MESSAGE = 120
PARTIAL = 4_000


@dataclass(slots=True)
class _Call:
    tool: str
    reports: int = 0
    newest: int = 0
    message: str | None = None


class ThinkingState:
    """The state of one run.

    Args:
        templates: over the default ones, by key.
        content: whether what people, models and tools wrote is shown.
        app_name: for templates that name the application.
    """

    def __init__(self, templates: Mapping[str, str] | None = None, *, content: bool = False, app_name: str = "Agent") -> None:
        self._templates = {**TEMPLATES, **({} if content else LEAN), **(templates or {})}
        self._content = content
        self._app_name = app_name
        self._calls: dict[str, _Call] = {}
        self._reports = 0
        self._active = False
        self._partial: list[str] = []
        self._chars = 0
        self._question: str | None = None

    # --- events ---------------------------------------------------------------------------------------------------------------

    def handle(self, name: str, call_id: str | None, data: Mapping[str, Any]) -> None:
        """Take an event in; one that says nothing of what is going on changes nothing.

        Args:
            name: of the event.
            call_id: the tool call it is about.
            data: its fields, as far as they may be seen.
        """
        handler = HANDLERS.get(name)
        if handler is not None:
            handler(self, call_id, data)

    def _served(self, call_id: str | None, data: Mapping[str, Any]) -> None:
        self._active = True
        self._restart()

    def _llm_ended(self, call_id: str | None, data: Mapping[str, Any]) -> None:
        self._active = False
        self._restart()

    def _token(self, call_id: str | None, data: Mapping[str, Any]) -> None:
        text = data.get("text")
        self._partial.append(text if isinstance(text, str) else " ")
        self._chars += len(self._partial[-1])
        if self._chars > 2 * PARTIAL:
            kept = "".join(self._partial)[-PARTIAL:]
            self._partial, self._chars = [kept], len(kept)

    def _restart(self, *_: Any) -> None:
        self._partial, self._chars = [], 0

    def _tool_started(self, call_id: str | None, data: Mapping[str, Any]) -> None:
        if call_id is not None:
            self._calls[call_id] = _Call(str(data.get("tool") or data.get("undeclared") or "a tool"))

    def _progress(self, call_id: str | None, data: Mapping[str, Any]) -> None:
        call = self._calls.get(call_id) if call_id is not None else self._only()
        if call is None:
            return
        self._reports += 1
        call.reports, call.newest = call.reports + 1, self._reports
        call.message = _message(data.get("data")) if self._content else None

    def _only(self) -> _Call | None:
        return next(iter(self._calls.values())) if len(self._calls) == 1 else None

    def _tool_ended(self, call_id: str | None, data: Mapping[str, Any]) -> None:
        if call_id is None:
            self._calls.clear()
        else:
            self._calls.pop(call_id, None)

    def _asked(self, call_id: str | None, data: Mapping[str, Any]) -> None:
        prompts = [question.get("prompt") for question in data.get("questions", ()) if isinstance(question, Mapping)]
        self._question = next((text for text in prompts if isinstance(text, str) and text.strip()), "input required")

    def _resumed(self, call_id: str | None, data: Mapping[str, Any]) -> None:
        self._question = None

    def _failed(self, call_id: str | None, data: Mapping[str, Any]) -> None:
        if data.get("scope") == "run":
            self.clear()

    def _ended(self, call_id: str | None, data: Mapping[str, Any]) -> None:
        question = self._question
        self.clear()
        if data.get("status") == "paused":
            self._question = question

    def clear(self, *_: Any) -> None:
        """Nothing is going on."""
        self._calls.clear()
        self._active = False
        self._question = None
        self._restart()

    # --- the line -----------------------------------------------------------------------------------------------------------------

    @property
    def status(self) -> Status:
        """What is going on; where several things are, the first in the order paused, tool, streaming, idle."""
        if self._question is not None:
            return "paused"
        if self._calls:
            return "tool"
        if self._active:
            return "streaming" if self._partial else "idle"
        return "none"

    def line(self) -> str | None:
        """The line; None when there is nothing to say, or no template for it."""
        status = self.status
        if status == "none":
            return None
        values: dict[str, Any] = {"app_name": self._app_name}
        keys: list[str] = [status]
        if status == "tool":
            call = self._newest()
            keys = _ladder(call)
            values |= {"tool_name": call.tool, "progress_message": call.message or "", "progress_count": call.reports}
        elif status == "paused":
            values["question"] = self._question
        elif status == "streaming":
            values["partial"] = "".join(self._partial)
        template = next((self._templates[key] for key in keys if key in self._templates), None)
        return None if template is None else one_line(filled(template, values))

    def _newest(self) -> _Call:
        """The call that reported last, or the one that was started last."""
        reported = [call for call in self._calls.values() if call.reports]
        return max(reported, key=lambda call: call.newest) if reported else next(reversed(self._calls.values()))


HANDLERS: Mapping[str, Any] = {
    "agentfp.context.served": ThinkingState._served,
    "agentfp.stream.llm_end": ThinkingState._llm_ended,
    "agentfp.stream.token": ThinkingState._token,
    "agentfp.stream.draft_discarded": ThinkingState._restart,
    "agentfp.tool.started": ThinkingState._tool_started,
    "agentfp.tool.progress": ThinkingState._progress,
    "agentfp.tool.ended": ThinkingState._tool_ended,
    "agentfp.pause.request": ThinkingState._asked,
    "agentfp.pause.resume": ThinkingState._resumed,
    "agentfp.agent.turn_end": ThinkingState.clear,
    "agentfp.error.fatal": ThinkingState._failed,
    "agentfp.run.ended": ThinkingState._ended,
}
"""The events that a line depends on."""


def _ladder(call: _Call) -> list[str]:
    """Keys of the templates for a call, the most telling first."""
    silent = [f"tool.{call.tool}", "tool"]
    if call.message is not None:
        return [f"tool.{call.tool}.progress", "tool.progress", *silent]
    if call.reports:
        return [f"tool.{call.tool}.progress.generic", "tool.progress.generic", *silent]
    return silent


def _message(data: Any) -> str | None:
    """The message of a report: the text under ``message`` of a JSON object, and nothing else of it."""
    try:
        report = json.loads(data) if isinstance(data, str) else data
    except ValueError:
        return None
    message = report.get("message") if isinstance(report, Mapping) else None
    if not isinstance(message, str) or not message.strip():
        return None
    message = message.strip()
    return message if len(message) <= MESSAGE else f"{message[:MESSAGE]}… (+{len(message) - MESSAGE} more)"


def filled(template: str, values: Mapping[str, Any]) -> str:
    """The template with its names filled in, in one pass: what a value holds is not looked at again."""
    made, rest = [], template
    while rest:
        before, brace, after = rest.partition("{")
        made.append(before)
        name, closed, rest = after.partition("}")
        if closed and name in values:
            made.append(str(values[name]))
        else:
            made.append(f"{brace}{name}{closed}")
    return "".join(made)


def one_line(text: str) -> str:
    """The text without what would move a terminal's cursor or break the line."""
    return " ".join("".join([character if character.isprintable() else " " for character in text]).split())
