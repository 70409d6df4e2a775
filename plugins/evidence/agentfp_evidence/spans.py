"""Terms and the dates they end on: start and length give the end, two dates give the time between, two times of a race the gap."""

from __future__ import annotations

import calendar
import datetime
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from agentfp_evidence.columns import is_number, rows_of
from agentfp_evidence.context import NUMBER_WORDS
from agentfp_evidence.entries import words_of_key
from agentfp_evidence.index import Posting, places
from agentfp_evidence.moments import Moment
from agentfp_evidence.numbers import Number
from agentfp_evidence.operands import Operand
from agentfp_evidence.reading import Leaf
from agentfp_evidence.reckoning import NARROW_RISK, Term, reckon
from agentfp_evidence.sources import Source
from agentfp_evidence.table import Table
from agentfp_evidence.units import unit_of
from agentfp_evidence.verdict import Verdict, supported, unverifiable

MAX_DATES = 40
MAX_SPANS = 12
_REACH = 45
_MAX_SHARE = 0.08
"""Of the days around a date, how many may be such ends."""
_MAX_SHARE_OF_ANY = 0.045
"""The same for lengths that the answer does not say beside the date."""
_MAX_TIMES = 12
_RACING = re.compile(
    r"\b(?:pace|faster|slower|half|halves|split\w*|behind|ahead|gap|laps?|finish\w*|second"
    r"|per km|per mile|took|difference|schneller|langsamer|tempo)\b",
    re.IGNORECASE,
)
_MAX_GAPS = 4
_CLOCK_REACH = 90
_LONGEST_SERIES = 366 * 5
_SAID = re.compile(
    r"\b(?:(?P<low>\d{1,3})\s?(?:-|to|bis|\u00e0)\s?)?(?P<n>\d{1,3}|an?|one|einen?|une?|"
    + "|".join(NUMBER_WORDS)
    + r")[ -](?:(?:(?P<work>business|working)|calendar|full|more)[ -])?"
    + r"(?P<unit>days?|werktagen?|werktage|nights?|weeks?|months?|years?|tagen?|tage|n\u00e4chten?"
    + r"|wochen?|monate?n?|jahre?n?|jours?|nuits?|semaines?|mois|ans?"
    + r"|d[ií]as?|semanas?|mes(?:es)?|a[ñn]os?|giorn[io]|settiman[ae]|mes[ie]|ann[io]|dag(?:en)?|weken|maand(?:en)?|ja(?:ar|ren))\b",
    re.IGNORECASE,
)
_MONTHLY = re.compile(
    r"\b(?:monthly|a month|per month|every month|each month|instal\w*|monatlich\w*|raten?|mensuel\w*|par mois)\b", re.IGNORECASE
)
_BACK = re.compile(
    r"\b(?:before|notice|earlier|ago|prior|until|cancel\w*|latest|by|since|began|begins?|started|starts?|from|vor|bis|seit|ab|avant|depuis"
    r"|antes|hasta|desde|hace|prima|fino|da|fa|antes|até|desde|há|vóór|tot|sinds|geleden)\b",
    re.IGNORECASE,
)
_TERM = re.compile(
    r"\b(?:ends?|ending|until|till|to|through|due|deadline|expir\w*|valid|starts?|begins?|from|after|before|within|later|notice|last|return\w*"
    r"|check-?(?:out|in)|ready|arriv\w*|deliver\w*|next|follow\w*|renew\w*|cancel\w*|latest|overdue|by|back|then|again|bis|fällig|ab|nach|vor"
    r"|spätestens|kündig\w*|endet|beginnt|jusqu\w*|échéance|avant|après|partir|fin"
    r"|hasta|vence\w*|válid\w*|antes|después|entrega\w*|lleg\w*|fino|entro|scad\w*|dopo|prima|até|depois|prazo|tot|verval\w*|uiterlijk|na|voor)\b",
    re.IGNORECASE,
)
"""Words of a date that is reckoned from a length that only the results hold."""
_TERM_REACH = 120
_DAY = 86_400
_AUTUMN, _SPRING = 9, 4
_WORKING_BEHIND = re.compile(r" ouvr(?:\u00e9|able)s?\b", re.IGNORECASE)
_WEEKDAYS = re.compile(r"(?:week|working|business|work)[ -]?days?|werktage?|arbeitstage?|jours ouvr\u00e9s", re.IGNORECASE)
_MOST_WORKING_DAYS = 60
_NIGHTS = frozenset({"night", "nights", "n\u00e4chte", "nuits", "noches", "notti", "noites", "nachten"})
_SATURDAY = 5
_KEYS = {
    "day": ("d", 1), "days": ("d", 1), "night": ("d", 1), "nights": ("d", 1), "week": ("d", 7), "weeks": ("d", 7),
    "month": ("m", 1), "months": ("m", 1), "year": ("m", 12), "years": ("m", 12),
}  # fmt: skip


