"""Answers that are JSON: their leaves with their place in the text, so that each field is judged by its path."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, NamedTuple

import pydantic

from agentfp_evidence.columns import is_number
from agentfp_evidence.normalise import canonical_number
from agentfp_evidence.numbers import Number
from agentfp_evidence.reading import Node
from agentfp_evidence.units import unit_of_key

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|[{}\[\]:,]')
_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PLAIN_ESCAPES = {'\\"': ' "', "\\n": " \n", "\\t": " \t", "\\r": "  ", "\\/": " /", "\\\\": " \\", "\\b": "  ", "\\f": "  "}


class Field(NamedTuple):
    """A leaf of a JSON text.

    Args:
        start: where its text begins, inside the quotes of a string.
        end: where it ends.
        node: its place.
        key: the nearest key above it.
        number: of a number.
        is_key: it is a key itself.
    """

    start: int
    end: int
    node: Node
    key: str
    number: Number | None = None
    is_key: bool = False


def json_span(text: str) -> tuple[int, int] | None:
    """Where the JSON of an answer that is nothing but JSON stands; None for any other text.

    Args:
        text: the answer; it may be wrapped in a fence of code.
    """
    fenced = _FENCED.fullmatch(text)
    start, end = fenced.span(1) if fenced is not None else (0, len(text))
    body = text[start:end].strip()
    if not (body[:1] in ("{", "[") and body[-1:] in ("}", "]")):
        return None
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return None
    return start, end


def fields_of(text: str, start: int, end: int) -> list[Field]:
    """The leaves of a JSON text, in order.

    Args:
        text: the whole answer.
        start: where the JSON begins.
        end: where it ends.
    """
    found: list[Field] = []
    stack: list[list[Any]] = []  # [is_object, key or index, a key comes next]
    for match in _TOKEN.finditer(text, start, end):
        token = match[0]
        if token in "{[":
            stack.append([token == "{", "" if token == "{" else 0, token == "{"])
        elif token in "}]":
            stack.pop()
        elif token == ",":
            if stack[-1][0]:
                stack[-1][2] = True
            else:
                stack[-1][1] += 1
        elif token == ":" or token in ("true", "false", "null"):
            continue
        elif token[0] == '"':
            if stack and stack[-1][2]:
                stack[-1][1], stack[-1][2] = json.loads(token), False
                found.append(Field(match.start() + 1, match.end() - 1, _node(stack), stack[-1][1], is_key=True))
            else:
                found.append(Field(match.start() + 1, match.end() - 1, _node(stack), _key(stack)))
        else:
            key = _key(stack)
            found.append(Field(match.start(), match.end(), _node(stack), key, _number(token, match.start(), match.end(), key)))
    return found


def without_escapes(text: str) -> str:
    """JSON text whose escapes are blanked or resolved in place, so that every character keeps its place.

    Args:
        text: JSON text.
    """
    return _ESCAPE.sub(_resolved, text) if "\\" in text else text


def literals_of(output_type: Any) -> frozenset[str]:
    """The texts that a type itself prescribes: its constants and choices, lower case.

    Args:
        output_type: a type, or a JSON schema.
    """
    if output_type is None or output_type is str:
        return frozenset()
    if isinstance(output_type, Mapping):
        schema: Any = output_type
    else:
        try:
            schema = pydantic.TypeAdapter(output_type).json_schema()
        except (pydantic.errors.PydanticUserError, TypeError):  # a type without a schema prescribes nothing
            return frozenset()
    found: set[str] = set()
    stack: list[Any] = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            for name in ("const", "default"):
                if isinstance(node.get(name), str):
                    found.add(node[name].lower())
            found.update(str(choice).lower() for choice in node.get("enum", ()) if isinstance(choice, (str, int)))
            stack.extend(node.values())
        elif isinstance(node, (list, tuple)):
            stack.extend(node)
    return frozenset(found)


class FieldMap:
    """Finds the field that a place in the text belongs to."""

    def __init__(self, fields: list[Field]) -> None:
        self._fields = fields
        self._starts = [field.start for field in fields]

    def at(self, place: int) -> Field | None:
        """The field at a place."""
        i = bisect_right(self._starts, place) - 1
        return self._fields[i] if i >= 0 and place <= self._fields[i].end else None


def _node(stack: list[list[Any]]) -> Node:
    node: Node = None
    for frame in stack:
        node = (node, frame[1])
    return node


def _key(stack: list[list[Any]]) -> str:
    return next((frame[1] for frame in reversed(stack) if frame[0]), "")


def _number(token: str, start: int, end: int, key: str) -> Number | None:
    if not is_number(float(token)):
        return None
    plain = format(float(token), "f") if "e" in token.lower() else token
    decimals = len(plain.partition(".")[2])
    digits = sum(c.isdigit() for c in token)
    return Number((canonical_number(plain),), decimals, digits, unit_of_key(key), "", False, start, end)


def _resolved(match: re.Match[str]) -> str:
    escape = match[0]
    if escape in _PLAIN_ESCAPES:
        return _PLAIN_ESCAPES[escape]
    if len(escape) == 6:
        return chr(int(escape.removeprefix("\\u"), base=16)) + "\u00ad" * 5
    return " " * len(escape)
