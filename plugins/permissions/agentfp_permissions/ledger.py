"""What the record says of calls and of the questions about them: a fold, the same live, resumed and saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agentfp.events import MessageAdded, ToolDispatched, ToolEnded, ToolStarted, VerdictFiled
from agentfp.plugin import Event
from agentfp_permissions.calls import CallSequence, PastCall
from agentfp_permissions.events import PermissionChecked, PermissionHalted, PermissionRole
from agentfp_permissions.sequence import Progress, SequenceRule

READ = (
    MessageAdded.event_name,
    ToolStarted.event_name,
    VerdictFiled.event_name,
    ToolDispatched.event_name,
    ToolEnded.event_name,
    PermissionChecked.event_name,
    PermissionHalted.event_name,
    PermissionRole.event_name,
)
SUCCEEDED = ("success", "partial")


@dataclass(frozen=True, slots=True)
class Check:
    """A question that was asked about a call, and the answer."""

    call_id: str
    turn: int
    iteration: int
    answer: PermissionChecked


@dataclass(frozen=True, slots=True)
class HaltReport:
    """Why a run was ended.

    Args:
        reason: for the operator.
        tell_model: what the model would read.
        rule: the rule that decided.
        checker: the checker that decided.
        iteration: the model call of the turn.
        proposed: the call.
        sequence: the calls of the turn that had run, and this one at the end.
    """

    reason: str
    tell_model: str | None
    rule: str | None
    checker: str | None
    iteration: int
    proposed: PastCall
    sequence: tuple[PastCall, ...]


class Ledger:
    """The calls so far, and where the rules of order stand.

    Args:
        rules: the rules of order.
    """

    def __init__(self, rules: Sequence[SequenceRule] = ()) -> None:
        self.progress = Progress(rules)
        self.attempted: list[PastCall] = []
        self.executed: list[PastCall] = []
        self.turn_begins = 0
        self.turn = 0
        self.checks: list[Check] = []
        self.halts: list[HaltReport] = []
        self.decided: set[str] = set()
        self.option_role: tuple[int, str] | None = None
        self._open: dict[str, PastCall] = {}
        self._places: dict[str, list[int]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._view() == other._view()

    __hash__ = None  # type: ignore[assignment]

    def _view(self) -> tuple[object, ...]:
        return self.attempted, self.executed, self.checks, self.halts, self.progress.counters, self.turn_begins, self.option_role

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def fold(self, event: Event) -> Ledger:
        """Take an event in."""
        payload, call_id = event.payload, event.call_id or ""
        if isinstance(payload, MessageAdded):
            self._opened(event, payload)
        elif isinstance(payload, ToolStarted):
            self._started(call_id)
        elif isinstance(payload, VerdictFiled):
            if payload.arguments is not None and call_id in self._open:
                self._set(call_id, replace(self._open[call_id], arguments_json=payload.arguments))
        elif isinstance(payload, ToolDispatched):
            for each in payload.calls:
                self._dispatched(each)
        elif isinstance(payload, ToolEnded):
            self._ended(call_id, payload)
        elif isinstance(payload, PermissionChecked):
            self.checks.append(Check(call_id, event.turn, event.iteration, payload))
            self.decided.add(call_id)
            if payload.role_from == "options" and payload.role is not None:  # a resume may be given another one
                self.option_role = (event.turn, payload.role)
        elif isinstance(payload, PermissionHalted):
            self._halted(event, payload)
        elif isinstance(payload, PermissionRole):
            self.option_role = (event.turn, payload.role)
        return self

    def is_dispatched(self, call_id: str) -> bool:
        """Whether a call of the last reply was let through."""
        return len(self._places.get(call_id, ())) == 2

    @property
    def before(self) -> CallSequence:
        """Every call that was proposed before the last reply."""
        return CallSequence(self.attempted, 0, (), len(self.attempted) - len(self._places))

    def before_call(self, call_id: str) -> tuple[Progress, int]:
        """Where the rules of order stood when a call was let through, or stand now for one that was not.

        A resume takes up again what a nested agent's question or a crash broke off; such a call does not stand in its own way.

        Args:
            call_id: a call of the last reply.

        Returns:
            The progress, and how many calls were let through before.
        """
        places = self._places.get(call_id, [])
        if len(places) < 2:
            return self.progress, len(self.executed)
        made = Progress(self.progress.rules)
        turn = 0
        for past in self.executed[: places[1]]:
            if past.turn != turn:
                turn = past.turn
                made.new_turn()
            made.ran(past.tool)
            if past.state in SUCCEEDED:
                made.succeeded(past.tool)
        if turn != self.turn:
            made.new_turn()
        return made, places[1]

    def of_turn(self, turn: int) -> int:
        """Where the executed calls of a turn begin."""
        return self.turn_begins if turn == self.turn else len(self.executed)

    def _opened(self, event: Event, payload: MessageAdded) -> None:
        if event.turn != self.turn:
            self.turn, self.turn_begins = event.turn, len(self.executed)
            self.progress.new_turn()
        if payload.role == "assistant":
            calls = payload.tool_calls or ()
            self._open = {call.id: PastCall(call.id, call.name, call.arguments, event.turn, event.iteration) for call in calls}
            self._places = {}
            self.decided = set()

    def _started(self, call_id: str) -> None:
        if call_id in self._open and call_id not in self._places:
            self._places[call_id] = [len(self.attempted)]
            self.attempted.append(self._open[call_id])

    def _dispatched(self, call_id: str) -> None:
        places = self._places.get(call_id)
        if places is None or len(places) == 2:  # taken up again by a resume
            return
        self._set(call_id, replace(self._open[call_id], state="in_flight"))
        places.append(len(self.executed))
        self.executed.append(self._open[call_id])
        self.progress.ran(self._open[call_id].tool)

    def _ended(self, call_id: str, payload: ToolEnded) -> None:
        if call_id not in self._places:
            return
        self._set(call_id, replace(self._open[call_id], state=payload.outcome))
        if payload.ran and payload.outcome in SUCCEEDED:
            self.progress.succeeded(self._open[call_id].tool)

    def _set(self, call_id: str, call: PastCall) -> None:
        self._open[call_id] = call
        for place, calls in zip(self._places.get(call_id, ()), (self.attempted, self.executed), strict=False):
            calls[place] = call

    def _halted(self, event: Event, payload: PermissionHalted) -> None:
        proposed = self._open.get(event.call_id or "")
        if proposed is None:
            proposed = PastCall(event.call_id or "", payload.target, "{}", event.turn, event.iteration)
        ran = tuple(self.executed[self.of_turn(event.turn) :])
        self.halts.append(
            HaltReport(
                payload.reason, payload.tell_model, payload.policy_rule_id, payload.checker, event.iteration, proposed, (*ran, proposed)
            )
        )
