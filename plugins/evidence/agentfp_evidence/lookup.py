"""The first rungs of the ladder: a value stands in the evidence as it is, in another spelling, or as a part of what stands there."""

from __future__ import annotations

import re
from decimal import Decimal

from agentfp_evidence.entries import address_of, digits_of, hex_of, impossible_key
from agentfp_evidence.index import Posting
from agentfp_evidence.moments import MONTHS, Moment
from agentfp_evidence.normalise import canonical_number
from agentfp_evidence.numbers import Number
from agentfp_evidence.scan import Mention
from agentfp_evidence.table import Table
from agentfp_evidence.units import agree
from agentfp_evidence.verdict import Verdict, supported, unsupported, unverifiable

_COMPOUND = re.compile(r"[/+&,|:;=@]|--|\.\.|->")
_LOOSE_COMPOUND = re.compile(r"[/+&,|:;=@_-]|\.\.")
_GLUED_CODE = re.compile(r"(?P<code>usd|eur|gbp|chf|jpy|no|nr|id)(?P<digits>\d[\d.,]*)")
_NUMBERED = re.compile(r"([a-z]{3,})-(\d{1,3})")
"""A word and its number in one: "epoch-4" for "epoch 4"."""
_PREFIXED = re.compile(r"[a-z]{1,8}[-_#:]?(\d{4,})")
_RANGE = re.compile(r"(\d+\.\d+)-(\d+\.\d+)")
_FIRST_DAY = re.compile(
    r"(\d{1,2})\.\s?(?:bis(?:\szum)?|und|-)\s?[*_]*\d{1,2}\.\s(" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b",
    re.IGNORECASE,
)
"""The first of two days of one month: ``18. bis 22. Juli``."""
_DAY = re.compile(r"(\d{2})\.(\d{2})\.")
_SCORE = re.compile(r"(\d{1,3}):(\d{1,3})")
_CENTS = re.compile(r"[ -]?(?:cents?|ct|centimes?|pence|p|rappen)\b", re.IGNORECASE)
_LAST_DIGITS = re.compile(
    r"(?:ending(?: in| with)?|ends (?:in|with)|last (?:four|4)(?: digits)?(?: of| are| is|:)?|endet auf|endend auf"
    r"|se terminant par|x{2,}|\*{2,}|\.{3}|\u2022+)[\s*_`:#]*$",
    re.IGNORECASE,
)


def find_number(table: Table, number: Number, text: str) -> Verdict | None:
    """A number that stands somewhere, with a unit that agrees.

    Args:
        table: the evidence.
        number: the number.
        text: the answer, folded.
    """
    other_unit: list[Posting] = []
    for reading in number.readings:
        held = table.find(f"n:{reading}")
        if not held:  # what a statement books as -54.20 was "54.20 spent"
            held = table.find(f"n:{reading[1:]}" if reading.startswith("-") else f"n:-{reading}")
        fit = [p for p in held if agree(p.unit, number.unit)]
        if fit:
            return supported("exact", [p for p in fit if not p.part] or fit)
        other_unit.extend(held)
    plain = number.readings[0]
    if number.unit is None and _CENTS.match(
        text, number.end - len(number.word) if text[: number.end].endswith(number.word) else number.end
    ):
        held = table.find(f"n:{canonical_number(str(Decimal(plain) / 100))}")
        if held:
            return supported("scaled", held, f"{Decimal(plain) / 100}")
    if plain.isdigit() and len(plain) >= 3:
        held = table.find(f"q:{plain}") or table.find(f"i:{text[number.start : number.end].lower()}")
        if held:
            return supported("part", held)
        if len(plain) >= 4 and _LAST_DIGITS.search(text[max(0, number.start - 24) : number.start]):
            held = [p for d in table.phones if d.endswith(plain) for p in table.find(f"p:{d}") + table.find(f"q:{d}")]
            if held:
                return supported("part", held)
    if number.decimals > 0 and number.unit is None and (held := table.find(f"i:v{plain}")):
        return supported("part", held)
    if number.digits >= 7:
        held = table.find("p:" + digits_of(text[number.start : number.end]))
        if held:
            return supported("exact", held)
    return None


def unit_differs(table: Table, number: Number) -> bool:
    """Whether a number stands somewhere, with another unit only."""
    return any(table.find(f"n:{reading}") for reading in number.readings)


