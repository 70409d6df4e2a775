"""The spans of one leg of a run, made from its events: parents by what hangs from what on the record, times by when it was filed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import Link

from agentfp.plugin import ExportedEvent
from agentfp_otel import names
from agentfp_otel.attributes import conversation, of_call, of_leg
from agentfp_otel.contents import Contents, cut
from agentfp_otel.kit import Kit, Paused
from agentfp_otel.notes import JUDGING, ON_CHAT, ON_ROOT, SILENT, attributes_of
from agentfp_otel.spans import OpenSpan

FAILED = {"failure", "denied", "invalid", "halted", "unknown"}
"""Outcomes of a call that are errors. That a person declined or the run was cancelled is none."""
VERDICT = ("action", "supported", "unverifiable", "unsupported", "strong", "on_unsupported", "after_revision")


class RunSpans:
    """The open spans of one leg.

    Args:
        kit: what spans are made with.
        parent: what its root hangs from.
        event: the first one of the leg.
    """

    def __init__(self, kit: Kit, parent: OpenSpan | Context, event: ExportedEvent) -> None:
        self._kit = kit
        self.header = event.header
        data = event.data if event.name == "agentfp.agent.run_configured" else {}
        self._agent = self.header.agent_id or data.get("agent_id", "agent")
        self._provider = names.provider(data.get("provider", "unknown"))
        self._model = data.get("model", "unknown")
        paused = kit.pauses.of(data.get("resumed_from"))
        self._resumed = self.header.resumed_from is not None
        self._tool_names: dict[str, str] = {} if paused is None else dict(paused.tools)
        links = () if paused is None else (Link(paused.context),)
        self._identity = conversation(self.header)
        attributes = {
            names.OPERATION: "invoke_agent",
            names.AGENT: self._agent,
            names.PROVIDER: self._provider,
            names.REQUEST_MODEL: self._model,
            **self._identity,
            **of_leg(kit, self.header, data),
        }
        self.root = self._open(parent, "agent", kit.names.agent(self._agent), event.ts_ns, attributes, links=links)
        self.calls: dict[str, OpenSpan] = {}
        self._iteration: OpenSpan | None = None
        self._iteration_ended = 0
        self._chat: OpenSpan | None = None
        self._replied: tuple[OpenSpan, int, Mapping[str, Any]] | None = None
        self._check: OpenSpan | None = None
        self._reply_ns = 0
        self._model_calls = 0
        self._tool_calls = 0
        self._over = False
        self._offered = 0
        self._shortened: set[str] = set()
        self._error: str | None = None
        self._cancelled: str | None = None
        self._content = Contents() if kit.content else None
        self._asked = False

    def handle(self, event: ExportedEvent) -> None:
        """Take an event in."""
        name = event.name
        handler = HANDLERS.get(name)
        if handler is not None:
            handler(self, event)
        elif name not in SILENT:
            self._note(event)

    # --- making spans -------------------------------------------------------------------------------------------------------

    def _open(
        self, parent: OpenSpan | Context, kind: str, name: str, start_ns: int, attributes: dict[str, Any], **more: Any
    ) -> OpenSpan:
        return OpenSpan(self._kit.tracer, self._kit.profiles, parent, kind, name, start_ns, attributes, **more)

    def _place(self, event: ExportedEvent) -> OpenSpan:
        """What spans and notes of an event hang from: its iteration, which a resumed leg is in the middle of."""
        if self._iteration is None and event.iteration and self._kit.iterations and not self._over:
            self._iteration = self._open(
                self.root,
                "iteration",
                self._kit.names.iteration(event.iteration),
                event.ts_ns,
                {"agentfp.iteration.index": event.iteration, "agentfp.iteration.resumed": True},
            )
        return self._iteration or self.root

    # --- the turn ------------------------------------------------------------------------------------------------------------

    def configured(self, event: ExportedEvent) -> None:
        """The leg begins; its root is open already."""

    def turn_started(self, event: ExportedEvent) -> None:
        """The person's message was admitted."""
        self.root.attributes["agentfp.turn.index"] = event.turn

    def iteration_started(self, event: ExportedEvent) -> None:
        """A model call is made ready."""
        if self._iteration is not None:
            self._iteration.end(self._iteration_ended or event.ts_ns)
            self._iteration, self._iteration_ended = None, 0
        if self._kit.iterations:
            name = self._kit.names.iteration(event.iteration)
            self._iteration = self._open(self.root, "iteration", name, event.ts_ns, {"agentfp.iteration.index": event.iteration})

    def iteration_ended(self, event: ExportedEvent) -> None:
        """An iteration is over; one whose model call failed stays open until it is known how."""
        self._end_check(event.ts_ns)
        self._settle()
        if self._iteration is not None:
            self._iteration.attributes["agentfp.tool_call.count"] = event.data.get("tool_call_count", 0)
            self._iteration_ended = event.ts_ns
        if self._chat is None:
            self._settle_iteration()

    def _settle_iteration(self) -> None:
        if self._iteration is not None and self._iteration_ended:
            self._iteration.end(self._iteration_ended)
            self._iteration, self._iteration_ended = None, 0

    def turn_ended(self, event: ExportedEvent) -> None:
        """The answer is fixed."""
        self._end_check(event.ts_ns)
        self._over = True
        data, root = event.data, self.root.attributes
        root["agentfp.turn.index"] = event.turn
        root["agentfp.iteration.count"] = data.get("iteration_count", 0)
        if data.get("input_tokens") is not None:
            root[names.INPUT_TOKENS] = data["input_tokens"]
        if data.get("output_tokens") is not None:
            root[names.OUTPUT_TOKENS] = data["output_tokens"]
        if data.get("stopped_early") is not None:
            root["agentfp.stopped_early.reason"] = data["stopped_early"]

    def failed(self, event: ExportedEvent) -> None:
        """The run failed, or a listener of it did."""
        if event.data.get("scope") == "run":
            self._error = event.data.get("error_class", "_OTHER")
        self._note(event)

    def cancelled(self, event: ExportedEvent) -> None:
        """The run was cancelled, or its time was up."""
        self._cancelled = event.data.get("cause", "cancelled")
        self._note(event)

    def pause_asked(self, event: ExportedEvent) -> None:
        """The run waits for a person."""
        self.root.attributes["agentfp.paused"] = True
        self.root.attributes["agentfp.pause.id"] = event.data.get("pause_id", "")
        self._note(event)

    def ended(self, event: ExportedEvent) -> None:
        """The leg is over: what is still open ends with it, and the root last."""
        status = event.data.get("status", "failed")
        self._close_all(event.ts_ns, status)
        root = self.root.attributes
        root["agentfp.run.status"] = status
        root["agentfp.tool_call.count"] = self._tool_calls
        if self._cancelled is not None:
            root["agentfp.cancelled"] = True
            root["agentfp.cancelled.cause"] = self._cancelled
        if event.data.get("dropped"):
            root["agentfp.export.dropped"] = event.data["dropped"]
        if event.data.get("plugin_failures"):
            root["agentfp.plugin.failures"] = event.data["plugin_failures"]
        if status == "paused":
            self._kit.pauses.keep(self.header.run_id, Paused(self.root.span.get_span_context(), dict(self._tool_names)))
        error = (self._error or "_OTHER") if status == "failed" else None
        self.root.end(event.ts_ns, error)
        meters = self._kit.meters
        if meters is not None:
            calls = (self._model_calls, self._tool_calls)
            meters.agent(self._agent, max(event.ts_ns - self.root.start_ns, 0) / 1e9, status, calls, error)
            if event.data.get("dropped"):
                meters.dropped(event.data["dropped"])

    def broken_off(self, ts_ns: int) -> None:
        """A nested run whose end never came."""
        self._close_all(ts_ns, "failed")
        self.root.attributes["agentfp.span.unclosed"] = True
        self.root.end(ts_ns)

    def _close_all(self, ts_ns: int, status: str) -> None:
        self._settle()
        self._end_check(ts_ns)
        for call in self.calls.values():
            call.attributes["agentfp.tool.paused" if status == "paused" else "agentfp.span.unclosed"] = True
            call.end(ts_ns)
        self.calls.clear()
        broken_ns = self._iteration_ended or ts_ns
        if self._chat is not None:
            chat, self._chat = self._chat, None
            if self._cancelled is not None:
                chat.attributes["agentfp.cancelled"] = True
            error = None if self._cancelled is not None else self._error or "_OTHER"
            chat.end(broken_ns, error)
            if self._kit.meters is not None:
                labels = self._labels()
                self._kit.meters.chat(
                    labels if error is None else {**labels, names.ERROR_TYPE: error}, max(broken_ns - chat.start_ns, 0) / 1e9, {}
                )
        if self._iteration is not None:
            if self._cancelled is not None:
                self._iteration.attributes["agentfp.cancelled"] = True
            self._iteration.end(broken_ns, self._error)
            self._iteration = None

    # --- model calls -----------------------------------------------------------------------------------------------------------

    def served(self, event: ExportedEvent) -> None:
        """A request went to the model."""
        self._settle()
        self._model_calls += 1
        data = event.data
        if data.get("provider") is not None:
            self._provider = names.provider(data["provider"])
        self._model = data.get("model") or self._model
        if data.get("tools") is not None:
            self._offered = len(data["tools"])
        for edit in data.get("edits") or ():
            if edit["op"] in ("ticket", "hide"):
                self._shortened.add(edit["target"])
            elif edit["op"] == "restore":
                self._shortened.discard(edit["target"])
        attributes: dict[str, Any] = {
            names.OPERATION: "chat",
            names.PROVIDER: self._provider,
            names.REQUEST_MODEL: self._model,
            **self._identity,
        }
        if self._kit.explain:
            attributes["agentfp.request.messages"] = data.get("messages", 0)
            attributes["agentfp.request.tools_count"] = self._offered
            attributes["agentfp.receipt.hash"] = data.get("receipt", "")
        if self._shortened:
            attributes[names.COMPACTED] = True
        if self._content is not None:
            self._content.request(event.payload, attributes)
        self._chat = self._open(self._place(event), "chat", self._kit.names.chat(self._model), event.ts_ns, attributes, client=True)

    def replied(self, event: ExportedEvent) -> None:
        """A reply is complete. Its span ends when it is known what the reply cost."""
        chat, self._chat = self._chat, None
        if chat is None:
            return
        data, attributes = event.data, chat.attributes
        attributes[names.FINISH_REASONS] = (names.FINISH.get(data.get("stop_reason", ""), data.get("stop_reason", "")),)
        self.root.attributes[names.FINISH_REASONS] = attributes[names.FINISH_REASONS]
        if data.get("response_id") is not None:
            attributes[names.RESPONSE_ID] = data["response_id"]
        self._usage(attributes, data)
        self._replied = (chat, event.ts_ns, data)
        self._reply_ns = event.ts_ns

    def _usage(self, attributes: dict[str, Any], data: Mapping[str, Any]) -> None:
        for field, keys in self._kit.usage.items():
            if data.get(field) is not None:
                for key in keys:
                    attributes[key] = data[field]

    def _labels(self) -> dict[str, Any]:
        return {names.OPERATION: "chat", names.PROVIDER: self._provider, names.REQUEST_MODEL: self._model}

    def _settle(self) -> None:
        if self._replied is None:
            return
        (span, end_ns, data), self._replied = self._replied, None
        if self._kit.meters is not None:
            self._kit.meters.chat(self._labels(), max(end_ns - span.start_ns, 0) / 1e9, data)
        span.end(end_ns)

    def helper_replied(self, event: ExportedEvent) -> None:
        """A plugin called a model for its own work. Of a nested run, there are spans already."""
        data = event.data
        self._settle()
        if data.get("purpose") == "nested":
            return
        model = data.get("model", "unknown")
        attributes: dict[str, Any] = {
            names.OPERATION: "chat",
            names.PROVIDER: names.provider(data.get("provider", "unknown")),
            names.REQUEST_MODEL: model,
            "agentfp.call.purpose": data.get("purpose", ""),
            "agentfp.call.plugin": data.get("plugin", ""),
        }
        self._usage(attributes, data)
        start_ns = event.ts_ns - data.get("duration_ms", 0) * 1_000_000
        span = self._open(self._place(event), "chat", self._kit.names.chat(model), start_ns, attributes, client=True)
        self._replied = (span, event.ts_ns, data)

    def attempt_failed(self, event: ExportedEvent) -> None:
        """The request is sent again."""
        if self._chat is not None:
            self._chat.attributes["agentfp.attempts"] = event.data.get("attempt", 0) + 1
        self._note(event)

    def call_failed(self, event: ExportedEvent) -> None:
        """A call failed for which tokens were counted."""
        if self._kit.meters is not None:
            self._kit.meters.tokens(self._labels(), event.data)
        self._note(event)

    def priced(self, event: ExportedEvent) -> None:
        """A reply was priced."""
        data = event.data
        usd = float(data.get("usd", "0"))
        if self._replied is not None and data.get("purpose") != "nested":
            self._replied[0].attributes["agentfp.cost.usd"] = usd
            if self._kit.meters is not None:
                self._kit.meters.usd(names.provider(data.get("provider", "unknown")), data.get("model", "unknown"), usd)
        self.root.attributes["agentfp.cost.usd"] = float(data.get("cumulative_usd", "0"))

    # --- tool calls ---------------------------------------------------------------------------------------------------------------

    def tool_started(self, event: ExportedEvent) -> None:
        """A proposed call is taken up, before any gate."""
        self._settle()
        if event.call_id is not None:
            data = event.data
            self._open_call(event, event.call_id, data.get("tool"), data.get("parallel_count", 1), event.ts_ns)

    def _open_call(self, event: ExportedEvent, call_id: str, tool: str | None, parallel: int, start_ns: int) -> OpenSpan:
        attributes = of_call(call_id, tool, parallel)
        if tool is not None:
            self._tool_names[call_id] = tool
        if self._content is not None and call_id in self._content.arguments:
            attributes[names.TOOL_ARGUMENTS] = cut(self._content.arguments[call_id])
        self._tool_calls += 1
        span = self.calls[call_id] = self._open(self._place(event), "tool", self._kit.names.tool(tool), start_ns, attributes)
        return span

    def dispatched(self, event: ExportedEvent) -> None:
        """Calls run now; those of a resumed leg were taken up in an earlier one."""
        if not self._resumed:
            return
        for call_id in event.data.get("calls", ()):
            if call_id not in self.calls:
                self._open_call(event, call_id, self._tool_names.get(call_id), 1, event.ts_ns)

    def tool_ended(self, event: ExportedEvent) -> None:
        """A call has its outcome."""
        call_id, data = event.call_id or "", event.data
        span = self.calls.pop(call_id, None)
        if span is None:
            span = self._open_call(event, call_id, self._tool_names.get(call_id), 1, event.ts_ns - data.get("duration_ms", 0) * 1_000_000)
            del self.calls[call_id]
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
        tool = self._tool_names.pop(call_id, None)
        span.end(event.ts_ns, error)
        if self._kit.meters is not None:
            self._kit.meters.tool(tool, max(event.ts_ns - span.start_ns, 0) / 1e9, error)

    def approved(self, event: ExportedEvent) -> None:
        """A person decided over a call; a resumed leg learns the tool's name from it."""
        if event.call_id is not None and "tool" in event.data:
            self._tool_names[event.call_id] = event.data["tool"]
        self._note(event)

    # --- answers --------------------------------------------------------------------------------------------------------------------

    def judged(self, event: ExportedEvent) -> None:
        """Somebody judged a would-be answer."""
        if self._check is None and self._reply_ns:
            self._check = self._open(self._place(event), "check", "agentfp.assess_answer", self._reply_ns, {})
        self._note(event)

    def evidence_checked(self, event: ExportedEvent) -> None:
        """The answer was judged by where its values come from: the verdict, and its counts."""
        data = event.data
        verdict = {f"agentfp.evidence.{key}": data[key] for key in VERDICT if key in data}
        self.root.attributes.update(verdict)
        self.judged(event)
        if self._check is not None:
            self._check.attributes.update(verdict)
        if self._kit.explain and "action" in data:
            judged = data.get("supported", 0) + data.get("unsupported", 0)
            result: dict[str, Any] = {"gen_ai.evaluation.name": "agentfp.evidence", "gen_ai.evaluation.score.label": data["action"]}
            if judged:
                result["gen_ai.evaluation.score.value"] = data.get("supported", 0) / judged
            self.root.note("gen_ai.evaluation.result", event.ts_ns, result)
        if self._kit.meters is not None and "action" in data:
            self._kit.meters.check(data["action"])

    def assessed(self, event: ExportedEvent) -> None:
        """It was said how far the answer stands."""
        data = event.data
        if "standing" in data:
            self.root.attributes["agentfp.answer.standing"] = data["standing"]
            if self._kit.meters is not None:
                self._kit.meters.standing(data["standing"])
        if data.get("reasons"):
            self.root.attributes["agentfp.answer.reasons"] = tuple([str(reason) for reason in data["reasons"]])
        self.judged(event)

    def verdict(self, event: ExportedEvent) -> None:
        """A hook answered something."""
        if event.data.get("moment") == "assess_answer":
            self.judged(event)
        else:
            self._note(event)

    def routed(self, event: ExportedEvent) -> None:
        """It was decided what becomes of a reply."""
        self._note(event)
        self._end_check(event.ts_ns)

    def _end_check(self, ts_ns: int) -> None:
        if self._check is not None:
            self._check.end(ts_ns)
            self._check = None

    # --- texts, where they are wanted ------------------------------------------------------------------------------------------------

    def blob(self, event: ExportedEvent) -> None:
        """A text that requests are made of."""
        if self._content is not None and event.payload is not None:
            self._content.blob(event.payload)

    def message(self, event: ExportedEvent) -> None:
        """A message joined the history."""
        if self._content is None or event.payload is None:
            return
        text = self._content.message(event.payload)
        role = getattr(event.payload, "role", "")
        if role == "assistant" and self._replied is not None:
            self._replied[0].attributes[names.OUTPUT_MESSAGES] = cut(f"[{text}]")
            self.root.attributes[names.OUTPUT_MESSAGES] = cut(f"[{text}]")
        elif role == "user" and not self._asked:
            self._asked = True
            self.root.attributes[names.INPUT_MESSAGES] = cut(f"[{text}]")

    # --- notes ------------------------------------------------------------------------------------------------------------------------

    def _note(self, event: ExportedEvent) -> None:
        if not self._kit.explain and self._kit.logs is None:
            return
        span = self._span_of(event)
        attributes = attributes_of(event.data)
        if self._kit.explain:
            span.note(event.name, event.ts_ns, attributes)
        if self._kit.logs is not None:
            self._kit.logs.write(event.name, event.ts_ns, attributes, span.context)

    def _span_of(self, event: ExportedEvent) -> OpenSpan:
        name = event.name
        if name in ON_ROOT:
            return self.root
        if event.call_id in self.calls:
            return self.calls[event.call_id]
        if self._chat is not None and name.startswith(ON_CHAT):
            return self._chat
        if self._check is not None and (name in JUDGING or name == "agentfp.hook.verdict"):
            return self._check
        return self._place(event)


