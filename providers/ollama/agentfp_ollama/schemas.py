"""The parameters of a tool as models of an Ollama server get to see them.

The server reads the schema of a parameter into fields of its own, and ``$ref`` is none of them: what a reference leads to would be lost
on the model. So it is written out in its place. The server takes the rest of a schema that it knows and reads past the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MAX_NODES = 20_000
"""What a written out schema may hold. One that refers to itself in clever ways would grow without end, and goes out as it is."""


class _TooLargeError(Exception):
    pass


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with its references to itself written out; one that leads back into itself stays.

    Args:
        schema: JSON schema. It is not changed.
    """
    try:
        made: dict[str, Any] = _Writer(schema).value(schema, ())
    except (_TooLargeError, RecursionError):
        return dict(schema)
    if '"$ref"' not in json.dumps(made):  # the definitions stay where something still refers to them
        made.pop("$defs", None)
        made.pop("definitions", None)
    return made


class _Writer:
    """Writes one schema out."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def value(self, value: Any, within: tuple[str, ...]) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _TooLargeError
        if isinstance(value, list):
            return [self.value(item, within) for item in value]
        if not isinstance(value, Mapping):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str) and reference not in within:
            target = _target(reference, self._root)
            if isinstance(target, Mapping):
                beside = {key: item for key, item in value.items() if key != "$ref"}
                return self.value({**target, **beside}, (*within, reference))
        return {key: item if key in ("$defs", "definitions") else self.value(item, within) for key, item in value.items()}


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    if not reference.startswith("#/"):
        return None
    for step in reference.split("/")[1:]:
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found
