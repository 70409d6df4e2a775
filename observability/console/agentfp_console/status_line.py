"""The plugin that shows what a run is doing, as one line: on the terminal, or to a function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pydantic

from agentfp.plugin import ExportedEvent, Plugin, hookimpl
from agentfp_console.thinking import HANDLERS, Status, ThinkingState

OnLine = Callable[[str | None, Status, str], None]
STREAMING_NS = 50_000_000
"""A line that shows text as it comes is sent twenty times a second at most."""


class StatusLine(Plugin):
    """What the agent is doing right now, in one line."""

    name = "status_line"
    version = "0.1.0"
    transient = True

    class Settings(Plugin.Settings):
        """Settings of the status line.

        Args:
            content: whether the answer's text, reports of tools and questions are shown; the line says less without.
            on_line: called with the line (None for none), the status and the run's id, on the run's event loop; it must be quick.
                None shows the line on stderr, where that is a terminal.
            templates: texts by key, over the default ones.
            app_name: for templates that name the application.
        """

        content: bool = False
        on_line: OnLine | None = None
        templates: dict[str, str] = pydantic.Field(default_factory=dict)
        app_name: str = "Agent"

    def exports(self, name: str) -> bool:
        """Whether the line depends on events of a name."""
        return name in HANDLERS

    @hookimpl
    def export_event(self, event: ExportedEvent, state: dict[Any, Any]) -> None:
        """Take an event in, and show the line if it is another one now."""
        run_id = event.header.run_id
        shown = state.get(run_id)
        if shown is None:
            settings = self.settings
            thinking = ThinkingState(settings.templates, content=settings.content, app_name=settings.app_name)
            shown = state[run_id] = _Shown(thinking, settings.on_line or _terminal(state), run_id)
        shown.handle(event)
        if event.name == "agentfp.run.ended":
            del state[run_id]


class _Shown:
    """The line of one run, as it was sent last."""

    __slots__ = ("_last_ns", "_line", "_run_id", "_send", "_thinking", "_waiting")

    def __init__(self, thinking: ThinkingState, send: OnLine, run_id: str) -> None:
        self._thinking = thinking
        self._send = send
        self._run_id = run_id
        self._line: str | None = None
        self._last_ns = 0
        self._waiting = False

    def handle(self, event: ExportedEvent) -> None:
        is_token = event.name == "agentfp.stream.token"
        if self._waiting and not is_token:
            self._show(event.ts_ns)  # the last piece of a text is always shown
        self._thinking.handle(event.name, event.call_id, event.data)
        if is_token and event.ts_ns - self._last_ns < STREAMING_NS:
            self._waiting = True
            return
        self._show(event.ts_ns)

    def _show(self, ts_ns: int) -> None:
        self._waiting = False
        line = self._thinking.line()
        if line == self._line:
            return
        self._line = line
        self._last_ns = ts_ns
        self._send(line, self._thinking.status, self._run_id)


def _terminal(state: dict[Any, Any]) -> OnLine:
    """Shows lines on stderr; where that is no terminal, nothing."""
    shown = state.get("terminal")
    if shown is None:
        shown = state["terminal"] = _Terminal()
    send: OnLine = shown
    return send


class _Terminal:
    """One line at the bottom of the terminal, taken away when there is nothing to say."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty()
        self._status: Any = None

    def __call__(self, line: str | None, status: Status, run_id: str) -> None:
        if not self._on:
            return
        from rich.console import Console
        from rich.text import Text

        try:
            if line is None or status == "paused":
                if self._status is not None:
                    self._status.stop()
                    self._status = None
            elif self._status is None:
                self._status = Console(stderr=True).status(Text(line))
                self._status.start()
            else:
                self._status.update(Text(line))
        except OSError:  # a terminal that went away
            self._on = False
