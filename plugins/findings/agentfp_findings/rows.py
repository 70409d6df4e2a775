"""The ledger as people read it: its rows, and what they come to."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from agentfp.plugin import Event, MemoSource, Payload, record_of
from agentfp_findings.events import KINDS, Assertion, Judged, StandingDeclared, UnsettledByAbsence
from agentfp_findings.ledger import Ledger
from agentfp_findings.upgrading import upgraded

OTHERS = "agentfp.inputs."
"""Begins the names of the rows that the layer over arguments files in the same ledger."""


class Row(NamedTuple):
    """One row.

    Args:
        kind: what it is: ``basis``, ``standing``, ``conflict`` and so on; that of another plugin is its event's last word.
        turn: the person's turn, from 1.
        iteration: the model call in it, from 1.
        seq: its place on the record.
        tool_call_id: the call it is about, or on which it was declared.
        data: its fields.
    """

    kind: str
    turn: int
    iteration: int
    seq: int
    tool_call_id: str | None
    data: Payload


@dataclass(frozen=True, slots=True)
class Conflict:
    """Current facts that state different values of one thing.

    Args:
        kind: of the subject.
        id: of the subject.
        predicate: what is stated of it.
        witnesses: the results that state it.
    """

    kind: str
    id: str
    predicate: str
    witnesses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LedgerFold:
    """What the rows come to.

    Args:
        standing_of: the last standing of each id, in the order in which ids were first named.
        judgments: the last judgment of each call.
        asserted: what current facts state.
        conflicts: facts that contradict each other now.
        unsettled: rows of results that are ruled out on weak ground, while they are.
    """

    standing_of: dict[str, StandingDeclared]
    judgments: dict[str, Judged]
    asserted: tuple[Assertion, ...]
    conflicts: tuple[Conflict, ...]
    unsettled: dict[str, UnsettledByAbsence]

    @property
    def has_standing(self) -> bool:
        """Whether any result has a standing."""
        return bool(self.standing_of)


def rows_of(source: MemoSource) -> list[Row] | None:
    """The rows on a record, as copies; None when there is none."""
    rows = [_row(event) for event in record_of(source) if event.name in KINDS or event.name.startswith(OTHERS)]
    return rows or None


def _row(event: Event) -> Row:
    known = KINDS.get(event.name)
    kind = known[0] if known is not None else event.name.rpartition(".")[2]
    payload = event.payload if known is None else upgraded(event.payload, known[1])
    return Row(kind, event.turn, event.iteration, event.seq, event.call_id, copy.deepcopy(payload))


def fold_ledger(rows: Iterable[Row]) -> LedgerFold:
    """What rows come to; a kind that is not known is passed over.

    Args:
        rows: in order.
    """
    ledger = Ledger()
    for row in rows:
        handler = ledger.handlers.get(row.data.event_name)
        if handler is not None:
            event = Event(row.seq, row.data.event_name, 0, 0, row.turn, row.iteration, row.tool_call_id, "findings", row.data)
            handler(event, row.data)
    return fold_of(ledger)


def fold_of(ledger: Ledger) -> LedgerFold:
    """A ledger as people read it, as a copy."""
    facts = [row for row in ledger.current.values() if row.standing == "fact"]
    made = LedgerFold(
        standing_of=ledger.current,
        judgments=ledger.judgments,
        asserted=tuple([assertion for row in facts for assertion in row.assertions]),
        conflicts=tuple([Conflict(*key, tuple(ledger.conflicts.witnesses(key))) for key in ledger.conflicts]),
        unsettled=ledger.unsettled,
    )
    return copy.deepcopy(made)
