"""The lexical level: how text is cut into tokens, how a token is normalised, and which tokens are data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_PIECE = re.compile(r"[A-Za-z0-9:_\-/.,%+@#$]+")
_LIST_COMMA = re.compile(r"(?<![0-9]),|,(?![0-9])")
_LEAD = " \t\r\n\v\f$#@+'\"`([{<"
_TRAIL = " \t\r\n\v\f.,;:!?%'\"`)]}>"
_GROUPED = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")
_RATIO = re.compile(r"[0-9]{1,2}/[0-9]{1,2}")
_GLUED = re.compile(r"([-+]?[0-9]+(?:\.[0-9]+)?)[-/]?[a-z]{1,5}(?:/[a-z]{1,5})?")
_DIGITS = re.compile(r"[0-9]")
MAX_EXACT_DIGITS = 15
MOST_DIGITS = 60
"""Of a number that is reckoned with; what has more, or is larger, is compared as it is written."""
"""Longer numbers are serials: compared as written."""


class Token(NamedTuple):
    """A normalised token of a text and where it stands there."""

    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that is data, so it must come from somewhere.

    Args:
        value: what is looked up.
        shape: ``identifier``, ``number``, ``figure``, or the name of a declared shape.
        glued: the whole token, when the number wore its unit.
    """

    value: str
    shape: str
    glued: str | None = None


def canonical_number(text: str) -> str:
    """Canonical decimal of plain digits: no plus, no leading zeros, no trailing zeros of the fraction.

    Args:
        text: ``[-+]?digits[.digits]``, ASCII.

    Returns:
        the canonical text; digits beyond :data:`MAX_EXACT_DIGITS` stay as they are.
    """
    if sum(map(str.isdigit, text)) > MAX_EXACT_DIGITS:
        return text
    sign = "-" if text[0] == "-" else ""
    whole, _, fraction = text.lstrip("-+").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    plain = f"{whole}.{fraction}" if fraction else whole
    return plain if plain == "0" else sign + plain


def normalise(raw: str) -> str:
    """The form in which tokens, leaves and keys are compared; empty when nothing is left. Idempotent."""
    text = raw.lower().lstrip(_LEAD).rstrip(_TRAIL)
    if text and (text[0] in "-0123456789"):
        if _GROUPED.fullmatch(text):
            text = text.replace(",", "")
        if _NUMBER.fullmatch(text):
            text = canonical_number(text)
    return text


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a text, in order."""
    for piece in _PIECE.finditer(text):
        start, raw = piece.start(), piece[0]
        if "," not in raw:
            yield from _token(raw, start)
            continue
        at = 0
        for comma in _LIST_COMMA.finditer(raw):
            yield from _token(raw[at : comma.start()], start + at)
            at = comma.end()
        yield from _token(raw[at:], start + at)


def _token(raw: str, start: int) -> Iterator[Token]:
    value = normalise(raw)
    if value:
        left = len(raw) - len(raw.lstrip(_LEAD))
        yield Token(value, start + left, start + len(raw.rstrip(_TRAIL)))


def forms(value: str) -> tuple[str, ...]:
    """The spellings under which a value is kept and found: hexadecimal numbers also without ``0x``."""
    return (value, value[2:]) if value.startswith("0x") and len(value) > 2 else (value,)


def classify(token: str, min_digits: int) -> Candidate | None:
    """What kind of data a normalised token is; None for prose.

    Args:
        token: as :func:`normalise` gives it.
        min_digits: digits that a bare number needs to be data.
    """
    digits = len(_DIGITS.findall(token))
    if not digits or _RATIO.fullmatch(token):
        return None
    glued = _GLUED.fullmatch(token)
    if glued:
        enough = len(_DIGITS.findall(glued[1])) >= min_digits
        return Candidate(normalise(glued[1]), "number", token) if enough else None
    if _NUMBER.fullmatch(token):
        return Candidate(token, "number") if digits >= min_digits else None
    if len(token) < 4 or not any(c.isalpha() or c in ":_-/." for c in token):
        return None
    return Candidate(token, "identifier")