def find_identifier(table: Table, raw: str) -> Verdict | None:
    """An identifier that stands somewhere whole, in another notation, or put together of such.

    Args:
        table: the evidence.
        raw: the identifier, folded.
    """
    token = raw.lower()
    if " " in token:
        token = re.sub(r"[ -]", "", token)
        held = table.find(f"p:{digits_of(token)}") if token.isdigit() else []
        if held:
            return supported("exact", held)
    for form in (token, token.removesuffix("'s"), token.removeprefix("0x")):
        held = table.find(f"i:{form}") or table.find(f"s:{form}")
        if held:
            exact = [p for p in held if not p.part]
            return supported("exact" if exact else "part", exact or held)
    digits = token.replace("-", "")
    if digits != token and len(digits) >= 8 and digits.isdigit():
        held = table.find(f"i:{digits}") or table.find(f"n:{digits}")
        if held:
            return supported("exact", held)
    nibbles = hex_of(token)
    if nibbles is not None:
        held = table.find(f"h:{nibbles}")
        return supported("exact", held) if held else None
    shortened = token.rstrip(".…")
    if len(shortened) >= 7 and re.fullmatch(r"[0-9a-f]+", shortened):
        held = [p for h in table.hashes if h.startswith(shortened) for p in table.find(f"i:{h}")]
        if held:
            return supported("part", held)
    glued = _GLUED_CODE.fullmatch(token)
    if glued is not None:
        held = table.find("n:" + glued["digits"].replace(",", ""))
        if held:
            return supported("exact", held)
    return _score(table, token) or _put_together(table, token)


def _score(table: Table, token: str) -> Verdict | None:
    """Two numbers of one row with a colon between: ``21:8``."""
    sides = _SCORE.fullmatch(token)
    if sides is None:
        return None
    mine, theirs = (table.find(f"n:{int(side)}") for side in sides.groups())
    rows = {p.node[0] for p in theirs if p.node is not None}
    held = [p for p in mine if p.node is not None and p.node[0] in rows]
    return supported("part", held[:1]) if held else None


def _put_together(table: Table, token: str) -> Verdict | None:
    """Several values in one token, each of which stands somewhere whole."""
    ends = _RANGE.fullmatch(token)
    if ends is not None:
        both = [table.find(f"n:{canonical_number(end)}") for end in ends.groups()]
        if all(both):
            return supported("part", [p for postings in both for p in postings[:2]])
    for pattern in (_COMPOUND, _LOOSE_COMPOUND):
        pieces = [piece for piece in pattern.split(token) if piece]
        if len(pieces) < 2:
            continue
        found: list[Posting] = []
        for piece in pieces:
            if not any(c.isdigit() for c in piece):
                continue
            held = [p for p in table.find(f"i:{piece}") if len(piece) >= 4 or not p.part]
            if not held and piece.isdigit() and len(piece) >= 4:
                held = table.find(f"n:{piece}") or table.find(f"q:{piece}")
            if not held:
                break
            found.extend(held[:2])
        else:
            if found and (pattern is _COMPOUND or all(len(p) >= 4 for p in pieces if any(c.isdigit() for c in p))):
                return supported("part", found)
    numbered = _NUMBERED.fullmatch(token)
    if numbered is not None:
        held = [
            p
            for p in table.find(f"n:{numbered[2]}")
            if any(w.source is p.source and w.node is p.node and 0 < p.start - w.end <= 2 for w in table.words.get(numbered[1], ()))
        ]
        if held:
            return supported("part", held)
    prefixed = _PREFIXED.fullmatch(token)
    if prefixed is not None:
        held = table.find(f"n:{prefixed[1]}") or table.find(f"i:{prefixed[1]}")
        if held:
            return unverifiable("prefix", held)
    return None


def find_day(table: Table, number: Number, text: str) -> Verdict | None:
    """A day without its year as German writes it: ``02.10.``, or the first of two days of a month.

    Args:
        table: the evidence.
        number: what reads as a number with a fraction.
        text: the answer, folded.
    """
    day = _DAY.fullmatch(text, number.start, number.end + 1)
    if day is not None:
        held = _in_usual_years(table, int(day[2]), int(day[1]))
    else:
        first = _FIRST_DAY.match(text, number.start)
        held = _in_usual_years(table, MONTHS[first[2].lower()], int(first[1])) if first is not None else []
    return supported("exact", held) if held else None


