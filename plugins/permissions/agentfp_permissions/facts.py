"""What one call is judged by, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentfp.plugin import Batch, CallView, Run
from agentfp_permissions.calls import CallSequence, PastCall
from agentfp_permissions.events import RoleFrom
from agentfp_permissions.ledger import Ledger
from agentfp_permissions.requests import Decision
from agentfp_permissions.sequence import Progress


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known when a call is judged.

    Args:
        role: the role of the run.
        role_from: who says so.
        again: whether the call was decided before, in an earlier leg.
        waiting: earlier calls of the same reply that are still to run.
        sequence: the calls of the turn that ran or run, and those that wait.
        attempted: every call that was proposed before this reply.
        progress: where the rules of order stand.
    """

    role: str | None
    role_from: RoleFrom | None
    again: bool
    waiting: tuple[PastCall, ...]
    sequence: CallSequence
    attempted: CallSequence
    progress: Progress

    @property
    def ran(self) -> int:
        """How many calls of the turn ran or run."""
        return len(self.sequence) - len(self.waiting)


@dataclass(frozen=True, slots=True)
class Ruling:
    """An answer to a question about a call.

    Args:
        answer: the answer.
        checker: who gave it; None for all of them together.
        digest: of the rules behind it.
    """

    answer: Decision
    checker: str | None
    digest: str | None


def facts_of(ledger: Ledger, call: CallView, batch: Batch, run: Run[Any], role: str | None, role_from: RoleFrom | None) -> Facts:
    """What is known of a call.

    Args:
        ledger: what the record says.
        call: the call.
        batch: the reply that it stands in.
        run: the run.
        role: the role of the run.
        role_from: who says so.
    """
    ahead = [other for other in batch.calls[: call.index] if other.live and not ledger.is_dispatched(other.id)]
    waiting = tuple([PastCall(o.id, o.name, o.arguments_json, run.turn, run.iteration, "in_flight") for o in ahead])
    progress, before = ledger.before_call(call.id)
    sequence = CallSequence(ledger.executed, min(before, ledger.of_turn(run.turn)), waiting, before)
    return Facts(role, role_from, call.id in ledger.decided, waiting, sequence, ledger.before, progress)
