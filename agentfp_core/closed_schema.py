"""JSON schemas for providers whose decoding takes closed ones only: objects with named keys, and no limits of values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_KEPT = ("type", "enum", "const", "default", "description", "title", "format", "required", "$ref", "minItems")
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")


def closed_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A schema whose objects are closed.

    Limits of numbers, texts and lists are said in the description instead. What is decoded is to be checked against the schema itself.

    Args:
        schema: any JSON schema.

    Returns:
        The schema, or None where an object in it has free keys, which a closed one cannot have.
    """
    try:
        return _closed(schema)
    except _FreeKeysError:
        return None


class _FreeKeysError(Exception):
    """An object has keys that the schema does not name."""


def _closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    if schema.get("additionalProperties", False) is not False or (schema.get("type") == "object" and not schema.get("properties")):
        raise _FreeKeysError
    made: dict[str, Any] = {}
    left: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("$defs", "definitions", "properties"):
            made[key] = {name: _closed(inner) for name, inner in value.items()}
        elif key in ("anyOf", "oneOf", "allOf"):
            made.setdefault("allOf" if key == "allOf" else "anyOf", []).extend(_closed(inner) for inner in value)
        elif key == "items" and isinstance(value, Mapping):
            made[key] = _closed(value)
        elif key in _KEPT and _plain(key, value):
            made[key] = value
        elif key != "additionalProperties":
            left[key] = value
    if "properties" in made:
        made["additionalProperties"] = False
    if left:
        limits = "{" + ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in left.items()) + "}"
        made["description"] = f"{made['description']}\n\n{limits}" if made.get("description") else limits
    return made


def _plain(key: str, value: Any) -> bool:
    if key == "format":
        return value in _FORMATS
    return key != "minItems" or value in (0, 1)
