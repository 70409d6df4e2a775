"""What the author of a provider gives to its checks: how to make the model, and how its server would write a reply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias
from urllib.parse import unquote

from agentfp_core.http_options import HttpOptions
from agentfp_core.messages import StopReason
from agentfp_core.model import Model, ModelResponse

RefusalKind: TypeAlias = Literal[
    "authentication", "not_found", "rate_limit", "overloaded", "context_too_long", "bad_request", "content_filter"
]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model under check finds its server, and how it is to be made.

    Args:
        base_url: such as ``http://127.0.0.1:40123``; a path of the provider's own goes behind it.
        key: the secret to make the model with; it must turn up nowhere but in the headers of requests.
        model: name of the model.
        options: timeouts and retries. A provider that does not use ``agentfp.http`` takes from it what it can.
    """

    base_url: str
    key: str
    model: str
    options: HttpOptions


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as the server got it.

    Args:
        method: such as ``POST``.
        path: with its query.
        headers: names in lower case.
        body: the bytes.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)

    def strings(self) -> list[str]:
        """All texts of the request in order: of the path, and of the body with its keys. JSON within a text is taken apart too."""
        return [unquote(self.path), *(value for value in _leaves(self._data()) if isinstance(value, str))]

    def values(self) -> list[Any]:
        """All texts, numbers, truth values and nulls of the body, in order."""
        return list(_leaves(self._data()))

    def _data(self) -> Any:
        try:
            return json.loads(self.body) if self.body else None
        except ValueError:
            return self.body.decode("utf-8", "replace")


def _leaves(data: Any) -> Iterator[Any]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield key
            yield from _leaves(value)
    elif isinstance(data, list):
        for value in data:
            yield from _leaves(value)
    else:
        yield data
        if isinstance(data, str) and data[:1] in ("{", "["):
            try:
                inner = json.loads(data)
            except ValueError:
                return
            yield from _leaves(inner)


@dataclass(frozen=True, slots=True)
class WireReply:
    """A reply as bytes.

    Args:
        pieces: the body. Of a stream: one event each, whole, with what ends it.
        content_type: its media type.
        status: of HTTP.
        headers: further ones.
    """

    pieces: tuple[bytes, ...]
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The server says no.

    Args:
        kind: why.
        words: what it says to it, for the field that holds the provider's words.
        retry_after: seconds that it asks to wait, for the header ``Retry-After``; the suite's server adds it.
    """

    kind: RefusalKind
    words: str = "no"
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """A reply that goes wrong on its way. The suite's server does this; a wire writes the whole reply.

    Args:
        response: what was to be said.
        how: ``drop`` closes the connection, ``stall`` goes silent, ``end`` ends as if that were all, ``half`` sends half of the next
            piece and ends, ``garble`` spoils the next piece.
        after: pieces that are sent whole; None: not even the head of the reply.
    """

    response: ModelResponse
    how: Literal["drop", "stall", "end", "half", "garble"]
    after: int | None = 0


class Wire:
    """A provider's wire format, seen from its server. Subclass it for a provider, and hand an object to :class:`ModelConformance`.

    The attributes say what the format can carry; what a *model* can do is read from its features.
    """

    model_name: ClassVar[str] = "conformance-model"
    """Name of the model that most checks ask for."""
    usage_fields: ClassVar[tuple[str, ...]] = ("input", "output")
    """Fields of ``Usage`` that a reply can carry."""
    stops: ClassVar[tuple[StopReason, ...]] = (StopReason.STOP, StopReason.MAX_TOKENS)
    """Stop reasons that a reply can carry, besides ``TOOL_USE`` and words that nobody knows."""
    refusals: ClassVar[tuple[RefusalKind, ...]] = (
        "authentication",
        "not_found",
        "rate_limit",
        "overloaded",
        "context_too_long",
        "bad_request",
    )
    """Refusals that the provider tells apart."""
    call_ids: ClassVar[bool] = True
    """Whether calls have ids on the wire."""
    text_arguments: ClassVar[bool] = True
    """Whether arguments are JSON *text* on the wire, which a model can get wrong."""
    text_with_calls: ClassVar[bool] = True
    """Whether a reply can hold text and calls."""
    signatures: ClassVar[bool] = True
    """Whether thinking blocks are signed."""
    ends: ClassVar[bool] = True
    """Whether the format marks the end of a stream, so that one that merely ends can be told from a whole one."""

    def model(self, endpoint: Endpoint) -> Model:
        """Make the model under check.

        Args:
            endpoint: its server, and how to make it.
        """
        raise NotImplementedError

    def reply(self, request: SeenRequest, response: ModelResponse) -> WireReply:
        """Write a reply, whole or as a stream, as the request asks for.

        Args:
            request: what the model sent.
            response: what to say. Texts of a stream are to be cut into several pieces (:func:`cut`); fields of the usage that are
                None are left out; ``provider_stop``, where it is set, is the word for the stop reason.
        """
        raise NotImplementedError

    def refusal(self, request: SeenRequest, refusal: Refusal) -> WireReply:
        """Write a refusal as the provider does: status, codes and words.

        Args:
            request: what the model sent.
            refusal: why.
        """
        raise NotImplementedError

    def refusal_in_stream(self, refusal: Refusal) -> bytes | None:
        """An event that says no in the middle of a stream; None where the format has none.

        Args:
            refusal: why.
        """
        return None

    def garble(self, piece: bytes) -> bytes:
        """Spoil a piece so that it is malformed.

        Args:
            piece: a piece of a reply.
        """
        return piece.replace(b"}", b"!").replace(b"]", b"!")

    def aside(self, request: SeenRequest) -> WireReply | None:
        """Answer a request that is no call of the model, such as one for a token; None when it is one.

        Args:
            request: what the model sent.
        """
        return None


def cut(text: str, size: int = 4) -> list[str]:
    """A text in pieces, for a stream.

    Args:
        text: the text.
        size: characters of a piece.
    """
    return [text[at : at + size] for at in range(0, len(text), size)]
