"""Dates and durations reckoned from served ones: the day after, a week later, the time between two clock times."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from agentfp_evidence.columns import records_of
from agentfp_evidence.context import NUMBER_WORDS
from agentfp_evidence.index import Posting
from agentfp_evidence.moments import WEEKDAYS, Moment
from agentfp_evidence.numbers import Number
from agentfp_evidence.sources import Source
from agentfp_evidence.table import Table
from agentfp_evidence.verdict import Verdict, supported, unverifiable

_WORDY = "|".join(NUMBER_WORDS)
_COUNTED = re.compile(
    rf"\b(?P<n>\d{{1,3}}|an?|one|einen?|une?|{_WORDY})[ -](?:(?:calendar|business|more|full|extra)[ -])?"
    rf"(?P<unit>days?|weeks?|nights?|tagen?|tage?|wochen?|jours?|semaines?|d[ií]as?|semanas?|giorn[io]|settiman[ae]|dag(?:en)?|weken)\b",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"\b(?:next day|following day|day after|day before|previous day|day later|day earlier|tomorrow|yesterday|overnight"
    r"|nächsten tag|folgetag|tag darauf|morgen|gestern|vortag"
    r"|lendemain|demain|veille)\b",
    re.IGNORECASE,
)
_OVERNIGHT = re.compile(r"\d{2}:\d{2}(?::\d{2})?\s?\+1\b|\b(?:overnight|next day)\b", re.IGNORECASE)
_NIGHT = re.compile("overnight|next day", re.IGNORECASE)
"""Quick to look for, so that most texts need no more."""
_WEEK = re.compile(r"\b(?:next week|last week|week later|week earlier|nächste woche|semaine prochaine)\b", re.IGNORECASE)
_AGED = re.compile(r"\b(?:aged?|age of|im alter von|mit|à l'âge de|âgée? de)\s$", re.IGNORECASE)
_WEEKDAY = re.compile(r"\b(?:" + "|".join(name for name in WEEKDAYS if len(name) > 4) + r")\b", re.IGNORECASE)
_WEEK_AND_NEXT = 10
_MAX_DATES = 60
_MAX_SPAN = 62


class Offsets:
    """By how many days the person speaks of shifting; a facet of the evidence, so each text is read once."""

    def __init__(self) -> None:
        self.days: dict[int, str] = {}
        self.overnight = False
        self.weekdays: dict[int, str] = {}
        """Weekdays that the person asks about."""

    def add(self, source: Source) -> None:
        """Read the offsets in a source."""
        text = source.text
        if source.ground == "evidence" and not self.overnight:
            self.overnight = ("+1" in text or _NIGHT.search(text) is not None) and _OVERNIGHT.search(text) is not None
        if not source.person:
            return
        for day in _WEEKDAY.finditer(text):
            self.weekdays.setdefault(WEEKDAYS[day[0].lower()], day[0])
        next_day = _NEXT.search(text)
        if next_day is not None:
            self.days.setdefault(1, next_day[0])
            if re.search(r"day after tomorrow|übermorgen|après-demain", text, re.IGNORECASE):
                self.days.setdefault(2, "the day after tomorrow")
        week = _WEEK.search(text)
        if week is not None:
            self.days.setdefault(7, week[0])
        for match in _COUNTED.finditer(text):
            word = match["n"].lower()
            count = int(word) if word.isdigit() else NUMBER_WORDS.get(word, 1)
            days = count * (7 if match["unit"].lower()[0] in "ws" else 1)
            if 0 < days <= _MAX_SPAN:
                self.days.setdefault(days, match[0])


def shifted(table: Table, offsets: Offsets, moment: Moment, stated: Collection[tuple[int | None, int, int | None]]) -> Verdict | None:
    """A date that is a served date, shifted by what the person speaks of; or the day after a stated one, where results run past midnight.

    Args:
        table: the evidence.
        offsets: the shifts spoken of.
        moment: the date.
        stated: dates that the answer states.
    """
    if moment.impossible or not (offsets.days or offsets.overnight or offsets.weekdays):
        return None
    if moment.clock is not None and not table.find(f"t:{moment.clock[0]:02}:{moment.clock[1]:02}"):
        return None
    for year, month, day in moment.dates:
        years = [year] if year is not None else [y for y in table.years if table.is_usual_year(y)]
        for date in (_date(y, month, day) for y in years):
            if date is None:
                continue
            for days, said in offsets.days.items():
                for sign in (1, -1):
                    base = _moved(date, -sign * days)
                    held = [p for p in table.find(f"d:{base.isoformat()}") if not p.part or p.source.ground == "given"]
                    held = held or [p for p in table.find(f"D:{base:%m-%d}") if not p.part]
                    if held:
                        return supported("shifted", held, f"{date} = {base} {'+' if sign > 0 else '-'} {days} d ({said.strip()})")
            asked = offsets.weekdays.get(date.weekday())
            for days in range(1, _WEEK_AND_NEXT) if asked is not None else ():
                held = [p for p in table.find(f"d:{_moved(date, -days).isoformat()}") if not p.part or p.source.ground == "given"]
                if held:
                    return supported("shifted", held, f"{date} is the {asked} after {_moved(date, -days)}")
            before = _moved(date, -1)
            if offsets.overnight and any((y in (None, before.year)) and (m, d) == (before.month, before.day) for y, m, d in stated):
                held = table.find(f"d:{before.isoformat()}") or table.find(f"D:{before:%m-%d}")
                if held:
                    return supported("shifted", held, f"{date} = {before} + 1 d (past midnight)")
    return None


def _date(year: int | None, month: int, day: int | None) -> datetime.date | None:
    try:
        return None if year is None or day is None else datetime.date(year, month, day)
    except ValueError:
        return None


def _moved(date: datetime.date, days: int) -> datetime.date:
    try:
        return date + datetime.timedelta(days=days)
    except OverflowError:
        return date


def weekday_fits(word: str, moment: Moment, table: Table) -> bool | None:
    """Whether a date falls on a weekday; None where no year tells.

    Args:
        word: name of the weekday, lower case.
        moment: the date.
        table: the evidence, for the year of a date without one.
    """
    wanted = WEEKDAYS.get(word)
    if wanted is None or not moment.dates or moment.impossible:
        return None
    seen = False
    for year, month, day in moment.dates:
        if day is None:
            return None
        years = [year] if year is not None else [y for y in table.years if table.is_usual_year(y)]
        for y in years:
            if y is None:
                continue
            try:
                seen = True
                if datetime.date(y, month, day).weekday() == wanted:
                    return True
            except ValueError:
                continue
    return False if seen else None


def time_between(table: Table, number: Number) -> Verdict | None:
    """A duration that is the time between two moments of one object.

    Args:
        table: the evidence.
        number: the duration.
    """
    unit = number.unit
    if unit is None or unit.dimension != "time":
        return None
    wanted = number.value * float(unit.factor)
    half = 0.5 * 10.0**-number.decimals * float(unit.factor)
    exact = unit.name in ("h", "d") or half <= 30
    for source in table.sources:
        if source.ground != "evidence":
            continue
        for data, _ in records_of(source):
            for row in _objects(data):
                stamps = [(k, s) for k, v in row.items() if isinstance(v, str) and (s := _seconds(v)) is not None]
                for i, (a_key, a) in enumerate(stamps):
                    for b_key, b in stamps[i + 1 :]:
                        if (a >= 86400 * 2) != (b >= 86400 * 2):
                            continue
                        gap = abs(b - a)
                        options = (gap, 86400 - gap) if max(a, b) < 86400 * 2 else (gap,)
                        if exact and any(g > 0 and abs(g - wanted) <= (30 if unit.name in ("h", "min") else half) for g in options):
                            return supported("duration", [Posting(source, None)], f"{b_key} - {a_key} = {number.readings[0]} {unit.name}")
    return None


def age(table: Table, number: Number, before: str) -> Verdict | None:
    """Full years between two served dates, the later one the latest or any that the answer speaks of an age at.

    Args:
        table: the evidence.
        number: so many years.
        before: the text before it.
    """
    aged = _AGED.search(before) is not None
    if not aged and (number.unit is None or number.unit.name != "year"):
        return None
    if not number.value.is_integer() or not table.years:
        return None
    dates = sorted(datetime.date.fromisoformat(k[2:]) for k in table.values if k.startswith("d:"))[-_MAX_DATES:]
    for date, latest in itertools.product(dates[:-1], dates[1:] if aged else dates[-1:]):
        if date < latest and latest.year - date.year - ((latest.month, latest.day) < (date.month, date.day)) == number.value:
            return unverifiable("duration", table.find(f"d:{date.isoformat()}"), f"{date} to {latest}")
    return None


def time_stated(number: Number, clocks: Sequence[tuple[int, int]]) -> bool:
    """Whether a duration is the time between two clock times that stand beside it.

    Args:
        number: the duration.
        clocks: hours and minutes, in order.
    """
    if number.unit is None or number.unit.dimension != "time":
        return False
    minutes = number.value * float(number.unit.factor) / 60
    half = 0.5 * 10.0**-number.decimals * float(number.unit.factor) / 60
    times = [60 * h + m for h, m in clocks]
    return any(abs((b - a) % 1440 - minutes) <= half for a, b in itertools.pairwise(times) if a != b)


def _objects(data: Any) -> Iterator[Mapping[str, Any]]:
    stack = [data]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack.extend(v for v in value.values() if isinstance(v, (dict, list)))
        elif isinstance(value, list):
            stack.extend(v for v in value if isinstance(v, (dict, list)))


_STAMP = re.compile(r"(?:(\d{4})-(\d{2})-(\d{2})(?:[T ]|$))?(?:(\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2}|\+1)?)?")
_BASIC_STAMP = re.compile(r"(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})?Z?")


def _seconds(text: str) -> float | None:
    """A timestamp or a clock time in seconds; None for any other text."""
    match = _BASIC_STAMP.fullmatch(text) or _STAMP.fullmatch(text) if 5 <= len(text) <= 35 else None
    if match is None or (match[1] is None and match[4] is None):
        return None
    days = 0
    if match[1] is not None:
        try:
            days = datetime.date(int(match[1]), int(match[2]), int(match[3])).toordinal()
        except ValueError:
            return None
    elif text.endswith("+1"):
        days = 1
    return days * 86400 + 3600 * int(match[4] or 0) + 60 * int(match[5] or 0) + int(match[6] or 0)
