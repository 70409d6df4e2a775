"""Domains ``tool`` (the life of a call), ``tools`` (the list of tools, sessions, results) and ``validation``."""

from __future__ import annotations

from typing import Literal

from agentfp_core.events.base import Content, Hash, Name, Number, Payload, event, part

Outcome = Literal["success", "failure", "denied", "invalid", "declined", "partial", "absent", "cancelled", "halted", "abandoned", "unknown"]
SessionEnd = Literal["call-end", "run-end", "session-end", "shutdown", "idle", "evicted"]


@event("agentfp.tool.started")
class ToolStarted(Payload):
    """A proposed call is taken up, before any gate; its arguments stand in the assistant's ``message.added``.

    A name that no tool has stands in ``undeclared``, for the model may have put anything there; ``tool`` is then None.
    """

    tool: Name[str | None] = None
    undeclared: Content[str | None] = None
    parallel_count: Number[int] = 1


@event("agentfp.tool.dispatched")
class ToolDispatched(Payload):
    """These calls passed every gate and run now. One that is dispatched and never ended has an unknown outcome."""

    calls: Name[tuple[str, ...]]


@event("agentfp.tool.ended")
class ToolEnded(Payload):
    """The one outcome of a call, and the one home of the tool's own result, filed the moment there is one."""

    outcome: Name[Outcome]
    duration_ms: Number[int]
    content: Content[str]
    ran: Number[bool] = True
    error_class: Name[str | None] = None
    error: Content[str | None] = None
    parts: Content[str | None] = None
    private: Content[str | None] = None
    fingerprint: Hash[str | None] = None
    cause: Name[str | None] = None
    caused_by_call: Name[str | None] = None
    child_run: Name[str | None] = None


@event("agentfp.tool.progress", kind="transient")
class ToolProgress(Payload):
    """A tool reports how far it is."""

    tool: Name[str]
    data: Content[str]


@part
class ArgumentIssue:
    """One thing wrong with the arguments of a call."""

    path: Content[str]
    expected: Content[str]
    got: Name[str]


@event("agentfp.validation.args_invalid")
class ArgsInvalid(Payload):
    """The arguments of a call do not fit the tool's schema."""

    tool: Name[str]
    issues: tuple[ArgumentIssue, ...]
    enforced: Number[bool]


@event("agentfp.tools.result_refused")
class ResultRefused(Payload):
    """A result exceeded the ceiling that its tool declares; the payload is nowhere."""

    tool: Name[str]
    size_chars: Number[int]
    max_chars: Number[int]
    narrow_by: Name[tuple[str, ...]] = ()

    def __str__(self) -> str:
        return f"the result of {self.tool} has {self.size_chars} characters, over the {self.max_chars} it may have, and was not served"


@event("agentfp.tools.repeated_call")
class RepeatedCall(Payload):
    """The same call gave the same result again; the model was told once."""

    tool: Name[str]
    occurrences: Number[int]
    fingerprint: Hash[str]
    mode: Name[Literal["result", "arguments"]] = "result"


@event("agentfp.tools.changed")
class ToolsChanged(Payload):
    """The tools of a run changed while it went on."""

    added: Name[tuple[str, ...]] = ()
    removed: Name[tuple[str, ...]] = ()
    owner: Name[str] = "kernel"


@event("agentfp.tools.answered_off_wire", kind="diagnostic")
class AnsweredOffWire(Payload):
    """The model called a tool that was not on the wire of this call."""

    tool: Name[str]


@event("agentfp.tools.session_started")
class SessionStarted(Payload):
    """A tool registered its first cleanup under a key. Only a digest of the key is recorded."""

    tool: Name[str]
    scope: Name[str]
    key_hash: Hash[str]
    label: Content[str | None] = None


@event("agentfp.tools.session_reused", kind="diagnostic")
class SessionReused(Payload):
    """A tool touched a session that is open already."""

    tool: Name[str]
    scope: Name[str]
    key_hash: Hash[str]
    calls: Number[int]


@event("agentfp.tools.session_closed")
class SessionClosed(Payload):
    """The cleanup of a session ran."""

    tool: Name[str]
    scope: Name[str]
    key_hash: Hash[str]
    reason: Name[SessionEnd]
    duration_ms: Number[int]


@event("agentfp.tools.session_close_failed")
class SessionCloseFailed(Payload):
    """The cleanup of a session raised or did not end in time."""

    tool: Name[str]
    scope: Name[str]
    key_hash: Hash[str]
    reason: Name[SessionEnd]
    duration_ms: Number[int]
    error_class: Name[str]
    error: Content[str | None] = None
