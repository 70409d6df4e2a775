"""Shows a run on the terminal while it goes on: a status line, the tool calls, the answer's text as it comes."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

from agentfp_core.cli.output import clean, console, counted, note, on_terminal, one_line, out, styled

if TYPE_CHECKING:
    from agentfp_core.events.base import Event
    from agentfp_core.result import RunResult


class Live:
    """Takes the events of a run. On anything but a terminal it shows nothing.

    Args:
        on: whether anything is shown; whether stdout is a terminal when None.
    """

    def __init__(self, on: bool | None = None) -> None:
        self.on = on_terminal() if on is None else on
        self.calls = 0
        self.tool_calls = 0
        self._begun = time.monotonic()
        self._shown = ""
        self._status: Any = None
        self._tools: dict[str, str] = {}
        self._running: list[str] = []
        self._handlers: dict[str, Any] = {
            "agentfp.context.served": self._served,
            "agentfp.stream.token": self._token,
            "agentfp.stream.draft_discarded": self._retracted,
            "agentfp.message.added": self._message,
            "agentfp.tool.dispatched": self._dispatched,
            "agentfp.tool.ended": self._ended,
            "agentfp.hook.verdict": self._verdict,
            "agentfp.answer.drafted": self._drafted,
            "agentfp.plugin.failed": self._failed,
            "agentfp.pause.request": self._quiet,
            "agentfp.run.ended": self._quiet,
        }

    def __call__(self, event: Event) -> None:
        """Show an event; a terminal that went away must not break the run."""
        handler = self._handlers.get(event.name)
        if handler is None or not self.on:
            return
        try:
            handler(event, event.payload)
        except OSError:
            self.on = False

    # --- events ---

    def _served(self, event: Event, payload: Any) -> None:
        self.calls += 1
        self._wait("thinking")

    def _token(self, event: Event, payload: Any) -> None:
        self._stop()
        self._shown += payload.text
        sys.stdout.write(clean(payload.text))
        sys.stdout.flush()

    def _retracted(self, event: Event, payload: Any) -> None:
        self._new_line()
        if payload.reason != "tool-calls":
            self._line(f"(not the answer: {payload.reason})")

    def _message(self, event: Event, payload: Any) -> None:
        for call in payload.tool_calls or ():
            self.tool_calls += 1
            self._tools[call.id] = f"{call.name}({_arguments(call.arguments)})"

    def _dispatched(self, event: Event, payload: Any) -> None:
        self._running = list(payload.calls)
        self._wait_for_tools()

    def _ended(self, event: Event, payload: Any) -> None:
        name = self._tools.get(event.call_id or "", "a tool")
        took = f", {payload.duration_ms} ms" if payload.ran else ""
        self._line(f"{name}: {payload.outcome}{took}", "dim" if payload.outcome == "success" else "yellow")
        if event.call_id in self._running:
            self._running.remove(event.call_id)
        if self._running:
            self._wait_for_tools()

    def _verdict(self, event: Event, payload: Any) -> None:
        if payload.verdict in ("Deny", "Halt", "Withhold", "Refuse"):
            why = f": {one_line(payload.reason or payload.text or '')}" if payload.reason or payload.text else ""
            self._line(f"{payload.plugin} answers {payload.verdict}{why}", "yellow")

    def _drafted(self, event: Event, payload: Any) -> None:
        self._line(f"sent back by {payload.by} ({payload.key})", "yellow")

    def _failed(self, event: Event, payload: Any) -> None:
        self._line(f"plugin {payload.plugin} failed in {payload.moment} ({payload.policy}): {payload.error_class}", "red")

    def _quiet(self, event: Event, payload: Any) -> None:
        self._stop()

    # --- the terminal ---

    def _wait_for_tools(self) -> None:
        names = [self._tools.get(call, "a tool").partition("(")[0] for call in self._running]
        self._wait(f"running {', '.join(dict.fromkeys(names))}")

    def _wait(self, text: str) -> None:
        self._stop()
        self._new_line()
        self._status = console(stderr=True).status(f"[dim]{clean(text)} ...[/dim]", spinner_style="dim")
        self._status.start()

    def _stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _new_line(self) -> None:
        if self._shown:
            self._shown = ""
            print(flush=True)

    def _line(self, text: str, style: str = "dim") -> None:
        self._stop()
        self._new_line()
        note(f"  {text}", style)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._stop()

    def finish(self, text: str) -> None:
        """Show what of the answer is not shown yet.

        Args:
            text: the answer.
        """
        self._stop()
        if not self.on:
            print(text, file=out(), flush=True)
            return
        if self._shown and text.startswith(self._shown):
            sys.stdout.write(clean(text[len(self._shown) :]))
        else:
            self._new_line()
            sys.stdout.write(clean(text))
        self._shown = ""
        print(flush=True)

    def summary(self, result: RunResult[Any]) -> None:
        """A line on what the run took."""
        if not self.on:
            return
        parts = [result.status.replace("_", " "), counted(self.calls, "model call"), counted(self.tool_calls, "tool call")]
        if result.usage.total:
            parts.append(f"{result.usage.total} tokens")
        if result.cost_usd is not None:
            parts.append(f"${result.cost_usd}")
        parts.append(f"{time.monotonic() - self._begun:.1f} s")
        print(styled(" · ".join(parts), "dim", sys.stderr), file=sys.stderr)

    def begin(self) -> None:
        """A new turn."""
        self.calls = self.tool_calls = 0
        self._begun = time.monotonic()
        self._shown = ""


def _arguments(text: str) -> str:
    """The arguments of a call in one line, as Python would have them; as they are where they are no object."""
    try:
        values = json.loads(text)
    except ValueError:
        return one_line(text, 60)
    if not isinstance(values, dict):
        return one_line(text, 60)
    return one_line(", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items()), 60)
