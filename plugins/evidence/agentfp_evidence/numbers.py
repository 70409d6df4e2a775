"""The grammar of numbers as people write them: groups, fractions, exponents, scales, currencies and units."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from agentfp_evidence.normalise import MOST_DIGITS, canonical_number
from agentfp_evidence.units import Unit, is_money, unit_of

_BODY = (
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}"
    r"|\d{1,3}(?:'\d{3})+(?:[.,]\d+)?|\d{1,3}(?: \d{3})+(?:,\d+)?(?![\d:])|\d+(?:[.,]\d+)?"
)
NUMBER = re.compile(rf"(?P<body>{_BODY})(?P<exp>[eE][-+]?[0-5]?\d(?!\w)|\s?[x\u00d7]\s?10\^[-+]?[0-5]?\d(?!\w))?")
_PREFIX = re.compile(r"(?:(?<![A-Za-z])(?:US\$|USD|EUR|GBP|CHF|JPY|CAD|AUD|INR)|[$€£¥₹])\s?$")
_TAIL = re.compile(r"( ?[-\u2010]?)(%|°[CF]|[€£¥₹$]|(?:[^\W\d_]|[µμ])+(?:/(?:[^\W\d_])+)?)")
_HEDGE = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|approx\.?|nearly|almost|over|under|more than|less than|at least|at most|up to"
    r"|close to|some"
    r"|etwa|rund|circa|ca\.|knapp|über|fast|ungefähr|mehr als|environ|près de|plus de|autour de"
    r"|un[oa]s|aproximadamente|alrededor de|cerca de|casi|más de|menos de|circa|quasi|oltre|più di|meno di|quase|mais de|ongeveer|bijna"
    r"|meer dan|minder dan)|~|≈|<|>)\s?(?:of )?$",
    re.IGNORECASE,
)
_SCALES = {
    "k": 3, "K": 3, "thousand": 3, "tsd": 3, "tausend": 3, "mille": 3,
    "M": 6, "million": 6, "millions": 6, "mio": 6, "millionen": 6, "mn": 6, "mln": 6,
    "B": 9, "bn": 9, "billion": 9, "billions": 9, "mrd": 9, "milliarden": 9, "milliarde": 9, "milliard": 9, "milliards": 9,
    "trillion": 12, "tn": 12,
    "\u4e07": 4, "\u842c": 4, "\ub9cc": 4, "\u5343": 3, "\u5104": 8, "\u4ebf": 8, "\uc5b5": 8,
}  # fmt: skip
_MONEY_ONLY = frozenset({"m", "M", "B", "b"})
_ENDING = re.compile(r"[^\W\d_]{1,3}")
_ORDINAL = frozenset({"st", "nd", "rd", "th", "er", "re", "e", "ème", "te", "ten", "ter"})


_POINTED = frozenset({"de", "es", "it", "pt", "nl"})
"""Languages that write a point between thousands."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a text.

    Args:
        readings: canonical decimals that it may be; more than one when the text does not say which mark is the point.
        decimals: digits of its fraction, as power of ten of its last digit: 2 for 0.25, -2 for 4.9k.
        digits: digits written.
        unit: the unit that it wears.
        word: the word behind it, when that is no unit.
        hedged: it stands behind a word such as "about".
        start: where it begins, sign and currency included.
        end: where it ends, unit included.
    """

    readings: tuple[str, ...]
    decimals: int
    digits: int
    unit: Unit | None
    word: str
    hedged: bool
    start: int
    end: int

    @property
    def value(self) -> float:
        """Its first reading."""
        return float(self.readings[0])


@lru_cache(maxsize=4096)
def readings_of(body: str, exponent: str = "") -> tuple[tuple[str, ...], int]:
    """The canonical decimals that digits with marks may be, and the digits of the fraction of the first.

    Args:
        body: digits with ``,``, ``.``, ``'`` or a space as marks.
        exponent: for example ``e-3``.
    """
    plain = body.replace("'", "").replace(" ", "")
    commas, points = plain.count(","), plain.count(".")
    options: list[str]
    if commas and points:
        point = max(plain.rfind(","), plain.rfind("."))
        mark = plain[point]
        options = [plain.replace("," if mark == "." else ".", "").replace(mark, ".")]
    elif commas + points == 0:
        options = [plain]
    elif commas + points > 1:
        options = [plain.replace(",", "").replace(".", "")]
    else:
        mark = "," if commas else "."
        head, _, tail = plain.partition(mark)
        grouped = len(tail) == 3 and 1 <= len(head) <= 3 and head.lstrip("0") != ""
        options = ([head + tail] if grouped else [f"{head}.{tail}"]) if mark == "," else [plain, head + tail] if grouped else [plain]
    decimals = len(options[0].partition(".")[2])
    if exponent:
        power = int(re.sub(r"^.*(?:\^|[eE])", "", exponent))
        options = [format(Decimal(o).scaleb(power), "f") for o in options]
        decimals -= power
    return tuple(dict.fromkeys(canonical_number(o) for o in options)), decimals


def number_at(text: str, at: int) -> Number | None:
    """The number whose digits begin at a place.

    Args:
        text: folded text.
        at: index of the first digit.
    """
    match = NUMBER.match(text, at)
    if match is None or match.end("body") - at > MOST_DIGITS:
        return None
    body, exponent = match["body"], match["exp"] or ""
    if " " in body and _list_of_numbers(text, at, body):
        body = body.partition(" ")[0]
        exponent = ""
        end = at + len(body)
    else:
        end = match.end()
    readings, decimals = readings_of(body, exponent)
    start, unit = at, None
    before = text[max(0, at - 24) : at]
    prefix = _PREFIX.search(before)
    if prefix is not None:
        unit = unit_of(prefix[0].strip())
        start = at - (len(before) - prefix.start())
        before = text[max(0, start - 24) : start]
    negative = before.endswith(("-", "+")) and (len(before) == 1 or not (before[-2].isalnum() or before[-2] in "%)-"))
    if negative:
        start -= 1
        if before.endswith("-") and not text[at - 1 : at].isspace():
            readings = tuple(r if r == "0" else f"-{r}" for r in readings)
        before = before[:-1]
    end, decimals, readings, unit, word = _tail(text, end, decimals, readings, unit)
    digits = sum(c.isdigit() for c in body)
    return Number(readings, decimals, digits, unit, word, _HEDGE.search(before) is not None, start, end)


def _tail(
    text: str, end: int, decimals: int, readings: tuple[str, ...], unit: Unit | None
) -> tuple[int, int, tuple[str, ...], Unit | None, str]:
    """What follows the digits: a scale, a unit, or another word."""
    match = _TAIL.match(text, end)
    if match is None:
        return end, decimals, readings, unit, ""
    word = match[2]
    scale = _SCALES.get(word) or (_SCALES.get(word.lower()) if len(word) > 1 else None)
    if word in _MONEY_ONLY and not (is_money(unit) or (word in "MB" and not match[1])):
        scale = None
    elif word == "m" and is_money(unit):
        scale = 6
    elif word == "b" and is_money(unit):
        scale = 9
    if scale is not None and unit_of(word) is None:
        readings = tuple(canonical_number(format(Decimal(r).scaleb(scale), "f")) for r in readings)
        end = match.end()
        if text.startswith(".", end) and word.lower() in ("mio", "mrd", "tsd"):
            end += 1
        decimals -= scale
        match = _TAIL.match(text, end)
        if match is None:
            return end, decimals, readings, unit, ""
        word = match[2]
    if text[match.end() : match.end() + 1] == "-" and text[match.end() + 1 : match.end() + 2].isalpha() and len(word) == 1:
        return end, decimals, readings, unit, ""  # "6 t-shirts" weigh no tonnes
    named = unit_of(word) or (unit_of(word.partition("/")[0]) if "/" in word else None)
    if named is not None and (unit is None or unit == named) and not (match[1].endswith("-") and is_money(named)):
        return match.end(), decimals, readings, named, word
    return end, decimals, readings, unit, word if match[1] else ""


def ordinal_end(text: str, end: int) -> int | None:
    """Where an ordinal ending behind digits ends (``20th``); None if there is none."""
    match = _ENDING.match(text, end)
    return match.end() if match is not None and match[0].lower() in _ORDINAL and not text[match.end() : match.end() + 1].isalnum() else None


def _list_of_numbers(text: str, at: int, body: str) -> bool:
    """Whether digits with spaces between are several numbers: an ASCII space groups only where nothing speaks against it."""
    if at and (text[at - 1].isalnum() or text[at - 1] in "-/.:"):
        return True
    return body.startswith("0") or any(len(group) != 3 for group in re.split(r"[ ,]", body)[1:2])


def in_language(number: Number, language: str) -> Number:
    """A number read as a language writes it: ``1.240`` is a thousand in German, and ``1,240`` is not in French.

    Args:
        number: a number with its possible readings.
        language: of the text; English is how numbers are read anyway.
    """
    if language in _POINTED and len(number.readings) == 2 and "." in number.readings[0]:
        return replace(number, readings=number.readings[::-1], decimals=0)
    return number
