"""What an event is: the envelope, the payload classes, their kinds and privacy marks, and their JSON."""

from __future__ import annotations

import dataclasses
import enum
import math
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, dataclass_transform

import pydantic
import pydantic_core

from agentfp_core.errors import PluginDefinitionError, RecordFormatError
from agentfp_core.jsonable import jsonable, without_surrogates

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
    """Base of every event's payload. Make one with :func:`event`, a part of one with :func:`part`.

    A class that defines ``__str__`` says in one line what happened, for people who walk through a record.
    """

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


class RawPayload(Payload):
    """A payload that is JSON text and nothing else: no class says what its fields are, so all of it is content."""

    __slots__ = ("data",)

    def __init__(self, data: str) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.data == self.data

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.data!r})"


class UnknownPayload(RawPayload):
    """The payload of an event whose type is not installed here; kept as it was read, so that nothing is lost."""

    __slots__ = ()
    event_name: ClassVar[str] = "unknown"


def words_of(payload: Payload) -> str | None:
    """What an event says of itself in one line; None where its class has no words for it, or they fail."""
    if type(payload).__str__ is object.__str__:
        return None
    try:
        return str(payload)
    except Exception:  # a plugin's words, over whatever stands in a file
        return None


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
    return _raw_json if issubclass(cls, RawPayload) else _adapter(cls).serializer.to_json


def _raw_json(payload: RawPayload, **_: Any) -> bytes:
    return payload.data.encode()


def payload_json(payload: Payload) -> bytes:
    """The payload as JSON; fields that are None are left out, and what no encoding can hold is written as U+FFFD."""
    try:
        return _serializer(type(payload))(payload, exclude_none=True)
    except (pydantic_core.PydanticSerializationError, UnicodeEncodeError):
        pass
    encodable = _encodable(payload)
    try:
        return _serializer(type(payload))(encodable, exclude_none=True)
    except pydantic_core.PydanticSerializationError:  # one field of one plugin's event must not make a whole record unwritable
        fields = {field.name: getattr(encodable, field.name) for field in dataclasses.fields(encodable)}
        return pydantic_core.to_json(jsonable({name: value for name, value in fields.items() if value is not None}))


def _encodable(value: Any) -> Any:
    """The value without lone surrogates in its texts."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, tuple):
        return tuple([_encodable(item) for item in value])
    if isinstance(value, RawPayload):
        return type(value)(without_surrogates(value.data))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{f.name: _encodable(getattr(value, f.name)) for f in dataclasses.fields(value)})
    return value


def payload_from(cls: type[P], data: Any) -> P:
    """Validate JSON data into a payload; unknown fields are ignored, so that newer files can be read.

    Raises:
        RecordFormatError: the data does not fit.
    """
    try:
        value: P = _adapter(cls).validate_python(data)
    except pydantic.ValidationError as error:
        raise RecordFormatError(f"event {cls.event_name!r} does not fit its type at: {_places(error)}") from error
    return value


def _places(error: pydantic.ValidationError) -> str:
    return ", ".join(".".join(map(str, e["loc"])) or "the whole" for e in error.errors(include_input=False)[:5])


def check_payload(payload: Payload) -> None:
    """Validate a payload strictly, as development mode and the plugin checks do.

    Raises:
        RecordFormatError: a field has another type than it declares.
    """
    cls = type(payload)
    if isinstance(payload, RawPayload):
        _check_raw(payload)
        return
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        _refuse_others(getattr(payload, field.name), f"{cls.event_name}.{field.name}")
    try:
        text = _serializer(cls)(payload, exclude_none=True, warnings=False)
        pydantic_core.from_json(text, allow_inf_nan=False)
        _adapter(cls).validate_json(text, strict=True)
    except pydantic.ValidationError as error:
        raise RecordFormatError(f"event {cls.event_name!r} does not fit its type at: {_places(error)}") from error
    except (ValueError, pydantic_core.PydanticSerializationError) as error:
        raise RecordFormatError(f"event {cls.event_name!r} holds a value that is no JSON ({type(error).__name__})") from error


def _check_raw(payload: RawPayload) -> None:
    if not isinstance(payload.data, str):
        raise RecordFormatError(f"{payload.event_name}.data holds a {type(payload.data).__name__}; it is JSON text")
    try:
        pydantic_core.from_json(payload.data, allow_inf_nan=False)
    except ValueError as error:
        raise RecordFormatError(f"{payload.event_name}.data holds a text that is no JSON") from error


def _refuse_others(value: Any, where: str) -> None:
    """Refuse what is neither text, a number, a part, nor a tuple of these: it could change, or could not be written."""
    if isinstance(value, float) and not math.isfinite(value):
        raise RecordFormatError(f"{where} holds NaN or an infinity, which is no JSON")
    if value is None or isinstance(value, (str, int, float)):
        return
    if isinstance(value, tuple):
        for item in value:
            _refuse_others(item, where)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _refuse_others(getattr(value, field.name), f"{where}.{field.name}")
    else:
        raise RecordFormatError(f"{where} holds a {type(value).__name__}; payloads hold text, numbers and tuples of them")


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