class Spans:
    """The lengths of time that a conversation speaks of: days or months, and how they were said; a facet of the evidence."""

    def __init__(self) -> None:
        self._pending: list[Source] = []
        self._found: dict[tuple[str, int], str] = {}
        self.monthly = False
        """Whether something falls due every month."""

    def add(self, source: Source) -> None:
        """Note a source."""
        self._pending.append(source)

    def all(self) -> dict[tuple[str, int], str]:
        """Each length with the words for it; none where there are too many to choose from."""
        for source in self._pending:
            self.monthly = self.monthly or _MONTHLY.search(source.text) is not None
            for leaf in source.reading.leaves:
                self._read(leaf)
            for rows in rows_of(source):
                for row in rows.rows[:MAX_SPANS] if rows.is_text else ():
                    for key, value in row.items():
                        self._of_key(key, value)
        self._pending.clear()
        return self._found if len(self._found) <= MAX_SPANS else {}

    def _read(self, leaf: Leaf) -> None:
        if isinstance(leaf.value, str) and len(self._found) <= MAX_SPANS:
            for span, words in _said(leaf.value[:20_000]):
                self._put(span, words)
        else:
            self._of_key(leaf.key, leaf.value)

    def _of_key(self, key: str, value: Any) -> None:
        if is_number(value) and float(value).is_integer():
            words = words_of_key(key)
            for word in words:
                if word in _KEYS:
                    kind, factor = _KEYS[word]
                    if word == "days" and ("business" in words or "working" in words) and value <= _MOST_WORKING_DAYS:
                        kind = "w"
                    self._put((kind, factor * int(value)), f"{key}: {value:g}")

    def _put(self, span: tuple[str, int], said: str) -> None:
        if 0 < span[1] <= (1_200 if span[0] == "m" else 4_000) and len(self._found) <= MAX_SPANS:
            self._found.setdefault(span, said)


def _said(text: str) -> Iterator[tuple[tuple[str, int], str]]:
    """The lengths that a text speaks of, both ends of a range, and the words for each."""
    for match in _SAID.finditer(text):
        unit, word = match["unit"].lower(), match["n"].lower()
        works = match["work"] is not None or unit.startswith("werk") or _WORKING_BEHIND.match(text, match.end()) is not None
        counts = [int(word) if word.isdigit() else NUMBER_WORDS.get(word, 1)]
        if match["low"] is not None:
            counts.append(int(match["low"]))
        for count in counts:
            yield (("w", count) if works and unit[0] in "dtjw" and count <= _MOST_WORKING_DAYS else _span(unit, count)), match[0]


def _span(unit: str, count: int) -> tuple[str, int]:
    known = unit_of(unit)
    if known is None:  # nights, and working days
        return "d", count
    return ("m", int(count * known.factor)) if known.dimension == "months" else ("d", int(count * known.factor / _DAY))


