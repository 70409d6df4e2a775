"""Words and numbers of a text as they are compared: whole tokens, in one spelling; and how values are shown."""

from __future__ import annotations

import json
import re
import unicodedata
from decimal import Decimal
from typing import Any

HIDDEN = "REDACTED"
"""Stands for a value that its tool keeps to itself."""
VALUE_CHARS, QUOTE_CHARS = 80, 240
_TOKEN = re.compile(r"(?<![\w.])[-+]?\d[\w.,:]*|\w+")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NUMBER = re.compile(r"[-+]?\d{1,40}(?:\.\d{1,40})?")
_EDGE = "\x1f"


def tokens(text: str) -> str:
    """The tokens of a text, each between marks, so that one text's tokens stand in another's when the string does.

    Args:
        text: any text.

    Returns:
        The tokens; an empty string when there are none.
    """
    found = [_canonical(token) for token in _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())]
    return f"{_EDGE}{_EDGE.join(found)}{_EDGE}" if found else ""


def single(found: str) -> list[str]:
    """What ``tokens`` found, one by one."""
    return found.strip(_EDGE).split(_EDGE) if found else []


def count(found: str) -> int:
    """How many tokens ``tokens`` found."""
    return max(found.count(_EDGE) - 1, 0)


def _canonical(token: str) -> str:
    token = token.rstrip(".,:")
    if not token[-1].isdigit():
        return token
    if _GROUPED.fullmatch(token):
        token = token.replace(",", "")
    if not _NUMBER.fullmatch(token):
        return token
    digits = token.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1] != ".":
        return token  # a number that is written with leading zeros is a name
    number = Decimal(token)
    return format(number.normalize(), "f") if number else "0"


def value_text(value: Any) -> str:
    """A value of an argument as a text would have it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def value_tokens(value: Any) -> str:
    """The tokens of an argument's value."""
    return tokens(value_text(value))


def same_value(one: Any, other: Any) -> bool:
    """Whether two values are of one kind and of the same tokens; values without any are never the same.

    Args:
        one: a value of an argument.
        other: another one.
    """
    if kind_of(one) != kind_of(other):
        return False
    found = value_tokens(one)
    return bool(found) and found == value_tokens(other)


def kind_of(value: Any) -> str:
    """The kind of a value as JSON has it: whole numbers and others are one."""
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, (int, float)) else type(value).__name__


def is_missing(arguments: dict[str, Any], name: str) -> bool:
    """Whether a call leaves an argument out: no key, null, or a blank text."""
    value = arguments.get(name)
    return value is None or (isinstance(value, str) and not value.strip())


def json_text(value: Any) -> str:
    """A value as canonical JSON text; of what is none, the name of its type."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(f"[{type(value).__name__}]")


def shown(value: Any, *, hidden: bool, most: int | None = VALUE_CHARS) -> str:
    """A value as a row has it: JSON text, cut where it is long.

    Args:
        value: the value.
        hidden: the tool keeps it to itself.
        most: characters; None for all.
    """
    return HIDDEN if hidden else clip(json_text(value), most)


def clip(text: str, most: int | None) -> str:
    """A text of at most so many characters; one that is cut ends with an ellipsis."""
    return text if most is None or len(text) <= most else text[: most - 1] + "…"
