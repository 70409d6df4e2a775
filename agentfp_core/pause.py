"""A pause: what a run waits for, as a value that can be stored, shown, answered in part, and resumed elsewhere."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pydantic_core

from agentfp_core import jsontext
from agentfp_core.asks import MAX_FIELDS, TOOL
from agentfp_core.checkpoint import VERSION, read_versioned, record_from, record_json
from agentfp_core.errors import (
    CheckpointError,
    DecisionRequiredError,
    InputRequestError,
    PauseAnswerRequiredError,
    RecordFormatError,
    StaleDecisionError,
    describe_type,
    nearest,
)
from agentfp_core.events.pause import AnswerGiven, QuestionAsked
from agentfp_core.hookspecs import PHASES
from agentfp_core.jsonable import without_surrogates
from agentfp_core.missing import MISSING
from agentfp_core.record import Record
from agentfp_core.state import RunState
from agentfp_core.verdicts import Approval, FieldKind
from agentfp_core.wellformed import misfit


@dataclass(frozen=True, slots=True)
class Question:
    """One open question of a pause.

    Args:
        id: unique; answers are given under it.
        kind: ``value``, ``decision`` (answer with ``approve`` or ``reject``) or ``acknowledge``.
        prompt: what the person reads.
        tool: the tool it is about.
        call_id: the call it is about.
        arguments: the arguments with which the call would run.
        plugin: who asks: a plugin, ``kernel`` for approvals, ``tool`` for tools.
        key: the asker's own name of the question.
        schema: JSON schema that a value must fit.
        context: JSON data for the screen.
        component: name of the part of the screen that shows it.
        pinned: version of the thing asked about.
        required: whether the run can go on without an answer.
        path: call ids that lead to the nested run that asks; empty for this run.
    """

    id: str
    kind: FieldKind
    prompt: str
    tool: str | None = None
    call_id: str | None = None
    arguments: Mapping[str, Any] | None = None
    plugin: str = ""
    key: str = ""
    schema: Mapping[str, Any] | None = None
    context: Any = None
    component: str | None = None
    pinned: str | None = None
    required: bool = True
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Pause:
    """A run that waits for a person. All of it is computed from its record.

    Args:
        id: unique.
        phase: where the run stands: a phase of ``before_tool``, or ``tool``.
        questions: the open questions.
        answered: answers given so far, by question.
        record: the record up to here.
        paused_ns: when it began, nanoseconds since 1970.
        expires_ns: until when it can be answered.
    """

    id: str
    phase: str
    questions: tuple[Question, ...]
    answered: Mapping[str, Any]
    record: Record
    paused_ns: int
    expires_ns: int | None = None

    @classmethod
    def of(cls, record: Record, state: RunState | None = None) -> Pause:
        """The pause that a record ends in.

        Args:
            record: the record.
            state: the state at its end, where it is known; else it is computed.

        Raises:
            CheckpointError: the record does not end in one.
        """
        state = RunState.of(record) if state is None else state
        request, event = state.pause, state.pause_event
        if request is None or event is None:
            raise CheckpointError("this record does not end in an open question; a run that is not paused cannot be resumed")
        if state.batch is None or request.phase not in (*PHASES["before_tool"], TOOL):
            raise CheckpointError("this record's question is about no open call; the record was changed")
        left = [q for q in request.questions if q.id not in state.pause_answers]
        round_ = sorted(left, key=lambda q: not q.required)[:MAX_FIELDS]
        open_questions = tuple([_question(q, state, record) for q in left if q in round_])
        answered = {key: decode_answer(text) for key, text in state.pause_answers.items()}
        return cls(request.pause_id, request.phase, open_questions, answered, record.sealed(), event.ts_ns, request.expires_ns)

    def __repr__(self) -> str:
        asked = ", ".join(question.tool or question.key for question in self.questions)
        return f"Pause({self.id!r}, phase={self.phase!r}, {len(self.questions)} questions: {asked})"

    @property
    def expires_at(self) -> datetime.datetime | None:
        """Until when it can be answered."""
        return None if self.expires_ns is None else datetime.datetime.fromtimestamp(self.expires_ns / 1e9, datetime.UTC)

    @property
    def root_id(self) -> str:
        """Id of the conversation."""
        return self.record.root_id

    @property
    def run_id(self) -> str:
        """Id of the run leg that paused."""
        return self.record.run_id

    def to_json(self) -> str:
        """The pause as JSON text. It holds the conversation, unmasked: keep it on the server, or sign it.

        ``id`` and ``questions`` in it are for reading; :meth:`from_json` takes everything from the record.
        """
        shown = [{"id": q.id, "kind": q.kind, "tool": q.tool, "prompt": q.prompt} for q in self.questions]
        head = without_surrogates(json.dumps({"version": VERSION, "kind": "pause", "id": self.id, "questions": shown}, ensure_ascii=False))
        return f'{head[:-1]}, "record": {record_json(self.record)}}}'

    @classmethod
    def from_json(cls, text: str | bytes) -> Pause:
        """Read what :meth:`to_json` wrote.

        Raises:
            CheckpointError: the text is no pause, or of a version that this library does not read.
        """
        record = record_from(read_versioned(text, "pause"))
        try:
            return cls.of(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, CheckpointError):
                raise
            why = str(error) if isinstance(error, RecordFormatError) else f"{type(error).__name__} in a question"
            raise CheckpointError(f"the pause cannot be read from its record: {why}") from error


def _arguments(asked: QuestionAsked, state: RunState, record: Record) -> dict[str, Any] | None:
    """The arguments of the call that a question is about, in the nested run that asks if it is one."""
    for call_id in asked.path:
        child = record.children.get(call_id)
        if child is None:
            return None
        record, state = child, RunState.of(child)
    asking = state.pause
    inner = next((q.tool_call_id for q in asking.questions if q.id == asked.id), None) if asking is not None else None
    return current_arguments(state, inner or asked.tool_call_id)


def _question(asked: QuestionAsked, state: RunState, record: Record) -> Question:
    return Question(
        id=asked.id,
        kind=asked.kind,
        prompt=asked.prompt,
        tool=asked.tool,
        call_id=asked.tool_call_id,
        arguments=_arguments(asked, state, record),
        plugin=asked.plugin,
        key=asked.key,
        schema=None if asked.schema is None else jsontext.parse(asked.schema),
        context=None if asked.context is None else jsontext.parse(asked.context),
        component=asked.component,
        pinned=asked.pinned,
        required=asked.required,
        path=asked.path,
    )


def current_arguments(state: RunState, call_id: str | None) -> dict[str, Any] | None:
    """The arguments with which a call of the open batch would run."""
    if state.batch is None:
        return None
    for call in state.batch.calls:
        if call.id == call_id:
            given = [e.payload.arguments for e in state.batch.verdicts if e.call_id == call_id and e.payload.arguments]  # type: ignore[attr-defined]
            parsed = pydantic_core.from_json(given[-1]) if given else call.arguments
            return parsed if isinstance(parsed, dict) else {}
    return None


# --- answers -------------------------------------------------------------------------------------------------------------


def encode_answer(answer: Any) -> str:
    """An answer as JSON text for the record."""
    if isinstance(answer, Approval):
        data: dict[str, Any] = {"approved": answer.approved, "by": answer.by, "note": answer.note, "pinned": answer.pinned}
        if answer.args is not None:
            data["args"] = dict(answer.args)
        return without_surrogates(jsontext.canonical({"approval": data}))
    return without_surrogates(jsontext.canonical({"value": answer}))


def decode_answer(text: str) -> Any:
    """The inverse of :func:`encode_answer`."""
    data = pydantic_core.from_json(text)
    if "approval" in data:
        return Approval(**data["approval"])
    return data["value"]


def read_answers(pause: Pause, answers: Any) -> dict[str, Any]:
    """Check what was answered against the questions; nothing is changed.

    Args:
        pause: the pause.
        answers: answers by question id, or one answer when there is one open question.

    Returns:
        The answers by question id.

    Raises:
        PauseAnswerRequiredError: nothing was answered.
        DecisionRequiredError: an approval was answered with something else.
        StaleDecisionError: the answer is about another version of the thing.
        InputRequestError: a question is unknown or was answered before, or a value does not fit.
    """
    by_id = {question.id: question for question in pause.questions}
    first = pause.questions[0] if pause.questions else None
    skipped = isinstance(answers, Mapping) and not answers and not any(question.required for question in pause.questions)
    if answers is MISSING or answers is None or (answers == {} and not skipped):
        raise PauseAnswerRequiredError(first.tool if first else None, first.call_id if first else None)
    if not isinstance(answers, Mapping) or not (skipped or set(answers) & set(by_id) or all(str(key).startswith("q_") for key in answers)):
        if len(by_id) != 1 or first is None:
            raise InputRequestError(f"the pause has {len(by_id)} open questions; pass a mapping of question id to answer")
        answers = {first.id: answers}
    result = {}
    for key, answer in answers.items():
        question = by_id.get(key)
        if question is None:
            why = "was answered already" if key in pause.answered else f"is not asked by this pause; {nearest(str(key), by_id)}"
            raise InputRequestError(f"question {key!r} {why}")
        result[key] = _fit(question, answer)
    return result


def _fit(question: Question, answer: Any) -> Any:
    if isinstance(answer, Mapping) and isinstance(answer.get("approved"), bool) and question.kind != "value":
        try:
            answer = Approval(**answer)
        except TypeError as error:
            raise DecisionRequiredError(question.tool, describe_type(dict(answer))) from error
    if question.kind == "decision" and not isinstance(answer, Approval):
        raise DecisionRequiredError(question.tool, describe_type(answer))
    wrong = misfit(answer)
    if wrong is not None:
        raise InputRequestError(f"the answer to question {question.id!r} is malformed: {wrong}")
    pinned = answer.pinned if isinstance(answer, Approval) else None
    if question.pinned is not None and pinned is not None and question.pinned != pinned:
        raise StaleDecisionError(question.pinned, pinned)
    try:
        answer = decode_answer(encode_answer(answer))  # what is handed on is what the record keeps
    except ValueError as error:
        raise InputRequestError(f"the answer to question {question.id!r} must be JSON data, got {describe_type(answer)}") from error
    if question.kind == "value" and not isinstance(answer, Approval):
        _fit_schema(question, answer)
    return answer


def _fit_schema(question: Question, answer: Any) -> None:
    if question.schema is None:
        return
    import jsonschema

    try:
        jsonschema.validate(answer, dict(question.schema))
    except jsonschema.ValidationError as error:
        path = error.json_path
        raise InputRequestError(
            f"the answer to question {question.id!r} ({question.key!r}) does not fit at {path}: it fails {error.validator!r}"
        ) from None  # the validator's own words show the value
    except jsonschema.SchemaError:
        return


def given(answers: Mapping[str, Any]) -> tuple[AnswerGiven, ...]:
    """Answers for the record."""
    return tuple(AnswerGiven(key, encode_answer(value)) for key, value in answers.items())
