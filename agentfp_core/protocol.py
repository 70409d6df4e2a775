"""Talking to a model by the protocol: what a request may wish for, and whether a reply has the shape that the protocol says."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncIterator
from typing import Any

from agentfp_core.errors import ModelFeatureError, ProviderProtocolError, StreamChunkError
from agentfp_core.guard import admit_model
from agentfp_core.messages import DocumentPart, ImagePart, Message, StopReason, ThinkingBlock, ToolCall, Usage
from agentfp_core.model import Model, ModelChunk, ModelRequest, ModelResponse, TextChunk, ThinkingChunk
from agentfp_core.wellformed import misfit, plain


def check_request(model: Model, request: ModelRequest) -> None:
    """Refuse a request that the model cannot serve, before it is sent.

    Raises:
        ModelFeatureError: names the model and the feature.
    """
    admit_model(model)
    features = model.features

    def refuse(what: str) -> ModelFeatureError:
        return ModelFeatureError(f"model {model.name!r} of {model.provider!r} has no {what}; choose another model or leave the wish out")

    if request.tools and not features.tools:
        raise refuse("tools")
    if request.tool_choice is not None and not features.forced_tool_choice:
        raise refuse("forced tool choice (forced_tool_choice)")
    if request.output_schema_json is not None and not features.json_schema:
        raise refuse("JSON schema output (json_schema)")
    if request.settings.thinking_tokens and not features.thinking:
        raise refuse("thinking (thinking_tokens)")


def check_message(model: Model, message: Message) -> None:
    """Refuse a message whose role or parts the model cannot take.

    Raises:
        ModelFeatureError: names the model and the feature.
    """
    features = model.features
    what = None
    if message.role not in features.roles:
        what = f"role {message.role!r} (it takes {', '.join(features.roles)})"
    elif any(isinstance(part, ImagePart) for part in message.parts) and not features.images:
        what = "images"
    elif any(isinstance(part, DocumentPart) for part in message.parts) and not features.documents:
        what = "documents"
    if what is not None:
        msg = f"model {model.name!r} of {model.provider!r} has no {what}; choose another model or leave it out"
        raise ModelFeatureError(msg)


def check_response(model: Model, response: Any) -> ModelResponse:
    """Refuse a reply that is not of the protocol's shape.

    Raises:
        ProviderProtocolError: names the provider and what is wrong.
    """

    def refuse(what: str) -> ProviderProtocolError:
        return protocol_error(model, what)

    if not isinstance(response, ModelResponse):
        _drop_coroutine(response)
        raise refuse(f"must give a ModelResponse, got a {type(response).__name__}")
    if not isinstance(response.text, str):
        raise refuse(f"gave a {type(response.text).__name__} as text")
    if not isinstance(response.tool_calls, tuple) or not all(isinstance(call, ToolCall) for call in response.tool_calls):
        raise refuse(f"must give its tool calls as a tuple of ToolCall, got a {type(response.tool_calls).__name__}")
    if not isinstance(response.stop, StopReason):
        raise refuse("must give its stop reason as a StopReason")
    if not isinstance(response.thinking, tuple) or not all(isinstance(block, ThinkingBlock) for block in response.thinking):
        raise refuse(f"must give its thinking as a tuple of ThinkingBlock, got a {type(response.thinking).__name__}")
    if not isinstance(response.usage, Usage):
        raise refuse(f"must give its usage as a Usage, got a {type(response.usage).__name__}")
    for name in ("provider_stop", "response_id", "model", "request_id"):
        value = getattr(response, name)
        if value is not None and not isinstance(value, str):
            raise refuse(f"gave a {type(value).__name__} as {name}")
    for item in (response.usage, *response.tool_calls, *response.thinking):
        if not plain(item) and (wrong := misfit(item)) is not None:
            raise refuse(f"gave a malformed reply: {wrong}")
    return response


async def complete(model: Model, request: ModelRequest) -> ModelResponse:
    """Ask a model for its complete reply, and check the reply.

    Raises:
        ProviderProtocolError: the adapter does not keep to the protocol.
    """
    answering: Any = model.complete(request)
    if not inspect.isawaitable(answering):
        raise protocol_error(model, f"must define complete() with async def, and gave a {type(answering).__name__}")
    return check_response(model, await answering)


def open_stream(model: Model, request: ModelRequest) -> AsyncIterator[Any]:
    """Ask a model for its reply in pieces; each is to be checked.

    Raises:
        ProviderProtocolError: the adapter does not keep to the protocol.
    """
    stream: Any = model.stream(request)
    if not hasattr(stream, "__aiter__"):
        _drop_coroutine(stream)
        raise protocol_error(model, f"must define stream() as an async generator, and gave a {type(stream).__name__}")
    return stream  # type: ignore[no-any-return]


@contextlib.asynccontextmanager
async def streaming(model: Model, request: ModelRequest) -> AsyncIterator[AsyncIterator[Any]]:
    """A stream that is closed when it is left; for wrappers, which hand its chunks on.

    Raises:
        ProviderProtocolError: the adapter does not keep to the protocol.
    """
    stream = open_stream(model, request)
    try:
        yield stream
    finally:
        close: Any = getattr(stream, "aclose", None)  # an iterator that is no generator has nothing to close
        if close is not None:
            await close()


def _drop_coroutine(value: Any) -> None:
    """Nobody will await it, and Python would say so."""
    if inspect.iscoroutine(value):
        value.close()


def protocol_error(model: Model, what: str) -> ProviderProtocolError:
    """The error of an adapter that does not keep to the protocol."""
    return ProviderProtocolError(f"model {model.name!r} of {model.provider!r} {what}; this is a fault of the provider's adapter")


def check_chunk(model: Model, chunk: Any) -> ModelChunk:
    """Refuse a streamed chunk that is not of the protocol's shape.

    Raises:
        StreamChunkError: names the provider and what a chunk is.
    """
    if isinstance(chunk, ModelResponse):
        return chunk
    if isinstance(chunk, (TextChunk, ThinkingChunk)) and isinstance(chunk.text, str):
        return chunk
    got = f"a {type(chunk).__name__}" if not isinstance(chunk, (TextChunk, ThinkingChunk)) else f"text of type {type(chunk.text).__name__}"
    msg = f"{model.provider!r} must stream TextChunk and ThinkingChunk with a text, then one ModelResponse; got {got}"
    raise StreamChunkError(msg)
