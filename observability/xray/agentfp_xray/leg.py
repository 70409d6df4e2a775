"""The segments of one leg of a run, made from its events: parents by what hangs from what on the record, times by when it was filed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentfp.plugin import ExportedEvent
from agentfp_xray.segments import Segment

FAILED = frozenset({"failure", "denied", "invalid", "halted", "unknown"})
"""Outcomes of calls that are errors. That a person declined or the run was cancelled is none."""
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "thinking_tokens")
THROTTLED = frozenset({"ERR_MODEL_RATE_LIMIT", "ERR_MODEL_OVERLOADED"})
"""Reasons for which a request is sent again that are no fault of it."""


class Leg:
    """The open segments of one leg.

    Args:
        root: what all of it hangs from.
        event: the first one of the leg.
    """

    def __init__(self, root: Segment, event: ExportedEvent) -> None:
        self.root = root
        self.header = event.header
        self._iteration: Segment | None = None
        self._iteration_ended_ns = 0
        self._seen = False
        self._model: Segment | None = None
        self._replied: tuple[Segment, int] | None = None
        self._served: tuple[Any, Any] = (None, None)
        self._tools: dict[str, Segment] = {}
        self._names: dict[str, str] = {}

    def span_of_call(self, call_id: str) -> Segment:
        """What a run hangs from that is nested under a call."""
        return self._tools.get(call_id) or self._iteration or self.root

    def open(self) -> list[Segment]:
        """The segments that have not ended, the root first."""
        inner = (self._iteration, self._model, None if self._replied is None else self._replied[0])
        return [self.root, *[segment for segment in inner if segment is not None], *self._tools.values()]

    def end(self, event: ExportedEvent) -> None:
        """The leg is over: what is still open ends with it, and the root last."""
        ts_ns, status = event.ts_ns, event.data.get("status", "failed")
        for segment in self._tools.values():
            segment.metadata["unclosed" if status != "paused" else "paused"] = True
            segment.end(ts_ns)
        self._tools.clear()
        self._break_off(ts_ns, error=status == "failed")
        root = self.root
        root.annotations["status"] = status
        root.fault = status == "failed"
        root.metadata["duration_ms"] = event.data.get("duration_ms", 0)
        for field in ("dropped", "plugin_failures"):
            if event.data.get(field):
                root.metadata[field] = event.data[field]
        root.end(ts_ns)

    # --- the turn ------------------------------------------------------------------------------------------------------------

    def _configured(self, event: ExportedEvent) -> None:
        data = event.data
        for field in ("provider", "model"):
            if data.get(field) is not None:
                self.root.annotations[field] = data[field]
        if data.get("leg", "run") != "run":
            self.root.metadata["leg"] = data["leg"]

    def _here(self, event: ExportedEvent) -> Segment:
        """The iteration of an event, which a leg that goes on after a pause is in the middle of; else the root."""
        if self._iteration is None and event.iteration and not self._seen:
            self._iteration_began(event)
        return self._iteration or self.root

    def _iteration_began(self, event: ExportedEvent) -> None:
        self._break_off(event.ts_ns, error=True)
        self._seen = True
        self._iteration = Segment(self.root.trace, self.root, f"iteration_{event.iteration}", event.ts_ns)
        self._iteration.annotations["iteration"] = event.iteration

    def _iteration_ended(self, event: ExportedEvent) -> None:
        """The iteration is over; one whose model call has not ended stays open until it is known how that went."""
        self._settle()
        if self._iteration is not None:
            self._iteration.metadata["tool_calls"] = event.data.get("tool_call_count", 0)
            self._iteration_ended_ns = event.ts_ns
            if self._model is None:
                self._break_off(event.ts_ns, error=False)

    def _break_off(self, ts_ns: int, *, error: bool) -> None:
        """End the iteration, and a model call in it that had no end, when the iteration ended."""
        self._settle()
        end_ns, self._iteration_ended_ns = self._iteration_ended_ns or ts_ns, 0
        if self._model is not None:
            self._model.error = error
            self._model.metadata["unclosed"] = True
            self._model.end(end_ns)
            self._model = None
        if self._iteration is not None:
            self._iteration.end(end_ns)
            self._iteration = None

    def _turn_ended(self, event: ExportedEvent) -> None:
        data, root = event.data, self.root
        root.metadata["iterations"] = data.get("iteration_count", 0)
        root.metadata |= {field: data[field] for field in TOKENS if data.get(field) is not None}
        if data.get("stopped_early") is not None:
            root.annotations["stopped_early"] = data["stopped_early"]

    def _assessed(self, event: ExportedEvent) -> None:
        if "standing" in event.data:
            self.root.annotations["standing"] = event.data["standing"]

    def _checked(self, event: ExportedEvent) -> None:
        if "action" in event.data:
            self.root.annotations["evidence"] = event.data["action"]

    def _failed(self, event: ExportedEvent) -> None:
        if event.data.get("scope") == "run":
            self.root.exception = event.data.get("error_class", "Exception")

    # --- model calls -----------------------------------------------------------------------------------------------------------

    def _asked(self, event: ExportedEvent) -> None:
        self._settle()
        data = event.data
        provider, model = (data.get("provider") or self._served[0], data.get("model") or self._served[1])
        self._served = (provider, model)
        self._model = Segment(self.root.trace, self._here(event), "llm", event.ts_ns, remote=True)
        self._model.annotations |= {key: value for key, value in (("provider", provider), ("model", model)) if value is not None}

    def _retried(self, event: ExportedEvent) -> None:
        """A request is sent again."""
        if self._model is not None:
            self._model.metadata["attempts"] = event.data.get("attempt", 0) + 1
            self._model.throttle = self._model.throttle or event.data.get("reason") in THROTTLED

    def _answered(self, event: ExportedEvent) -> None:
        """A reply is complete. Its segment ends when it is known what the reply cost."""
        model, self._model = self._model, None
        if model is not None:
            self._count(model, event)
            self._replied = (model, event.ts_ns)

    def _helper_replied(self, event: ExportedEvent) -> None:
        """A plugin called a model for its own work. Of a nested run there are segments already."""
        self._settle()
        data = event.data
        if data.get("purpose") == "nested":
            return
        start_ns = event.ts_ns - data.get("duration_ms", 0) * 1_000_000
        segment = Segment(self.root.trace, self._here(event), "llm", start_ns, remote=True)
        segment.annotations |= {field: data[field] for field in ("provider", "model", "purpose") if data.get(field) is not None}
        self._count(segment, event)
        self._replied = (segment, event.ts_ns)

    def _priced(self, event: ExportedEvent) -> None:
        if self._replied is not None and event.data.get("purpose") != "nested":
            self._replied[0].annotations["cost_usd"] = float(event.data.get("usd", 0))
        self.root.annotations["cost_usd"] = float(event.data.get("cumulative_usd", 0))

    def _count(self, segment: Segment, event: ExportedEvent) -> None:
        data = event.data
        fields = (*TOKENS, "stop_reason", "duration_ms", "tool_call_count")
        segment.metadata |= {field: data[field] for field in fields if data.get(field) is not None}

    def _settle(self) -> None:
        if self._replied is not None:
            (segment, end_ns), self._replied = self._replied, None
            segment.end(end_ns)

    # --- tool calls --------------------------------------------------------------------------------------------------------------

    def _tool_began(self, event: ExportedEvent) -> None:
        self._settle()
        if event.call_id is not None:
            if event.data.get("tool") is not None:
                self._names[event.call_id] = event.data["tool"]
            self._begin(event, event.call_id, event.ts_ns)

    def _approved(self, event: ExportedEvent) -> None:
        """A leg that goes on learns from the decision which tool a call is of."""
        if event.call_id is not None and "tool" in event.data:
            self._names[event.call_id] = event.data["tool"]

    def _dispatched(self, event: ExportedEvent) -> None:
        """Calls run now; those of a leg that goes on may have been taken up in an earlier one."""
        if self.header.resumed_from is not None:
            for call_id in event.data.get("calls", ()):
                if call_id not in self._tools:
                    self._begin(event, call_id, event.ts_ns)

    def _begin(self, event: ExportedEvent, call_id: str, start_ns: int) -> Segment:
        tool = self._names.get(call_id)
        name = "tool" if tool is None else f"tool_{tool}"
        segment = self._tools[call_id] = Segment(self.root.trace, self._here(event), name, start_ns)
        if tool is not None:
            segment.annotations["tool"] = tool
        return segment

    def _tool_ended(self, event: ExportedEvent) -> None:
        call_id, data = event.call_id or "", event.data
        segment = self._tools.get(call_id) or self._begin(event, call_id, event.ts_ns - data.get("duration_ms", 0) * 1_000_000)
        del self._tools[call_id]
        self._names.pop(call_id, None)
        outcome = data.get("outcome", "unknown")
        segment.metadata |= {"outcome": outcome, "duration_ms": data.get("duration_ms", 0)}
        if outcome in FAILED:
            segment.error = True
            segment.exception = data.get("error_class")
        segment.end(event.ts_ns)


HANDLERS: Mapping[str, Callable[[Leg, ExportedEvent], None]] = {
    "agentfp.agent.run_configured": Leg._configured,
    "agentfp.agent.iteration_start": Leg._iteration_began,
    "agentfp.agent.iteration_end": Leg._iteration_ended,
    "agentfp.agent.turn_end": Leg._turn_ended,
    "agentfp.answer.assessed": Leg._assessed,
    "agentfp.approval.decided": Leg._approved,
    "agentfp.context.served": Leg._asked,
    "agentfp.cost.tick": Leg._priced,
    "agentfp.error.fatal": Leg._failed,
    "agentfp.error.retried": Leg._retried,
    "agentfp.evidence.checked": Leg._checked,
    "agentfp.model.helper_replied": Leg._helper_replied,
    "agentfp.stream.llm_end": Leg._answered,
    "agentfp.tool.dispatched": Leg._dispatched,
    "agentfp.tool.ended": Leg._tool_ended,
    "agentfp.tool.started": Leg._tool_began,
}
"""What is done with an event, by its name."""
