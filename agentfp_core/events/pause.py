"""Domains ``pause`` and ``approval``: questions to a person and their answers."""

from __future__ import annotations

from typing import Literal

from agentfp_core.events.base import Content, Name, Number, Payload, event, part


@part
class QuestionAsked:
    """One question of a pause."""

    id: Name[str]
    kind: Name[Literal["value", "decision", "acknowledge"]]
    plugin: Name[str]
    key: Name[str]
    prompt: Content[str]
    tool_call_id: Name[str | None] = None
    tool: Name[str | None] = None
    schema: Content[str | None] = None
    context: Content[str | None] = None
    component: Content[str | None] = None
    pinned: Content[str | None] = None
    required: Number[bool] = True
    path: Name[tuple[str, ...]] = ()
    asker: Number[int] = 0


@event("agentfp.pause.request")
class PauseRequest(Payload):
    """The run waits for a person."""

    pause_id: Name[str]
    phase: Name[str]
    questions: tuple[QuestionAsked, ...]
    expires_ns: Number[int | None] = None


@part
class AnswerGiven:
    """The answer to one question, as JSON text."""

    id: Name[str]
    value: Content[str]


@event("agentfp.pause.answered")
class PauseAnswered(Payload):
    """Some of the questions were answered; nothing has run."""

    pause_id: Name[str]
    answers: tuple[AnswerGiven, ...]


@event("agentfp.pause.resume")
class PauseResume(Payload):
    """The run goes on."""

    pause_id: Name[str]
    answers: tuple[AnswerGiven, ...]
    paused_duration_ms: Number[int]


@event("agentfp.pause.abandoned")
class PauseAbandoned(Payload):
    """The question was dropped; its calls were settled without running."""

    pause_id: Name[str]


@event("agentfp.approval.decided")
class ApprovalDecided(Payload):
    """A person decided over a call."""

    tool: Name[str]
    approved: Number[bool]
    by: Content[str | None] = None
    note: Content[str | None] = None
    arguments_changed: Number[bool] = False
