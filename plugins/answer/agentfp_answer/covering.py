"""What the results of a turn cover together, as data and in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from agentfp.plugin import Record
from agentfp_answer.arguments import argument_rows, rewritten_rows
from agentfp_answer.assessing import counts
from agentfp_answer.envelopes import envelopes_of, may_declare
from agentfp_answer.items import Item, merged
from agentfp_answer.raw import text
from agentfp_answer.reading import Reading, reading_of
from agentfp_answer.reports import AnswerCoverage, AssumedValue, CoveredPeriod
from agentfp_answer.wire import MAX_DEPTH

MOST_LINES = 12
HIDDEN = "REDACTED"
"""How a row says that its tool hides an argument."""


def coverage_of(reading: Reading, children: Mapping[str, Record] | None = None, depth: int = MAX_DEPTH) -> AnswerCoverage:
    """What the results of the last turn declare.

    Args:
        reading: what its record says.
        children: records of nested runs by the call that started them; what their results declare counts too.
        depth: how many runs inside of one another are looked into.
    """
    own = _own(reading)
    parts = [own]
    for result in reading.turn.results if children and depth else ():
        child = children.get(result.call_id or "") if children else None
        if child is not None:
            parts.append(coverage_of(reading_of(child), child.children, depth - 1))
    if len(parts) == 1:
        return own
    return AnswerCoverage(
        checked=merged(part.checked for part in parts),
        not_checked=merged(part.not_checked for part in parts),
        cannot_cover=merged(part.cannot_cover for part in parts),
        periods=tuple(period for part in parts for period in part.periods),
        assumed=tuple(value for part in parts for value in part.assumed),
        left_off=sum(part.left_off for part in parts),
    )


def _own(reading: Reading) -> AnswerCoverage:
    found = []
    for result in reading.turn.results:
        if counts(result) and may_declare(result.content, result.private):
            found += [(result, envelope) for envelope in envelopes_of(result.content, result.private)]
    return AnswerCoverage(
        checked=merged(envelope.checked for _, envelope in found),
        not_checked=merged(envelope.not_checked for _, envelope in found),
        cannot_cover=merged(envelope.cannot_cover for _, envelope in found),
        periods=tuple(
            CoveredPeriod(
                result.tool,
                result.call_id,
                envelope.period.queried.wire(),
                envelope.period.held if isinstance(envelope.period.held, str) else envelope.period.held.wire(),
                envelope.period.read_at,
            )
            for result, envelope in found
            if envelope.period is not None
        ),
        assumed=_assumed(reading),
        left_off=sum(envelope.left_off for _, envelope in found),
    )


def _assumed(reading: Reading) -> tuple[AssumedValue, ...]:
    turn, found = reading.turn, []
    changed = rewritten_rows(turn)
    for row in argument_rows(turn):
        if row.data.get("source") != "default" or (row.call_id, str(row.data.get("argument"))) in changed:
            continue
        value = text(row.data.get("value"))
        hidden = row.data.get("hidden") is True or value in (HIDDEN, "[REDACTED]")
        tool = turn.started.get(row.call_id or "") or text(row.data.get("tool"))
        found.append(AssumedValue(tool, str(row.data.get("argument")), HIDDEN if hidden else value, hidden))
    return tuple(found)


def limits_text(coverage: AnswerCoverage, *, assumed: bool = True) -> str:
    """What is appended to an answer in prose; empty when nothing was declared.

    Args:
        coverage: what its results cover.
        assumed: whether assumed values are listed; the standing line names them too.
    """
    blocks = [
        _block("Checked", coverage.checked, _line),
        _block("Not checked", coverage.not_checked, _line, coverage.left_off),
        _block("Cannot cover", coverage.cannot_cover, _line),
        *(f"Period: {_period(period)}" for period in coverage.periods[:MOST_LINES]),
        *([f"And {len(coverage.periods) - MOST_LINES} periods more."] if len(coverage.periods) > MOST_LINES else []),
        _block("Assumed", coverage.assumed, assumed_line) if assumed else "",
    ]
    said = [block for block in blocks if block]
    return "\n\n".join(("---", "What this answer rests on", *said)) if said else ""


def _block(title: str, items: Sequence[object], line: Callable[..., str], left_off: int = 0) -> str:
    if not items:
        return ""
    more = max(0, len(items) - MOST_LINES) + left_off
    return "\n".join([f"{title}:", *(f"- {line(item)}" for item in items[:MOST_LINES]), *([f"- and {more} more"] if more else [])])


def _line(item: Item) -> str:
    return one_line(item.line)


def one_line(words: str) -> str:
    """Words of a tool on one line, so that they cannot be taken for the library's."""
    return " ".join(words.split())


def assumed_line(value: AssumedValue) -> str:
    """An assumed value in words."""
    shown = "a value that the tool hides" if value.hidden else one_line(str(value.value))
    return f"{value.argument} = {shown}, by a rule of {value.tool or 'a tool'}; nobody chose it"


def _period(period: CoveredPeriod) -> str:
    held = period.held if isinstance(period.held, str) else f"{period.held['from']} to {period.held['to']}"
    read = f", read at {period.read_at}" if period.read_at else ""
    return f"{period.tool or 'a tool'} was asked for {period.queried['from']} to {period.queried['to']} and holds {held}{read}"
