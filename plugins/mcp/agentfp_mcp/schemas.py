"""Judges the schema of a tool that a server describes: what could hold up the checker, or is no schema, is not let in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

MAX_CHARS = 100_000
MAX_DEPTH = 48
MAX_UNFOLDED = 20_000
"""Subschemas that a check may come by when every reference is followed once; a few lines can unfold to billions."""

_NESTED_REPEAT = re.compile(r"[+*}]\??\)+[+*{]")
_DATA = frozenset({"const", "default", "enum", "examples", "example", "required", "type", "title", "description"})
"""Keywords whose values are data, in which nothing is a schema."""


class SchemaError(ValueError):
    """A schema is not let in; says why, never what stands in it beyond a path."""


def vet(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A server's schema as it may be offered and checked with.

    Args:
        schema: the schema of a tool's arguments.

    Returns:
        A copy. Patterns that could run without end are left out of it.

    Raises:
        SchemaError: it is too large or too deep, unfolds without end, points outside of itself, is not of an object, or is
            no JSON schema.
    """
    try:
        text = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError("its schema is nested too deep or is not JSON") from error
    if len(text) > MAX_CHARS:
        raise SchemaError(f"its schema has {len(text)} characters, more than {MAX_CHARS}")
    _check_depth(schema)
    kind = schema.get("type", "object")
    if kind != "object":
        raise SchemaError("its schema is not of an object")
    if not isinstance(schema.get("properties", {}), Mapping):
        raise SchemaError("its schema has properties that are no object")
    _Unfolding(schema).check()
    copy: dict[str, Any] = _without_endless_patterns(json.loads(text))
    _check_is_schema(copy)
    return {**copy, "type": "object"}


def _check_depth(schema: Any) -> None:
    level, depth = [schema], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise SchemaError(f"its schema is nested deeper than {MAX_DEPTH}")
        level = [item for value in level for item in _inside(value) if isinstance(item, (dict, list))]


def _inside(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []


class _Unfolding:
    """Counts the subschemas of a schema with its references followed."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._known: dict[int, int] = {}
        self._open: set[int] = set()

    def check(self) -> None:
        """Refuse a schema that unfolds to too much.

        Raises:
            SchemaError: it does.
        """
        try:
            self._count(self._root)
        except RecursionError as error:
            raise SchemaError("its schema unfolds too deep") from error

    def _count(self, node: Any) -> int:
        if not isinstance(node, (Mapping, list)):
            return 0
        key = id(node)
        if key in self._known:
            return self._known[key]
        if key in self._open:  # a schema of itself goes as deep as the data does
            return 1
        self._open.add(key)
        total = 1
        if isinstance(node, Mapping):
            for word in ("$ref", "$dynamicRef", "$recursiveRef"):
                if isinstance(node.get(word), str):
                    total += self._count(self._target(node[word]))
            total += sum(self._count(value) for word, value in node.items() if word not in _DATA)
        else:
            total += sum(self._count(item) for item in node)
        self._open.discard(key)
        if total > MAX_UNFOLDED:
            raise SchemaError("its schema unfolds to too many parts")
        self._known[key] = total
        return total

    def _target(self, ref: str) -> Any:
        if not ref.startswith("#"):
            raise SchemaError("its schema refers to something outside of itself")
        node: Any = self._root
        for step in ref[1:].lstrip("/").split("/") if ref not in ("#", "#/") else ():
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping) and step in node:
                node = node[step]
            elif isinstance(node, list) and step.isdigit() and int(step) < len(node):
                node = node[int(step)]
            else:
                return None  # the checker passes over what leads nowhere
        return node


def _without_endless_patterns(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_endless_patterns(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = {}
    for word, value in node.items():
        if word == "pattern" and isinstance(value, str) and not _is_tame(value):
            continue
        if word == "patternProperties" and isinstance(value, dict):
            value = {pattern: inner for pattern, inner in value.items() if _is_tame(pattern)}
        made[word] = value if word in _DATA and not isinstance(value, dict) else _without_endless_patterns(value)
    return made


def _is_tame(pattern: str) -> bool:
    if len(pattern) > 500 or _NESTED_REPEAT.search(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _check_is_schema(schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema import SchemaError as Invalid
    from jsonschema.validators import validator_for

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except Invalid as error:
        place = "/".join(str(step) for step in list(error.absolute_path)[:8])
        raise SchemaError(f"its schema is no JSON schema at {place[:120] or 'its root'!r}") from None
    except Exception as error:
        raise SchemaError("its schema cannot be judged") from error
