"""One run of another framework's agent: the evidence it has seen, the revisions it was asked for, its reports and its recording."""

from __future__ import annotations

import ast
import contextlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal

from agentfp.events import AnswerDrafted, AnswerRefused
from agentfp.model import ToolSpec
from agentfp.plugin import AnswerRefusedError, Message, Usage
from agentfp.transcripts import RunRecorder
from agentfp_adapters.policy import GatePolicy
from agentfp_adapters.spans import mark_span
from agentfp_evidence import (
    Action,
    Evidence,
    EvidenceIndex,
    EvidenceReport,
    RecoveryContext,
    UnsupportedValuesError,
    acting_values,
    checked_event,
    decide,
    instruction,
    judge_with,
    revision_note,
)

_log = logging.getLogger("agentfp.adapters")
_OWN = "evidence"
_LONGEST_LITERAL = 1_000_000

PARENT: ContextVar[tuple[GateSession, str] | None] = ContextVar("agentfp_adapters_parent", default=None)
"""The run and the tool call within which another run begins."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply that would be the answer.

    Args:
        value: its text, or data.
        text: what of it is quoted when it is sent back.
        output_type: the type or JSON schema of a typed answer.
    """

    value: Any
    text: str
    output_type: Any = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a reply.

    Args:
        action: what the gate did; None for a reply that is no answer.
        report: the judgement.
        note: what the model is to read with the next request; None when the reply goes out.
    """

    action: Action | None = None
    report: EvidenceReport | None = None
    note: str | None = None


class GateSession:
    """The state of one run. Serves one run and one model call at a time.

    Args:
        policy: the settings.
        framework: what drives the run.
        agent: name of the agent.
        model: name of its model.
        run_id: id of the run.
    """

    def __init__(self, policy: GatePolicy, *, framework: str, agent: str = "", model: str = "", run_id: str | None = None) -> None:
        self.policy = policy
        self.reports: list[tuple[Action, EvidenceReport]] = []
        self.nested: dict[str, tuple[str, list[str]]] = {}
        """By call id: the answer of an agent that ran within that call, and those of its values that its own tools ground."""
        self.partial = False
        """Whether a part of the conversation is not seen here; then nothing is sent back or refused."""
        self.asked = 0
        self._flagged = 0
        self.calls = 0
        """Requests that went out."""
        self.answered = False
        """Whether an answer went out."""
        self._index = EvidenceIndex(given=policy.settings.given)
        self._native: list[Any] = []
        self._messages: list[Message] = []
        self._given: set[str] = set()
        self._parent = PARENT.get()
        self._began = 0.0
        self._pending: Message | None = None
        self._recorder: RunRecorder | None = None
        if policy.record is not None:
            outer = self._outer_recorder()
            within = None if outer is None or self._parent is None else (outer, self._parent[1])
            self._recorder = RunRecorder(
                agent=agent or "agent", provider=framework, model=model, run_id=run_id, plugins=[(_OWN, Evidence.version)], within=within
            )

    def _outer_recorder(self) -> RunRecorder | None:
        return None if self._parent is None else self._parent[0]._recorder

    # --- what the model is shown ---

    def read(self, native: Sequence[Any], convert: Callable[[Any], Iterable[Message]]) -> None:
        """Take in a conversation; what an earlier call of the run saw is not read again.

        Args:
            native: all its messages, in the framework's own form.
            convert: makes our messages of one of them.
        """
        seen, known = self._native, len(self._native)
        same = len(native) >= known and all(a is b or a == b for a, b in zip(seen, native[:known], strict=False))
        fresh = [message for item in (native[known:] if same else native) for message in convert(item)]
        if not same:  # someone rewrote the conversation: what tools served before stays evidence
            had = {_key(message) for message in self._messages}
            fresh = [message for message in fresh if _key(message) not in had]
        self._native = list(native)
        self._index.add(map(_readable, fresh), nested=self._grounds_of(fresh))
        self._messages += fresh
        if self._recorder is not None:
            self._file(fresh)

    def _grounds_of(self, fresh: Iterable[Message]) -> dict[str, list[str]]:
        """What results ground that hand on the answer of a nested agent: their own words, and what that agent's tools ground."""
        found = {}
        for message in fresh:
            if message.role == "tool" and message.tool_call_id in self.nested:
                answer, grounded = self.nested[message.tool_call_id]
                if answer in message.content:
                    found[message.tool_call_id] = [message.content.replace(answer, " "), *grounded]
                elif _same_data(answer, message.content):
                    found[message.tool_call_id] = grounded
        return found

    def give(self, texts: Iterable[str]) -> None:
        """Take in system texts; each counts once."""
        fresh = [text for text in dict.fromkeys(texts) if text and text not in self._given]
        self._given.update(fresh)
        if fresh:
            self._index.give(fresh)

    def called(self, system: Sequence[str], tools: Callable[[], Sequence[ToolSpec]], *, note: str | None = None, model: str = "") -> None:
        """A request goes out.

        Args:
            system: the system texts.
            tools: makes the tools that are offered; asked only when the run is recorded.
            note: the note on a draft that is sent back.
            model: name of the model.
        """
        self.give(system)
        self.calls += 1
        self._began = time.monotonic()
        if self._recorder is not None:
            pieces: list[tuple[str, str, Literal["system", "late"], str]] = [
                ("kernel", f"instructions.{number}", "system", text) for number, text in enumerate(system) if text
            ]
            if note is not None:
                pieces.append((_OWN, "revise.values", "late", note))
            self._recorder.serve(pieces, tools(), model or None)

    # --- what it replies ---

    def replied(self, message: Message, answer: Answer | None, *, usage: Usage | None = None, may_revise: bool = True) -> Verdict:
        """A reply came. Says what becomes of it.

        Args:
            message: the reply as it will stand in the conversation.
            answer: what it answers, if it would be the answer.
            usage: its tokens.
            may_revise: whether the model can be asked again.

        Raises:
            UnsupportedValuesError: the answer is refused.
            AnswerRefusedError: it could not be judged, and the settings say that it is refused then.
        """
        if self._recorder is not None:
            took = int((time.monotonic() - self._began) * 1000)
            self._recorder.replied(calls=len(message.tool_calls), duration_ms=took, usage=usage, text_chars=len(message.content))
        if answer is None or not answer.text.strip():
            self._pending = message
            return Verdict()
        try:
            verdict = self._judge(answer, may_revise)
        except UnsupportedValuesError:
            raise
        except Exception as error:
            verdict = self._not_judged(answer, error)
        if verdict.note is None:
            self._pending = message
            self.answered = True
            self._hand_up(answer, verdict)
        return verdict

    def _judge(self, answer: Answer, may_revise: bool) -> Verdict:
        own = self.policy.settings
        report = judge_with(self._index, answer.value, output_type=answer.output_type, options=self.policy.options)
        action = decide(
            report,
            on_unsupported="flag" if self.partial else own.on_unsupported,
            act_on=own.act_on,
            asked=self.asked,
            flagged_before=self._flagged,
            max_revisions=own.max_revisions,
            may_revise=may_revise,
        )
        after_revision = self.asked > 0
        acting = acting_values(report, own.act_on)
        note = None
        if action == "revision-asked":
            context = RecoveryContext(self.asked + 1, self.calls, self._request(), answer.text, acting)
            note = revision_note(answer.text, acting, instruction(own.recovery_instruction, context))
            self.asked += 1
            self._flagged = len(acting)
        self.reports.append((action, report))
        mark_span(action, report, after_revision=after_revision)
        self._record_judgement(action, report, answer, after_revision=after_revision)
        if action == "refused":
            error = UnsupportedValuesError(acting, candidates=len(report.values), revised=after_revision)
            self._record_refusal(error, answer)
            raise error
        if action == "flagged":
            _log.warning("an answer goes out with %d unsupported values; its report names them", len(report.unsupported))
        return Verdict(action, report, note)

    def _not_judged(self, answer: Answer, error: Exception) -> Verdict:
        if not self.policy.refuse_on_failure:
            _log.error("an answer goes out that could not be judged", exc_info=error)
            return Verdict()
        refusal = AnswerRefusedError("the evidence gate failed to judge the answer", plugin=_OWN)
        self._record_refusal(refusal, answer)
        raise refusal from error

    def _request(self) -> str:
        return next((m.content for m in reversed(self._messages) if m.role == "user" and m.author == "person"), "")

    def _hand_up(self, answer: Answer, verdict: Verdict) -> None:
        """Of a nested run: what its own tools ground is all that its answer grounds where it was asked from."""
        if self._parent is not None and verdict.report is not None:
            outer, call_id = self._parent
            grounded = [
                value.text
                for value in verdict.report.values
                if value.verdict == "supported" and any(self._is_result(source.message) for source in value.sources)
            ]
            outer.nested[call_id] = (answer.text, grounded)

    def _is_result(self, index: int | None) -> bool:
        return index is not None and index < len(self._messages) and self._messages[index].role == "tool"

    # --- the recording ---

    def _file(self, fresh: Iterable[Message]) -> None:
        """Put new messages on the record. The last reply is there once, though it may come back as several messages."""
        recorder, pending = self._recorder, self._pending
        assert recorder is not None
        self._pending = None
        if pending is not None:
            recorder.add(pending)
        for message in fresh:
            if pending is not None and _belongs_to(message, pending):
                continue
            pending = None
            recorder.add(message)

    def _record_judgement(self, action: Action, report: EvidenceReport, answer: Answer, *, after_revision: bool) -> None:
        if self._recorder is None:
            return
        own = self.policy.settings
        event = checked_event(
            report,
            action,
            on_unsupported=own.on_unsupported,
            act_on=own.act_on,
            after_revision=after_revision,
            turns=self._turns(report),
        )
        self._recorder.emit(event, source=_OWN)
        if action == "revision-asked":
            self._recorder.emit(AnswerDrafted(answer.text, f"{_OWN}.values", _OWN), source="kernel")
            self._recorder.route("revision", _OWN)

    def _turns(self, report: EvidenceReport) -> tuple[int, int]:
        """Supported values by their newest carrier: results of this turn, results of turns before."""
        begin = max((i for i, m in enumerate(self._messages) if m.role == "user" and m.author == "person"), default=-1)
        now = before = 0
        for value in report.values:
            places = [source.message for source in value.sources if source.message is not None and self._is_result(source.message)]
            if value.verdict == "supported" and places:
                now += max(places) > begin
                before += max(places) <= begin
        return now, before

    def _record_refusal(self, error: AnswerRefusedError, answer: Answer) -> None:
        if self._recorder is not None:
            self._recorder.emit(AnswerRefused(_OWN, "assess_answer", type(error).__name__, str(error), answer.text))
            self.finish("refused")

    def finish(self, status: Literal["answered", "refused", "failed", "cancelled"]) -> None:
        """The run is over: its recording is completed and kept.

        Args:
            status: how it ended.
        """
        if self._recorder is None:
            return
        if self._pending is not None:
            self._recorder.add(self._pending)
            self._pending = None
        self._recorder.end(status)
        if self._outer_recorder() is None:
            self.policy.keep(self._recorder.record)


def _key(message: Message) -> tuple[Any, ...]:
    return message.role, message.content, message.tool_call_id, tuple((call.id, call.name) for call in message.tool_calls)


def _readable(message: Message) -> Message:
    """A result as data where a framework wrote data down as Python does: ``{'price': 12}``."""
    text = message.content
    if message.role != "tool" or text[:1] not in ("{", "[") or len(text) > _LONGEST_LITERAL:
        return message
    try:
        json.loads(text)
    except ValueError:
        with contextlib.suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return replace(message, content=json.dumps(ast.literal_eval(text), ensure_ascii=False))
    return message


def _belongs_to(message: Message, reply: Message) -> bool:
    calls = {call.id for call in reply.tool_calls}
    return message.role == "assistant" and message.content in reply.content and all(call.id in calls for call in message.tool_calls)


def _same_data(one: str, other: str) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def tool_spec(name: str, description: str | None, schema: Any) -> ToolSpec:
    """A tool as recordings hold it.

    Args:
        name: its name on the wire.
        description: what it does.
        schema: JSON schema of its arguments.
    """
    return ToolSpec(name, description or "", json.dumps(schema, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str))
