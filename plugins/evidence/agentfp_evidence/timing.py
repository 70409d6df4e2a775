"""Dates, times and lengths of time of an answer that follow from others of it."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import re
from collections.abc import Sequence

from agentfp_evidence.context import cells_above, column_header, names_an_end, sentence_around
from agentfp_evidence.elapsed import find_elapsed
from agentfp_evidence.ladder import Ladder
from agentfp_evidence.moments import Moment
from agentfp_evidence.numbers import Number
from agentfp_evidence.operands import Operand
from agentfp_evidence.reckoning import NARROW_RISK, Result, Term, first_hit
from agentfp_evidence.scan import Mention
from agentfp_evidence.spans import as_seconds, clock_after, find_end, find_time, time_from_dates
from agentfp_evidence.table import Table
from agentfp_evidence.units import unit_of
from agentfp_evidence.verdict import Verdict, supported


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
        between = _between_clocks(mention.number, [m.clock for m in stated if m.clock is not None])
        if between is not None:
            return between
        passed = find_elapsed(ladder.stamps, text, mention.number, sure)
        if passed is not None:
            return passed
        beside = [moment for m in sure if first <= m.start < last for moment in m.moments]
        called = _LABEL.search(text, first, mention.start)
        label = column_header(text, mention.start) or (called[1] if called is not None else "")
        return time_from_dates(ladder.table, mention.number, _dates(ladder.table, stated), _dates(ladder.table, beside), label)
    if len(mention.moments) != 1:
        return None
    moment = mention.moments[0]
    if moment.clock is not None and not moment.dates and _HOURS.fullmatch(text, mention.start, mention.end):
        hours, minutes, _ = moment.clock
        length = Number((str(60 * hours + minutes),), 0, 3, unit_of("min"), "min", False, mention.start, mention.end)
        passed = find_elapsed(ladder.stamps, text, length, sure)
        if passed is not None:
            return passed
    if moment.clock is not None and not moment.dates and _MINUTES.match(text, mention.end):
        seconds = ladder.table.find(f"n:{60 * moment.clock[0] + moment.clock[1]}")
        if seconds and moment.clock[2] is None:
            return supported("converted", seconds, f"{60 * moment.clock[0] + moment.clock[1]} s")
    summed = _summed_clock(text, mention, sure)
    if summed is not None:
        return summed
    if moment.dates:
        before = [m for mention_ in sure if first <= mention_.start < mention.start for m in mention_.moments]
        said = [text[max(0, first - _CONTEXT) : last]]
        return find_end(ladder.table, ladder.spans, moment, _dates(ladder.table, stated), said, _dates(ladder.table, before))
    if names_an_end(text[max(first, mention.start - _BEFORE) : mention.start]):
        clocks = [m.clock for m in stated if m.clock is not None]
        lengths = [o for o in operands if o.unit is not None and o.unit.dimension == "time"]
        found = clock_after(ladder.table, moment, clocks, lengths)
        if found is not None:
            return found
    numbers = [Term(o.value, o.unit) for o in operands if o.unit is None or o.unit.dimension == "length"]
    return find_time(ladder.table, moment, [s for m in stated if (s := as_seconds(m)) is not None], numbers, text[first:last])


def _between_clocks(number: Number, clocks: Sequence[tuple[int, int, int | None]]) -> Verdict | None:
    """The time between two clock times of the answer, where so few are stated that this is no accident."""
    if number.unit is None or number.unit.name not in ("min", "h"):
        return None
    minutes = list(dict.fromkeys(60 * h + m for h, m, _ in clocks))[-_MAX_CLOCKS:]
    per = float(number.unit.factor) / 60
    gaps = [
        Result("duration", abs(b - a) / per, f"{b // 60:02}:{b % 60:02} - {a // 60:02}:{a % 60:02}", ())
        for a, b in itertools.combinations(minutes, 2)
    ]
    found = first_hit(number, gaps, max_risk=NARROW_RISK)
    return None if found is None else Verdict("supported", "duration", f"{number.readings[0]} = {found.written}")


def _summed_clock(text: str, mention: Mention, sure: Sequence[Mention]) -> Verdict | None:
    """Hours and minutes that those above them in a table add up to."""
    clock = mention.moments[0].clock
    above = cells_above(text, mention.start) if clock is not None else []
    parts = [m.moments[0].clock for m in sure if any(a < m.start < b for a, b in above)]
    total = sum(60 * part[0] + part[1] for part in parts if part is not None)
    if clock is None or len(parts) < 2 or total != 60 * clock[0] + clock[1]:
        return None
    return Verdict("supported", "sum", f"{clock[0]}:{clock[1]:02} = sum of the {len(parts)} times above")


def _dates(table: Table, moments: Sequence[Moment]) -> list[datetime.date]:
    """Moments as dates; those without a year in each year that the conversation is about."""
    found: list[datetime.date] = []
    for year, month, day in (m.dates[0] for m in moments if m.dates and not m.impossible):
        for y in [year] if year is not None else [y for y in table.years if table.is_usual_year(y)]:
            with contextlib.suppress(ValueError):
                found.append(datetime.date(y, month, day or 0))
    return found


_HOURS = re.compile(r"\d{1,2}\s?h\s?\d{2}")
"""A clock time in French, or a length of time."""
_LABEL = re.compile(r"([^\W\d_]+)[*_]*:[\s*_]*$")
"""What a number is called before a colon."""
_CONTEXT = 160
"""Characters before the sentence that may say how long something lasts."""
_BEFORE = 40
_MAX_CLOCKS = 12
_MINUTES = re.compile(r"\s?(?:m|min|mins|minutes?|minuten|minutos|minuti)\b")
"""Behind minutes and seconds: ``2:11 min``."""
