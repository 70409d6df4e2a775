"""The grammar of dates and clock times: ISO, prose in thirteen languages, numeric in both orders, 12 and 24 hours."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

from agentfp_evidence.words_pattern import any_of

_NAMES = (
    "january jan januar jänner janvier janv",
    "february feb februar février fevrier févr",
    "march mar märz maerz mrz mars",
    "april apr avril avr",
    "may mai",
    "june jun juni juin",
    "july jul juli juillet juil",
    "august aug août aout",
    "september sept sep septembre",
    "october oct oktober okt octobre",
    "november nov novembre",
    "december dec dezember dez décembre decembre déc",
)
_NEVER_CAPITAL = (
    "enero gennaio janeiro januari stycznia ledna января ocak",
    "febrero febbraio fevereiro februari lutego února февраля şubat",
    "marzo março maart marca března марта mart marts",
    "abril aprile kwietnia dubna апреля nisan",
    "mayo maggio maio mei maja května мая may\u0131s maj",
    "junio giugno junho czerwca června июня haziran",
    "julio luglio julho lipca července июля temmuz",
    "agosto augustus sierpnia srpna августа ağustos augusti",
    "septiembre setiembre settembre setembro września září сентября eylül",
    "octubre ottobre outubro października října октября ekim",
    "noviembre novembro listopada listopadu ноября kas\u0131m",
    "diciembre dicembre dezembro grudnia prosince декабря aral\u0131k desember",
)
"""Of languages that write months small: with a capital some of them are given names."""
CAPITAL_MONTHS = {name: number for number, names in enumerate(_NAMES, 1) for name in names.split()}
MONTHS = CAPITAL_MONTHS | {name: number for number, names in enumerate(_NEVER_CAPITAL, 1) for name in names.split()}
WEEKDAYS = {
    name: day
    for day, names in enumerate(
        (
            "monday mon montag lundi lunes lunedì maandag", "tuesday tue tues dienstag mardi martes martedì dinsdag",
            "wednesday wed mittwoch mercredi miércoles mercoledì woensdag",
            "thursday thu thur thurs donnerstag jeudi jueves giovedì donderdag", "friday fri freitag vendredi viernes venerdì vrijdag",
            "saturday sat samstag sonnabend samedi sábado sabato zaterdag", "sunday sun sonntag dimanche domingo domenica zondag",
        )
    )
    for name in names.split()
}  # fmt: skip
_MONTH = any_of(MONTHS) + r"(?![^\W_])\.?"
_DAY = r"\d{1,2}"
_YEAR = r"(?:1[6-9]|20|21)\d\d(?!\d)"
_TH = r"(?:st|nd|rd|th)?"
_GERMAN_BEFORE = "(?:" + "|".join(rf"(?<=\b{word}\s)" for word in ("am", "vom", "bis", "zum", "ab", "den", "dem", "und", "seit")) + ")"
_TO = r"(?:\s?-\s?|\s(?:to|through|until|and|bis(?:\szum)?|und|au|et|al?|y|e|en|tot)\s(?:the\s|den\s)?)"
_OF = r"(?:\s(?:of|del?|di))?"
ISO = (
    r"(?P<iso>(?<![\d-])(?P<iy>\d{4})--?(?P<im>\d{1,2})--?(?P<id>\d{1,2})(?!\d|-\d)"
    r"(?:[T ](?P<ih>\d{2}):(?P<imin>\d{2})(?::(?P<isec>\d{2})(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?(?!\d))?)"
)
STAMP = r"(?P<stamp>(?<![\w-])(?:19|20)\d{6}T\d{4}(?:\d{2})?Z?(?!\w))"
MONTH_DAY = (
    rf"(?P<md>(?<![^\W_])(?P<mdm>{_MONTH})[^\S\n]{{1,2}}(?P<mdd>{_DAY}){_TH}"
    rf"(?:\s?-\s?(?P<mdd2>{_DAY}){_TH}|\s(?:to|through|until)\s(?P<mdd3>{_DAY}){_TH}(?![\w:%])"
    r"(?!\s(?!(?:and|or|for|at|in|with|from|is|are|was|were|but|as)\b)[^\W\d_]))?"
    rf"(?!\w|[:.,]\d)(?:,?\s(?P<mdy>{_YEAR})|(?=\s\d{{2}}:\d{{2}}:\d{{2}}\s(?:[A-Z]{{3,4}}\s)?(?P<mdl>{_YEAR})))?)"
)
DAY_MONTH = (
    rf"(?P<dm>(?<![\w.,:-])(?P<dmd>{_DAY})(?:{_TH}|\.|er|o)(?:{_TO}(?P<dmd2>{_DAY})(?:{_TH}|\.))?"
    rf"{_OF}\s(?P<dmm>{_MONTH})(?:,?{_OF}\s(?P<dmy>{_YEAR}))?)"
)
MONTH_YEAR = rf"(?P<my>(?<![^\W_])(?P<mym>{_MONTH}),?{_OF}\s(?P<myy>{_YEAR}))"
NUMERIC = (
    rf"(?P<num>(?<![\w.,/:-])(?:(?P<nd>{_DAY})\.(?P<nm>{_DAY})\.(?P<ny>\d{{4}}|\d{{2}}(?!\d))|(?P<sa>{_DAY})/(?P<sb>{_DAY})/(?P<sy>\d{{4}}|\d{{2}})"
    rf"|(?P<yy>\d{{4}})[/.](?P<ym>\d{{2}})[/.](?P<yd>\d{{2}})|{_GERMAN_BEFORE}(?P<pd>\d{{2}})\.(?P<pm>\d{{2}})\.)(?![\w/]|[.,-]\d))"
)
CLOCK = (
    r"(?P<clock>(?<![\w.,:/])(?<![^\d]-)(?:(?P<ch>\d{1,2})::?(?P<cm>\d{2})(?::(?P<cs>\d{2})(?:[.,]\d+)?)?(?:\s?(?P<cap>[ap])(?:m(?!\w)|\.\s?m(?!\w)\.?)|\sUhr\b)?"
    r"|(?P<th>\d{1,2})\s?(?P<tap>[ap])(?:m(?!\w)|\.\s?m(?!\w)\.?)|(?P<uh>\d{1,2})(?:\.(?P<um>\d{2}))?\sUhr\b"
    r"|(?P<fh>\d{1,2})\s?h\s?(?P<fm>\d{2})(?![\w]|\s?min))(?!:?\w))"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, a clock time or both, as a text has it.

    Args:
        dates: the (year, month, day) that it may be; year or day None where unsaid; empty for a time alone.
        clock: hour, minute and second; second None where unsaid.
        loose: the hour may be of either half of the day.
        impossible: the calendar or the clock does not have it.
    """

    dates: tuple[tuple[int | None, int, int | None], ...] = ()
    clock: tuple[int, int, int | None] | None = None
    loose: bool = False
    impossible: bool = False

    @property
    def is_like_a_date(self) -> bool:
        """Whether its numbers could be those of a date, though the calendar may not have it: no code of three groups of digits."""
        return any(month <= 12 and (day or 0) <= 31 for _, month, day in self.dates)

    @property
    def has_real_date(self) -> bool:
        """Whether the calendar has its dates."""
        return any(_is_date(year, month, day or 1) for year, month, day in self.dates)