def find_address(table: Table, mention: Mention, text: str) -> Verdict | None:
    """An e-mail address, an address on the web, or a phone number."""
    raw = text[mention.start : mention.end].lower()
    if mention.kind == "email":
        held = table.find(f"e:{raw}")
        return supported("exact", held) if held else None
    if mention.kind == "phone":
        return _find_phone(table, raw)
    address = address_of(raw)
    held = table.find(f"u:{address}") or table.find(f"i:{address}")
    if held:
        return supported("exact", held)
    pieces = [p for p in re.split(r"[/?#&=]", address) if p]
    found = [table.find(f"i:{p}") or table.find(f"u:{p}") or table.find(f"n:{p}") for p in pieces]
    if found and all(found):
        return supported("part", [p for postings in found for p in postings[:1]])
    return None


def _find_phone(table: Table, raw: str) -> Verdict | None:
    digits = digits_of(raw)
    held = table.find(f"p:{digits}") or table.find(f"i:{raw}")
    if held:
        return supported("exact", held)
    if len(digits) >= 7:
        near = [d for d in table.phones if len(d) >= 7 and (d.endswith(digits) or digits.endswith(d))]
        if near:
            return supported("part", [p for d in near for p in table.find(f"p:{d}")])
    pieces = re.findall(r"\d{3,}", raw)
    found = [table.find(f"n:{p.lstrip('0') or 0}") for p in pieces]
    if len(pieces) <= 2 and found and all(found) and len(digits) < 9:
        return supported("part", [p for postings in found for p in postings[:1]])
    return None


def find_moment(table: Table, moment: Moment) -> Verdict | None:
    """A date or a clock time that stands somewhere, in any spelling, whole or as a part of a timestamp."""
    if moment.impossible:  # what no clock shows may be hours and minutes that something took
        written = [posting for date in moment.dates for posting in table.find(impossible_key(*date))]
        if written:
            return supported("exact", written)
        return unsupported("weak" if not moment.dates and moment.clock is not None and moment.clock[1] < 60 else "strong", "impossible")
    found: list[Posting] = []
    how = "exact"
    if moment.dates:
        dated = _find_date(table, moment)
        if dated is None:
            return None
        how, found = dated
    if moment.clock is not None:
        timed = _find_clock(table, moment)
        if timed is None:
            return None
        how = timed[0] if not moment.dates or timed[0] == "part" else how
        found = [*found, *timed[1]]
    if how == "exact" and found and all(p.part for p in found):
        how = "part"
    return supported(how, found)


def _find_date(table: Table, moment: Moment) -> tuple[str, list[Posting]] | None:
    for year, month, day in moment.dates:
        if day is None:
            held = table.find(f"M:{year:04}-{month:02}")
        elif year is None:
            held = _in_usual_years(table, month, day)
        else:
            held = table.find(f"d:{year:04}-{month:02}-{day:02}")
            if not held:
                # a day given without its year, and a year that stands somewhere
                loose = [p for p in table.find(f"D:{month:02}-{day:02}") if not p.part]
                years = table.find(f"n:{year}")
                if loose and (years or table.is_usual_year(year)):
                    return "part", [*loose, *years[:1]]
        if held:
            return "exact", held
    return None


def _in_usual_years(table: Table, month: int, day: int) -> list[Posting]:
    """A day without its year is one of the years that the conversation is about, not the birthday of someone in it."""
    held = table.find(f"D:{month:02}-{day:02}")
    if not held or any(not p.part for p in held):
        return held
    years = [y for y in table.years if table.is_usual_year(y)]
    return [p for y in years for p in table.find(f"d:{y:04}-{month:02}-{day:02}")]


def _find_clock(table: Table, moment: Moment) -> tuple[str, list[Posting]] | None:
    hour, minute, second = moment.clock or (0, 0, None)
    for h in (hour, hour + 12) if moment.loose else (hour,):
        if second is not None:
            held = table.find(f"t:{h:02}:{minute:02}:{second:02}")
            if not held and second == 0:
                held = [p for p in table.find(f"t:{h:02}:{minute:02}") if not p.part]
        else:
            held = table.find(f"t:{h:02}:{minute:02}")
        if held:
            return "exact", held
    return None