def find_end(
    table: Table, spans: Spans, moment: Moment, stated: Collection[datetime.date], said: Sequence[str], beside: Sequence[datetime.date] = ()
) -> Verdict | None:
    """A date that is so long after or before another: the end of a term, the last day of a stay, the working day after it.

    Args:
        table: the evidence.
        spans: the lengths that the conversation speaks of.
        moment: the date.
        stated: grounded dates that the answer states.
        said: the answer's own sentences around the date, whose lengths count too.
        beside: those of the dates that its sentence states before it.
    """
    if moment.impossible or moment.clock is not None:
        return None
    own: dict[tuple[str, int], str] = {}
    for span, words in itertools.chain.from_iterable(_said(text) for text in said):
        own.setdefault(span, words)
    bases = _dates(table, stated)
    everything = {**spans.all(), **own} if any(_TERM.search(text[-_TERM_REACH:]) for text in said) else own
    back = any(_BACK.search(text) for text in said)
    for year, month, day in moment.dates:
        usual = [*(y for y in table.years if table.is_usual_year(y)), *(start.year for start in beside), *_next_year(beside, month)]
        for y in [year] if year is not None else dict.fromkeys(usual):
            try:
                date = datetime.date(y, month, day or 0)
            except ValueError:
                continue
            tries = [(beside, own, False), (beside, own, True)] if beside else []
            tries += [(bases, lengths, loosely) for lengths in (own, everything) for loosely in (False, True)]
            for starts, lengths, loosely in tries:
                found = _ends_near(date, starts, lengths, loosely, back)
                share = _MAX_SHARE if lengths is own else _MAX_SHARE_OF_ANY
                if date in found and len(found) <= share * (2 * _REACH + 1):
                    base, words = found[date]
                    held = table.find(f"d:{base.isoformat()}")
                    return supported("shifted", held, f"{date} follows from {base} and {words.strip()}")
            series = [b for b in bases if b.day == day and 0 < (date - b).days <= _LONGEST_SERIES] if spans.monthly else []
            if series:
                return supported("shifted", table.find(f"d:{series[0].isoformat()}"), f"{date} is whole months after {series[0]}")
    return None


def _next_year(starts: Sequence[datetime.date], month: int) -> Iterator[int]:
    """The year that a month without one is in, where a term runs past New Year."""
    yield from (start.year + 1 for start in starts if start.month >= _AUTUMN and month <= _SPRING)


def _ends_near(
    date: datetime.date, bases: Sequence[datetime.date], lengths: Mapping[tuple[str, int], str], loosely: bool, back: bool
) -> dict[datetime.date, tuple[datetime.date, str]]:
    """The ends of all terms that are near a date, each with its start and the words for its length."""
    found: dict[datetime.date, tuple[datetime.date, str]] = {}
    for base, (span, words) in itertools.product(bases, lengths.items()):
        for end in _ends(base, span, loosely, back):
            if abs((end - date).days) <= _REACH and end not in bases:
                found.setdefault(end, (base, words))
    return found


def _ends(base: datetime.date, span: tuple[str, int], loosely: bool, back: bool) -> Iterator[datetime.date]:
    """The days that a term ends on, or begins on: to the day and its last day; loosely, the day before, or after a weekend."""
    for sign in (1, -1) if back and span[0] != "w" else (1,):
        try:
            whole = _later(base, span, sign)
            yield whole
            if span[0] == "w":
                return
            yield _later(base + datetime.timedelta(days=1), span, sign) - datetime.timedelta(days=1)
        except (OverflowError, ValueError):
            continue
        if loosely and sign > 0:
            yield whole - datetime.timedelta(days=1)
            if whole.weekday() >= 5:
                yield whole + datetime.timedelta(days=7 - whole.weekday())


def _later(base: datetime.date, span: tuple[str, int], sign: int) -> datetime.date:
    kind, count = span
    if kind == "w":
        day = base
        while count:
            day += datetime.timedelta(days=sign)
            count -= day.weekday() < _SATURDAY
        return day
    if kind == "d":
        return base + datetime.timedelta(days=sign * count)
    months = base.year * 12 + base.month - 1 + sign * count
    year, month = divmod(months, 12)
    return datetime.date(year, month + 1, min(base.day, calendar.monthrange(year, month + 1)[1]))


