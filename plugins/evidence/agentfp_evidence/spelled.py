"""Numbers written as words: "three hundred", "zwölf", "vingt"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_UNITS = {
    word: value
    for value, words in {
        0: "zero null zéro", 1: "one eins", 2: "two zwei deux", 3: "three drei trois", 4: "four vier quatre", 5: "five fünf cinq",
        6: "six sechs", 7: "seven sieben sept", 8: "eight acht huit", 9: "nine neun neuf", 10: "ten zehn dix", 11: "eleven elf onze",
        12: "twelve zwölf douze dozen dutzend douzaine", 13: "thirteen dreizehn treize", 14: "fourteen vierzehn quatorze",
        15: "fifteen fünfzehn quinze", 16: "sixteen sechzehn seize", 17: "seventeen siebzehn", 18: "eighteen achtzehn",
        19: "nineteen neunzehn", 20: "twenty zwanzig vingt", 30: "thirty dreißig dreissig trente", 40: "forty vierzig quarante",
        50: "fifty fünfzig cinquante", 60: "sixty sechzig soixante", 70: "seventy siebzig", 80: "eighty achtzig", 90: "ninety neunzig",
    }.items()
    for word in words.split()
}  # fmt: skip
_SCALES = {
    "hundred": 100,
    "hundert": 100,
    "cent": 100,
    "thousand": 1000,
    "tausend": 1000,
    "mille": 1000,
    "million": 10**6,
    "millionen": 10**6,
}
_WORD = re.compile(r"[^\W\d_]+")
_JOIN = re.compile(r"[ -]|\sand\s|\sund\s|\set\s")
_ANY = re.compile(
    r"(?<![\w'-])(?:" + "|".join(sorted((*_UNITS, "hundred", "hundert"), key=len, reverse=True)) + r")(?![^\W_])", re.IGNORECASE
)


class Spelled(NamedTuple):
    """A number in words."""

    value: int
    start: int
    end: int


def is_number_word(word: str) -> bool:
    """Whether a word is a number.

    Args:
        word: a word of letters.
    """
    return word.lower() in _UNITS or word.lower() in _SCALES


def spelled_in(text: str) -> Iterator[Spelled]:
    """The numbers in words of a text; "one" alone is none.

    Args:
        text: folded text.
    """
    at = 0
    while (first := _ANY.search(text, at)) is not None:
        total, current, end = 0, 0, first.start()
        position = first.start()
        while (word := _WORD.match(text, position)) is not None:
            lower = word[0].lower()
            if lower in _UNITS:
                current += _UNITS[lower]
            elif lower in _SCALES:
                scale = _SCALES[lower]
                current = max(current, 1) * scale
                if scale >= 1000:
                    total, current = total + current, 0
            else:
                break
            end = word.end()
            joint = _JOIN.match(text, end)
            if joint is None:
                break
            position = joint.end()
        at = max(end, first.end())
        if total + current != 1:
            yield Spelled(total + current, first.start(), at)


_LENGTH_WORD = re.compile(r"[*_]*[ -]([^\W\d_]+)")


def length_behind(text: str, end: int) -> str:
    """The word right behind a number, lower case; empty if there is none.

    Args:
        text: the answer, folded.
        end: where the number ends.
    """
    match = _LENGTH_WORD.match(text, end)
    return match[1].lower() if match is not None else ""


_WHOLE_BEFORE = re.compile(r"\b(?:of the|of all|all|all the|across|across the|von den|alle|des|sur les)\s[*_]*$", re.IGNORECASE)
_TIME_BEHIND = re.compile(
    r"[*_]*[ -](?:full |working |more |ganze |weitere )?(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?"
    r"|sekunden|minuten|stunden|tagen?|wochen"
    r"|monaten?|jahren?|secondes|heures|jours|semaines|mois|ans)\b",
    re.IGNORECASE,
)


def is_measured(text: str, start: int, end: int) -> bool:
    """Whether a number in words says how long something takes, or how many there are in all, and is no turn of phrase.

    Args:
        text: the answer, folded.
        start: where the number begins.
        end: where it ends.
    """
    return _TIME_BEHIND.match(text, end) is not None or _WHOLE_BEFORE.search(text[max(0, start - 14) : start]) is not None