def moments_of(kind: str, match: re.Match[str]) -> list[Moment]:
    """The moments that a match of one of this module's patterns states: two for a range of days.

    Args:
        kind: name of the pattern's outer group.
        match: the match.
    """
    if kind == "clock":
        return [_clock(match)]
    if kind == "stamp":
        text = match[0]
        second = int(text[13:15]) if len(text.rstrip("Z")) > 13 else None
        return [_dated([(int(text[:4]), int(text[4:6]), int(text[6:8]))], (int(text[9:11]), int(text[11:13]), second))]
    if kind == "iso":
        clock = None
        if match["ih"] is not None:
            clock = (int(match["ih"]), int(match["imin"]), None if match["isec"] is None else int(match["isec"]))
        moment = _dated([(int(match["iy"]), int(match["im"]), int(match["id"]))], clock)
        return [moment]
    if kind == "md":
        written = match["mdy"] or match["mdl"]  # the latter as `date` prints it, behind the time
        year = int(written) if written else None
        return [_dated([(year, _month(match["mdm"]), int(day))]) for day in (match["mdd"], match["mdd2"], match["mdd3"]) if day]
    if kind == "dm":
        year = int(match["dmy"]) if match["dmy"] else None
        return [_dated([(year, _month(match["dmm"]), int(day))]) for day in (match["dmd"], match["dmd2"]) if day]
    if kind == "my":
        return [Moment(((int(match["myy"]), _month(match["mym"]), None),))]
    return [_numeric(match)]


def _numeric(match: re.Match[str]) -> Moment:
    if match["yy"] is not None:
        return _dated([(int(match["yy"]), int(match["ym"]), int(match["yd"]))])
    if match["pd"] is not None:
        return _dated([(None, int(match["pm"]), int(match["pd"]))])
    if match["nd"] is not None:
        return _dated([(_full_year(match["ny"]), int(match["nm"]), int(match["nd"]))])
    a, b, year = int(match["sa"]), int(match["sb"]), _full_year(match["sy"])
    return _dated([(year, a, b), (year, b, a)])


def _full_year(text: str) -> int:
    return int(text) if len(text) == 4 else 2000 + int(text) if int(text) < 70 else 1900 + int(text)


def _month(text: str) -> int:
    return MONTHS[text.lower().rstrip(".")]


def _dated(dates: list[tuple[int | None, int, int]], clock: tuple[int, int, int | None] | None = None) -> Moment:
    real = tuple(dict.fromkeys(d for d in dates if _is_date(*d)))
    good = clock is None or _is_clock(*clock)
    return Moment(real or tuple(dates), clock, impossible=not real or not good)


def _is_date(year: int | None, month: int, day: int) -> bool:
    try:
        datetime.date(2024 if year is None else year, month, day)  # a leap year, for want of another
    except ValueError:
        return False
    return True


def _is_clock(hour: int, minute: int, second: int | None) -> bool:
    return (hour < 24 or (hour, minute) == (24, 0)) and minute < 60 and (second or 0) < 61


def _clock(match: re.Match[str]) -> Moment:
    groups = match.groupdict()
    hour = int(next(groups[name] for name in ("ch", "th", "uh", "fh") if groups[name] is not None))
    minute = int(groups["cm"] or groups["um"] or groups["fm"] or 0)
    second = int(groups["cs"]) if groups["cs"] else None
    half = (groups["cap"] or groups["tap"] or "").lower()
    if half:
        if hour > 12 and groups["th"] is None:
            return Moment(clock=(hour, minute, second), impossible=not _is_clock(hour, minute, second) or half == "a")
        if not 1 <= hour <= 12:
            return Moment(clock=(hour, minute, second), impossible=True)
        hour = hour % 12 + (12 if half == "p" else 0)
    loose = not half and hour < 12 and groups["ch"] is not None and not groups["ch"].startswith("0") and second is None
    return Moment(clock=(hour, minute, second), loose=loose, impossible=not _is_clock(hour, minute, second))
