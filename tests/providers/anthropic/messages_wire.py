"""The Messages API seen from its server, for the checks that every model should pass."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentfp.model import Model, ModelResponse, StopReason
from agentfp.testing import Endpoint, Refusal, SeenRequest, Wire, WireReply, cut
from agentfp_anthropic import AnthropicModel

STOPS = {
    StopReason.STOP: "end_turn",
    StopReason.TOOL_USE: "tool_use",
    StopReason.MAX_TOKENS: "max_tokens",
    StopReason.CONTEXT_WINDOW: "model_context_window_exceeded",
    StopReason.REFUSAL: "refusal",
}
REFUSALS: Mapping[str, tuple[int, str, str]] = {
    "authentication": (401, "authentication_error", ""),
    "not_found": (404, "not_found_error", ""),
    "rate_limit": (429, "rate_limit_error", ""),
    "overloaded": (529, "overloaded_error", ""),
    "context_too_long": (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum. "),
    "bad_request": (400, "invalid_request_error", ""),
    "content_filter": (400, "invalid_request_error", "Output blocked by content filtering policy. "),
}


def event(data: Mapping[str, Any]) -> bytes:
    """One event of a stream."""
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def usage_at_start(response: ModelResponse) -> dict[str, Any]:
    """The tokens of the request."""
    used = response.usage
    fresh = None if used.input is None else used.input - (used.cache_read or 0) - (used.cache_write or 0)
    found = {"input_tokens": fresh, "cache_read_input_tokens": used.cache_read, "cache_creation_input_tokens": used.cache_write}
    return {name: count for name, count in found.items() if count is not None}


def usage_at_end(response: ModelResponse) -> dict[str, Any]:
    """The tokens of the reply."""
    found: dict[str, Any] = {} if response.usage.output is None else {"output_tokens": response.usage.output}
    if response.usage.thinking is not None:
        found["output_tokens_details"] = {"thinking_tokens": response.usage.thinking}
    return found


def blocks(response: ModelResponse) -> list[dict[str, Any]]:
    """The content of a whole reply."""
    made: list[dict[str, Any]] = [
        {"type": "redacted_thinking", "data": "opaque"}
        if block.redacted
        else {"type": "thinking", "thinking": block.text, "signature": block.signature or ""}
        for block in response.thinking
    ]
    if response.text:
        made.append({"type": "text", "text": response.text})
    made += [{"type": "tool_use", "id": c.id, "name": c.name, "input": json.loads(c.arguments_json)} for c in response.tool_calls]
    return made


def streamed(block: dict[str, Any], index: int) -> list[bytes]:
    """The events of a block."""
    kind = block["type"]
    deltas: list[dict[str, Any]] = []
    start = dict(block)
    if kind == "text":
        start["text"] = ""
        deltas = [{"type": "text_delta", "text": piece} for piece in cut(block["text"])]
    elif kind == "thinking":
        start |= {"thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in cut(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "tool_use":
        start["input"] = {}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *cut(json.dumps(block["input"])))]
    made: list[dict[str, Any]] = [{"type": "content_block_start", "index": index, "content_block": start}]
    made += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [event(data) for data in (*made, {"type": "content_block_stop", "index": index})]


class MessagesWire(Wire):
    """The API."""

    usage_fields = ("input", "output", "cache_read", "cache_write", "thinking")
    stops = (StopReason.STOP, StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW, StopReason.REFUSAL)
    refusals = ("authentication", "not_found", "rate_limit", "overloaded", "context_too_long", "bad_request", "content_filter")
    text_arguments = False

    def model(self, endpoint: Endpoint) -> Model:
        options = endpoint.options
        return AnthropicModel(
            endpoint.model,
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            retries=options.retries,
            silence_timeout=options.silence_timeout,
        )

    def reply(self, request: SeenRequest, response: ModelResponse) -> WireReply:
        stop = response.provider_stop or STOPS[response.stop]
        message: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": [],
            "stop_reason": None,
        }
        if not request.json().get("stream"):
            usage = usage_at_start(response) | usage_at_end(response)
            body = json.dumps(message | {"content": blocks(response), "stop_reason": stop, "usage": usage})
            return WireReply((body.encode(),))
        begun = usage_at_start(response) | ({} if response.usage.output is None else {"output_tokens": 1})
        pieces = [event({"type": "message_start", "message": message | {"usage": begun}}), event({"type": "ping"})]
        for index, block in enumerate(blocks(response)):
            pieces += streamed(block, index)
        delta = {"stop_reason": stop, "stop_sequence": None}
        pieces.append(event({"type": "message_delta", "delta": delta, "usage": usage_at_end(response)}))
        return WireReply((*pieces, event({"type": "message_stop"})), "text/event-stream")

    def refusal(self, request: SeenRequest, refusal: Refusal) -> WireReply:
        status, kind, words = REFUSALS[refusal.kind]
        error = {"type": "error", "error": {"type": kind, "message": words + refusal.words}, "request_id": "req_1"}
        return WireReply((json.dumps(error).encode(),), status=status, headers={"request-id": "req_1"})

    def refusal_in_stream(self, refusal: Refusal) -> bytes | None:
        _, kind, words = REFUSALS[refusal.kind]
        return event({"type": "error", "error": {"type": kind, "message": words + refusal.words}})
