"""Texts that every exporter can send: half of a surrogate pair, which models and tools do write, is no text in UTF-8.

An exporter leaves such an attribute out; of a span with such a name it loses the whole batch, with the spans of other runs in it.
"""

from __future__ import annotations

from typing import Any


def sendable(text: str) -> str:
    """A text as it is; what of it is none becomes ``?``."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def all_sendable(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes as they are, the same object where all of their texts can be sent."""
    for key, value in attributes.items():
        if (type(value) is str and not value.isascii()) or type(value) in (tuple, list) or not key.isascii():
            return {sendable(key): _value(value) for key, value in attributes.items()}
    return attributes


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return sendable(value)
    return tuple([_value(item) for item in value]) if isinstance(value, (tuple, list)) else value
