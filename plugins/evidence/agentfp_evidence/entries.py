"""Under which keys the values of a text are kept and found. Both sides, evidence and answer, use the same keys.

A key is a letter for the kind and the value: ``n:41200`` a number, ``d:2024-05-20`` a date, ``D:05-20`` a day without its
year, ``M:2024-05`` a month, ``t:18:00`` a clock time, ``i:`` an identifier, ``h:`` hexadecimal digits, ``e:`` an e-mail address,
``u:`` an address on the web, ``p:`` the digits of a phone number,
``q:`` a number that is a segment of an identifier, ``s:`` a whole short text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from agentfp_evidence.moments import STAMP, Moment, moments_of
from agentfp_evidence.normalise import canonical_number
from agentfp_evidence.scan import Mention, Word, scan
from agentfp_evidence.spelled import is_number_word, spelled_in
from agentfp_evidence.units import Unit, unit_of

_SEGMENTS = re.compile(r"[_\-/.:@#+&]+")
_HEX_PAIRS = re.compile(r"(?:[0-9a-f]{2}[:-]){5,7}[0-9a-f]{2}|(?:[0-9a-f]{4}[.:]){2,3}[0-9a-f]{4}")
_SIZE = re.compile(r"(\d+(?:[.,]\d+)?)(k|[KMGTP]i?)")
"""A size as tools print it: ``83G``, ``99Mi``; ``250m`` is no size but a thousandth."""
_LASTED = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[wdhms]))+")
"""How long something lasted, as programs print it: ``3d4h``, ``71m``, ``2m15s``."""
_LASTED_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[wdhms])")
_LASTED_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "ms"}
_YEAR_MONTH = re.compile(r"(?P<y>(?:19|20)\d\d)[-/](?P<m>0[1-9]|1[0-2])|(?P<m2>0[1-9]|1[0-2])/(?P<y2>(?:19|20)\d\d)")
_RACE_TIME = re.compile(r"(\d{1,3}):([0-5]\d\.\d{1,3})")
"""Minutes, seconds and their fraction."""
_STAMP = re.compile(STAMP)
_HASH = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{10,}|[0-9a-f]{24,}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MAX_SEGMENTS = 12
_LONGEST = 300
"""Longer tokens are blobs; nobody names a part of one."""


class Entry(NamedTuple):
    """One key of a value in a text."""

    key: str
    start: int
    end: int
    unit: Unit | None = None
    part: bool = False


_SEGMENT = re.compile(r"[^_\-/.:@#+&]+")


class Scanned(NamedTuple):
    """What a text of the evidence holds."""

    entries: list[Entry]
    words: list[Word]


def entries_of(text: str) -> Scanned:
    """The keys and words of a text of the evidence.

    Args:
        text: folded text.
    """
    words: list[Word] = []
    entries: list[Entry] = []
    for mention in scan(text, lambda *word: words.append(Word(*word)), lenient=True):
        _enter(mention, text, entries, words)
    if any(is_number_word(word.text) for word in words):
        entries.extend(Entry(f"n:{spelled.value}", spelled.start, spelled.end, part=True) for spelled in spelled_in(text))
    return Scanned(entries, words)


def _enter(mention: Mention, text: str, entries: list[Entry], words: list[Word]) -> None:
    start, end = mention.start, mention.end
    number = mention.number
    if number is not None:
        size = _SIZE.fullmatch(text, start, end)
        if size is not None:
            entries.append(Entry(f"n:{number_text(size[1])}", start, end, size_unit(size[2])))
        entries.extend(Entry(f"n:{reading}", start, end, number.unit) for reading in number.readings)
        if number.digits >= 7:
            entries.append(Entry("p:" + digits_of(text[start:end]), start, end, part=True))
        return
    if mention.kind == "moment":
        for moment in mention.moments:
            entries.extend(_of_moment(moment, start, end))
        return
    raw = text[start:end].lower()
    if mention.kind == "phone":
        entries.append(Entry("p:" + digits_of(raw), start, end))
        entries.append(Entry(f"i:{raw}", start, end))
        entries.extend(Entry(f"n:{canonical_number(d)}", start, end) for d in re.findall(r"\d{3,}", raw))
        entries.extend(_year_month(raw, start, end))
    elif mention.kind == "email":
        entries.append(Entry(f"e:{raw}", start, end))
        local, _, domain = raw.partition("@")
        entries.append(Entry(f"i:{domain}", start, end, part=True))
        _segments(local, start, entries, words)
    elif mention.kind == "url":
        address = address_of(raw)
        entries.append(Entry(f"u:{address}", start, end))
        for piece in re.split(r"[/?#&=]", address):
            if piece:
                entries.append(Entry(f"i:{piece}", start, end, part=True))
                _segments(piece, start, entries, words)
    elif mention.kind == "compound":
        entries.append(Entry(f"i:{raw}", start, end))
    elif mention.kind in ("identifier", "version"):
        size = _SIZE.fullmatch(text, start, end)
        if size is not None:
            entries.append(Entry(f"n:{number_text(size[1])}", start, end, size_unit(size[2])))
        if " " in raw:
            raw = re.sub(r"[ -]", "", raw)
            entries.append(Entry("p:" + digits_of(raw), start, end))
        entries.append(Entry(f"i:{raw}", start, end))
        for stamp in _STAMP.finditer(text, start, end):  # behind a name, as calendars have it: DTSTART:20260224T090000
            for moment in moments_of("stamp", stamp):
                entries.extend(_of_moment(moment, start, end))
        entries.extend(_lasted(raw, start, end))
        entries.extend(_year_month(raw, start, end))
        race = _RACE_TIME.fullmatch(raw)
        if race is not None:
            entries.append(Entry(f"n:{canonical_number(f'{60 * int(race[1]) + float(race[2]):.3f}')}", start, end, unit_of("s")))
        if raw.startswith("0x"):
            entries.append(Entry(f"i:{raw[2:]}", start, end))
        if len(raw) > _LONGEST:
            return
        nibbles = hex_of(raw)
        if nibbles:
            entries.append(Entry(f"h:{nibbles}", start, end))
        else:
            _segments(raw, start, entries, words)


def _year_month(raw: str, start: int, end: int) -> Iterator[Entry]:
    """A month as forms and tables write it: ``2024-01``, ``03/2026``."""
    month = _YEAR_MONTH.fullmatch(raw)
    if month is not None:
        year = month["y"] or month["y2"]
        yield Entry(f"M:{year}-{month['m'] or month['m2']}", start, end)
        yield Entry(f"n:{year}", start, end, part=True)


def _lasted(raw: str, start: int, end: int) -> Iterator[Entry]:
    """The parts of a length of time as programs print it, and the whole in the unit of its last part."""
    if _LASTED.fullmatch(raw) is None:
        return
    parts = [(float(m[1]), m[1], unit_of(_LASTED_UNITS[m[2]])) for m in _LASTED_PART.finditer(raw)]
    for _, text, unit in parts:
        yield Entry(f"n:{canonical_number(text)}", start, end, unit)
    last = parts[-1][2]
    if len(parts) > 1 and last is not None:
        seconds = sum(value * float(unit.factor) for value, _, unit in parts if unit is not None)
        yield Entry(f"n:{canonical_number(f'{seconds / float(last.factor):.3f}')}", start, end, last)


def _segments(raw: str, start: int, entries: list[Entry], words: list[Word]) -> None:
    """Segments of an identifier: words serve names, long numbers and codes stand for themselves."""
    segments = [(m.start(), m[0]) for m in _SEGMENT.finditer(raw)][:_MAX_SEGMENTS]
    for at, segment in segments:
        end = start + at + len(segment)
        if segment.isalpha():
            words.append(Word(segment, start + at, end))
        elif segment.isdigit():
            if len(segment) >= 4:
                entries.append(Entry(f"q:{segment}", start + at, end, part=True))
        elif len(segments) > 1 and len(segment) >= 3:
            entries.append(Entry(f"i:{segment}", start + at, end, part=True))
            letters = segment.rstrip("0123456789")
            if letters.isalpha():
                words.append(Word(letters, start + at, end))
    if "/" in raw:
        entries.extend(Entry(f"i:{raw[m.end() :]}", start, start + len(raw), part=True) for m in re.finditer("/", raw))
    if ":" in raw and not raw[0].isdigit():
        entries.extend(Entry(f"n:{int(p)}", start, start + len(raw), part=True) for p in raw.split(":")[1:] if p.isdigit() and len(p) < 7)
    if ":" in raw:
        entries.append(Entry(f"i:{raw.partition(':')[0]}", start, start + len(raw), part=True))


def _of_moment(moment: Moment, start: int, end: int) -> list[Entry]:
    found: list[Entry] = []
    whole = moment.clock is None
    for year, month, day in moment.dates:
        if moment.impossible and not moment.has_real_date:  # systems write 0000-00-00 for none
            found.append(Entry(impossible_key(year, month, day), start, end))
        elif day is None:
            found.append(Entry(f"M:{year:04}-{month:02}", start, end))
        elif year is None:
            found.append(Entry(f"D:{month:02}-{day:02}", start, end))
        else:
            found.append(Entry(f"d:{year:04}-{month:02}-{day:02}", start, end, part=not whole))
            found.append(Entry(f"D:{month:02}-{day:02}", start, end, part=True))
            found.append(Entry(f"M:{year:04}-{month:02}", start, end, part=True))
        if year is not None:
            found.append(Entry(f"n:{year}", start, end, part=True))
    if moment.clock is not None:
        hour, minute, second = moment.clock
        found.append(Entry(f"t:{hour:02}:{minute:02}", start, end, part=bool(moment.dates) or second is not None))
        if second is not None:
            found.append(Entry(f"t:{hour:02}:{minute:02}:{second:02}", start, end, part=bool(moment.dates)))
        if moment.loose and hour + 12 < 24:
            found.append(Entry(f"t:{hour + 12:02}:{minute:02}", start, end, part=True))
    return found


def impossible_key(year: int | None, month: int, day: int | None) -> str:
    """The key of a date that no calendar has."""
    return f"x:{year}-{month}-{day}"


def size_unit(letters: str) -> Unit | None:
    """The unit of a size whose last letter tools leave out.

    Args:
        letters: ``k``, ``M``, ``Gi`` and the like.
    """
    return unit_of(f"{letters[0].upper()}{letters[1:]}B")


def number_text(text: str) -> str:
    """The canonical decimal of plain digits with a point or a comma."""
    return canonical_number(text.replace(",", "."))


def number_key(value: float) -> str:
    """The key of a number of JSON data."""
    text = str(value)
    if "e" in text or "E" in text:
        text = format(Decimal(text), "f")
    return f"n:{canonical_number(text)}"


def digits_of(text: str) -> str:
    """The digits of a text, without leading zeros."""
    return re.sub(r"\D", "", text).lstrip("0")


def hex_of(raw: str) -> str | None:
    """The digits of a hardware address, whatever its separators; None for anything else."""
    if _HEX_PAIRS.fullmatch(raw):
        return re.sub(r"[^0-9a-f]", "", raw)
    return None


def is_hash(raw: str) -> bool:
    """Whether an identifier is so long a run of hexadecimal digits that people shorten it."""
    return _HASH.fullmatch(raw) is not None


def address_of(url: str) -> str:
    """An address on the web without what does not tell it from others."""
    return re.sub(r"^(?:https?://)?(?:www\.)?", "", url).rstrip("/")


@lru_cache(maxsize=4096)
def words_of_key(key: str) -> tuple[str, ...]:
    """The words of an object's key: ``firstName``, ``first_name`` and ``first-name`` alike."""
    return tuple(w.lower() for w in re.split(r"[\W_\d]+", _CAMEL.sub(" ", key)) if w)
