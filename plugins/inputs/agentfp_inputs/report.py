"""Views of the rows for applications: what was judged, and what was assumed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from agentfp_inputs.ledger import Row


@dataclasses.dataclass(frozen=True, slots=True)
class ArgumentRow:
    """Where the value of one argument of a call came from.

    Args:
        turn: number of the turn.
        iteration: number of the model call in it.
        index: the call's place in its reply.
        call_id: the call.
        tool: the tool.
        argument: the argument.
        source: ``said``, ``answered``, ``result``, ``app``, ``default`` or ``model``; None when a person was asked.
        asked: why a person was asked: ``missing``, ``unverified`` or ``invalid-answer``; else None.
        value: its value as JSON text, cut where it is long, ``REDACTED`` where the tool keeps it to itself.
        ran: whether the call ran; None while that is open.
        rewritten_by: the plugin that put another value in later; ``kernel`` for a person who approved the call with other arguments.
        details: what else the row says.
    """

    turn: int
    iteration: int
    index: int
    call_id: str
    tool: str
    argument: str
    source: str | None
    asked: str | None
    value: str | None
    ran: bool | None
    rewritten_by: str | None
    details: dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Assumed:
    """A value that nobody gave.

    Args:
        tool: the tool.
        argument: the argument.
        value: JSON text; ``REDACTED`` where the tool keeps it to itself.
        hidden: whether it does.
    """

    tool: str
    argument: str
    value: str
    hidden: bool


def rows_of(rows: Iterable[Row]) -> list[ArgumentRow]:
    """All rows, in order."""
    return [
        ArgumentRow(
            row.turn,
            row.iteration,
            row.said.index,
            row.call_id,
            row.said.tool,
            row.said.argument,
            row.said.source,
            row.said.asked,
            row.said.value,
            row.ran,
            None if row.rewritten is None else row.rewritten.by,
            {name: value for name in _DETAILS if (value := getattr(row.said, name, None))},
        )
        for row in rows
    ]


def assumed_of(rows: Iterable[Row], turn: int | None) -> list[Assumed]:
    """What was assumed in calls that ran, each once; of the last turn, or of one."""
    known = list(rows)
    wanted = max((row.turn for row in known), default=0) if turn is None else turn
    listed = [
        Assumed(row.said.tool, row.said.argument, row.said.value or "", bool(row.said.hidden))
        for row in known
        if row.turn == wanted and row.said.source == "default" and row.ran and row.rewritten is None
    ]
    return list(dict.fromkeys(listed))


_DETAILS = (
    "rule",
    "period",
    "proposed",
    "quote",
    "claimed",
    "matched",
    "failed",
    "coincides",
    "reading",
    "weak_quote",
    "earlier",
    "result",
    "set_aside",
    "arguments_from",
    "app_source",
    "free",
    "kept",
    "hidden",
    "malformed",
)
