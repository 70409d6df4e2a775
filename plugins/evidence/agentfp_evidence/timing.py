"""Dates, times and lengths of time of an answer that follow from others of it."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Sequence

from agentfp_evidence.arithmetic import Operand
from agentfp_evidence.context import names_an_end, sentence_around
from agentfp_evidence.ladder import Ladder
from agentfp_evidence.moments import Moment
from agentfp_evidence.reckoning import Term
from agentfp_evidence.scan import Mention
from agentfp_evidence.spans import as_seconds, clock_after, find_end, find_time, time_from_dates
from agentfp_evidence.table import Table
from agentfp_evidence.verdict import Verdict


def reckon_time(
    ladder: Ladder, text: str, judged: Sequence[tuple[Mention, Verdict]], at: int, operands: Sequence[Operand]
) -> Verdict | None:
    """A date, a time or a length of time that follows from others.

    Args:
        ladder: what the judgement stands on.
        text: the answer, folded.
        judged: its mentions and what was found of each so far.
        at: which of them to ask for.
        operands: the grounded numbers around it.
    """
    mention = judged[at][0]
    first, last = sentence_around(text, mention.start, mention.end)
    sure = [m for m, v in judged if m.kind == "moment" and v.verdict == "supported"]
    stated = [m.moments[0] for m in sure if len(m.moments) == 1]
    if mention.number is not None:
        beside = [moment for m in sure if first <= m.start < last for moment in m.moments]
        return time_from_dates(ladder.table, mention.number, _dates(ladder.table, stated), _dates(ladder.table, beside))
    if len(mention.moments) != 1:
        return None
    moment = mention.moments[0]
    if moment.dates:
        return find_end(ladder.table, ladder.spans, moment, _dates(ladder.table, stated), [text[max(0, first - _CONTEXT) : last]])
    if names_an_end(text[max(first, mention.start - _BEFORE) : mention.start]):
        clocks = [m.clock for m in stated if m.clock is not None]
        lengths = [o for o in operands if o.unit is not None and o.unit.dimension == "time"]
        found = clock_after(ladder.table, moment, clocks, lengths)
        if found is not None:
            return found
    numbers = [Term(o.value, o.unit) for o in operands if o.unit is None or o.unit.dimension == "length"]
    return find_time(ladder.table, moment, [s for m in stated if (s := as_seconds(m)) is not None], numbers, text[first:last])


def _dates(table: Table, moments: Sequence[Moment]) -> list[datetime.date]:
    """Moments as dates; those without a year in each year that the conversation is about."""
    found: list[datetime.date] = []
    for year, month, day in (m.dates[0] for m in moments if m.dates and not m.impossible):
        for y in [year] if year is not None else [y for y in table.years if table.is_usual_year(y)]:
            with contextlib.suppress(ValueError):
                found.append(datetime.date(y, month, day or 0))
    return found


_CONTEXT = 160
"""Characters before the sentence that may say how long something lasts."""
_BEFORE = 40
