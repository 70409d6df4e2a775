"""What the plugin knows of a conversation: a fold over its record that keeps what the last turn's assessment needs, and reads nothing yet.

An event costs a look-up and an append here, however large it is; texts are read once, when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentfp.plugin import Event, Record
from agentfp_answer.envelopes import may_declare
from agentfp_answer.raw import data_of, text
from agentfp_answer.wire import ENVELOPES


@dataclass(frozen=True, slots=True)
class Row:
    """An event of some plugin, as plain data."""

    seq: int
    name: str
    call_id: str | None
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """The one outcome of a call; ``name`` is that of the event, or ``message`` where it stands in a transcript."""

    seq: int
    call_id: str | None
    tool: str | None
    outcome: str
    ran: bool
    content: str
    private: str | None
    name: str = "agentfp.tool.ended"


@dataclass(frozen=True, slots=True)
class Allowed:
    """A gate let a call go on with these arguments."""

    seq: int
    plugin: str
    arguments: str


@dataclass
class Turn:
    """What happened since the person last spoke."""

    number: int = 0
    started: dict[str, str | None] = field(default_factory=dict)
    proposed: dict[str, str] = field(default_factory=dict)
    allowed: dict[str, list[Allowed]] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    pause: Row | None = None
    early: Row | None = None
    ended: Row | None = None
    draft: dict[str, list[Row]] = field(default_factory=dict)

    def of(self, name: str) -> list[Row]:
        """The rows of an event name."""
        return self.rows.get(name) or self.draft.get(name) or []


PLAIN = (
    "agentfp.inputs.argument",
    "agentfp.inputs.rewritten",
    "agentfp.results.period",
    "agentfp.answer.nested",
    "agentfp.findings.contingent",
    "agentfp.findings.conflict",
    "agentfp.time.derived",
    "agentfp.skill.steps_unfinished",
    "agentfp.skills.steps_unfinished",
)
"""Rows of other plugins that count for the whole turn."""
OF_DRAFT = ("agentfp.evidence.checked", "agentfp.answer.claim", "agentfp.answer.validated", "agentfp.answer.not_assessed")
"""Rows that are about one draft of the answer: they go with it when it is sent back."""


@dataclass
class Reading:
    """What is known so far.

    Args:
        turn: the turn that goes on, or the last.
        described: results of the whole conversation that state facts.
        stated: facts that another plugin has read out of results and put on the record.
        minted: seqs of ``described`` that a tool's author made in this process, as a live run saw.
        rows_at: where tools' results hold their rows, by tool.
        armed: what was declared last, as the event says it.
        pending: calls of the open batch whose results declare something.
    """

    turn: Turn = field(default_factory=Turn)
    described: list[Result] = field(default_factory=list)
    stated: list[Row] = field(default_factory=list)
    minted: set[int] = field(default_factory=set)
    rows_at: dict[str, str] = field(default_factory=dict)
    armed: dict[str, Any] = field(default_factory=dict)
    pending: dict[str, Result] = field(default_factory=dict)

    def fold(self, event: Event) -> Reading:
        """What is known after an event. Never raises, whatever the payload holds."""
        step = STEPS.get(event.name)
        if step is not None:
            step(self, event, event.payload)
        return self

    # --- the run ---

    def _begin(self, event: Event, payload: Any) -> None:
        self.turn = Turn(event.turn)
        self.pending = {}

    def _leg(self, event: Event, payload: Any) -> None:
        self.turn.ended = None

    def _end(self, event: Event, payload: Any) -> None:
        self.turn.ended = _row(event)

    def _asked(self, event: Event, payload: Any) -> None:
        self.turn.pause = _row(event)

    def _answered(self, event: Event, payload: Any) -> None:
        self.turn.pause = None

    def _early(self, event: Event, payload: Any) -> None:
        self.turn.early = _row(event)

    def _message(self, event: Event, payload: Any) -> None:
        if self.pending and getattr(payload, "role", None) == "tool":
            self.pending.pop(getattr(payload, "tool_call_id", None) or "", None)  # its moment is over
        for call in getattr(payload, "tool_calls", None) or ():
            self.turn.proposed[getattr(call, "id", "")] = getattr(call, "arguments", "")

    # --- calls ---

    def _started(self, event: Event, payload: Any) -> None:
        if event.call_id is not None:
            self.turn.started[event.call_id] = getattr(payload, "tool", None)

    def _verdict(self, event: Event, payload: Any) -> None:
        arguments = getattr(payload, "arguments", None)
        if getattr(payload, "moment", None) == "assess_answer" and getattr(payload, "verdict", None) == "Replace":
            self.turn.draft.setdefault(event.name, []).append(_row(event))
        if isinstance(arguments, str) and event.call_id is not None:
            made = Allowed(event.seq, getattr(payload, "plugin", ""), arguments)
            self.turn.allowed.setdefault(event.call_id, []).append(made)

    def _result(self, event: Event, payload: Any) -> None:
        content, private = getattr(payload, "content", None), getattr(payload, "private", None)
        content = content if isinstance(content, str) else ""
        private = private if isinstance(private, str) else None
        made = Result(
            event.seq,
            event.call_id,
            self.turn.started.get(event.call_id or ""),
            str(getattr(payload, "outcome", "")),
            getattr(payload, "ran", False) is True,
            content,
            private,
        )
        self.turn.results.append(made)
        if made.ran and may_declare(content, private):
            if event.call_id is not None:
                self.pending[event.call_id] = made
            if '"af_semantics"' in (content if private is None or ENVELOPES not in private else private):
                self.described.append(made)

    def _declared(self, event: Event, payload: Any) -> None:
        data = data_of(payload)
        if event.call_id is not None:
            self.pending.pop(event.call_id, None)
        if data.get("minted") is True and isinstance(data.get("result"), int):
            self.minted.add(data["result"])

    # --- rows ---

    def _armed(self, event: Event, payload: Any) -> None:
        self.armed = data_of(payload)
        rows = self.armed.get("rows_at")
        pairs = [(text(row.get("tool")), text(row.get("key"))) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        self.rows_at = {tool: key for tool, key in pairs if tool is not None and key is not None}

    def _plain(self, event: Event, payload: Any) -> None:
        self.turn.rows.setdefault(event.name, []).append(_row(event))

    def _facts(self, event: Event, payload: Any) -> None:
        self.stated.append(_row(event))

    def _of_draft(self, event: Event, payload: Any) -> None:
        self.turn.draft.setdefault(event.name, []).append(_row(event))

    def _sent_back(self, event: Event, payload: Any) -> None:
        self.turn.draft = {}


def reading_of(record: Record) -> Reading:
    """What a record says."""
    reading = Reading()
    for event in record:
        reading.fold(event)
    return reading


def _row(event: Event) -> Row:
    return Row(event.seq, event.name, event.call_id, data_of(event.payload))


STEPS: Mapping[str, Callable[[Reading, Event, Any], None]] = {
    "agentfp.agent.run_configured": Reading._leg,
    "agentfp.agent.turn_start": Reading._begin,
    "agentfp.agent.budget_exhausted": Reading._early,
    "agentfp.run.ended": Reading._end,
    "agentfp.pause.request": Reading._asked,
    "agentfp.pause.resume": Reading._answered,
    "agentfp.pause.abandoned": Reading._answered,
    "agentfp.message.added": Reading._message,
    "agentfp.tool.started": Reading._started,
    "agentfp.tool.ended": Reading._result,
    "agentfp.hook.verdict": Reading._verdict,
    "agentfp.answer.drafted": Reading._sent_back,
    "agentfp.answer.armed": Reading._armed,
    "agentfp.answer.declared": Reading._declared,
    "agentfp.results.facts": Reading._facts,
    **dict.fromkeys(PLAIN, Reading._plain),
    **dict.fromkeys(OF_DRAFT, Reading._of_draft),
}
"""What each event does; all others are passed over."""

READ = tuple(STEPS)
"""Every event that is read."""

_OTHERS = ("evidence", "findings", "inputs", "results", "skill", "skills", "time")
LISTENED = tuple(dict.fromkeys(f"agentfp.{name.split('.')[1]}.*" if name.split(".")[1] in _OTHERS else name for name in READ))
"""What the memo listens to. Of other distributions whole domains: a version of theirs need not have every event."""
