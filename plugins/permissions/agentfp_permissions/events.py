"""What stands on the record: the role of a run, and each question that was asked about a call. Neither arguments nor history are in it."""

from __future__ import annotations

from typing import Literal

from agentfp.plugin import Content, Hash, Name, Number, Payload, event

Phase = Literal["screen", "authorize"]
Result = Literal["allow", "deny", "halt"]
RoleFrom = Literal["options", "identity", "settings"]


@event("agentfp.permission.check")
class PermissionChecked(Payload):
    """A checker, or all of them, answered one question about a call.

    ``checker`` is None where all of them allowed. ``again`` marks the question of a resume about a call that was decided before.
    """

    capability: Name[str]
    target: Name[str]
    result: Name[Result]
    phase: Name[Phase]
    checker: Name[str | None] = None
    policy_rule_id: Name[str | None] = None
    rationale: Content[str | None] = None
    policy_hash: Hash[str | None] = None
    role: Name[str | None] = None
    role_from: Name[RoleFrom | None] = None
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


@event("agentfp.permission.role")
class PermissionRole(Payload):
    """A run was started in a role that its caller named. All legs of the turn go on in it, whatever the settings say."""

    role: Name[str]

    def __str__(self) -> str:
        return f"the run goes in role {self.role!r}"
