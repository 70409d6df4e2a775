"""Weekdays that stand before dates, and tokens of the shapes that an application declares."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from agentfp_evidence.lookup import find_identifier
from agentfp_evidence.moments import WEEKDAYS, Moment
from agentfp_evidence.normalise import tokens
from agentfp_evidence.options import EvidenceOptions
from agentfp_evidence.scan import Mention
from agentfp_evidence.shifts import weekday_fits
from agentfp_evidence.table import Table
from agentfp_evidence.verdict import Verdict, supported, unsupported

_WEEKDAY = re.compile(r"(?<!\w)(" + "|".join(sorted(WEEKDAYS, key=len, reverse=True)) + r")\.?,?\s(?:the\s|den\s|le\s)?$", re.IGNORECASE)


def weekdays_of(text: str, table: Table, mentions: Sequence[Mention]) -> Iterator[tuple[str, int, int, Verdict]]:
    """The weekdays that stand before dates, and whether they fit.

    Args:
        text: the answer, folded.
        table: the evidence, for the year of a date without one.
        mentions: what there is to judge.
    """
    stated = [date for mention in mentions for moment in mention.moments for date in moment.dates]
    years = {year for year, _, day in stated if year is not None and day is not None}
    for mention in mentions:
        if mention.kind == "moment" and mention.moments[0].dates:
            day = _WEEKDAY.search(text, max(0, mention.start - 14), mention.start)
            fits = weekday_fits(day[1].lower(), mention.moments[0], table) if day is not None else None
            if day is not None and fits is not None:
                fits = fits or any(weekday_fits(day[1].lower(), dated, table) for dated in _in_years(mention.moments[0], years))
                yield "weekday", day.start(1), day.end(1), supported("calendar", ()) if fits else unsupported("strong", "calendar")


def _in_years(moment: Moment, years: Collection[int]) -> Iterator[Moment]:
    """A day without a year, in each of the years that the answer states of other days."""
    for _, month, day in moment.dates if all(year is None for year, _, _ in moment.dates) else ():
        yield from (replace(moment, dates=((year, month, day),)) for year in years)


def shaped(text: str, table: Table, options: EvidenceOptions) -> Iterator[tuple[str, int, int, Verdict]]:
    """The tokens of declared shapes.

    Args:
        text: the answer, folded.
        table: the evidence.
        options: the options of the judgement.
    """
    for token in tokens(text):
        shape = options.shape_of(token.value)
        if shape is not None and not options.is_exempt(token.value):
            found = find_identifier(table, token.value) or (
                supported("exact", held) if (held := table.has_word(token.value)) else unsupported("strong")
            )
            yield shape, token.start, token.end, found
