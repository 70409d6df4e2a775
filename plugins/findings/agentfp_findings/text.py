"""Texts on rows and in requests: clipped in words, JSON on one line, nothing that an encoding cannot hold."""

from __future__ import annotations

import json
import re
from typing import Any

CLIP = 240
_SURROGATES = re.compile("[\ud800-\udfff]")
_BREAKS = str.maketrans({"\x7f": "\\u007f", "\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_canonical = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def clean(text: str) -> str:
    """The text without lone surrogates."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def clipped(text: str, most: int = CLIP) -> str:
    """The text, cut to so many characters; a cut is stated."""
    return text if len(text) <= most else f"{text[:most]} …[clipped {len(text) - most} chars]"


def canonical(value: Any) -> str:
    """A JSON value as text that is the same for equal values."""
    return clean(_canonical(value))


def line(data: dict[str, Any] | str) -> str:
    """JSON on one line, also for readers to whom other characters than a newline end one."""
    return clean(_encode(data)).translate(_BREAKS)


def quoted(text: str) -> str:
    """A text as JSON."""
    return f'"{text}"' if text.isascii() and text.isidentifier() else line(text)
