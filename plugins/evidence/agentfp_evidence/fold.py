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
    "\u066b": ".",  # the Arabic point
    "\u066c": ",",
}
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U0003ffff]"
)
"""Letters of scripts that write words and numbers without a space between: Thai, Lao, Burmese, Khmer, Japanese, Chinese, Korean."""
_SCALES = frozenset("\u4e07\u842c\u5104\u4ebf\ub9cc\uc5b5\u5343")
"""Ten thousand, a hundred million, a thousand: they belong to the number before them."""
_DATE = re.compile("(?:(\\d{4})([\u5e74\ub144] ?))?(\\d{1,2})([\u6708\uc6d4] ?)(\\d{1,2})(?=[\u65e5\u53f7\u865f\uc77c])")
_HOUR_MINUTE = re.compile("(?<=\\d)([\u6642\u65f6\u70b9\uc2dc] ?)(?=\\d{2}[\u5206\ubd84])")
_NO_BREAK = "\u00a0\u2009\u202f\u2007"
_GROUP_SPACE = re.compile(f"(?<=\\d)[{_NO_BREAK}](?=\\d{{3}}(?!\\d))")
_DASH_RANGE = re.compile(r"(?:(?<=[\d%])|(?<=\d\.)) ?[\u2013\u2014] ?(?=[\d$€£])")
GROUP_MARK = "'"
"""Stands for the space between groups of three digits."""


@lru_cache(maxsize=32_768)
def _char(char: str) -> str:
    special = _SPECIAL.get(char)
    if special is not None:
        return special
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    if _UNSPACED.match(char):
        return char if char in _SCALES else " "
    folded = unicodedata.normalize("NFKC", char)
    return folded if len(folded) == 1 else char


def fold(text: str) -> str:
    """Fold a text for comparison: as long as the original, character by character.

    Digits of all scripts and full-width letters become plain ones, the many dashes and spaces between digits become one, and a no-break
    space between groups of three digits becomes a group mark. Letters that are written without a space to the number beside them become
    spaces; dates and times between them keep a mark.

    Args:
        text: any text.
    """
    if text.isascii():
        return text
    text = _GROUP_SPACE.sub(GROUP_MARK, text)
    text = _DASH_RANGE.sub(lambda m: m[0].replace("\u2013", "-").replace("\u2014", "-"), text)
    if _UNSPACED.search(text) is not None:
        text = _with_marks(text)
    return "".join(map(_char, text))


def _dashed(date: re.Match[str]) -> str:
    year, behind_year, month, behind_month, day = date.groups()
    if year is None:
        return f"{month}{'/' * len(behind_month)}{day}"
    return f"{year}{'-' * len(behind_year)}{month}{'-' * len(behind_month)}{day}"


def _with_marks(text: str) -> str:
    """Dates and times in Chinese, Japanese or Korean, with marks in place of the signs for year, month and hour."""
    text = _DATE.sub(_dashed, text)
    return _HOUR_MINUTE.sub(lambda mark: ":" * len(mark[0]), text)


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
