"""The one grammar of time: instants, durations, zones, ranges. Nobody else in this package reads a text about time.

Instants are nanoseconds since 1970 in UTC. A range holds its beginning and not its end.
"""

from __future__ import annotations

import datetime
import re
import zoneinfo
from typing import NamedTuple

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
UNITS = {"s": SECOND, "m": 60 * SECOND, "h": 3_600 * SECOND, "d": 86_400 * SECOND, "w": 7 * 86_400 * SECOND}
"""Nanoseconds of a unit; a day has 24 hours here, whatever clocks do."""
_DATE = r"(\d{4})-(\d{2})-(\d{2})"
_STRICT = re.compile(_DATE + r"T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2})", re.ASCII)
_LENIENT = re.compile(_DATE + r"[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_WALL = re.compile(_DATE + r"T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?", re.ASCII)
_DAY = re.compile(_DATE, re.ASCII)
_DURATION = re.compile(r"([1-9][0-9]*)([smhdw])", re.ASCII)
_ZONE = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*", re.ASCII)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Range(NamedTuple):
    """A range of time: from an instant on, and up to another one that is not in it."""

    start: int
    end: int


class Length(NamedTuple):
    """A length of time up to now, as somebody spelled it."""

    number: int
    unit: str

    @property
    def ns(self) -> int:
        """Nanoseconds."""
        return self.number * UNITS[self.unit]

    def text(self) -> str:
        """Such as ``45m``."""
        return f"{self.number}{self.unit}"


class Instant(NamedTuple):
    """An instant as somebody wrote it, and how finely.

    Args:
        ns: nanoseconds since 1970 in UTC.
        step: the nanoseconds that the last written place stands for.
    """

    ns: int
    step: int


def instant(text: object, *, strict: bool) -> Instant | None:
    """Read an instant. A zone is always needed.

    Args:
        text: what may be one.
        strict: as it is sent to a tool: upper case, no second 60; else as RFC 3339 has it, for what tools declare.

    Returns:
        The instant; None when it is none.
    """
    found = (_STRICT if strict else _LENIENT).fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    *fields, zone = found.groups()
    local = _of_fields(fields, leap=not strict)
    if local is None:
        return None
    offset = 0
    if zone not in "Zz":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 23 or minutes > 59:
            return None
        offset = (hours * 3600 + minutes * 60) * SECOND * (-1 if zone[0] == "-" else 1)
    return Instant(local.ns - offset, local.step)


def _of_fields(fields: list[str | None], *, leap: bool) -> Instant | None:
    """The time that the fields name, as if they were UTC."""
    year, month, day, hour, minute = (int(field or 0) for field in fields[:5])
    second, fraction = int(fields[5] or 0), fields[6] or ""
    if second == 60 and leap:
        second, fraction, extra = 59, "", SECOND  # a leap second is the beginning of the next one
    else:
        extra = 0
    try:
        moment = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC)
    except ValueError:
        return None
    step = 60 * SECOND if fields[5] is None else 10 ** (9 - len(fraction)) if fraction else SECOND
    return Instant(_ns(moment) + extra + int(fraction.ljust(9, "0") or 0), step)


def _ns(moment: datetime.datetime) -> int:
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds * 1_000


def of_datetime(moment: datetime.datetime) -> int:
    """The instant of an aware datetime."""
    return _ns(moment)


def to_datetime(ns: int, zone: datetime.tzinfo = datetime.UTC) -> datetime.datetime:
    """The datetime of an instant, to the microsecond.

    Raises:
        OverflowError: it is beyond the years that there are.
    """
    return (_EPOCH + datetime.timedelta(microseconds=ns // 1_000)).astimezone(zone)


def duration(text: object, units: str = "mhdw") -> Length | None:
    """Read a length such as ``45m``.

    Args:
        text: what may be one.
        units: the units that are taken.
    """
    found = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if found is None or found[2] not in units:
        return None
    try:
        return Length(int(found[1]), found[2])
    except ValueError:  # more digits than Python reads
        return None


def zone(name: object) -> zoneinfo.ZoneInfo | None:
    """A time zone by its IANA name, such as ``Europe/Paris``; None for anything else, abbreviations and offsets too."""
    if not isinstance(name, str) or len(name) > 64 or not _ZONE.fullmatch(name) or not (name == "UTC" or "/" in name):
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


class Gap(Exception):
    """A wall time that the zone skips."""


def wall(text: object, in_zone: datetime.tzinfo) -> Instant | None:
    """Read a time without a zone, such as ``2027-03-04T09:15``, as the clocks of a zone show it.

    Raises:
        Gap: the zone skips it.
    """
    found = _WALL.fullmatch(text) if isinstance(text, str) else None
    local = None if found is None else _of_fields(list(found.groups()), leap=False)
    return None if local is None else Instant(_at(local.ns, in_zone), local.step)


def _at(local_ns: int, in_zone: datetime.tzinfo) -> int:
    try:
        naive = to_datetime(local_ns).replace(tzinfo=in_zone)
        moment = naive.astimezone(datetime.UTC)
        if moment.astimezone(in_zone).replace(tzinfo=None) != naive.replace(tzinfo=None):
            raise Gap
    except OverflowError as error:
        raise Gap from error
    return _ns(moment) + local_ns % 1_000


def day(text: object, in_zone: datetime.tzinfo) -> Range | None:
    """Read a calendar day such as ``2027-03-04`` in a zone."""
    found = _DAY.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    try:
        first = datetime.date(*(int(field) for field in found.groups()))
        return day_of(first, in_zone)
    except (ValueError, OverflowError):
        return None


def day_of(first: datetime.date, in_zone: datetime.tzinfo) -> Range:
    """A calendar day in a zone: it begins with the first moment that the zone has of it.

    Raises:
        OverflowError: it is the last one that there is.
    """
    return Range(_midnight(first, in_zone), _midnight(first + datetime.timedelta(days=1), in_zone))


def _midnight(of: datetime.date, in_zone: datetime.tzinfo) -> int:
    naive = datetime.datetime(of.year, of.month, of.day, tzinfo=in_zone)
    moment = naive.astimezone(datetime.UTC)
    back = moment.astimezone(in_zone)
    if back.date() < of:  # the zone skips midnight
        moment += datetime.timedelta(hours=24) - datetime.timedelta(hours=back.hour, minutes=back.minute, seconds=back.second)
    return _ns(moment)


def iso(ns: int, *, step: int = SECOND) -> str:
    """An instant in UTC, to the second where it is whole and ``step`` allows it, else to the millisecond or finer."""
    moment = _EPOCH + datetime.timedelta(seconds=ns // SECOND)
    return f"{moment.isoformat()[:19]}{_fraction(ns, step)}Z"


def _fraction(ns: int, step: int) -> str:
    rest = ns % SECOND
    if not rest and step >= SECOND:
        return ""
    return f".{rest // MILLISECOND:03}" if rest % MILLISECOND == 0 else f".{rest:09}"


def wall_text(ns: int, in_zone: datetime.tzinfo, *, step: int = SECOND) -> str | None:
    """An instant as the clocks of a zone show it; None when that time is there twice, so that it would not be read back."""
    moment = to_datetime(ns, in_zone)
    text = moment.replace(microsecond=0, tzinfo=None).isoformat() + _fraction(ns, step)
    doubled = moment.replace(fold=0).utcoffset() != moment.replace(fold=1).utcoffset()
    try:
        back = wall(text, in_zone)
    except Gap:
        return None
    return text if back is not None and back.ns == ns and not doubled else None
