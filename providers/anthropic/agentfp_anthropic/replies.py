"""What the API replies, whole or as events, as the reply of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentfp.http import ServerSentEvent, error_of_data, parse_json
from agentfp.model import ModelResponse, ProviderProtocolError, StopReason, TextChunk, ThinkingBlock, ThinkingChunk, ToolCall, Usage
from agentfp_anthropic.content import PROVIDER, call_kept, thinking_kept
from agentfp_anthropic.errors import explain

STOPS: Mapping[str, StopReason] = {
    "end_turn": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW,
    "refusal": StopReason.REFUSAL,
}
"""The API's words. Others, such as ``pause_turn`` of its own tools, are unknown here and kept as they are."""


class ReplyReader:
    """Puts a reply together of its events. One object reads one reply.

    Args:
        model: name of the model, for errors.
        request_id: of the reply's headers.
    """

    def __init__(self, model: str, request_id: str | None) -> None:
        self.done = False
        self._model = model
        self._request_id = request_id
        self._message: dict[str, Any] = {}
        self._counts: dict[str, Any] = {}
        self._stop: str | None = None
        self._blocks: list[dict[str, Any]] = []
        self._pieces: list[list[str]] = []

    @property
    def usage(self) -> Usage:
        """The tokens that are known by now."""
        return usage_of(self._counts)

    @property
    def transformations(self) -> Any:
        """What the API did to the request."""
        return self._message.get("input_transformations")

    def take(self, event: ServerSentEvent) -> TextChunk | ThinkingChunk | None:
        """Take the next event.

        Args:
            event: the event.

        Returns:
            A piece of the reply, where the event brings one to show.

        Raises:
            ProviderProtocolError: the event is not of the API's shape.
            ModelError: the event says what went wrong.
        """
        data = event.json()
        try:
            return self._take(data)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            # What is not of the shape breaks where it is read; to look at each field of each event first would cost as much as reading.
            name = event.event if event.event.isidentifier() else "unnamed"
            msg = f"{PROVIDER!r} sent a malformed event {name[:40]!r} ({type(error).__name__}); is base_url right, and is it this API?"
            raise ProviderProtocolError(msg) from error

    def _take(self, data: Any) -> TextChunk | ThinkingChunk | None:
        kind = data["type"]
        if kind == "content_block_delta":
            return self._delta(data["index"], data["delta"])
        if kind == "content_block_start":
            return self._start(data["index"], data["content_block"])
        if kind == "message_start":
            self._message = data["message"]
            self._count(self._message.get("usage"))
        elif kind == "message_delta":
            self._stop = data["delta"].get("stop_reason") or self._stop
            self._count(data.get("usage"))
            self._message |= {key: value for key, value in data.items() if key == "input_transformations"}
        elif kind == "message_stop":
            self.done = True
        elif kind == "error":
            raise error_of_data(PROVIDER, self._model, 0, data, explain, request_id=self._request_id)
        return None  # pings, ends of blocks, and kinds of events that are yet to come

    def _start(self, index: int, block: dict[str, Any]) -> TextChunk | ThinkingChunk | None:
        if index != len(self._blocks):
            raise IndexError
        kind = block["type"]
        self._blocks.append(dict(block))
        first = block.get("text") if kind == "text" else block.get("thinking") if kind == "thinking" else None
        self._pieces.append([first] if first else [])
        if not first:
            return None
        return TextChunk(first) if kind == "text" else ThinkingChunk(first)

    def _delta(self, index: int, delta: dict[str, Any]) -> TextChunk | ThinkingChunk | None:
        kind = delta["type"]
        if kind == "text_delta":
            text: str = delta["text"]
            self._pieces[index].append(text)
            return TextChunk(text) if text else None
        if kind == "input_json_delta":
            self._pieces[index].append(delta["partial_json"])
        elif kind == "thinking_delta":
            thought: str = delta["thinking"]
            self._pieces[index].append(thought)
            return ThinkingChunk(thought) if thought else None
        elif kind == "signature_delta":
            block = self._blocks[index]
            block["signature"] = (block.get("signature") or "") + delta["signature"]
        return None  # citations, and kinds of deltas that are yet to come

    def _count(self, usage: Any) -> None:
        if usage:
            self._counts |= {key: value for key, value in usage.items() if value is not None}

    def response(self) -> ModelResponse:
        """The whole reply.

        Raises:
            ProviderProtocolError: its blocks do not make one.
        """
        blocks: list[dict[str, Any]] = []
        for block, pieces in zip(self._blocks, self._pieces, strict=True):
            joined = "".join(pieces)
            made = dict(block)
            if made["type"] in ("text", "thinking"):
                made[made["type"]] = joined
            elif joined:
                made["input"] = joined if made["type"] == "tool_use" else parse_json(joined)
            blocks.append(made)
        message = {**self._message, "content": blocks, "usage": self._counts, "stop_reason": self._stop}
        return response_of(message, self._request_id)


def response_of(message: Any, request_id: str | None) -> ModelResponse:
    """The reply of a whole message.

    Args:
        message: the API's JSON.
        request_id: of the reply's headers.

    Raises:
        ProviderProtocolError: it is not of the API's shape.
    """
    try:
        return _response_of(message, request_id)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        msg = f"{PROVIDER!r} sent a reply that is no message ({type(error).__name__}); is base_url right, and is it this API?"
        raise ProviderProtocolError(msg) from error


def _response_of(message: Any, request_id: str | None) -> ModelResponse:
    texts: list[str] = []
    thinking: list[ThinkingBlock] = []
    calls: list[tuple[dict[str, Any], int]] = []
    at = 0
    for block in message["content"]:
        kind = block["type"]
        if kind == "text":
            texts.append(block["text"])
            at += len(block["text"])
        elif kind == "tool_use":
            calls.append((block, at))
        else:
            thinking.append(thinking_kept(block, at, len(calls)))
    stop = message.get("stop_reason")
    return ModelResponse(
        text="".join(texts),
        tool_calls=_calls(calls, at),
        usage=usage_of(message.get("usage") or {}),
        stop=STOPS.get(stop, StopReason.UNKNOWN),
        provider_stop=stop,
        thinking=tuple(thinking),
        response_id=message.get("id"),
        model=message.get("model"),
        request_id=request_id,
    )


def _calls(blocks: list[tuple[dict[str, Any], int]], text_in_all: int) -> tuple[ToolCall, ...]:
    return tuple(call_kept(block, block.get("input"), at, text_in_all) for block, at in blocks)


def usage_of(counts: Mapping[str, Any]) -> Usage:
    """The tokens of a reply. The API counts cached tokens apart from the input; here the input holds them."""
    fresh, read, write = (_tokens(counts.get(name)) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
    details = counts.get("output_tokens_details")
    return Usage(
        input=None if fresh is None else fresh + (read or 0) + (write or 0),
        output=_tokens(counts.get("output_tokens")),
        cache_read=read,
        cache_write=write,
        thinking=_tokens(details.get("thinking_tokens")) if isinstance(details, Mapping) else None,
    )


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
