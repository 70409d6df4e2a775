"""JSON schemas in the form that OpenAI enforces word by word ("strict"), where that form says the same as the schema.

In that form every object lists all its properties as required and takes no others, and only some keywords may stand. A property that
may be left out has no such form, unless leaving it out means the same as null.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NOTES = frozenset({"title", "description", "$schema", "$comment", "examples", "deprecated"})
_KEPT = frozenset({"title", "description"})
_CHECKS = frozenset({"pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"})
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_TYPES = frozenset({"string", "number", "integer", "boolean", "null", "array", "object"})
_LOOKS_AROUND = re.compile(r"\(\?[=!<]|\\\d|\\[pP]")
_DEEPEST = 10
_MOST_PROPERTIES = 5_000
_MOST_VALUES = 1_000


class _NoStrictFormError(Exception):
    """The schema says something that the form cannot say."""


def strict_form(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in OpenAI's strict form.

    Args:
        schema: a JSON schema of an object.

    Returns:
        A schema that allows the same values; None when there is no such form.
    """
    try:
        form = _Form(schema)
        made = form.of(schema, 1)
        if made.get("type") != "object":
            return None
        if form.named:
            made["$defs"] = {name: form.of(part, 1) for name, part in form.named.items()}
    except _NoStrictFormError:
        return None
    return made


class _Form:
    def __init__(self, root: Mapping[str, Any]) -> None:
        named = root.get("$defs", {})
        if not isinstance(named, Mapping) or "definitions" in root:
            raise _NoStrictFormError
        self.named: Mapping[str, Any] = named
        self._properties = 0
        self._values = 0

    def of(self, schema: Any, depth: int) -> dict[str, Any]:
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            raise _NoStrictFormError
        known = (
            _NOTES | _CHECKS | {"type", "enum", "const", "anyOf", "$ref", "$defs", "format", "properties", "required", "items", "default"}
        )
        if not known.issuperset(schema.keys() - {"additionalProperties"}) or ("$defs" in schema and schema["$defs"] is not self.named):
            raise _NoStrictFormError
        if "$ref" in schema:
            return self._reference(schema)
        made: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
        if "anyOf" in schema:
            return made | self._choice(schema, depth)
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        kind = schema.get("type")
        if kind is None and values is None:
            raise _NoStrictFormError  # any value at all
        if kind is not None:
            kinds = kind if isinstance(kind, list) else [kind]
            if not kinds or not _TYPES.issuperset(kinds):
                raise _NoStrictFormError
            made["type"] = kind
            if "object" in kinds:
                made |= self._object(schema, depth)
            if "array" in kinds:
                made["items"] = self.of(schema.get("items"), depth + 1)
        if values is not None:
            self._count(values=len(values))
            made["enum"] = list(values)
        return made | _checks(schema)

    def _reference(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        target = schema["$ref"]
        if not schema.keys() <= {"$ref", "default", *_NOTES} or not isinstance(target, str):
            raise _NoStrictFormError
        prefix, _, name = target.rpartition("/")
        if target != "#" and (prefix != "#/$defs" or name not in self.named):
            raise _NoStrictFormError
        kept = {key: schema[key] for key in _KEPT if key in schema}
        return kept | {"anyOf": [{"$ref": target}]} if kept else {"$ref": target}  # nothing may stand beside a reference

    def _choice(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if not schema.keys() <= {"anyOf", "default", *_NOTES} or not isinstance(schema["anyOf"], list):
            raise _NoStrictFormError
        return {"anyOf": [self.of(part, depth) for part in schema["anyOf"]]}

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties")
        # An object that names its properties means these; one that names none may hold anything.
        closed = others is False or (others is None and bool(properties))
        if not closed or not isinstance(properties, Mapping):
            raise _NoStrictFormError
        required = schema.get("required", [])
        for name, part in properties.items():
            if name not in required and not self._null_when_left_out(part):
                raise _NoStrictFormError
        self._count(properties=len(properties))
        return {
            "properties": {name: self.of(part, depth + 1) for name, part in properties.items()},
            "required": list(properties),
            "additionalProperties": False,
        }

    def _null_when_left_out(self, part: Any) -> bool:
        if not isinstance(part, Mapping) or "default" not in part or part["default"] is not None:
            return False
        kinds = part.get("type")
        choices = part.get("anyOf", [])
        return kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or any(c == {"type": "null"} for c in choices)

    def _count(self, *, properties: int = 0, values: int = 0) -> None:
        self._properties += properties
        self._values += values
        if self._properties > _MOST_PROPERTIES or self._values > _MOST_VALUES:
            raise _NoStrictFormError


def _checks(schema: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: schema[key] for key in _CHECKS if key in schema}
    if _LOOKS_AROUND.search(str(made.get("pattern", ""))):
        raise _NoStrictFormError
    if "format" in schema:
        if schema["format"] not in _FORMATS:
            raise _NoStrictFormError
        made["format"] = schema["format"]
    return made
