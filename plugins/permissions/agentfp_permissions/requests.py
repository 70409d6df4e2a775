"""What a checker is asked, and what a checker is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from agentfp.plugin import Allow, Deny, Halt, History, Identity
from agentfp_permissions.calls import PastCall

Capability: TypeAlias = Literal["tool_call", "skill_read", "memory_read", "memory_write", "external_net", "user_data"]
DECLARABLE = ("memory_read", "memory_write", "external_net", "user_data")
"""What a tool may say that it reaches."""
GOVERNABLE = ("skill_read", *DECLARABLE)
"""What a checker may govern besides ``tool_call``, which it is always asked."""
assert set(get_args(Capability)) == {"tool_call", *GOVERNABLE}

Decision: TypeAlias = Allow | Deny | Halt


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """One question about one call.

    Args:
        capability: ``tool_call``, or what else the tool reaches.
        target: the tool's name; for ``skill_read`` it is ``skill:`` and the skill's.
        tool: the tool's name.
        call_id: the call.
        role: the role of the run; None when there is none.
        identity: whom the run is for.
        deps: what the caller of the run passed.
        iteration: number of the model call in the turn.
        arguments: with what it would run; None in ``screen``, which is asked by name.
        sequence: calls of this turn that ran or run, then earlier ones of the same reply that are still to run; no refused ones.
        attempted: every call before this reply that was proposed in the conversation, refused ones too.
        read_history: gives the messages up to now.
        actor: who wants to call.
    """

    capability: Capability
    target: str
    tool: str
    call_id: str
    role: str | None
    identity: Identity | None
    deps: Any
    iteration: int
    arguments: Mapping[str, Any] | None
    sequence: Sequence[PastCall]
    attempted: Sequence[PastCall]
    read_history: Callable[[], History] = field(repr=False)
    actor: str = "agent"

    @property
    def history(self) -> History:
        """The messages up to now."""
        return self.read_history()


@runtime_checkable
class PermissionChecker(Protocol):
    """Decides over calls.

    It may have three things more: ``governs``, the capabilities that it is asked about besides ``tool_call``; ``screen``, which is like
    ``check``, is asked without arguments before a person is asked anything, and may answer None for "no opinion"; and
    ``policy_hash``, a digest of its rules for the record.
    """

    name: str

    def check(self, request: PermissionRequest, /) -> Decision | Awaitable[Decision]:
        """Decide.

        Args:
            request: the question.

        Returns:
            ``Allow()``, ``Deny(reason, tell_model, rule)`` or ``Halt(...)``; anything else, and whatever it raises, refuses the call.
            A plain function must not wait; make it async.
        """