def _dates(table: Table, stated: Collection[datetime.date]) -> list[datetime.date]:
    served = [datetime.date.fromisoformat(key[2:]) for key in table.values if key.startswith("d:")]
    return list(dict.fromkeys([*stated, *served[-MAX_DATES:]])) if len(served) <= 4 * MAX_DATES else list(stated)


def time_from_dates(
    table: Table, number: Number, stated: Sequence[datetime.date], beside: Sequence[datetime.date], label: str = ""
) -> Verdict | None:
    """A length of time between two dates: two that stand beside it, or one of those and a served one.

    Args:
        table: the evidence.
        number: so many days, weeks, months or years; or nights.
        stated: grounded dates of the answer.
        beside: those of them that its sentence holds.
        label: what a number without a unit is called: the heading of its column, or the words before a colon.
    """
    unit = number.unit.name if number.unit is not None else _unit_called(number.word or label)
    if unit not in ("d", "weekday", "week", "month", "year") or number.decimals > 0:
        return None
    for a, b in itertools.combinations(dict.fromkeys(beside), 2):
        if round(number.value) in _lengths(a, b, unit):
            return supported("duration", table.find(f"d:{a.isoformat()}"), f"{min(a, b)} to {max(a, b)}")
    today = [datetime.date.fromisoformat(k[2:]) for k in table.values if k.startswith("d:") and _is_given(table, k)]
    if len(today) == 1:  # how long it is from now
        gaps = {gap: (today[0], b) for b in (beside or stated) if b != today[0] for gap in _lengths(today[0], b, unit)}
        if round(number.value) in gaps and len([g for g in gaps if number.value / 2 <= g <= 2 * number.value]) <= _MAX_GAPS:
            a, b = gaps[round(number.value)]
            return supported("duration", table.find(f"d:{a.isoformat()}"), f"{min(a, b)} to {max(a, b)}")
    others = _dates(table, stated)[:MAX_DATES]
    gaps = {gap: (a, b) for a in (*beside, *([] if beside else others)) for b in others if a != b for gap in _lengths(a, b, unit)}
    near = [gap for gap in gaps if number.value / 2 <= gap <= 2 * number.value]
    if round(number.value) in gaps and len(near) <= _MAX_GAPS:
        a, b = gaps[round(number.value)]
        held = table.find(f"d:{a.isoformat()}") or table.find(f"d:{b.isoformat()}")
        how = supported if len(near) <= NARROW_RISK * 1.5 * number.value else unverifiable
        return how("duration", held, f"{min(a, b)} to {max(a, b)}")
    return None


def _is_given(table: Table, key: str) -> bool:
    """Whether a value stands in what the person or the application says."""
    return any(p.source.ground == "given" for p in table.find(key))


def _unit_called(words: str) -> str | None:
    """What a number counts by the word for it."""
    called = words.lower().strip(" *_:")
    if _WEEKDAYS.fullmatch(called):
        return "weekday"
    unit = unit_of(called)
    return "d" if called in _NIGHTS or (unit is not None and unit.dimension == "time" and unit.factor == _DAY) else None


