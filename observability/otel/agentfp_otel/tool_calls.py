"""The spans of tool calls: one a call, whatever became of it."""

from __future__ import annotations

from collections.abc import Mapping

from agentfp.plugin import ExportedEvent
from agentfp_otel import names
from agentfp_otel.attributes import of_call
from agentfp_otel.contents import Contents, cut
from agentfp_otel.place import Place
from agentfp_otel.spans import OpenSpan

FAILED = frozenset({"failure", "denied", "invalid", "halted", "unknown"})
"""Outcomes that are errors. That a person declined or the run was cancelled is none."""


class ToolCalls:
    """The tool calls of one leg.

    Args:
        place: where their spans hang.
        resumed: whether the leg goes on with calls that were taken up in an earlier one.
        known: tools of such calls, by call id.
        content: the texts of the run, where they are wanted.
    """

    def __init__(self, place: Place, resumed: bool, known: Mapping[str, str], content: Contents | None) -> None:
        self._place = place
        self._kit = place.kit
        self._resumed = resumed
        self._tools = dict(known)
        self._content = content
        self.open: dict[str, OpenSpan] = {}
        self.count = 0

    def started(self, event: ExportedEvent) -> None:
        """A proposed call is taken up, before any gate."""
        data = event.data
        if event.call_id is not None:
            if data.get("tool") is not None:
                self._tools[event.call_id] = data["tool"]
            self._begin(event, event.call_id, event.ts_ns, data.get("parallel_count", 1))

    def approved(self, event: ExportedEvent) -> None:
        """A person decided over a call; a leg that goes on learns from it which tool the call is of."""
        if event.call_id is not None and "tool" in event.data:
            self._tools[event.call_id] = event.data["tool"]
        self._place.note(event, self.open.get(event.call_id or "") or self._place.of(event))

    def dispatched(self, event: ExportedEvent) -> None:
        """Calls run now; those of a leg that goes on may have been taken up in an earlier one."""
        if self._resumed:
            for call_id in event.data.get("calls", ()):
                if call_id not in self.open:
                    self._begin(event, call_id, event.ts_ns)

    def _begin(self, event: ExportedEvent, call_id: str, start_ns: int, parallel: int = 1) -> OpenSpan:
        tool = self._tools.get(call_id)
        attributes = of_call(call_id, tool, parallel)
        if self._content is not None and call_id in self._content.arguments:
            attributes[names.TOOL_ARGUMENTS] = cut(self._content.arguments[call_id])
        self.count += 1
        span = self.open[call_id] = self._place.open(event, "tool", self._kit.names.tool(tool), start_ns, attributes)
        return span

    def ended(self, event: ExportedEvent) -> None:
        """A call has its outcome."""
        call_id, data = event.call_id or "", event.data
        span = self.open.get(call_id) or self._begin(event, call_id, event.ts_ns - data.get("duration_ms", 0) * 1_000_000)
        del self.open[call_id]
        outcome = data.get("outcome", "unknown")
        attributes = span.attributes
        attributes["agentfp.tool.status"] = outcome
        if outcome == "cancelled":
            attributes["agentfp.cancelled"] = True
        if not data.get("ran", True):
            attributes["agentfp.tool.ran"] = False
        if data.get("cause") is not None:
            attributes["agentfp.tool.cause"] = data["cause"]
        if self._content is not None and event.payload is not None:
            content = getattr(event.payload, "content", "")
            self._content.ended(event.seq, content)
            attributes[names.TOOL_RESULT] = cut(content)
        error = (data.get("error_class") or outcome) if outcome in FAILED else None
        span.end(event.ts_ns, error)
        tool = self._tools.pop(call_id, None)
        if self._kit.meters is not None:
            self._kit.meters.tool(tool, max(event.ts_ns - span.start_ns, 0) / 1e9, error)

    def break_off(self, ts_ns: int, *, paused: bool) -> dict[str, str]:
        """The leg ends; gives the tools of the calls that wait for the next one."""
        waiting = {call_id: self._tools[call_id] for call_id in self.open if call_id in self._tools}
        for span in self.open.values():
            span.attributes["agentfp.tool.paused" if paused else "agentfp.span.unclosed"] = True
            span.end(ts_ns)
        self.open.clear()
        return waiting
