"""The texts in the arguments of a call, each with its place, and the texts that a tool's schema offers for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MIN_CHARS = 4
MIN_DIGITS = 5
MAX_DEPTH = 64
SCHEMA_DEPTH = 8


def leaves_of(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The texts in JSON data with at least four characters, and numbers of at least five digits, by dotted path.

    Args:
        value: JSON data.
        path: where it stands.
        depth: how deep that is.
    """
    if isinstance(value, str):
        if len(text := value.strip()) >= MIN_CHARS:
            yield path, text
    elif isinstance(value, int) and not isinstance(value, bool):
        if len(text := str(abs(value)) if abs(value) < 10**30 else "") >= MIN_DIGITS:
            yield path, text
    elif depth < MAX_DEPTH and isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves_of(item, f"{path}.{key}" if path else str(key), depth + 1)


def offered(parameters_json: str) -> frozenset[str]:
    """The texts that a schema offers as values, folded.

    Args:
        parameters_json: the schema of a tool's arguments.
    """
    try:
        return frozenset(_offered(json.loads(parameters_json), 0))
    except (ValueError, RecursionError):
        return frozenset()


def _offered(schema: Any, depth: int) -> Iterator[str]:
    if depth > SCHEMA_DEPTH:
        return
    if isinstance(schema, list):
        for item in schema:
            yield from _offered(item, depth + 1)
    elif isinstance(schema, dict):
        for key, item in schema.items():
            if key == "enum" and isinstance(item, list):
                yield from (value.casefold() for value in item if isinstance(value, str))
            elif key == "const" and isinstance(item, str):
                yield item.casefold()
            else:
                yield from _offered(item, depth + 1)
