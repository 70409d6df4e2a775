"""Payloads as plain data, whether their class is installed or not, and whatever state they are in."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

PLACEHOLDER = "[REDACTED]"
"""What stands where something was masked. It is never a value."""


def data_of(payload: Any) -> dict[str, Any]:
    """The fields of a payload that have a value, as JSON data; empty for what cannot be read."""
    if dataclasses.is_dataclass(payload) and not isinstance(payload, type):
        return {
            field.name: _plain(value) for field in dataclasses.fields(payload) if (value := getattr(payload, field.name, None)) is not None
        }
    try:
        data = json.loads(getattr(payload, "data", "{}"))
    except (ValueError, TypeError, RecursionError):
        return {}
    return {key: value for key, value in data.items() if value is not None} if isinstance(data, dict) else {}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return data_of(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


def text(value: Any) -> str | None:
    """A text; None for anything else."""
    return value if isinstance(value, str) else None


def texts(value: Any) -> tuple[str, ...]:
    """The texts in a list."""
    return tuple([item for item in value if isinstance(item, str)]) if isinstance(value, (list, tuple)) else ()


def number(value: Any) -> int:
    """A whole number; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def masked(value: Any) -> bool:
    """Whether something of it was masked."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            if PLACEHOLDER in item:
                return True
        elif isinstance(item, dict):
            left += item.keys()
            left += item.values()
        elif isinstance(item, (list, tuple)):
            left += item
    return False
