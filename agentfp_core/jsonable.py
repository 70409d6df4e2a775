"""Turns any Python value into plain JSON data, piece by piece; what cannot be written becomes a placeholder, never an error."""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import json
import numbers
import pathlib
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence, Set, ValuesView
from dataclasses import fields, is_dataclass
from typing import Any

import pydantic
import pydantic_core

MAX_DEPTH = 100
MAX_NODES = 1_000_000
_LONGEST_INT_BITS = 14_000
"""An integer of more bits has more digits than Python writes by default."""

_TEXT_LIKE = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Network,
    ipaddress.IPv6Network,
    ipaddress.IPv4Interface,
    ipaddress.IPv6Interface,
    re.Pattern,
)


def placeholder(value: Any) -> str:
    """The words that stand for a value that cannot be written."""
    return f"[unserializable: {type(value).__name__}]"


def without_surrogates(text: str) -> str:
    """The text with what no encoding can hold replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def jsonable(value: Any, opened: Callable[[Any], Any] = lambda value: value) -> Any:
    """Make plain JSON data of a value.

    Args:
        value: anything.
        opened: asked for each piece what to write in its place.

    Returns:
        None, texts, numbers, lists and dicts with text keys. NaN and infinities are texts; cycles, what is nested
        deeper than 100 levels, iterators and objects that cannot be written are placeholders.
    """
    try:
        return _Walk(opened).of(value)
    except Exception:  # any object of the application may break while it is read
        return placeholder(value)


class _Walk:
    """One pass over a value; holds the containers it is inside of, and how much it has seen."""

    __slots__ = ("inside", "nodes", "opened")

    def __init__(self, opened: Callable[[Any], Any]) -> None:
        self.opened = opened
        self.inside: set[int] = set()
        self.nodes = 0

    def of(self, value: Any) -> Any:
        self.nodes += 1
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return value
        if kind is int:
            return value if value.bit_length() <= _LONGEST_INT_BITS else placeholder(value)
        if kind is float:
            return _finite(value)
        mark = id(value)
        if mark in self.inside or len(self.inside) >= MAX_DEPTH or self.nodes > MAX_NODES:
            return placeholder(value)
        self.inside.add(mark)
        try:
            return self.parts_of(value)
        except Exception:
            return placeholder(value)
        finally:
            self.inside.discard(mark)

    def parts_of(self, value: Any) -> Any:
        written = self.opened(value)
        if written is not value:
            return self.of(written)
        if isinstance(value, type):
            return placeholder(value)
        if isinstance(value, enum.Enum):
            return self.of(value.value)
        scalar = _scalar(value)
        if scalar is not _NO_SCALAR:
            return scalar
        if isinstance(value, pydantic.BaseModel):
            return self.of(_dumped(value))
        if is_dataclass(value):
            return self.of(_fields_of(value))
        if isinstance(value, Mapping):
            return self.mapping(value)
        if isinstance(value, (set, frozenset)):
            return sorted((self.of(item) for item in value), key=_order)
        if isinstance(value, (Sequence, Set, ValuesView)):
            return [self.of(item) for item in value]
        return placeholder(value)

    def mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, item in value.items():
            name = self.key(key)
            while name in made:
                name += "'"
            made[name] = self.of(item)
        return made

    def key(self, key: Any) -> str:
        if type(key) is str:
            return key
        plain = self.of(key)
        return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


_NO_SCALAR: Any = object()


def _scalar(value: Any) -> Any:
    """The JSON of a value that has no parts, or ``_NO_SCALAR``."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral):
        number = int(value)
        return number if number.bit_length() <= _LONGEST_INT_BITS else placeholder(value)
    if isinstance(value, numbers.Rational):
        return str(value)
    if isinstance(value, numbers.Real):
        return _finite(float(value))
    if isinstance(value, _TEXT_LIKE):
        return pydantic_core.to_jsonable_python(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes_text(bytes(value))
    if isinstance(value, (pathlib.PurePath, pydantic.SecretStr, pydantic.SecretBytes)):
        return str(value)
    return _NO_SCALAR


def _finite(value: float) -> float | str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return float(value)


def _bytes_text(data: bytes) -> str:
    """Bytes as the text they hold; base64 would be of no use to a model, so other bytes are their size."""
    if b"\x00" not in data:
        try:
            return data.decode()
        except UnicodeDecodeError:
            pass
    return f"[binary data: {len(data)} bytes]"


def _dumped(value: pydantic.BaseModel) -> Any:
    """A model as it wants to be written; but its iterators, which that would drain, and bytes that are no text stay as they are."""
    held = {name: item for name, item in vars(value).items() if isinstance(item, Iterator)}
    if isinstance(value, pydantic.RootModel) and held:
        return value.root
    try:
        written: dict[str, Any] = value.model_dump(mode="json", warnings=False, exclude=set(held) or None)
    except Exception:
        written = value.model_dump(warnings=False, exclude=set(held) or None)
    return {**written, **held} if held else written


def _fields_of(value: Any) -> Any:
    serializer = getattr(type(value), "__pydantic_serializer__", None)
    if isinstance(serializer, pydantic_core.SchemaSerializer):
        return serializer.to_python(value, mode="json", warnings=False)
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _order(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
