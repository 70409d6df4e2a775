"""What an event is: the envelope, the payload classes, their kinds and privacy marks, and their JSON."""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, dataclass_transform

import pydantic
import pydantic_core

from agentfp_core.errors import PluginDefinitionError, RecordFormatError

T = TypeVar("T")
P = TypeVar("P", bound="Payload")


class Mark(enum.Enum):
    """How private a field is. Sinks get no ``CONTENT`` unless their settings ask for it."""

    CONTENT = "content"
    NAME = "name"
    NUMBER = "number"
    HASH = "hash"


Content = Annotated[T, Mark.CONTENT]
"""What a person, a model, a tool or data wrote. An unmarked field is this too."""
Name = Annotated[T, Mark.NAME]
"""A word of the library, an id that was minted, or a name declared while building."""
Number = Annotated[T, Mark.NUMBER]
"""A count, a size, a time, a flag."""
Hash = Annotated[T, Mark.HASH]
"""A digest."""

Kind: TypeAlias = Literal["stored", "diagnostic", "transient"]
"""``stored``: on the record and in checkpoints. ``diagnostic``: on the record only. ``transient``: delivered only."""


class Payload:
    """Base of every event's payload. Make one with :func:`event`, a part of one with :func:`part`."""

    __slots__ = ()
    event_name: ClassVar[str] = ""
    event_kind: ClassVar[Kind] = "stored"



class Event(NamedTuple):
    """One event on a record.

    Args:
        seq: place in the conversation's record, from 0, never reused; -1 for a transient event.
        name: ``agentfp.<domain>.<action>``.
        ts_ns: wall clock, nanoseconds since 1970.
        offset_ns: nanoseconds since the run leg began, of a clock that never goes back.
        turn: the person's turn, from 1.
        iteration: the model call of the run it belongs to, from 1; 0 before the first.
        call_id: the tool call it is about.
        source: ``kernel`` or the plugin that emitted it.
        payload: the typed content.
    """

    seq: int
    name: str
    ts_ns: int
    offset_ns: int
    turn: int
    iteration: int
    call_id: str | None
    source: str
    payload: Payload


class UnknownPayload(Payload):
    """The payload of an event whose type is not installed here; kept as it was read, so that nothing is lost."""

    __slots__ = ("data",)
    event_name: ClassVar[str] = "unknown"

    def __init__(self, data: str) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownPayload) and other.data == self.data

    __hash__ = None  # type: ignore[assignment]


@dataclass_transform()
def part(cls: type[T]) -> type[T]:
    """Make a slots dataclass to be a field of event payloads; its own fields carry marks too."""
    return dataclasses.dataclass(slots=True)(cls)


@dataclass_transform()
def event(name: str, *, kind: Kind = "stored") -> Callable[[type[P]], type[P]]:
    """Make a payload class: a slots dataclass with an event's name and kind.

    Args:
        name: three dotted words, the first two a prefix of your own: ``agentfp.findings.standing``.
        kind: see :data:`Kind`.

    Raises:
        PluginDefinitionError: the name has not three words, or the class does not derive from :class:`Payload`.
    """
    if len(name.split(".")) != 3 or not all(word.replace("_", "").isalnum() for word in name.split(".")):
        raise PluginDefinitionError(f"an event's name has three dotted words, such as 'acme.orders.checked'; got {name!r}")

    def decorate(cls: type[P]) -> type[P]:
        if not issubclass(cls, Payload):
            raise PluginDefinitionError(f"the payload class {cls.__name__!r} of event {name!r} must derive from Payload")
        made = dataclasses.dataclass(slots=True)(cls)
        made.event_name = name
        made.event_kind = kind
        return made

    return decorate


def per_class(make: Callable[[type[Any]], T]) -> Callable[[type[Any]], T]:
    """Compute something of a class once."""
    made: dict[type[Any], T] = {}

    def get(cls: type[Any]) -> T:
        try:
            return made[cls]
        except KeyError:
            return made.setdefault(cls, make(cls))

    return get


@per_class
def _adapter(cls: type[Any]) -> pydantic.TypeAdapter[Any]:
    return pydantic.TypeAdapter(cls)


@per_class
def _serializer(cls: type[Any]) -> Callable[..., bytes]:
    return _adapter(cls).serializer.to_json


def payload_json(payload: Payload) -> bytes:
    """The payload as JSON; fields that are None are left out."""
    if type(payload) is UnknownPayload:
        return payload.data.encode()
    return _serializer(type(payload))(payload, exclude_none=True)


def payload_from(cls: type[P], data: Any) -> P:
    """Validate JSON data into a payload; unknown fields are ignored, so that newer files can be read.

    Raises:
        RecordFormatError: the data does not fit.
    """
    try:
        value: P = _adapter(cls).validate_python(data)
    except pydantic.ValidationError as error:
        where = ", ".join(".".join(map(str, e["loc"])) or "the whole" for e in error.errors()[:5])
        raise RecordFormatError(f"event {cls.event_name!r} does not fit its type at: {where}") from error
    return value


def check_payload(payload: Payload) -> None:
    """Validate a payload strictly, as development mode and the plugin checks do.

    Raises:
        RecordFormatError: a field has another type than it declares.
    """
    cls = type(payload)
    if cls is UnknownPayload:
        return
    try:
        data = pydantic_core.from_json(payload_json(payload))
    except (ValueError, pydantic_core.PydanticSerializationError) as error:
        raise RecordFormatError(f"event {cls.event_name!r} holds a value that is no JSON ({type(error).__name__})") from error
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        _refuse_mutable(getattr(payload, field.name), f"{cls.event_name}.{field.name}")
        if field.name not in hints:
            raise RecordFormatError(f"event {cls.event_name!r}: field {field.name!r} has no type")
    payload_from(cls, data)


def _refuse_mutable(value: Any, where: str) -> None:
    if isinstance(value, (list, dict, set, bytearray)):
        raise RecordFormatError(f"{where} holds a {type(value).__name__}; payloads hold text, numbers and tuples of them")
    if isinstance(value, tuple):
        for item in value:
            _refuse_mutable(item, where)


@per_class
def marks_of(cls: type[Any]) -> Mapping[str, Mark | type[Any]]:
    """The mark of each field of a payload class; a field that holds parts has their class in place of a mark."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {field.name: _mark_of(hints[field.name]) for field in dataclasses.fields(cls)}


def _mark_of(hint: Any) -> Mark | type[Any]:
    for meta in getattr(hint, "__metadata__", ()):
        if isinstance(meta, Mark):
            return meta
    inner = _part_class(hint)
    return inner if inner is not None else Mark.CONTENT


def _part_class(hint: Any) -> type[Any] | None:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint
    for argument in typing.get_args(hint):
        found = _part_class(argument)
        if found is not None:
            return found
    return None
