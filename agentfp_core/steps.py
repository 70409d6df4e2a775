"""Folds a record into steps: what each model call was served, what it replied, what became of its calls, who stepped in.

It reads whatever is there: events of types that are not installed are counted, masked texts stand as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agentfp_core.events.base import UnknownPayload, words_of
from agentfp_core.redaction import PLACEHOLDER

if TYPE_CHECKING:
    from agentfp_core.events.base import Event
    from agentfp_core.record import Record

Step = dict[str, Any]
"""JSON data, with ``kind`` and ``seq``."""


def walk(record: Record) -> dict[str, Any]:
    """The steps of a record, as JSON data.

    Args:
        record: live, recorded or read from a journal.

    Returns:
        ``steps`` in order; ``kind`` is leg, message, model_call, intervention, pause, answers, limit, failure, event or end. Steps of
        nested runs stand with the calls that ran them, as ``nested``.
    """
    walker = StepFold()
    for event in record:
        walker.take(event)
    for call_id, child in record.children.items():
        if call_id in walker.calls:
            walked = walk(child)
            walker.calls[call_id]["nested"] = {key: walked[key] for key in ("conversation", "redacted", "steps", "unknown_events")}
    made: dict[str, Any] = {
        "conversation": record.root_id,
        "legs": len(record.headers),
        "events": walker.events,
        "redacted": list(record.redacted),
        "steps": walker.steps,
        "unknown_events": walker.unknown,
    }
    if record.torn_line is not None:
        made["torn_line"] = record.torn_line
    return made


class StepFold:
    """The fold: takes events, and keeps their steps until they are handed out."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.unknown: dict[str, int] = {}
        self.events = 0
        self.calls: dict[str, Step] = {}
        self._call: Step | None = None
        self._asked_by = "user"
        self._blobs: dict[str, str] = {}
        self._owners: dict[str, Step] = {}
        self._settling: list[Step] = []
        self._tools = 0
        self._pieces = 0
        self._handlers: Mapping[str, Callable[[Event, Any], None]] = {
            "agentfp.agent.run_configured": self._leg,
            "agentfp.message.added": self._message,
            "agentfp.context.blob": self._blob,
            "agentfp.context.served": self._served,
            "agentfp.stream.llm_end": self._replied,
            "agentfp.cost.tick": self._cost,
            "agentfp.tool.started": self._started,
            "agentfp.tool.ended": self._ended,
            "agentfp.hook.verdict": self._verdict,
            "agentfp.approval.decided": self._decided,
            "agentfp.answer.drafted": self._drafted,
            "agentfp.agent.output_schema_retry": self._schema_retry,
            "agentfp.answer.refused": self._refused,
            "agentfp.pause.request": self._paused,
            "agentfp.pause.answered": self._answers,
            "agentfp.pause.resume": self._answers,
            "agentfp.pause.abandoned": self._abandoned,
            "agentfp.agent.budget_exhausted": self._exhausted,
            "agentfp.plugin.failed": self._plugin_failed,
            "agentfp.error.fatal": self._fatal,
            "agentfp.run.cancelled": self._cancelled,
            "agentfp.run.ended": self._run_ended,
        }

    def take(self, event: Event) -> None:
        """Fold one event in."""
        self.events += 1
        if isinstance(event.payload, UnknownPayload):
            self.unknown[event.name] = self.unknown.get(event.name, 0) + 1
            if self._call is not None:
                self._call.setdefault("other_events", []).append({"seq": event.seq, "name": event.name, "source": event.source})
            return
        handler = self._handlers.get(event.name)
        if handler is not None:
            handler(event, event.payload)
            return
        text = words_of(event.payload)
        if text is not None:
            self._told(event, text)

    def _told(self, event: Event, text: str) -> None:
        """An event that has words of its own: it stands with the model call that is under way, else for itself."""
        if self._call is None:
            self._step(event, "event", name=event.name, source=event.source, text=text)
            return
        what = {"seq": event.seq, "name": event.name, "source": event.source, "text": text}
        self._call.setdefault("events", []).append(what)

    def finished(self, *, last: bool = False) -> Iterator[Step]:
        """Hand out, and forget, the steps to which nothing can be added any more.

        Args:
            last: nothing more comes, so that all are.
        """
        while self.steps and (last or not self._open(self.steps[0])):
            step = self.steps.pop(0)
            for call in step.get("calls", ()):
                self.calls.pop(call["id"], None)
                self._owners.pop(call["id"], None)
            yield step

    def _open(self, step: Step) -> bool:
        if step is self._call or step is self.steps[-1] or any(step is other for other in self._settling):
            return True
        return any(call["outcome"] is None for call in step.get("calls", ()))

    def _step(self, event: Event, kind: str, **values: Any) -> Step:
        step = {"kind": kind, "seq": event.seq, "turn": event.turn, **{k: v for k, v in values.items() if v is not None}}
        self.steps.append(step)
        return step

    # --- legs and messages ---

    def _leg(self, event: Event, payload: Any) -> None:
        plugins = [f"{plugin.name} {plugin.version}" for plugin in payload.plugins]
        problems = list(payload.plugin_problems) or None
        self._call = None
        self._step(
            event, "leg", leg=payload.leg, agent=payload.agent_id, provider=payload.provider, model=payload.model, plugins=plugins,
            tools=list(payload.tools), plugin_problems=problems,
        )  # fmt: skip

    def _message(self, event: Event, payload: Any) -> None:
        if payload.role == "user":
            self._call, self._asked_by = None, "user"
            self._step(event, "message", author=payload.author, text=payload.content or "")
        elif payload.role == "assistant":
            self._reply(payload)
        elif payload.role == "tool" and payload.tool_call_id in self.calls:
            call = self.calls[payload.tool_call_id]
            if payload.content is not None and payload.content_of is None:
                call["served_as"] = payload.content
            if payload.notes:
                call["notes"] = list(payload.notes)

    def _reply(self, payload: Any) -> None:
        if self._call is None:
            return
        proposed_calls = payload.tool_calls or ()
        to = [{"from": "llm", "to": "tool", "via": proposed.name} for proposed in proposed_calls] or [{"from": "llm", "to": "user"}]
        self._call["transitions"] += to
        self._asked_by = "tool" if proposed_calls else "user"
        if payload.content:
            self._call["text"] = payload.content
        if payload.own is not None:
            self._call["own_text"] = payload.own
        for proposed in proposed_calls:
            call = {"id": proposed.id, "tool": proposed.name, "arguments": proposed.arguments, "outcome": None}
            self.calls[proposed.id] = call
            self._owners[proposed.id] = self._call
            self._call["calls"].append(call)

    # --- model calls ---

    def _served(self, event: Event, payload: Any) -> None:
        if payload.tools is not None:
            self._tools = len(payload.tools)
        if payload.pieces is not None:
            self._pieces = len(payload.pieces)
        served = {
            "messages": payload.messages,
            "tools": self._tools,
            "pieces": self._pieces,
            "system_chars": payload.system_chars,
            "message_chars": payload.message_chars,
            "receipt": payload.receipt,
        }
        self._settling.clear()
        made_of = self._made_of(payload)
        if made_of:
            served["made_of"] = made_of
        if payload.edits:
            served["edits"] = [{"op": edit.op, "plugin": edit.plugin, "target": edit.target} for edit in payload.edits]
        self._call = self._step(event, "model_call", call=payload.call, iteration=event.iteration, served=served, model=payload.model)
        self._call |= {"replied": False, "calls": [], "transitions": [{"from": self._asked_by, "to": "llm"}]}

    def _made_of(self, payload: Any) -> dict[str, Any]:
        """What changed in what requests are made of, besides the messages, as hashes that compare with those of other records."""
        made: dict[str, Any] = {}
        if payload.pieces is not None:
            made["pieces"] = [
                {"plugin": p.plugin, "key": p.key, "slot": p.slot, "sha256": self._blobs.get(p.digest)} for p in payload.pieces
            ]
        if payload.tools is not None:
            made["tools"] = [{"name": tool.name, "sha256": self._blobs.get(tool.digest)} for tool in payload.tools]
        if payload.params is not None:
            made["params"] = payload.params
        return made

    def _blob(self, event: Event, payload: Any) -> None:
        self._blobs[payload.digest] = hashlib.sha256(payload.body.encode("utf-8", "surrogatepass")).hexdigest()

    def _replied(self, event: Event, payload: Any) -> None:
        if self._call is None:
            return
        self._call |= {
            "replied": True,
            "replied_seq": event.seq,
            "stop": payload.stop_reason,
            "duration_ms": payload.duration_ms,
            "input_tokens": payload.input_tokens,
            "output_tokens": payload.output_tokens,
        }

    def _cost(self, event: Event, payload: Any) -> None:
        if self._call is not None and payload.purpose is None:
            self._call["usd"] = payload.usd

    # --- tool calls ---

    def _started(self, event: Event, payload: Any) -> None:
        call = self.calls.get(event.call_id or "")
        if call is not None and payload.tool is not None:
            call["tool"] = payload.tool  # said in full, also where what the model wrote is masked

    def _ended(self, event: Event, payload: Any) -> None:
        call = self.calls.get(event.call_id or "")
        if call is None:
            return
        self._settling.append(self._owners[event.call_id or ""])  # what the model read of it comes later
        call |= {"outcome": payload.outcome, "ran": payload.ran, "duration_ms": payload.duration_ms, "result": payload.content}
        for name in ("error_class", "error", "cause", "private"):
            if getattr(payload, name) is not None:
                call[name] = getattr(payload, name)

    def _verdict(self, event: Event, payload: Any) -> None:
        verdict = {
            name: getattr(payload, name)
            for name in ("plugin", "phase", "verdict", "reason", "rule", "text", "arguments")
            if getattr(payload, name) is not None
        }
        call = self.calls.get(event.call_id or "")
        if call is not None:
            call.setdefault("verdicts", []).append(verdict)
        elif payload.verdict == "Revise":
            self._step(event, "intervention", moment=payload.moment, carried_out=False, **verdict)
        else:
            self._step(event, "intervention", moment=payload.moment, **verdict)

    def _decided(self, event: Event, payload: Any) -> None:
        call = self.calls.get(event.call_id or "")
        if call is not None:
            decision = {
                "approved": payload.approved,
                "by": payload.by,
                "note": payload.note,
                "arguments_changed": payload.arguments_changed,
            }
            call["approval"] = {key: value for key, value in decision.items() if value is not None}

    # --- answers ---

    def _drafted(self, event: Event, payload: Any) -> None:
        if self._call is not None:
            self._call["draft"] = payload.text
        step = self._verdict_before("Revise", payload.by) or self._step(
            event, "intervention", moment="assess_answer", plugin=payload.by, verdict="Revise"
        )
        step |= {"carried_out": True, "key": payload.key, "draft": payload.text}

    def _verdict_before(self, verdict: str, plugin: str) -> Step | None:
        """The step of the verdict that an event carries out: the last one, of the same plugin."""
        last = self.steps[-1] if self.steps else {}
        return last if last.get("verdict") == verdict and last.get("plugin") == plugin else None

    def _schema_retry(self, event: Event, payload: Any) -> None:
        self._step(
            event, "intervention", moment="assess_answer", plugin="kernel", verdict="Revise", key="output_schema", reason=payload.error
        )

    def _refused(self, event: Event, payload: Any) -> None:
        step = self._verdict_before("Refuse", payload.by) or self._step(
            event, "intervention", moment=payload.moment, plugin=payload.by, verdict="Refuse"
        )
        step |= {"reason": payload.reason, "error_class": payload.error_class}
        if payload.text is not None:
            step["text"] = payload.text

    # --- pauses ---

    def _paused(self, event: Event, payload: Any) -> None:
        questions = [
            {"id": q.id, "kind": q.kind, "plugin": q.plugin, "tool": q.tool, "call": q.tool_call_id, "prompt": q.prompt}
            for q in payload.questions
        ]
        self._step(event, "pause", pause=payload.pause_id, phase=payload.phase, questions=questions)

    def _answers(self, event: Event, payload: Any) -> None:
        waited = getattr(payload, "paused_duration_ms", None)
        answers = {answer.id: _answer(answer.value) for answer in payload.answers}
        self._step(event, "answers", pause=payload.pause_id, answers=answers, waited_ms=waited)

    def _abandoned(self, event: Event, payload: Any) -> None:
        self._step(event, "intervention", moment="pause", plugin="kernel", verdict="Abandon", reason="the question was dropped")

    # --- ends ---

    def _exhausted(self, event: Event, payload: Any) -> None:
        self._step(event, "limit", reason=payload.reason, action=payload.action, pending_tool_calls=payload.pending_tool_calls)

    def _plugin_failed(self, event: Event, payload: Any) -> None:
        self._step(
            event, "failure", plugin=payload.plugin, moment=payload.moment, phase=payload.phase, policy=payload.policy,
            error_class=payload.error_class, error=payload.error,
        )  # fmt: skip

    def _fatal(self, event: Event, payload: Any) -> None:
        self._step(event, "failure", stage=payload.stage, scope=payload.scope, error_class=payload.error_class, error=payload.error)

    def _cancelled(self, event: Event, payload: Any) -> None:
        self._step(event, "failure", stage=payload.phase, scope="run", error_class=payload.cause, error=payload.tool_name)

    def _run_ended(self, event: Event, payload: Any) -> None:
        self._settling.clear()
        self._step(event, "end", status=payload.status, duration_ms=payload.duration_ms)


def _answer(text: str) -> Any:
    """An answer as data; what was masked stays what it is."""
    import json

    try:
        data = json.loads(text)
    except ValueError:
        return PLACEHOLDER if text == PLACEHOLDER else text
    if isinstance(data, dict) and len(data) == 1:
        return next(iter(data.values()))
    return data
