"""Provider-neutral, immutable messages: parts, tool calls, thinking, usage, stop reasons, and the history they form."""

from __future__ import annotations

import base64
import enum
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import pydantic_core

from agentfp_core import jsontext
from agentfp_core.errors import CheckpointError, ProviderProtocolError

if TYPE_CHECKING:
    from agentfp_core.record import Record
    from agentfp_core.result import Head

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Author: TypeAlias = str
"""Who wrote a message: ``person``, ``model``, ``tool``, ``app``, ``library``, or ``plugin:NAME``."""


class StopReason(enum.StrEnum):
    """Why a model stopped, in a closed set; the provider's own word is kept beside it."""

    STOP = "stop"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    CONTEXT_WINDOW = "context_window"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image of a message.

    Args:
        media_type: for example ``image/png``.
        data: the bytes; or
        url: where the provider finds it.
    """

    media_type: str
    data: bytes | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        _check_part(self)


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A document of a message, for example a PDF.

    Args:
        media_type: for example ``application/pdf``.
        data: the bytes; or
        url: where the provider finds it.
        name: the name of the file.
    """

    media_type: str
    data: bytes | None = None
    url: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        _check_part(self)
        if self.name is not None and not isinstance(self.name, str):
            raise TypeError(f"DocumentPart.name takes a text, got a {type(self.name).__name__}")


def _check_part(part: Part) -> None:
    """Refuse what could not be sent or recorded, where it is made."""
    kind = type(part).__name__
    if not isinstance(part.media_type, str):
        raise TypeError(f"{kind}.media_type takes a text such as 'image/png', got a {type(part.media_type).__name__}")
    if part.data is not None and not isinstance(part.data, bytes):
        raise TypeError(f"{kind}.data takes bytes, got a {type(part.data).__name__}; decode base64 first")
    if part.url is not None and not isinstance(part.url, str):
        raise TypeError(f"{kind}.url takes a text, got a {type(part.url).__name__}")


Part: TypeAlias = ImagePart | DocumentPart


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """A block of a model's thinking; it goes back to the provider byte by byte as it came.

    Args:
        text: the thinking, empty where the provider redacts it.
        signature: the provider's seal over the block.
        redacted: the provider gave an opaque block.
        provider_meta: JSON text that only the provider understands.
    """

    text: str
    signature: str | None = None
    redacted: bool = False
    provider_meta: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool.

    Args:
        id: unique in the conversation; an empty one is minted by the kernel.
        name: the tool's name as the model wrote it.
        arguments_json: the proposed arguments as JSON text, canonical where it parses.
        provider_meta: JSON text that goes back to the provider byte by byte.
    """

    id: str
    name: str
    arguments_json: str = "{}"
    provider_meta: str | None = None

    @classmethod
    def make(cls, name: str, arguments: Mapping[str, Any] | str | None, *, id: str = "", provider_meta: str | None = None) -> ToolCall:
        """Make a call of what a provider sends.

        Args:
            name: the tool's name.
            arguments: an object, or JSON text of one as streamed; text that does not parse is kept, and the call will
                be answered as invalid.
            id: the provider's id of the call.
            provider_meta: opaque JSON text.

        Raises:
            ProviderProtocolError: the arguments are neither an object nor text.
        """
        if arguments is None or arguments == "":
            text = "{}"
        elif isinstance(arguments, str):
            try:
                text = jsontext.canonical(jsontext.parse(arguments))
            except ValueError:
                text = arguments
        elif isinstance(arguments, Mapping):
            text = jsontext.canonical(dict(arguments))
        else:
            msg = f"the arguments of a call of {name!r} must be an object, got a {type(arguments).__name__}"
            raise ProviderProtocolError(msg)
        return cls(id, name, text, provider_meta)

    @property
    def arguments(self) -> dict[str, Any]:
        """The proposed arguments, parsed anew for each reader; ``{}`` when the text is no JSON object."""
        try:
            value = jsontext.parse(self.arguments_json)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a provider reported; ``None`` is "not reported", which is not 0.

    Args:
        input: tokens of the request, cached ones included.
        output: tokens of the reply, thinking included.
        cache_read: of the input, read from the provider's cache.
        cache_write: of the input, written to it.
        thinking: of the output, spent on thinking.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    thinking: int | None = None

    def __add__(self, other: Usage) -> Usage:
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return Usage(*[a if b is None else b if a is None else a + b for a, b in pairs])

    @property
    def total(self) -> int:
        """Input and output tokens together, what was not reported left out."""
        return (self.input or 0) + (self.output or 0)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. Tool content and plugins' notes stand apart.

    Args:
        id: unique in the conversation.
        role: who speaks, as providers know it.
        content: the text. Of a tool message: what ``after_result`` made of the tool's own result.
        turn: number of the person's turn it belongs to, from 1.
        author: who really wrote it.
        tool_calls: calls that an assistant message proposes.
        tool_call_id: the call that a tool message answers.
        tool_name: the tool of that call.
        notes: sentences that plugins and the kernel add for the model after a tool's content.
        parts: images and documents.
        thinking: thinking blocks of an assistant message.
        own: the model's own text, where reply filters made ``content`` of it; the provider gets this one back.
        failed: of a tool message: the call did not do what it was for, so its content is no result; providers that can, say so.
    """

    id: str
    role: Role
    content: str
    turn: int = 0
    author: Author = "person"
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    thinking: tuple[ThinkingBlock, ...] = ()
    own: str | None = None
    failed: bool = False

    @property
    def text(self) -> str:
        """The text as a model reads it: its own text or the content, then the notes, each on lines of its own."""
        base = self.content if self.own is None else self.own
        return "\n\n".join((base, *self.notes)) if self.notes else base

    def to_dict(self) -> dict[str, Any]:
        """The message as JSON data; :func:`message_from_dict` takes it back. Fields at their default are left out."""
        data: dict[str, Any] = {"id": self.id, "role": self.role, "content": self.content, "turn": self.turn, "author": self.author}
        if self.tool_calls:
            data["tool_calls"] = [
                _without_none({"id": c.id, "name": c.name, "arguments": c.arguments_json, "provider_meta": c.provider_meta})
                for c in self.tool_calls
            ]
        data |= _without_none({"tool_call_id": self.tool_call_id, "tool_name": self.tool_name})
        if self.notes:
            data["notes"] = list(self.notes)
        if self.parts:
            data["parts"] = [part_to_dict(part) for part in self.parts]
        if self.thinking:
            data["thinking"] = [_without_none({f.name: getattr(block, f.name) for f in fields(block)}) for block in self.thinking]
        if self.own is not None:
            data["own"] = self.own
        if self.failed:
            data["failed"] = True
        return data


