"""The schema of one argument: its type, and whether a value fits."""

from __future__ import annotations

import json
from typing import Any

from agentfp.plugin import ConfigError, Tool, nearest

_WORDS = {"string": "a text", "number": "a number", "integer": "a whole number", "boolean": "true or false"}


class Property:
    """What the value of one argument must be.

    Args:
        schema: its JSON schema, references resolved.
        root: the schema that it is a part of.

    Attributes:
        type: its one type; None when it has several, or none.
        schema: the schema.
        expects: words for what fits.
    """

    __slots__ = ("_check", "_root", "expects", "schema", "type")

    def __init__(self, schema: dict[str, Any], root: dict[str, Any]) -> None:
        given = schema.get("type")
        plain = isinstance(given, str) and not schema.get("nullable") and not any(key in schema for key in ("anyOf", "oneOf", "allOf"))
        self.type: str | None = given if plain else None
        self.schema = schema
        self.expects = _words(schema)
        self._root = root
        self._check: Any = None

    def fits(self, value: Any) -> bool:
        """Whether a value fits: its type, its choices, pattern, lengths and bounds."""
        if isinstance(value, bool) != (self.type == "boolean"):
            return False
        if self._check is None:
            from jsonschema.validators import validator_for

            whole = dict(self.schema)
            whole.update({key: self._root[key] for key in ("$defs", "definitions", "$schema") if key in self._root})
            self._check = validator_for(whole)(whole)
        try:
            return bool(self._check.is_valid(value))
        except Exception:  # a schema from outside that cannot be applied lets nothing through
            return False

    def fitting(self, value: Any) -> Any:
        """A value as the argument takes it: a whole number that came as 2.0 is 2. Call it on what fits."""
        return int(value) if self.type == "integer" and isinstance(value, float) else value


def property_of(tool: Tool[..., Any], argument: str) -> Property:
    """The schema of an argument.

    Raises:
        ConfigError: the tool has no such argument.
    """
    root = json.loads(tool.parameters_json)
    properties = root.get("properties")
    found = properties.get(argument) if isinstance(properties, dict) else None
    if not isinstance(found, dict):
        raise ConfigError(f"the tool has no argument of this name; {nearest(argument, list(properties or ()))}")
    return Property(_resolved(found, root), root)


def _resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    for _ in range(8):
        ref = schema.get("$ref")
        if not isinstance(ref, str) or not ref.startswith("#/"):
            return schema
        target: Any = root
        for step in ref[2:].split("/"):
            target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
        if not isinstance(target, dict):
            return schema
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _words(schema: dict[str, Any]) -> str:
    if isinstance(schema.get("enum"), list):
        return "one of " + ", ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"][:20])
    words = _WORDS.get(str(schema.get("type")), "a value that fits the schema")
    for key, said in (
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
        ("multipleOf", "a multiple of"),
        ("minLength", "of a length of at least"),
        ("maxLength", "of a length of at most"),
        ("pattern", "of the pattern"),
    ):
        if key in schema:
            words += f", {said} {schema[key]}"
    return words
