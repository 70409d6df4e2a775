"""One pass over a text that finds everything that may be a value: addresses, moments, numbers, identifiers, and the words between."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from agentfp_evidence import moments
from agentfp_evidence.moments import Moment, moments_of
from agentfp_evidence.normalise import MOST_DIGITS
from agentfp_evidence.numbers import Number, number_at, ordinal_end
from agentfp_evidence.units import unit_of


class Word(NamedTuple):
    """A word of letters."""

    text: str
    start: int
    end: int


@dataclass(slots=True)
class Mention:
    """Something in a text that may be a value.

    Args:
        kind: ``number``, ``moment``, ``identifier``, ``compound``, ``email``, ``url``, ``phone``, ``ratio``, ``ordinal``, ``duration``.
            A compound is an identifier without digits, or just words with marks between.
        start: where it begins.
        end: where it ends.
        number: of a number or a duration.
        moments: of a moment: one, or the two ends of a range.
    """

    kind: str
    start: int
    end: int
    number: Number | None = None
    moments: list[Moment] = field(default_factory=list)


_MASTER = re.compile(
    r"(?=[\w+(])(?:"  # a quick look, for nothing below begins otherwise
    + "|".join(
        (
            r"(?P<url>(?:https?://|www\.)[^\s<>\"'`\])}|]+)",
            r"(?P<email>(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d_][\w-]*)",
            moments.ISO,
            moments.STAMP,
            moments.MONTH_DAY,
            moments.MONTH_YEAR,
            moments.DAY_MONTH,
            moments.NUMERIC,
            (
                r"(?P<duration>(?<![\w.,:])(?P<dh>\d{1,3})\s?(?:h|hrs?|hours?|Std\.?|Stunden?|heures?)(?:\s|,\s)?(?:and\s|und\s|et\s)?"
                r"(?P<dmin>\d{1,2})\s?(?:m|mins?|minutes?|Minuten?)(?!\w))"
            ),
            (
                r"(?P<minsec>(?<![\w.,:])(?P<sm>\d{1,3})\s?(?:m|mins?|minutes?|Minuten?)(?:\s|,\s)(?:and\s|und\s|et\s)?"
                r"(?P<ss>\d{1,2})\s?(?:s|secs?|seconds?|Sekunden?|secondes?)(?!\w))"
            ),
            r"(?P<race>(?<![\w.,:/])\d{1,3}:[0-5]\d\.\d{1,3}(?![\w:.]))",
            moments.CLOCK,
            r"(?P<grouped>(?<![\w.,+/-])(?:[A-Z]{2}\d{2}[ ]?(?:[A-Z]{4}[ ]?)?)?\d{4}(?:[ -]\d{4}){2,6}(?:[ -]\d{1,4})?(?![\w-]))",
            (
                r"(?P<phone>(?<![\w.,+/-])(?:\+\d{1,3}[ ./-]?(?:\(\d{1,4}\)[ ./-]?)?\d(?:[ ./-]?\d){5,12}"
                r"|\(\d{2,5}\)[ ./-]?\d(?:[ ./-]?\d){4,10}"
                r"|\d{3}[-.]\d{3}[-.]\d{4}|0\d{1,4}[ /-]\d{3,}(?:[ -]\d{2,})*|\d{3}-\d{4})(?![\w-]|[.,]\d))"
            ),
            r"(?P<token>[^\W_](?:[\w]|[./:@#+&'\u2019-](?=\w)|,(?=\d{3}(?!\d))(?<=\d,))*)",
        )
    )
    + ")",
    re.IGNORECASE,
)
_HAS_DIGIT = re.compile(r"\d")
_WORDS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_COMPOUND = re.compile(r"[^\W_]+(?:[-_./:][^\W_]+)+")
_NUMERIC_TOKEN = re.compile(r"\d+(?:[.,']\d+)*(?:e[-+]?[0-5]?\d)?", re.IGNORECASE)
_RANGE = re.compile(r"(\d[\d.,]*[^\W\d_]{0,3})-([$€£]?)(\d[\d.,]*)([^\W\d_]{0,5})")
_WORD_AND_NUMBER = re.compile(r"(?:mid|pre|post|early|late|top|under|over|sub|non|ca)-(\d+)", re.IGNORECASE)
_NUMBER_AND_WORD = re.compile(r"(\d+(?:[.,]\d+)*)(?:er|te[rnsm]?|fach)?-([^\W\d_]{1,12})(?:-[^\W\d_]+)*")
_GLUED = re.compile(r"(\d+(?:[.,']\d+)*)([^\W\d_]{1,4}|µs|μs)(?:/[^\W\d_]{1,3})?")
_RATING = re.compile(r"(\d{1,3}[.,]\d{1,2})/(?:5|10|20|100)")
_OUT_OF = re.compile(r"(\d{2,3})/(100)")
"""A mark out of a hundred: the hundred is its scale."""
_OVER = re.compile(r"\d{1,3}/\d{1,3}")
_JOINED = re.compile(r"(?:\d+\.\d+/){2,}\d+\.\d+")
"""Measurements in one row: ``11.8/14.9/38.2 ms``."""
_RATED = re.compile(r"(\d{1,2}[.,]\d{1,2})/(?:5|10|100)")
_TWO_DIGIT_YEAR = re.compile(r"\d{1,2}\.\d{1,2}\.\d{2}")
_RATIO = re.compile(r"\d{1,2}/\d{1,2}")
_GLUED_WORDS = frozenset({"x", "p", "pm", "am", "h", "th"})
_LOWER_WORD_MONTHS = frozenset({"may", "mar", "march", "mars", "dec", "sep", "jan", "mai", "august", "sun", "sat"})
_MONTH_GROUPS = {"md": "mdm", "dm": "dmm", "my": "mym"}


def scan(
    text: str, on_word: Callable[[str, int, int], None], *, lenient: bool = False, start: int = 0, end: int | None = None
) -> Iterator[Mention]:
    """The mentions of a text in order; words are handed to a function as they come.

    Args:
        text: folded text.
        on_word: told of each word and its place.
        lenient: read lower-case month names that are other words too, as people type them in a hurry.
        start: where to begin.
        end: where to stop.
    """
    at = start
    length = len(text) if end is None else end
    match_from = _MASTER.search
    while at < length:
        match = match_from(text, at, length)
        if match is None:
            return
        kind = match.lastgroup or "token"
        start, at = match.span()
        if kind == "token":
            token = match["token"]
            if _HAS_DIGIT.search(token) is None:
                if _COMPOUND.fullmatch(token):
                    yield Mention("compound", start, at)
                for part in _WORDS.finditer(token):
                    on_word(part[0], start + part.start(), start + part.end())
                continue
            mention, at = _token(text, token, start)
            yield from mention
            continue
        if kind in _MONTH_GROUPS and not lenient and _is_plain_word(kind, match):
            word = _WORDS.match(text, start)
            if word is not None:
                on_word(word[0], start, word.end())
                at = word.end()
            else:
                mention, at = _token(text, text[start : match.start(_MONTH_GROUPS[kind])].rstrip(), start)
                yield from mention
            continue
        if kind == "url":
            at = start + len(match["url"].rstrip(".,;:!?*_"))
            yield Mention("url", start, at)
        elif kind == "email":
            yield Mention("email", start, at)
        elif kind == "minsec":
            seconds = 60 * int(match["sm"]) + int(match["ss"])
            yield Mention("duration", start, at, Number((str(seconds),), 0, 3, unit_of("s"), "s", False, start, at))
        elif kind in ("grouped", "race"):
            yield Mention("identifier", start, at)
        elif kind == "phone":
            yield Mention("phone", start, at)
        elif kind == "duration":
            minutes = 60 * int(match["dh"]) + int(match["dmin"])
            yield Mention("duration", start, at, Number((str(minutes),), 0, 3, unit_of("min"), "min", False, start, at))
        else:
            found = moments_of(kind, match)
            if kind == "num" and found[0].impossible and (_TWO_DIGIT_YEAR.fullmatch(match[0]) or not found[0].is_like_a_date):
                yield Mention("version", start, at)
            else:
                yield Mention("moment", start, at, moments=found)


def _is_plain_word(kind: str, match: re.Match[str]) -> bool:
    """Whether what looks like a month is a word of the sentence: "the 20 may be late"."""
    month = match[_MONTH_GROUPS[kind]]
    if kind == "dm":
        return month == "may" and match["dmy"] is None
    return month.islower() and month.rstrip(".") in _LOWER_WORD_MONTHS


def _token(text: str, token: str, start: int) -> tuple[list[Mention], int]:
    """What a token with digits is, and where to read on."""
    end = start + len(token)
    if len(token) > MOST_DIGITS and token[0].isdigit():
        return [Mention("identifier", start, end)], end
    if _NUMERIC_TOKEN.fullmatch(token):
        if token.count(".") >= 2 and "," not in token and not all(len(part) == 3 for part in token.split(".")[1:]):
            return [Mention("version" if token.count(".") < 3 else "identifier", start, end)], end
        if len(token) >= 5 and token.startswith("0") and token.isdigit():
            return [Mention("identifier", start, end)], end
        return _number(text, start, end)
    ordinal = ordinal_end(text, start + len(re.match(r"\d*", token)[0]))  # type: ignore[index]  # it matches always
    if ordinal == end:
        return [Mention("ordinal", start, end)], end
    rating = _RATING.fullmatch(token)
    if rating is not None and (number := number_at(text, start)) is not None:
        return [Mention("number", start, start + len(rating[1]), number)], end
    if _JOINED.fullmatch(token):
        return _joined(text, token, start)
    rated = _OUT_OF.fullmatch(token)
    if rated is not None and int(rated[1]) <= int(rated[2]) and (number := number_at(text, start)) is not None:
        return [Mention("number", number.start, start + len(rated[1]), number)], end
    if _OVER.fullmatch(token):
        at = start + token.index("/") + 1
        both = [(n, min(n.end, b)) for n, b in ((number_at(text, start), at - 1), (number_at(text, at), end + 12)) if n is not None]
        if _RATIO.fullmatch(token):
            return [Mention("ratio", start, end, number) for number, _ in both], end
        return [Mention("number", number.start, last, number) for number, last in both], max(end, both[-1][1])
    rated = _RATED.fullmatch(token)
    if rated is not None and (number := number_at(text, start)) is not None:
        return [Mention("number", number.start, start + len(rated[1]), number)], end
    glued = _GLUED.fullmatch(token)
    if glued is not None:
        number = number_at(text, start)
        if number is not None and (number.end >= end or glued[2].lower() in _GLUED_WORDS):
            return [Mention("number", number.start, max(number.end, end), number)], max(number.end, end)
    between = _RANGE.fullmatch(token)
    if between is not None and not (token.startswith("0") or between[3].startswith("0")):
        return _range(text, start, end, start + between.start(3))
    prefixed = _WORD_AND_NUMBER.fullmatch(token)
    if prefixed is not None:
        return _number(text, start + prefixed.start(1), end)
    if _NUMBER_AND_WORD.fullmatch(token):
        number = number_at(text, start)
        if number is not None:
            return [Mention("number", number.start, number.end, number)], end
    number = number_at(text, start) if token[0].isdigit() else None
    if number is not None and number.unit is not None and number.end > start and text[number.end : number.end + 1] in "/.:":
        return [Mention("number", number.start, number.end, number)], number.end
    return [Mention("identifier", start, end)], end


def _number(text: str, start: int, end: int) -> tuple[list[Mention], int]:
    number = number_at(text, start)
    if number is None:
        return [], end
    return [Mention("number", number.start, number.end, number)], max(number.end, end) if " " not in text[start:end] else number.end


def _joined(text: str, token: str, start: int) -> tuple[list[Mention], int]:
    """Numbers with slashes between; they share the unit behind the last."""
    found: list[Mention] = []
    at = start
    for piece in token.split("/"):
        number = number_at(text, at)
        if number is not None:
            found.append(Mention("number", at, at + len(piece), number))
        at += len(piece) + 1
    last = found[-1].number if found else None
    if last is not None and last.unit is not None:
        for mention in found:
            if mention.number is not None:
                mention.number = replace(mention.number, unit=last.unit)
    return found, last.end if last is not None else start + len(token)


def _range(text: str, start: int, end: int, second_at: int) -> tuple[list[Mention], int]:
    first, second = number_at(text, start), number_at(text, second_at)
    found = []
    if first is not None:
        first_end = min(first.end, second_at - 1)
        found.append(Mention("number", first.start, first_end, first))
    if second is not None:
        found.append(Mention("number", second.start if second.start >= second_at - 1 else second_at, second.end, second))
        end = max(end, second.end)
    return found, end
