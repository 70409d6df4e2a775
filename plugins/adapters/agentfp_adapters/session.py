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

from agentfp.model import ToolSpec
from agentfp.plugin import AnswerRefusedError, Message, Usage
from agentfp_adapters.nested import NestedAnswer, grounds_of
from agentfp_adapters.policy import GatePolicy
from agentfp_adapters.recording import RunRecording
from agentfp_adapters.spans import mark_span
from agentfp_evidence import (
    Action,
    EvidenceIndex,
    EvidenceReport,
    RecoveryContext,
    UnsupportedValuesError,
    acting_values,
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
        self.nested: dict[str, list[NestedAnswer]] = {}
        """By call id: the answers of agents that ran within that call."""
        self.partial = False
        """Whether a part of the conversation is not seen here; then nothing is sent back or refused."""
        self.asked = 0
        self._flagged = 0
        self.calls = 0
        """Requests that went out."""
        self.answered = False
        """Whether an answer went out."""
        self.waiting: set[str] = set()
        """Calls of functions that have not begun."""
        self.spent = Usage()
        """Tokens of all replies so far, drafts included."""
        self._index = EvidenceIndex(given=policy.settings.given)
        self._native: list[Any] = []
        self._messages: list[Message] = []
        self._given: set[str] = set()
        self._unread: Exception | None = None
        """Why a conversation could not be read; an answer cannot be judged then."""
        self._parent = PARENT.get()
        self._began = 0.0
        self._recording: RunRecording | None = None
        if policy.record is not None:
            outer = None if self._parent is None else self._parent[0]._recording
            within = None if outer is None or self._parent is None else (outer, self._parent[1])
            self._recording = RunRecording(policy, framework, agent, model, run_id, within)

    # --- what the model is shown ---

    def read(self, native: Sequence[Any], convert: Callable[[Any], Iterable[Message]]) -> None:
        """Take in a conversation; what an earlier call of the run saw is not read again.

        Args:
            native: all its messages, in the framework's own form.
            convert: makes our messages of one of them.
        """
        try:
            self._take_in(native, convert)
        except Exception as error:
            self._unread = error

    def _take_in(self, native: Sequence[Any], convert: Callable[[Any], Iterable[Message]]) -> None:
        seen, known = self._native, len(self._native)
        same = len(native) >= known and all(a is b or a == b for a, b in zip(seen, native[:known], strict=False))
        fresh = [message for item in (native[known:] if same else native) for message in convert(item)]
        if not same:  # someone rewrote the conversation: what tools served before stays evidence
            had = {_key(message) for message in self._messages}
            fresh = [message for message in fresh if _key(message) not in had]
        self._native = list(native)
        self._index.add(map(_readable, fresh), nested=self._grounds_of(fresh))
        self._messages += fresh
        if self._recording is not None:
            self._recording.read(fresh)

    def _grounds_of(self, fresh: Iterable[Message]) -> dict[str, list[str]]:
        """What results ground that hand on the answer of a nested agent: their own words, and what that agent's tools ground."""
        found = {}
        for message in fresh:
            if message.role == "tool" and message.tool_call_id in self.nested:
                found[message.tool_call_id] = grounds_of(message.content, self.nested[message.tool_call_id])
        return found

    def next_turn(self) -> None:
        """After an answer of the run the person asks anew: the revisions of that turn are its own."""
        self.answered = False
        self.asked = self._flagged = 0

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
        if self._recording is not None:
            self._recording.called(system, tools, note, model)

    # --- what it replies ---

    def replied(self, message: Message, answer: Answer | None, *, usage: Usage | None = None) -> Verdict:
        """A reply came. Says what becomes of it.

        Args:
            message: the reply as it will stand in the conversation.
            answer: what it answers, if it would be the answer.
            usage: its tokens.

        Raises:
            UnsupportedValuesError: the answer is refused.
            AnswerRefusedError: it could not be judged, and the settings say that it is refused then.
        """
        if usage is not None:
            self.spent += usage
        if self._recording is not None:
            self._recording.replied(message, usage, int((time.monotonic() - self._began) * 1000))
        verdict = Verdict()
        if answer is not None and answer.text.strip():
            verdict = self._guarded(answer)
            if verdict.note is None:
                self.answered = True
                self._hand_up(answer, verdict)
        if verdict.note is None and self._recording is not None:
            self._recording.accepted(message)
        return verdict

    def _guarded(self, answer: Answer) -> Verdict:
        try:
            return self._judge(answer)
        except UnsupportedValuesError:
            raise
        except Exception as error:
            return self._not_judged(answer, error)

    def _judge(self, answer: Answer) -> Verdict:
        if self._unread is not None:
            raise self._unread
        own = self.policy.settings
        report = judge_with(self._index, answer.value, output_type=answer.output_type, options=self.policy.options)
        action = decide(
            report,
            on_unsupported="flag" if self.partial else own.on_unsupported,
            act_on=own.act_on,
            asked=self.asked,
            flagged_before=self._flagged,
            max_revisions=own.max_revisions,
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
        if self._recording is not None:
            self._recording.judged(action, report, answer.text, after_revision=after_revision, turns=self._turns(report))
        if action == "refused":
            error = UnsupportedValuesError(acting, candidates=len(report.values), revised=after_revision, usage=self.spent)
            if self._recording is not None:
                self._recording.refused(error, answer.text)
            raise error
        if action == "flagged":
            _log.warning("an answer goes out with %d unsupported values; its report names them", len(report.unsupported))
        return Verdict(action, report, note)

    def _not_judged(self, answer: Answer, error: Exception) -> Verdict:
        if not self.policy.refuse_on_failure:
            _log.error("an answer goes out that could not be judged", exc_info=error)
            return Verdict()
        refusal = AnswerRefusedError("the evidence gate failed to judge the answer", plugin=_OWN)
        if self._recording is not None:
            self._recording.refused(refusal, answer.text)
        raise refusal from error

    def _request(self) -> str:
        return next((m.content for m in reversed(self._messages) if m.role == "user" and m.author == "person"), "")

    def _hand_up(self, answer: Answer, verdict: Verdict) -> None:
        """Of a nested run: what its own tools ground is all that its answer grounds where it was asked from."""
        if self._parent is not None and verdict.report is not None:
            outer, call_id = self._parent
            grounded: list[str] = []
            others: list[str] = []
            for value in verdict.report.values:
                own = value.verdict == "supported" and any(self._is_result(source.message) for source in value.sources)
                (grounded if own else others).append(value.text)
            outer.nested.setdefault(call_id, []).append(NestedAnswer(answer.text, grounded, others))

    def _is_result(self, index: int | None) -> bool:
        return index is not None and index < len(self._messages) and self._messages[index].role == "tool"

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

    def finish(self, status: Literal["answered", "paused", "stopped_early", "refused", "failed", "cancelled"]) -> None:
        """The run is over: its recording is completed and kept.

        Args:
            status: how it ended.
        """
        if self._recording is not None:
            self._recording.finish(status)


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


def tool_spec(name: str, description: str | None, schema: Any) -> ToolSpec:
    """A tool as recordings hold it.

    Args:
        name: its name on the wire.
        description: what it does.
        schema: JSON schema of its arguments.
    """
    return ToolSpec(name, description or "", json.dumps(schema, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str))
