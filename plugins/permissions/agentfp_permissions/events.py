"""What stands on the record of each question that was asked about a call. Neither arguments nor history are in it."""

from __future__ import annotations

from typing import Literal

from agentfp.plugin import Content, Hash, Name, Number, Payload, event

Result = Literal["allow", "deny", "halt"]


@event("agentfp.permission.check")
class PermissionChecked(Payload):
    """A checker, or all of them, answered one question about a call.

    ``checker`` is None where all of them allowed. ``again`` marks the question of a resume about a call that was decided before.
    """

    capability: Name[str]
    target: Name[str]
    result: Name[Result]
    phase: Name[Literal["screen", "authorize"]]
    checker: Name[str | None] = None
    policy_rule_id: Name[str | None] = None
    rationale: Content[str | None] = None
    policy_hash: Hash[str | None] = None
    role: Name[str | None] = None
    role_from: Name[Literal["options", "identity", "settings"] | None] = None
    actor: Name[str] = "agent"
    sequence_length: Number[int] = 0
    again: Number[bool] = False

    def __str__(self) -> str:
        rule = f" by {self.policy_rule_id}" if self.policy_rule_id else ""
        return f"{self.capability} of {self.target}: {self.result}{rule}{f', {self.rationale}' if self.rationale else ''}"


@event("agentfp.permission.halt")
class PermissionHalted(Payload):
    """A checker ended the run over a call. ``sequence_length`` counts the calls of the turn that ran or run, this one apart."""

    target: Name[str]
    reason: Content[str]
    sequence_length: Number[int]
    checker: Name[str | None] = None
    policy_rule_id: Name[str | None] = None
    tell_model: Content[str | None] = None

    def __str__(self) -> str:
        return f"the run is halted at {self.target}: {self.reason}"
