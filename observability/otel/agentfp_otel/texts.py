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
    """Attributes as they are, the same object where nothing is to be looked at more closely: that is nearly always so."""
    for key, value in attributes.items():
        kind = type(value)
        plain = value.isascii() if kind is str else all(_plain(item) for item in value) if kind is tuple else True
        if not plain or not key.isascii():
            return {sendable(key): _value(value) for key, value in attributes.items()}
    return attributes


def _plain(value: Any) -> bool:
    return value.isascii() if isinstance(value, str) else True


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return sendable(value)
    return tuple([_value(item) for item in value]) if isinstance(value, tuple) else value
