"""Makes text of the contents that frameworks write: a text, a list of parts, or data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")
_TEXT_KEYS = ("text", "content", "refusal", "output_text", "input_text")
_TEXT_TYPES = frozenset({"text", "input_text", "output_text", "refusal", "text-plain", "summary_text", ""})

_UNSEEN = re.compile(r"image|document|file|audio|video|media|blob")
_UNSEEN_AS = {"file": "document", "media": "document", "blob": "document"}
"""What stands in the text for a part that has none, so that a reader of the text knows that something was there."""


def clean_text(text: str) -> str:
    """A text that can be written as UTF-8: half characters become U+FFFD, one for one, so that positions stay."""
    return text if text.isascii() else _SURROGATE.sub("�", text)


def json_text(value: Any) -> str:
    """A value as JSON text; what JSON cannot hold as its ``str``."""
    return json.dumps(value, ensure_ascii=False, default=str)


def as_text(value: Any) -> str:
    """A text as it is, nothing as an empty text, everything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json_text(value)


def text_of(content: Any, skipped: Callable[[str], None] | None = None, *, join: str = "\n") -> str:
    """The text of a message's content.

    Args:
        content: a text, None, a part, or a list of texts and parts.
        skipped: told the type of each part that is no text, such as an image.
        join: what stands between parts.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Mapping):
        return _part(content, skipped) or ""
    if isinstance(content, list):
        texts = [item if isinstance(item, str) else _part(item, skipped) for item in content]
        return join.join(text for text in texts if text)
    return json_text(content)


def _part(part: Any, skipped: Callable[[str], None] | None) -> str | None:
    if not isinstance(part, Mapping):
        return as_text(part)
    kind = part.get("type", "")
    kind = kind if isinstance(kind, str) else ""
    if kind in _TEXT_TYPES:
        for key in _TEXT_KEYS:
            if isinstance(part.get(key), str):
                return str(part[key])
        if not kind and part:
            return json_text(part)
    if kind == "json":
        return as_text(part.get("json", part.get("data")))
    if skipped is not None:
        skipped(kind or "untyped")
    unseen = _UNSEEN.search(kind)
    return f"[{_UNSEEN_AS.get(unseen[0], unseen[0])}]" if unseen else None


def result_text(content: Any, skipped: Callable[[str], None] | None = None) -> str:
    """The text of a tool's result: parts joined, everything else that is data as JSON."""
    if isinstance(content, list) and content and all(isinstance(p, Mapping) and isinstance(p.get("type"), str) for p in content):
        return text_of(content, skipped)
    return as_text(content)


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def parsed(value: Any) -> Any:
    """JSON text parsed; anything else, and text that is no JSON, as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def name_of(data: Mapping[str, Any], *keys: str) -> str | None:
    """The first of some fields that holds a name."""
    for key in keys:
        value = data.get(key)
        if (isinstance(value, str) and value.strip()) or (isinstance(value, int) and not isinstance(value, bool)):
            return str(value)
    return None
