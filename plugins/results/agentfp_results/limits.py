"""What an answer rests on and what it does not: the limits that its results declared, as data and as words at its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from agentfp_results.events import LimitItem, PeriodDeclared
from agentfp_results.ledger import Ledger, Row
from agentfp_results.words import local

SHOWN = 12
HEADING = "What this answer rests on, as the tools that were used declare it:"


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """Something that was checked, was not, or cannot be.

    Args:
        what: what it is.
        why: why it was not, or cannot be.
        short: how a screen may call it.
    """

    what: str
    why: str | None = None
    short: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PeriodRead:
    """The period that a call declares to have read.

    Args:
        tool: the tool.
        call_id: the call.
        queried: its first and last instant, as declared.
        held: what there is to read; None where that is not known.
        read_at: when it was read.
    """

    tool: str
    call_id: str
    queried: tuple[str, str]
    held: tuple[str, str] | None
    read_at: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class AssumedValue:
    """A value of an argument that nobody gave: JSON text, ``REDACTED`` where its tool hides it."""

    tool: str
    argument: str
    value: str
    hidden: bool


@dataclasses.dataclass(frozen=True, slots=True)
class AnswerCoverage:
    """The limits of an answer; all of them, each once."""

    checked: tuple[Limit, ...] = ()
    not_checked: tuple[Limit, ...] = ()
    cannot_cover: tuple[Limit, ...] = ()
    periods: tuple[PeriodRead, ...] = ()
    assumed: tuple[AssumedValue, ...] = ()

    def __bool__(self) -> bool:
        return any((self.checked, self.not_checked, self.cannot_cover, self.periods, self.assumed))


def coverage_of(ledger: Ledger, turn: int) -> AnswerCoverage:
    """The limits that the results of a turn declared."""
    rows = [row for row in ledger.coverage if row.turn == turn]
    return AnswerCoverage(
        _merged(rows, lambda row: row.said.checked),
        _merged(rows, lambda row: row.said.not_checked),
        _merged(rows, lambda row: row.said.cannot_cover),
        tuple([_read(row, row.said.declared) for row in ledger.periods if row.turn == turn and row.said.declared is not None]),
        tuple(dict.fromkeys([_assumed(row) for row in ledger.assumed if row.turn == turn])),
    )


def _merged(rows: Iterable[Row], items: Callable[[Row], Iterable[LimitItem]]) -> tuple[Limit, ...]:
    found: dict[tuple[str, str | None], Limit] = {}
    for row in rows:
        for item in items(row):
            found.setdefault((item.what, item.why), Limit(item.what, item.why, item.short))
    return tuple(found.values())


def _read(row: Row, declared: PeriodDeclared) -> PeriodRead:
    held = None if declared.held_from is None or declared.held_to is None else (declared.held_from, declared.held_to)
    return PeriodRead(row.said.tool, row.call_id, (declared.queried_from, declared.queried_to), held, declared.read_at)


def _assumed(row: Row) -> AssumedValue:
    return AssumedValue(row.said.tool, row.said.argument, row.said.value or "", bool(row.said.hidden))


def words_of(coverage: AnswerCoverage, zone: str | None) -> str:
    """The limits in words, to stand after an answer; an empty text where there are none."""
    if not coverage:
        return ""
    parts = [HEADING]
    for heading, limits in (
        ("Checked:", coverage.checked),
        ("Not checked:", coverage.not_checked),
        ("Cannot cover:", coverage.cannot_cover),
    ):
        if limits:
            parts.append("\n".join([heading, *_lines(limits)]))
    parts += [_period_line(read, zone) for read in coverage.periods]
    if coverage.assumed:
        lines = [f"- {one.argument} of {one.tool}: {one.value}" for one in coverage.assumed]
        parts.append("\n".join(["Assumed, for nobody said it:", *lines]))
    return "\n\n".join(parts)


def _lines(limits: tuple[Limit, ...]) -> list[str]:
    lines = [f"- {_flat(limit.what)}" if limit.why is None else f"- {_flat(limit.what)}: {_flat(limit.why)}" for limit in limits[:SHOWN]]
    return [*lines, f"- and {len(limits) - SHOWN} more"] if len(limits) > SHOWN else lines


def _period_line(read: PeriodRead, zone: str | None) -> str:
    queried = " to ".join([local(end, zone) for end in read.queried])
    held = "is not known to hold it" if read.held is None else f"holds {' to '.join([local(end, zone) for end in read.held])}"
    at = "" if read.read_at is None else f", as read at {local(read.read_at, zone)}"
    return f"Period: {read.tool} looked at {queried}; its source {held}{at}"


def _flat(text: str) -> str:
    return " ".join(text.split())
