"""What Converse replies, whole or as frames, as the reply of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentfp.http import error_of_data
from agentfp.model import ModelResponse, ProviderProtocolError, StopReason, TextChunk, ThinkingBlock, ThinkingChunk, Usage
from agentfp_bedrock.content import PROVIDER, call_kept, thinking_kept
from agentfp_bedrock.errors import explain
from agentfp_bedrock.frames import Frame

STOPS: Mapping[str, StopReason] = {
    "end_turn": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW,
    "guardrail_intervened": StopReason.CONTENT_FILTER,
    "content_filtered": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
}


class ReplyReader:
    """Puts a reply together of its frames. One object reads one reply.

    Args:
        model: name of the model, for errors.
        request_id: of the reply's headers.
    """

    def __init__(self, model: str, request_id: str | None) -> None:
        self._model = model
        self._request_id = request_id
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._stop: str | None = None
        self._metadata: dict[str, Any] | None = None

    @property
    def done(self) -> bool:
        """Whether both are there that end a reply: why it stopped, and its tokens."""
        return self._stop is not None and self._metadata is not None

    @property
    def usage(self) -> Usage:
        """The tokens that are known by now."""
        return usage_of((self._metadata or {}).get("usage") or {})

    def take(self, frame: Frame) -> TextChunk | ThinkingChunk | None:
        """Take the next frame.

        Args:
            frame: the frame.

        Returns:
            A piece of the reply, where the frame brings one to show.

        Raises:
            ProviderProtocolError: the frame is not of the API's shape.
            ModelError: the frame says what went wrong.
        """
        if frame.kind != "event":
            words = frame.data.get("message") if isinstance(frame.data, Mapping) else None
            said = {"__type": frame.name, "message": words}
            raise error_of_data(PROVIDER, self._model, 0, said, explain, request_id=self._request_id)
        try:
            return self._take(frame.name, frame.data)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            # What is not of the shape breaks where it is read; to look at each field of each frame first would cost as much as reading.
            name = frame.name if frame.name.isidentifier() else "unnamed"
            msg = f"{PROVIDER!r} sent a malformed event {name[:40]!r} ({type(error).__name__}); is endpoint_url right, and is it this API?"
            raise ProviderProtocolError(msg) from error

    def _take(self, name: str, data: dict[str, Any]) -> TextChunk | ThinkingChunk | None:
        if name == "contentBlockDelta":
            return self._delta(data["contentBlockIndex"], data["delta"])
        if name == "contentBlockStart":
            start = data["start"]
            if "toolUse" in start:
                self._blocks[data["contentBlockIndex"]] = {"toolUse": dict(start["toolUse"])}
            elif start:
                self._blocks[data["contentBlockIndex"]] = dict(start)
        elif name == "messageStop":
            stop = data["stopReason"]
            self._stop = stop if isinstance(stop, str) else str(stop)
        elif name == "metadata":
            self._metadata = {**data}
        return None  # starts of messages, ends of blocks, and kinds of events that are yet to come

    def _delta(self, index: int, delta: dict[str, Any]) -> TextChunk | ThinkingChunk | None:
        text = delta.get("text")
        if text is not None:
            self._blocks.setdefault(index, {"text": ""})
            self._pieces.setdefault(index, []).append(text)
            return TextChunk(text) if text else None
        if "toolUse" in delta:
            self._blocks[index]["toolUse"]
            self._pieces.setdefault(index, []).append(delta["toolUse"]["input"])
        elif "reasoningContent" in delta:
            return self._thought(index, delta["reasoningContent"])
        return None  # citations, and kinds of deltas that are yet to come

    def _thought(self, index: int, delta: dict[str, Any]) -> ThinkingChunk | None:
        reasoning = self._blocks.setdefault(index, {"reasoningContent": {}})["reasoningContent"]
        if delta.get("redactedContent") is not None:
            reasoning["redactedContent"] = reasoning.get("redactedContent", "") + delta["redactedContent"]
            return None
        inner = reasoning.setdefault("reasoningText", {})
        if delta.get("signature") is not None:
            inner["signature"] = inner.get("signature", "") + delta["signature"]
        text = delta.get("text")
        if text is None:
            return None
        self._pieces.setdefault(index, []).append(text)
        return ThinkingChunk(text) if text else None

    def response(self) -> ModelResponse:
        """The whole reply.

        Raises:
            ProviderProtocolError: its blocks do not make one.
        """
        blocks: list[dict[str, Any]] = []
        for index in sorted(self._blocks):
            block, joined = self._blocks[index], "".join(self._pieces.get(index, ()))
            if "text" in block:
                block = {"text": joined}
            elif "toolUse" in block:
                block = {"toolUse": {**block["toolUse"], "input": joined}}
            elif "reasoningText" in block.get("reasoningContent", {}):
                block = {"reasoningContent": {"reasoningText": {"text": joined, **block["reasoningContent"]["reasoningText"]}}}
            blocks.append(block)
        metadata = self._metadata or {}
        return response_of({"output": {"message": {"content": blocks}}, "stopReason": self._stop, **metadata}, self._request_id)


def response_of(reply: Any, request_id: str | None) -> ModelResponse:
    """The reply of a whole answer of Converse.

    Args:
        reply: its JSON.
        request_id: of the reply's headers.

    Raises:
        ProviderProtocolError: it is not of the API's shape.
    """
    try:
        return _response_of(reply, request_id)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        msg = f"{PROVIDER!r} sent a reply that is none of Converse ({type(error).__name__}); is endpoint_url right, and is it this API?"
        raise ProviderProtocolError(msg) from error


def _response_of(reply: Any, request_id: str | None) -> ModelResponse:
    texts: list[str] = []
    thinking: list[ThinkingBlock] = []
    calls: list[tuple[dict[str, Any], int]] = []
    at = 0
    for block in reply["output"]["message"]["content"]:
        if "toolUse" in block and block["toolUse"].get("type") is None:
            calls.append((block["toolUse"], at))
        elif "text" in block or "citationsContent" in block:
            text = block["text"] if "text" in block else "".join(part["text"] for part in block["citationsContent"].get("content", ()))
            texts.append(text)
            at += len(text)
        else:
            thinking.append(thinking_kept(block, at, len(calls)))
    stop = reply.get("stopReason")
    routed = ((reply.get("trace") or {}).get("promptRouter") or {}).get("invokedModelId")
    return ModelResponse(
        text="".join(texts),
        tool_calls=tuple(call_kept(use, use.get("input"), place, at) for use, place in calls),
        usage=usage_of(reply.get("usage") or {}),
        stop=STOPS.get(stop, StopReason.UNKNOWN),
        provider_stop=stop,
        thinking=tuple(thinking),
        model=routed,
        request_id=request_id,
    )


def usage_of(counts: Mapping[str, Any]) -> Usage:
    """The tokens of a reply. The API counts cached tokens apart from the input; here the input holds them."""
    fresh, read, write = (_tokens(counts.get(name)) for name in ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"))
    return Usage(
        input=None if fresh is None else fresh + (read or 0) + (write or 0),
        output=_tokens(counts.get("outputTokens")),
        cache_read=read,
        cache_write=write,
    )


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
