"""General word lists: what is a common word, a given name, a title. Read from data files when first needed."""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib import resources

_DATA = resources.files("agentfp_evidence").joinpath("data")
_LISTS: dict[str, str] = json.loads(_DATA.joinpath("word_lists.json").read_text(encoding="utf-8"))


def word_list(name: str) -> frozenset[str]:
    """A list of words of the data file.

    Args:
        name: its name there.
    """
    return frozenset(_LISTS[name].split())


TITLES = word_list("titles")
COMPANY_FORMS = word_list("company_forms")
PARTICLES = word_list("particles")
FUNCTION_WORDS = word_list("function_words")
STOP_WORDS = {language: word_list(f"stop_words_{language}") for language in ("en", "de", "fr", "es", "it", "pt", "nl")}
_ENDINGS = (
    ("ies", ("y",)), ("ied", ("y",)), ("ing", ("", "e")), ("ed", ("", "e")), ("es", ("", "e")), ("s", ("",)), ("ly", ("", "le")),
    ("er", ("", "e")), ("ers", ("", "e")), ("able", ("", "e")), ("ible", ("", "e")), ("ness", ("",)), ("ment", ("",)),
    ("ments", ("",)), ("less", ("",)), ("ful", ("",)), ("wise", ("",)), ("ization", ("ize", "")),
    ("isation", ("ize", "")), ("ity", ("", "e")),
    ("ably", ("able",)), ("ise", ("ize",)), ("ised", ("ize",)), ("ising", ("ize",)), ("our", ("or",)),
    ("ours", ("or",)), ("ally", ("al", "")),
)  # fmt: skip
_BEGINNINGS = (
    "un",
    "re",
    "non",
    "pre",
    "over",
    "under",
    "sub",
    "multi",
    "mis",
    "dis",
    "co",
    "inter",
    "auto",
    "micro",
    "anti",
    "out",
    "up",
    "down",
)
_ENOUGH = 6
"""Words of a text by which one can tell its language."""
_HALF = 0.5
_MODERN = word_list("modern_words")


@cache
def _words(name: str) -> frozenset[str]:
    packed = _DATA.joinpath(name).read_bytes()
    return frozenset(gzip.decompress(packed).decode().split())


def is_given_name(word: str) -> bool:
    """Whether a folded word is a given name that is common somewhere."""
    return word in _words("given_names.txt.gz")


@cache
def is_common(word: str) -> bool:
    """Whether a folded word is an English word other than a name, or a usual form of one."""
    if word in _MODERN:
        return True
    words = _words("words_en.txt.gz")
    return word in words or any(base in words or base in _MODERN for base in _bases(word, 2))


def _bases(word: str, depth: int) -> set[str]:
    found: set[str] = set()
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            found.update(stem + end for end in instead)
            if len(stem) > 3 and stem[-1] == stem[-2]:
                found.add(stem[:-1])
    for beginning in _BEGINNINGS:
        if word.startswith(beginning) and len(word) - len(beginning) >= 4:
            found.add(word[len(beginning) :])
    if depth > 1:
        for base in tuple(found):
            found |= _bases(base, depth - 1)
    return found


def language_of(words: list[str]) -> str:
    """The language of some folded words: a key of :data:`STOP_WORDS`, English where nothing tells, empty for one that is not known here.

    Args:
        words: folded words of a text, in order.
    """
    best, most = "en", 0
    for language, stop in STOP_WORDS.items():
        hits = sum(word in stop for word in words)
        if hits > most:
            best, most = language, hits
    if not most and len(words) >= _ENOUGH and sum(map(is_common, words)) < _HALF * len(words):
        return ""
    return best
