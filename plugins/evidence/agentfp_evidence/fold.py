"""Makes texts comparable without moving a character, so that places in the folded text are places in the original."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SPECIAL = {
    "\u2212": "-",  # minus
    "\u2010": "-",
    "\u2011": "-",
    "\u2018": "'",
    "\u2019": "'",
    "\u02bc": "'",
    "\u2032": "'",
    "\u00ad": "\u00ad",
}
_NO_BREAK = "\u00a0\u2009\u202f\u2007"
_GROUP_SPACE = re.compile(f"(?<=\\d)[{_NO_BREAK}](?=\\d{{3}}(?!\\d))")
_DASH_RANGE = re.compile(r"(?:(?<=[\d%])|(?<=\d\.)) ?[\u2013\u2014] ?(?=[\d$€£])")
GROUP_MARK = "'"
"""Stands for the space between groups of three digits."""


@lru_cache(maxsize=4096)
def _char(char: str) -> str:
    special = _SPECIAL.get(char)
    if special is not None:
        return special
    folded = unicodedata.normalize("NFKC", char)
    return folded if len(folded) == 1 else char


def fold(text: str) -> str:
    """Fold a text for comparison: as long as the original, character by character.

    Full-width digits and letters become plain ones, the many dashes and spaces between digits become one, and a no-break
    space between groups of three digits becomes a group mark.

    Args:
        text: any text.
    """
    if text.isascii():
        return text
    text = _GROUP_SPACE.sub(GROUP_MARK, text)
    text = _DASH_RANGE.sub(lambda m: m[0].replace("\u2013", "-").replace("\u2014", "-"), text)
    return "".join(map(_char, text))


@lru_cache(maxsize=8192)
def fold_word(word: str) -> str:
    """A word without case and accents; a possessive ending is left out.

    Args:
        word: one word, folded.
    """
    lower = word.casefold()
    if not lower.isascii():
        lower = "".join(c for c in unicodedata.normalize("NFKD", lower) if not unicodedata.combining(c))
    if lower.endswith("'s"):
        return lower[:-2]
    return lower.rstrip("'")


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def spellings_of(word: str) -> tuple[str, ...]:
    """The folded forms of a word, umlauts written out as a second one."""
    plain = fold_word(word)
    if word.isascii():
        return (plain,)
    written_out = fold_word(word.lower().translate(_UMLAUTS))
    return (plain,) if written_out == plain else (plain, written_out)
