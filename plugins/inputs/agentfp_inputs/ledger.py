"""What the record says of arguments, folded: the rows, the open batch with its questions and answers, answers that are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from agentfp.plugin import Event
from agentfp_inputs.events import Argument, AskedField, Asking, Rewritten
from agentfp_inputs.text import HIDDEN

PLUGIN = "inputs"
MEMO_EVENTS = (
    "agentfp.inputs.*",
    "agentfp.tool.ended",
    "agentfp.hook.verdict",
    "agentfp.pause.request",
    "agentfp.pause.answered",
    "agentfp.pause.resume",
    "agentfp.agent.turn_end",
    "agentfp.findings.standing",
    "agentfp.context.served",
    "agentfp.context.blob",
)
_MISSING: Any = object()


class Row:
    """One judged argument.

    Attributes:
        said: what was filed.
        turn: number of the turn.
        iteration: number of the model call in it.
        call_id: the call.
        ran: whether the call ran in the end; None while that is open.
        rewritten: who changed the value later; None for nobody.
    """

    __slots__ = ("call_id", "iteration", "ran", "rewritten", "said", "turn")

    def __init__(self, said: Argument, turn: int, iteration: int, call_id: str) -> None:
        self.said = said
        self.turn = turn
        self.iteration = iteration
        self.call_id = call_id
        self.ran: bool | None = None
        self.rewritten: Rewritten | None = None

    def __repr__(self) -> str:
        return f"Row({self.said.tool}.{self.said.argument}: {self.said.source or self.said.asked})"


class Answered(NamedTuple):
    """A person's earlier answer.

    Args:
        tool: whose argument it was for.
        argument: its name.
        turn: when it was given.
        value: the value; a text of its own stands for one that is hidden or cut.
        readable: whether the value is there in full.
    """

    tool: str
    argument: str
    turn: int
    value: Any
    readable: bool


class Change(NamedTuple):
    """Arguments that a verdict put in place of others."""

    plugin: str
    arguments: dict[str, Any]
    origin: Any


class Ledger:
    """The fold. It reads what it knows of an event and passes over what it does not."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.answers: list[Answered] = []
        self.kept: dict[tuple[str, str], Any] = {}
        self.kept_unused: dict[int, int] = {}
        self.standings: dict[str, str] = {}
        self.sent: dict[str, dict[str, Any]] = {}
        self.app_pieces: tuple[str, ...] = ()
        self.blobs: dict[str, str] = {}
        self.rewrites: list[tuple[int, int, str, Rewritten]] = []
        self._at = (0, 0)
        self.handlers: Mapping[str, Callable[[Event, Any], None]] = {
            "agentfp.inputs.argument": self._argument,
            "agentfp.inputs.asked": self._asked,
            "agentfp.inputs.rewritten": self._rewritten,
            "agentfp.tool.ended": self._ended,
            "agentfp.hook.verdict": self._verdict,
            "agentfp.pause.request": self._request,
            "agentfp.pause.answered": self._given,
            "agentfp.pause.resume": self._given,
            "agentfp.agent.turn_end": self._turn_end,
            "agentfp.findings.standing": self._standing,
            "agentfp.context.served": self._served,
            "agentfp.context.blob": self._blob,
        }
        self._new_batch()

    def _new_batch(self) -> None:
        self.open: dict[str, list[Row]] = {}
        self.fields: list[AskedField] = []
        self.given: dict[str, Any] = {}
        self.filled: dict[str, dict[str, Any]] = {}
        self.changes: dict[str, list[Change]] = {}
        self.before: dict[str, list[Change]] = {}
        self._keys: dict[str, str] = {}

    def take(self, event: Event) -> None:
        """Fold one event in. A damaged one changes nothing."""
        handler = self.handlers.get(event.name)
        if handler is None:
            return
        if (event.turn, event.iteration) != self._at:
            if event.turn != self._at[0]:
                self.kept = {}
            self._at = (event.turn, event.iteration)
            if self.open or self.fields or self.before:
                self._new_batch()
        try:
            handler(event, event.payload)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            return  # what cannot be read of a damaged record is left out, here and wherever it is folded

    def rows_of(self, call_id: str) -> list[Row]:
        """The rows of a call of the open batch."""
        return self.open.get(call_id, [])

    # --- own events ---

    def _argument(self, event: Event, said: Argument) -> None:
        row = Row(said, event.turn, event.iteration, event.call_id or "")
        if not isinstance(said.tool, str) or not isinstance(said.argument, str):
            return
        self.rows.append(row)
        self.open.setdefault(row.call_id, []).append(row)
        if said.kept:
            self.kept.pop((said.tool, said.argument), None)
        if said.source == "answered" and said.rule == "ask" and said.claimed is None:
            value = _read(said.value) if not said.hidden else _MISSING
            readable = value is not _MISSING
            self.answers.append(Answered(said.tool, said.argument, event.turn, value if readable else HIDDEN, readable))

    def _asked(self, event: Event, said: Asking) -> None:
        self.fields += said.fields

    def _rewritten(self, event: Event, said: Rewritten) -> None:
        for row in self.open.get(event.call_id or "", ()):
            if row.said.argument == said.argument:
                row.rewritten = said
        self.rewrites.append((event.turn, event.iteration, event.call_id or "", said))

    # --- the kernel's ---

    def _verdict(self, event: Event, said: Any) -> None:
        if said.moment != "before_tool" or said.verdict != "Allow" or said.arguments is None or event.call_id is None:
            return
        arguments = json.loads(said.arguments)
        if said.plugin == PLUGIN and said.phase == "fill":
            self.filled[event.call_id] = self.sent[event.call_id] = arguments
        else:  # from the first row of a call on, a change comes after it was judged
            changes = self.changes if event.call_id in self.open else self.before
            changes.setdefault(event.call_id, []).append(Change(said.plugin, arguments, getattr(said, "origin", None)))

    def _ended(self, event: Event, said: Any) -> None:
        rows = self.open.get(event.call_id or "")
        if not rows:
            return
        filled = self.filled.get(event.call_id or "", {})
        for row in rows:
            row.ran = bool(said.ran)
            argument = row.said.argument
            if not said.ran and row.said.source == "answered" and row.said.claimed is None and argument in filled:
                self.kept[row.said.tool, argument] = filled[argument]

    def _request(self, event: Event, said: Any) -> None:
        for question in said.questions:
            if question.plugin == PLUGIN and not question.path:
                self._keys[question.id] = question.key

    def _given(self, event: Event, said: Any) -> None:
        for answer in said.answers:
            if answer.id in self._keys:
                self.given[self._keys[answer.id]] = json.loads(answer.value)["value"]

    def _turn_end(self, event: Event, said: Any) -> None:
        if self.kept:
            self.kept_unused[event.turn] = len(self.kept)
            self.kept = {}

    # --- for sources ---

    def _standing(self, event: Event, said: Any) -> None:
        if said.result:
            self.standings[said.result] = said.standing

    def _served(self, event: Event, said: Any) -> None:
        if said.pieces is not None:
            own = ("instructions.", "history.")
            pieces = [piece for piece in said.pieces if piece.slot == "system" and piece.plugin == "kernel"]
            self.app_pieces = tuple([piece.digest for piece in pieces if piece.key.startswith(own) and not piece.quoted])

    def _blob(self, event: Event, said: Any) -> None:
        self.blobs[said.digest] = said.body


def _read(text: str | None) -> Any:
    """The value in a row; a mark of its own for one that was cut."""
    try:
        return json.loads(text or "")
    except ValueError:
        return _MISSING
