"""A pattern of many words that looks at what they begin with in common once, not word by word."""

from __future__ import annotations

import re
from collections.abc import Iterable


def any_of(words: Iterable[str]) -> str:
    """A regular expression of any of some words, of the longest one that fits.

    Args:
        words: plain words.
    """
    heads: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        heads.setdefault(word[:1], []).append(word[1:])
    may_end = heads.pop("", None) is not None
    if not heads:
        return ""
    longer = "|".join(re.escape(head) + any_of(tails) for head, tails in sorted(heads.items()))
    return f"(?:{longer}){'?' if may_end else ''}"
