"""The root of all errors, and the words they share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, ClassVar


def nearest(word: str, known: Iterable[str]) -> str:
    """Words for an error message that name what is accepted, the likely meant one first.

    Args:
        word: what was given.
        known: the accepted names.

    Returns:
        A clause such as ``did you mean 'port'? Accepted: 'host', 'port'``.
    """
    names = sorted(set(known))
    close = difflib.get_close_matches(word, names, n=1)
    accepted = ", ".join(repr(name) for name in names[:30]) or "nothing"
    return f"did you mean {close[0]!r}? Accepted: {accepted}" if close else f"accepted: {accepted}"


def likely(word: Any, accepted: str) -> str:
    """Words that name the likely meant one of some words, to be put behind a sentence that names them all.

    Args:
        word: what was given.
        accepted: the accepted ones, quoted, as pydantic lists them.

    Returns:
        A clause such as ``; did you mean 'port'?``, empty where none is like it.
    """
    close = difflib.get_close_matches(word, re.findall(r"'([^']*)'", accepted), n=1) if isinstance(word, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""


class AgentfpError(Exception):
    """Base of every error of the library."""

    code: ClassVar[str] = "ERR_AGENTFP"


def describe_type(value: Any) -> str:
    """Describe what a value is without saying what it holds.

    Args:
        value: anything.

    Returns:
        Words such as ``a str``, ``None`` or ``a dict with keys 'a', 'b'`` (at most six keys).
    """
    if value is None:
        return "None"
    if isinstance(value, str):
        if not value:
            return "an empty message"
        return "a str" if value.strip() else "a whitespace-only message"
    if isinstance(value, dict):
        keys = ", ".join(repr(key) for key in list(value)[:6])
        return f"a dict with keys {keys}" if keys else "an empty dict"
    name = type(value).__name__
    return f"an empty {name}" if isinstance(value, (list, tuple)) and not value else f"a {name}"
