"""The spans of one leg of a run, made from its events: parents by what hangs from what on the record, times by when it was filed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanContext

from agentfp.plugin import ExportedEvent
from agentfp_otel import names
from agentfp_otel.answers import Answers
from agentfp_otel.attributes import conversation, of_leg
from agentfp_otel.contents import Contents, cut
from agentfp_otel.kit import Kit, Paused
from agentfp_otel.model_calls import ModelCalls
from agentfp_otel.notes import ON_CHAT, ON_ROOT
from agentfp_otel.place import Place
from agentfp_otel.spans import Maker, OpenSpan
from agentfp_otel.texts import sendable
from agentfp_otel.tool_calls import ToolCalls

OF_LEG = frozenset({"agentfp.agent.turn_end", "agentfp.error.fatal", "agentfp.run.cancelled", "agentfp.run.ended"})
OF_CHAT = frozenset({"agentfp.context.served", "agentfp.stream.llm_end"})


class RunSpans:
    """The open spans of one leg.

    Args:
        kit: what spans are made with.
        maker: makes them.
        parent: what its root hangs from.
        event: the first one of the leg.
        over: is called with its last one.

    Attributes:
        handlers: what is done with an event, by its name; any other is noted, those of plugins included.
    """

    def __init__(
        self, kit: Kit, maker: Maker, parent: OpenSpan | Context, event: ExportedEvent, over: Callable[[ExportedEvent], None]
    ) -> None:
        self._kit = kit
        self._over = over
        header = self.header = event.header
        first = event.name == "agentfp.agent.run_configured"  # else the head of the leg was dropped
        data: Mapping[str, Any] = event.data if first else {}
        self._agent = header.agent_id or data.get("agent_id", "agent")
        provider, model, named = names.provider(data.get("provider", "unknown")), data.get("model", "unknown"), conversation(header)
        attributes = {
            names.OPERATION: "invoke_agent",
            names.AGENT: self._agent,
            names.PROVIDER: provider,
            names.REQUEST_MODEL: model,
            **named,
            **of_leg(kit, header, data),
        }
        paused = kit.pauses.of(header.resumed_from)
        links = () if paused is None else (Link(paused.context),)
        started_ns = event.ts_ns if first else header.started_ns
        self._place = Place(kit, maker, parent, kit.names.agent(self._agent), started_ns, attributes, links)
        self._content = Contents() if kit.content else None
        self._models = ModelCalls(self._place, provider, model, named, self._content)
        known = {} if paused is None else paused.tools
        self._tools = ToolCalls(self._place, header.resumed_from is not None, known, self._content)
        self._answers = Answers(self._place, self._models)
        self._error: str | None = None
        self._cancelled: str | None = None
        self._asked = False
        self.handlers = self._table()

    def _table(self) -> Mapping[str, Callable[[ExportedEvent], None]]:
        models, tools, answers = self._models, self._tools, self._answers
        return {
            "agentfp.agent.run_configured": self._configured,
            "agentfp.agent.turn_start": self._turn_started,
            "agentfp.agent.iteration_start": self._place.begin,
            "agentfp.agent.iteration_end": self._iteration_ended,
            "agentfp.agent.route_decided": answers.routed,
            "agentfp.agent.turn_end": self._turn_ended,
            "agentfp.agent.output_attempt": answers.judged,
            "agentfp.answer.assessed": answers.assessed,
            "agentfp.answer.drafted": answers.judged,
            "agentfp.answer.not_assessed": answers.judged,
            "agentfp.approval.decided": tools.approved,
            "agentfp.context.blob": self._blob,
            "agentfp.context.served": models.served,
            "agentfp.cost.tick": models.priced,
            "agentfp.error.fatal": self._failed,
            "agentfp.error.retried": models.attempt_failed,
            "agentfp.evidence.checked": answers.evidence_checked,
            "agentfp.hook.verdict": self._verdict,
            "agentfp.message.added": self._message,
            "agentfp.model.call_failed": models.call_failed,
            "agentfp.model.helper_replied": models.helper_replied,
            "agentfp.pause.request": self._pause_asked,
            "agentfp.run.cancelled": self._was_cancelled,
            "agentfp.run.ended": self._ended,
            "agentfp.stream.llm_end": models.replied,
            "agentfp.tool.dispatched": tools.dispatched,
            "agentfp.tool.ended": tools.ended,
            "agentfp.tool.started": self._tool_started,
        }

    def note(self, event: ExportedEvent) -> None:
        """Take in an event that no handler is for."""
        self._place.note(event, self._span_of(event))

    def span_of_call(self, call_id: str) -> OpenSpan:
        """What a run hangs from that is nested under a call."""
        return self._tools.open.get(call_id) or self._place.root

    def span_context(self, event: ExportedEvent) -> SpanContext:
        """The open span that an event belongs to; it changes nothing of the tree."""
        if event.name in ON_ROOT or event.name in OF_LEG:
            return self._place.root.span.get_span_context()
        tool = self._tools.open.get(event.call_id or "")
        chat = self._models.open if event.name in OF_CHAT or event.name.startswith(ON_CHAT) else None
        return (tool or chat or self._place.current).span.get_span_context()

    # --- the turn ------------------------------------------------------------------------------------------------------------

    def _configured(self, event: ExportedEvent) -> None:
        """The leg begins; its root is open already."""

    def _turn_started(self, event: ExportedEvent) -> None:
        self._place.root.attributes["agentfp.turn.index"] = event.turn

    def _iteration_ended(self, event: ExportedEvent) -> None:
        self._answers.end(event.ts_ns)
        self._models.settle()
        self._place.end(event.ts_ns, event.data.get("tool_call_count", 0), settled=self._models.open is None)

    def _tool_started(self, event: ExportedEvent) -> None:
        self._models.settle()
        self._tools.started(event)

    def _turn_ended(self, event: ExportedEvent) -> None:
        self._answers.end(event.ts_ns)
        self._models.settle()
        self._place.over = True
        data, root = event.data, self._place.root.attributes
        root["agentfp.turn.index"] = event.turn
        root["agentfp.iteration.count"] = data.get("iteration_count", 0)
        for field, key in (("input_tokens", names.INPUT_TOKENS), ("output_tokens", names.OUTPUT_TOKENS)):
            if data.get(field) is not None:
                root[key] = data[field]
        if data.get("stopped_early") is not None:
            root["agentfp.stopped_early.reason"] = data["stopped_early"]

    def _failed(self, event: ExportedEvent) -> None:
        if event.data.get("scope") == "run":
            self._error = event.data.get("error_class", "_OTHER")
        self._place.note(event, self._place.root)

    def _was_cancelled(self, event: ExportedEvent) -> None:
        self._cancelled = event.data.get("cause", "cancelled")
        self._place.note(event, self._place.root)

    def _pause_asked(self, event: ExportedEvent) -> None:
        root = self._place.root
        root.attributes["agentfp.paused"] = True
        root.attributes["agentfp.pause.id"] = event.data.get("pause_id", "")
        self._place.note(event, root)

    def _ended(self, event: ExportedEvent) -> None:
        """The leg is over: what is still open ends with it, and the root last."""
        self._over(event)
        data = event.data
        status = data.get("status", "failed")
        waiting = self._close(event.ts_ns, paused=status == "paused")
        root = self._place.root
        root.attributes["agentfp.run.status"] = status
        root.attributes["agentfp.tool_call.count"] = self._tools.count
        if self._cancelled is not None:
            root.attributes["agentfp.cancelled"] = True
            root.attributes["agentfp.cancelled.cause"] = self._cancelled
        for field, key in (("dropped", "agentfp.export.dropped"), ("plugin_failures", "agentfp.plugin.failures")):
            if data.get(field):
                root.attributes[key] = data[field]
        if status == "paused":
            self._kit.pauses.keep(self.header.run_id, Paused(root.span.get_span_context(), waiting))
        error = (self._error or "_OTHER") if status == "failed" else None
        root.end(event.ts_ns, error)
        meters = self._kit.meters
        if meters is not None:
            calls = (self._models.count, self._tools.count)
            meters.agent(sendable(self._agent), max(event.ts_ns - root.start_ns, 0) / 1e9, status, calls, error)
            if data.get("dropped"):
                meters.dropped(data["dropped"])

    def broken_off(self, ts_ns: int) -> None:
        """The end of a nested run never came."""
        self._close(ts_ns, paused=False)
        self._place.root.attributes["agentfp.span.unclosed"] = True
        self._place.root.end(ts_ns)

    def _close(self, ts_ns: int, *, paused: bool) -> dict[str, str]:
        cancelled = self._cancelled is not None
        self._answers.end(ts_ns)
        waiting = self._tools.break_off(ts_ns, paused=paused)
        self._models.break_off(self._place.broken_ns or ts_ns, self._error, cancelled=cancelled)
        self._place.break_off(ts_ns, self._error, cancelled=cancelled)
        return waiting

    # --- texts, where they are wanted ------------------------------------------------------------------------------------------

    def _blob(self, event: ExportedEvent) -> None:
        if self._content is not None and event.payload is not None:
            self._content.blob(event.payload)

    def _message(self, event: ExportedEvent) -> None:
        payload: Any = event.payload
        if self._content is None or payload is None:
            return
        text = self._content.message(payload)
        root = self._place.root.attributes
        if payload.role == "assistant":
            self._models.wrote(text)
            root[names.OUTPUT_MESSAGES] = cut(f"[{text}]")
        elif payload.role == "user" and not self._asked:
            self._asked = True
            root[names.INPUT_MESSAGES] = cut(f"[{text}]")

    # --- notes --------------------------------------------------------------------------------------------------------------------

    def _verdict(self, event: ExportedEvent) -> None:
        self._answers.verdict(event, self._tools.open.get(event.call_id or ""))

    def _span_of(self, event: ExportedEvent) -> OpenSpan:
        if event.name in ON_ROOT:
            return self._place.root
        tool = self._tools.open.get(event.call_id or "")
        if tool is not None:
            return tool
        if self._models.open is not None and event.name.startswith(ON_CHAT):
            return self._models.open
        return self._place.of(event)
