"""Reads a result's own text into leaves: JSON as far as it is JSON (cut or whole), text for the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from agentfp_evidence.text_tables import TextTable, tables_in

Node: TypeAlias = "tuple[Any, str | int] | None"
"""A place in JSON data: the place of its parent and its key there; None is the root. Rendered only when asked for."""

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s*")
_CUT_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}\[\]:,]')
_ABSENT_HIDES = frozenset({"looked_for"})
_ITEM_HIDES = frozenset({"short", "kind"})
_DEEPEST = 100
"""Deeper data is not read when it is cut."""
_LIMITS = ("checked", "not_checked", "cannot_cover")


class Leaf(NamedTuple):
    """One value of a result.

    Args:
        value: text, number, bool or None.
        node: its place; None for plain text.
        key: the nearest key above it, which may name its unit.
        is_key: it is the key of an object.
        offset: where the text begins in the result, for plain text.
    """

    value: Any
    node: Node
    key: str = ""
    is_key: bool = False
    offset: int = 0


@dataclass
class Reading:
    """What a result's text holds.

    Args:
        leaves: its values in order.
        data: the JSON documents in it, whole ones only.
    """

    leaves: list[Leaf]
    data: list[Any]

    @cached_property
    def tables(self) -> list[tuple[Node, TextTable]]:
        """The tables that its texts show, and the place of the text."""
        texts = [leaf for leaf in self.leaves if isinstance(leaf.value, str) and not leaf.is_key and "\n" in leaf.value.strip()]
        texts += [leaf for leaf in self.leaves if leaf.node is None and isinstance(leaf.value, str) and "\n" not in leaf.value.strip()]
        return [(leaf.node, table) for leaf in texts for table in tables_in(leaf.value)]


def json_path(node: Node) -> str:
    """A place as a JSON path, for example ``$.rows[2].price``."""
    parts: list[str] = []
    while node is not None:
        node, key = node
        if isinstance(key, int):
            parts.append(f"[{key}]")
        else:
            parts.append(f".{key}" if key.isidentifier() or re.fullmatch(r"\w+", key) else f"[{json.dumps(key, ensure_ascii=False)}]")
    return "$" + "".join(reversed(parts))


def data_at(reading: Reading, node: Node) -> Any:
    """The data at a place; None where nothing whole stands there.

    Args:
        reading: what a result holds.
        node: a place in it.
    """
    keys: list[str | int] = []
    while node is not None:
        node, key = node
        keys.append(key)
    keys.reverse()
    data: Any = reading.data[0] if reading.data else None
    if len(reading.data) > 1 and keys and isinstance(keys[0], int) and not isinstance(data, list):
        data, keys = reading.data[keys[0]], keys[1:]
    for key in keys:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def read(text: str) -> Reading:
    """Read a result.

    Args:
        text: the tool's own text, without what others noted below it.
    """
    leaves: list[Leaf] = []
    documents: list[Any] = []
    at = _SPACE.match(text).end()  # type: ignore[union-attr]  # it matches everywhere
    while at < len(text) and text[at] in "{[":
        try:
            data, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            if not documents and text[at : at + 2].strip() and _looks_cut(text, at):
                leaves.extend(_read_cut(text[at:]))
                return Reading(leaves, documents)
            break
        node: Node = None if not documents else (None, len(documents))
        documents.append(data)
        leaves.extend(walk(data, node))
        at = _SPACE.match(text, end).end()  # type: ignore[union-attr]
    if at < len(text):
        leaves.append(Leaf(text[at:], None, offset=at))
    return Reading(leaves, documents)


def read_data(data: Any) -> Reading:
    """Read JSON data that is already parsed."""
    if isinstance(data, str):
        return read(data)
    return Reading(list(walk(data, None)), [data])


def walk(data: Any, node: Node, key: str = "") -> Iterator[Leaf]:
    """The leaves of JSON data in order, keys included; what an absence says it looked for is no leaf."""
    stack: list[tuple[Any, Node, str, bool]] = [(data, node, key, False)]
    while stack:
        value, place, name, is_key = stack.pop()
        if isinstance(value, dict):
            hidden = _hidden(value)
            children: list[tuple[Any, Node, str, bool]] = []
            for child, inner in value.items():
                if child in hidden:
                    continue
                text = str(child)
                below: Node = (place, text)
                children.append((text, below, text, True))
                if hidden and child in _LIMITS and isinstance(inner, list):
                    inner = [_shown(item) for item in inner]
                children.append((inner, below, text, False))
            stack.extend(reversed(children))
        elif isinstance(value, list):
            stack.extend((item, (place, i), name, False) for i, item in reversed(list(enumerate(value))))
        else:
            yield Leaf(value, place, name, is_key)


def _hidden(data: Mapping[Any, Any]) -> frozenset[str]:
    if data.get("af_absent") is True:
        return _ABSENT_HIDES
    return frozenset({"\0"}) if isinstance(data.get("af_coverage"), dict) else frozenset()


def _shown(item: Any) -> Any:
    return {k: v for k, v in item.items() if k not in _ITEM_HIDES} if isinstance(item, dict) else item


def _looks_cut(text: str, at: int) -> bool:
    """Whether text that opens like JSON really is JSON whose end is missing, and not prose in brackets."""
    return re.match(r'(?:\{\s*"|\[\s*(?:["{\[\d-]|true|false|null))', text[at:]) is not None


def _read_cut(text: str) -> Iterator[Leaf]:
    """The leaves before the cut. What the text ends inside of is no leaf, save for the whole words of a string."""
    stack: list[list[Any]] = []  # [is_object, current key or index, expecting a key]
    at = 0

    def place() -> Node:
        node: Node = None
        for frame in stack:
            node = (node, frame[1])
        return node

    def key() -> str:
        return next((frame[1] for frame in reversed(stack) if frame[0] and isinstance(frame[1], str)), "")

    while True:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        match = _CUT_TOKEN.match(text, at)
        if match is None:
            break
        token, at = match[0], match.end()
        if token in "{[":
            if len(stack) == _DEEPEST:
                break
            stack.append([token == "{", "" if token == "{" else 0, token == "{"])
        elif token in "}]":
            if stack:
                stack.pop()
        elif token == ",":
            if stack:
                stack[-1][2] = stack[-1][0]
                if not stack[-1][0]:
                    stack[-1][1] += 1
        elif token == ":":
            continue
        else:
            if at == len(text) and token[0] != '"':
                return  # a number that the text ends in may go on
            try:
                value = json.loads(token)
            except ValueError:
                continue
            if stack and stack[-1][2] and isinstance(value, str):
                stack[-1][1], stack[-1][2] = value, False
                yield Leaf(value, place(), value, True)
            else:
                yield Leaf(value, place(), key())
    rest = text[at:]
    if rest.startswith('"') and " " in rest:
        yield Leaf(rest[1 : rest.rindex(" ")].replace('\\"', '"').replace("\\n", "\n"), place(), key())