def _without_none(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


def part_to_dict(part: Part) -> dict[str, Any]:
    """An image or a document as JSON data, its bytes in base64."""
    data = base64.b64encode(part.data).decode("ascii") if part.data is not None else None
    kind = "image" if isinstance(part, ImagePart) else "document"
    return _without_none({"kind": kind, "media_type": part.media_type, "data": data, "url": part.url, "name": getattr(part, "name", None)})


def part_from_dict(data: Mapping[str, Any]) -> Part:
    """The inverse of :func:`part_to_dict`."""
    raw = base64.b64decode(data["data"]) if data.get("data") is not None else None
    if data["kind"] == "image":
        return ImagePart(data["media_type"], raw, data.get("url"))
    return DocumentPart(data["media_type"], raw, data.get("url"), data.get("name"))


class History(Sequence[Message]):
    """The messages of a conversation, in order; immutable, and cheap to extend.

    Histories that grow from one another share one list; each sees only its own length of it.
    """

    __slots__ = ("_head", "_items", "_length", "_record", "root_id")

    def __init__(self, messages: Iterable[Message] = (), *, root_id: str | None = None) -> None:
        self._items: list[Message] = list(messages)
        self._length = len(self._items)
        self.root_id = root_id
        self._record: Record | None = None
        self._head: Head | None = None

    @classmethod
    def view_of(cls, items: list[Message], length: int, *, root_id: str | None = None, record: Record | None = None) -> History:
        """A history over the first ``length`` messages of a list that only ever grows.

        Args:
            items: the list, which is shared and not copied.
            length: how many of them it has.
            root_id: the conversation.
            record: the record that they stand on.
        """
        self = cls.__new__(cls)
        self._items = items
        self._length = length
        self.root_id = root_id
        self._record = record
        self._head = None
        return self

    @property
    def record(self) -> Record | None:
        """The record that these messages are on, when the history comes from a run of this process."""
        return self._record

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self._items[i] for i in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._items[index if index >= 0 else self._length + index]

    def __iter__(self) -> Iterator[Message]:
        items = self._items
        for index in range(self._length):
            yield items[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"History({self._length} messages)"

    def to_json(self) -> str:
        """The history as JSON text; :meth:`from_json` and the ``history`` argument of a run take it back."""
        return json.dumps({"version": 1, "root_id": self.root_id, "messages": [m.to_dict() for m in self]}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> History:
        """Read what :meth:`to_json` wrote, or a JSON list of ``{"role", "content"}`` objects.

        Raises:
            CheckpointError: the text is no history, or of a version that this library does not read.
        """
        try:
            data = pydantic_core.from_json(text)
        except (ValueError, TypeError) as error:
            raise CheckpointError("a history must be JSON text as to_json() gives it; this is not JSON") from error
        return cls.of(data)

    @classmethod
    def of(cls, data: History | str | bytes | Mapping[str, Any] | Sequence[Any]) -> History:
        """Make a history of whatever form one comes in.

        Args:
            data: a history, its JSON text, the parsed JSON, or a list of messages or ``{"role", "content"}`` mappings.

        Raises:
            CheckpointError: it is none of these; names the index of the message at fault.
        """
        if isinstance(data, History):
            return data
        if isinstance(data, (str, bytes)):
            return cls.from_json(data)
        root_id = None
        if isinstance(data, Mapping):
            if data.get("version") != 1:
                raise CheckpointError(f"a history of version {data.get('version')!r} cannot be read; this library reads version 1")
            root_id, data = data.get("root_id"), data.get("messages", ())
            if root_id is not None and not (isinstance(root_id, str) and root_id.isprintable()):
                raise CheckpointError(f"the root_id of a history is a printable text, got a {type(root_id).__name__}")
        if not isinstance(data, Sequence):
            raise CheckpointError(f"a history is a list of messages, got a {type(data).__name__}")
        from agentfp_core.message_reading import message_of  # it reads this module

        return cls([message_of(m, i) for i, m in enumerate(data)], root_id=root_id)