def _lengths(a: datetime.date, b: datetime.date, unit: str) -> set[int]:
    first, last = min(a, b), max(a, b)
    days = (last - first).days
    if unit == "d":
        return {days}
    if unit == "weekday":
        whole = [first + datetime.timedelta(days=i) for i in range(min(days, 400) + 1)]
        return {sum(day.weekday() < _SATURDAY for day in whole)}
    if unit == "week":
        return {days // 7} if days % 7 == 0 else set()
    months = 12 * (last.year - first.year) + last.month - first.month
    months -= last.day < first.day
    if unit == "month":
        return {months}
    return {months // 12}


def find_time(table: Table, moment: Moment, stated: Sequence[float], numbers: Sequence[Term], sentence: str) -> Verdict | None:
    """A time of a race or a run that two others give, or one and a distance: the gap, the sum, the pace.

    Args:
        table: the evidence.
        moment: hours, minutes and seconds; or minutes and seconds.
        stated: such times, in seconds, that the answer states.
        numbers: what a time may be divided by.
        sentence: the sentence that it stands in.
    """
    if moment.clock is None or moment.dates or not _RACING.search(sentence):
        return None
    times = sorted({*map(_seconds, (k for k in table.values if k.startswith("t:") and k.count(":") == 3)), *stated})
    if not 1 <= len(times) <= _MAX_TIMES:
        return None
    hour, minute, second = moment.clock
    unit = unit_of("s")
    terms = [Term(value, unit) for value in times if value]
    for wanted in [3600 * hour + 60 * minute + second] if second is not None else [60 * hour + minute, 3600 * hour + 60 * minute]:
        number = Number((str(wanted),), 0, 9, unit, "s", False, 0, 0)
        found = reckon(number, terms, frozenset({"difference", "sum"})) or reckon(number, terms, frozenset({"ratio"}), numbers)
        if found is not None:
            return Verdict("supported", found.how, f"{wanted} s = {found.written}")
    return None


def clock_after(table: Table, moment: Moment, stated: Sequence[tuple[int, int, int | None]], lengths: Sequence[Operand]) -> Verdict | None:
    """A clock time that is so long after or before another.

    Args:
        table: the evidence.
        moment: the clock time.
        stated: grounded clock times of the answer.
        lengths: grounded lengths of time of the answer.
    """
    if moment.clock is None or moment.dates:
        return None
    served = [tuple(map(int, key[2:].split(":")[:2])) for key in table.values if key.startswith("t:")]
    starts = {60 * c[0] + c[1] for c in stated} | {60 * h + m for h, m in served[:_MAX_TIMES]}
    minutes = {round(o.value * float(o.unit.factor) / 60) for o in lengths if o.unit is not None}
    wanted = 60 * moment.clock[0] + moment.clock[1]
    found: dict[int, tuple[int, int]] = {}
    for start, length in itertools.product(starts, minutes):
        for end in (start + length, start - length):
            if length and abs((end - wanted + 720) % 1440 - 720) <= _CLOCK_REACH:
                found.setdefault(end % 1440, (start, length))
    if wanted in found and len(found) <= _MAX_SHARE * 2 * _CLOCK_REACH:
        start, length = found[wanted]
        held = table.find(f"t:{start // 60:02}:{start % 60:02}")
        return Verdict("supported", "shifted", f"{start // 60:02}:{start % 60:02} and {length} min", places(held))
    return None


def as_seconds(moment: Moment) -> float | None:
    """A clock time with seconds as seconds; None for any other moment."""
    if moment.clock is None or moment.clock[2] is None or moment.dates:
        return None
    return float(3600 * moment.clock[0] + 60 * moment.clock[1] + moment.clock[2])


def _seconds(key: str) -> float:
    hour, minute, second = key[2:].split(":")
    return float(3600 * int(hour) + 60 * int(minute) + int(second))


def time_as_clock(table: Table, number: Number) -> Verdict | None:
    """A length of time that a result prints as a clock: ``00:47:12``.

    Args:
        table: the evidence.
        number: so many hours, minutes or seconds.
    """
    if number.unit is None or number.unit.dimension != "time" or number.unit.name not in ("h", "min", "s"):
        return None
    keys = [k for k in table.values if k.startswith("t:") and k.count(":") == 3]
    if not 0 < len(keys) <= _MAX_TIMES:
        return None
    factor = float(number.unit.factor)
    wanted, step = number.value * factor, 10.0**-number.decimals * factor
    near = {k for k in keys if wanted / 2 <= _seconds(k) <= 2 * wanted}
    for key in near:
        if -step / 2 <= _seconds(key) - wanted < step and len(near) * 1.5 * step <= 4 * NARROW_RISK * 1.5 * wanted:
            return supported("converted", [Posting(p.source, p.node, p.start, p.end) for p in table.find(key)], f"{key[2:]}")
    return None
