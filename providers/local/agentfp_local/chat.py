"""The chat interface of llama.cpp's server: bodies of requests, and replies whole and in pieces."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentfp.http import ModelHttp, ServerSentEvent, SseDecoder, error_of_data
from agentfp.model import ContextTooLongError, ModelError, ModelRequest, ProviderProtocolError, StopReason, Usage

PATH = "/v1/chat/completions"
_STOPS = {"stop": StopReason.STOP, "length": StopReason.MAX_TOKENS, "content_filter": StopReason.CONTENT_FILTER}
_MOST_TOKENS = 512
"""Tokens of a reply where the request does not say: small models do not always find an end."""


def explain(_status: int, data: Any) -> type[ModelError] | None:
    """Tell the server's own errors apart."""
    error = data.get("error") if isinstance(data, Mapping) else None
    kind = error.get("type") if isinstance(error, Mapping) else None
    return ContextTooLongError if kind == "exceed_context_size_error" else None


@dataclass(frozen=True, slots=True)
class Said:
    """A complete reply.

    Args:
        text: what the model said.
        stop: why it stopped.
        provider_stop: the server's word for that.
        usage: tokens.
        id: of the reply.
        model: that answered.
    """

    text: str
    stop: StopReason
    provider_stop: str | None
    usage: Usage
    id: str | None
    model: str | None


def body_of(name: str, request: ModelRequest, messages: list[dict[str, str]], shape: Mapping[str, Any], *, seed: int) -> dict[str, Any]:
    """The body of a request.

    Args:
        name: of the model.
        request: whose settings hold.
        messages: as the model reads them.
        shape: what bounds the reply: a schema, a grammar.
        seed: where the settings name none.
    """
    wished = request.settings
    body: dict[str, Any] = {
        "model": name,
        "messages": messages,
        "temperature": 0.0 if wished.temperature is None else wished.temperature,
        "seed": seed if wished.seed is None else wished.seed,
        "max_tokens": _MOST_TOKENS if wished.max_tokens is None else wished.max_tokens,
        "cache_prompt": False,  # a prompt taken up from the cache gives other roundings, and so at times another text
        **shape,
    }
    if wished.top_p is not None:
        body["top_p"] = wished.top_p
    if wished.stop:
        body["stop"] = list(wished.stop)
    return body | dict(wished.extra)


@dataclass(slots=True)
class _Got:
    """What came of a stream so far."""

    texts: list[str] = field(default_factory=list)
    finish: str | None = None
    usage: Any = None
    last: Any = None
    done: bool = False


class ChatClient:
    """Asks one server.

    Args:
        http: HTTP to it.
        context: tokens of its context, where known.
    """

    def __init__(self, http: ModelHttp, context: int | None) -> None:
        self._http = http
        self._context = context

    async def complete(self, body: Mapping[str, Any], request: ModelRequest) -> Said:
        """The whole reply.

        Raises:
            ModelError: of the kind that fits.
        """
        data = (await self._http.post(PATH, body, request)).json()
        try:
            choice = data["choices"][0]
            return self._said(choice["message"]["content"] or "", choice["finish_reason"], data.get("usage"), data)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise self._malformed() from error

    async def stream(self, body: Mapping[str, Any], request: ModelRequest) -> AsyncGenerator[str | Said, None]:
        """Pieces of the text, and last the whole reply.

        Raises:
            ModelError: of the kind that fits.
        """
        got = _Got()
        body = {**body, "stream": True, "stream_options": {"include_usage": True}}
        async with self._http.open(PATH, body, request) as stream:
            try:
                async for event in stream.read(SseDecoder()):
                    for piece in self._pieces(got, event):
                        yield piece
            except ModelError as error:
                error.usage = error.usage or _usage(got.usage)
                raise
        if not got.done or got.finish is None:
            msg = f"the server of the local model {self._http.model!r} ended its reply early; ask again"
            raise ProviderProtocolError(msg, provider="local", model=self._http.model, usage=_usage(got.usage))
        yield self._said("".join(got.texts), got.finish, got.usage, got.last)

    def _pieces(self, got: _Got, event: ServerSentEvent) -> list[str]:
        """The texts of an event; the rest of it is kept."""
        if event.data == "[DONE]":
            got.done = True
            return []
        data = event.json()
        try:
            if "error" in data:
                raise error_of_data("local", self._http.model, 503, data, explain)
            got.last = data
            got.usage = data.get("usage") or got.usage
            pieces = [piece for choice in data["choices"] if (piece := choice["delta"].get("content"))]
            got.finish = next((why for choice in data["choices"] if (why := choice.get("finish_reason"))), got.finish)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._malformed() from error
        got.texts += pieces
        return pieces

    def _said(self, text: str, finish: str, usage: Any, data: Mapping[str, Any]) -> Said:
        counted = _usage(usage)
        stop = _STOPS.get(finish, StopReason.UNKNOWN)
        if stop is StopReason.MAX_TOKENS and self._context is not None and counted.total >= self._context:
            stop = StopReason.CONTEXT_WINDOW
        return Said(text, stop, finish, counted, data.get("id"), data.get("model"))

    def _malformed(self) -> ProviderProtocolError:
        msg = f"the server of the local model {self._http.model!r} sent a reply of another shape; is base_url that of llama.cpp's server?"
        return ProviderProtocolError(msg, provider="local", model=self._http.model)


def _usage(data: Any) -> Usage:
    if not isinstance(data, Mapping):
        return Usage()
    details = data.get("prompt_tokens_details") or {}
    return Usage(data.get("prompt_tokens"), data.get("completion_tokens"), details.get("cached_tokens"))