def wanted(name: str, kit: Kit) -> bool:
    """Whether anything comes of an event of a name.

    Args:
        name: of the event.
        kit: what spans are made with.
    """
    if name in ("agentfp.context.blob", "agentfp.message.added"):
        return kit.content
    if name in ("agentfp.agent.iteration_start", "agentfp.agent.iteration_end"):
        return kit.iterations
    if name in SILENT:
        return False
    noted = kit.explain or kit.logs is not None
    return noted or (name in HANDLERS and name not in NOTED_ONLY)


NOTED_ONLY = frozenset({"agentfp.agent.route_decided", "agentfp.error.retried"})
"""Events with a handler that say nothing where nothing is noted."""
HANDLERS: Mapping[str, Callable[[RunSpans, ExportedEvent], None]] = {
    "agentfp.agent.run_configured": RunSpans.configured,
    "agentfp.agent.turn_start": RunSpans.turn_started,
    "agentfp.agent.iteration_start": RunSpans.iteration_started,
    "agentfp.agent.iteration_end": RunSpans.iteration_ended,
    "agentfp.agent.route_decided": RunSpans.routed,
    "agentfp.agent.turn_end": RunSpans.turn_ended,
    "agentfp.agent.output_attempt": RunSpans.judged,
    "agentfp.answer.assessed": RunSpans.assessed,
    "agentfp.answer.drafted": RunSpans.judged,
    "agentfp.answer.not_assessed": RunSpans.judged,
    "agentfp.approval.decided": RunSpans.approved,
    "agentfp.context.blob": RunSpans.blob,
    "agentfp.context.served": RunSpans.served,
    "agentfp.cost.tick": RunSpans.priced,
    "agentfp.error.fatal": RunSpans.failed,
    "agentfp.error.retried": RunSpans.attempt_failed,
    "agentfp.evidence.checked": RunSpans.evidence_checked,
    "agentfp.hook.verdict": RunSpans.verdict,
    "agentfp.message.added": RunSpans.message,
    "agentfp.model.call_failed": RunSpans.call_failed,
    "agentfp.model.helper_replied": RunSpans.helper_replied,
    "agentfp.pause.request": RunSpans.pause_asked,
    "agentfp.run.cancelled": RunSpans.cancelled,
    "agentfp.run.ended": RunSpans.ended,
    "agentfp.stream.llm_end": RunSpans.replied,
    "agentfp.tool.dispatched": RunSpans.dispatched,
    "agentfp.tool.ended": RunSpans.tool_ended,
    "agentfp.tool.started": RunSpans.tool_started,
}
"""What is done with an event. Any other that is not silent becomes a note, those of plugins included."""
