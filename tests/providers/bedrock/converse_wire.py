"""Converse and ConverseStream seen from their server, for the checks that every model should pass."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Mapping
from typing import Any

from agentfp.model import Model, ModelResponse, StopReason
from agentfp.testing import Endpoint, Refusal, SeenRequest, Wire, WireReply, cut
from agentfp_bedrock import BedrockModel

STREAM = "application/vnd.amazon.eventstream"
STOPS = {
    StopReason.STOP: "end_turn",
    StopReason.TOOL_USE: "tool_use",
    StopReason.MAX_TOKENS: "max_tokens",
    StopReason.CONTEXT_WINDOW: "model_context_window_exceeded",
    StopReason.CONTENT_FILTER: "content_filtered",
}
REFUSALS: Mapping[str, tuple[int, str, str]] = {
    "authentication": (403, "AccessDeniedException", ""),
    "not_found": (404, "ResourceNotFoundException", ""),
    "rate_limit": (429, "ThrottlingException", ""),
    "overloaded": (503, "ServiceUnavailableException", ""),
    "context_too_long": (400, "ValidationException", "Input is too long for requested model. "),
    "bad_request": (400, "ValidationException", ""),
}


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """A frame of Amazon's event stream: lengths, their sum, headers, payload, the sum of all."""
    named = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(named) + len(payload), len(named))
    body = prelude + struct.pack(">I", binascii.crc32(prelude)) + named + payload
    return body + struct.pack(">I", binascii.crc32(body))


def event(name: str, data: Mapping[str, Any]) -> bytes:
    """One event of a stream."""
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, json.dumps(data).encode())


def exception(name: str, message: str) -> bytes:
    """An exception in the middle of a stream."""
    headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps({"message": message}).encode())


def usage_of(response: ModelResponse) -> dict[str, Any]:
    """The tokens of a reply."""
    used = response.usage
    fresh = None if used.input is None else used.input - (used.cache_read or 0) - (used.cache_write or 0)
    found = {
        "inputTokens": fresh,
        "outputTokens": used.output,
        "cacheReadInputTokens": used.cache_read,
        "cacheWriteInputTokens": used.cache_write,
    }
    return {name: count for name, count in found.items() if count is not None}


def blocks(response: ModelResponse) -> list[dict[str, Any]]:
    """The content of a whole reply."""
    made: list[dict[str, Any]] = []
    for thought in response.thinking:
        if thought.redacted:
            made.append({"reasoningContent": {"redactedContent": base64.b64encode(b"opaque").decode()}})
        else:
            made.append({"reasoningContent": {"reasoningText": {"text": thought.text, "signature": thought.signature or ""}}})
    if response.text:
        made.append({"text": response.text})
    made += [{"toolUse": {"toolUseId": c.id, "name": c.name, "input": json.loads(c.arguments_json)}} for c in response.tool_calls]
    return made


def streamed(block: Mapping[str, Any], index: int) -> list[bytes]:
    """The events of a block."""
    made: list[bytes] = []
    deltas: list[dict[str, Any]] = []
    if "text" in block:
        deltas = [{"text": piece} for piece in cut(block["text"])]
    elif "toolUse" in block:
        use = block["toolUse"]
        start = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
        made.append(event("contentBlockStart", {"contentBlockIndex": index, "start": start}))
        deltas = [{"toolUse": {"input": piece}} for piece in cut(json.dumps(use["input"]))]
    elif "reasoningText" in block["reasoningContent"]:
        text = block["reasoningContent"]["reasoningText"]
        deltas = [{"reasoningContent": {"text": piece}} for piece in cut(text["text"])]
        deltas.append({"reasoningContent": {"signature": text["signature"]}})
    else:
        deltas = [{"reasoningContent": block["reasoningContent"]}]
    made += [event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta}) for delta in deltas]
    return [*made, event("contentBlockStop", {"contentBlockIndex": index})]


class ConverseWire(Wire):
    """The API."""

    model_name = "anthropic.conformance-model"
    usage_fields = ("input", "output", "cache_read", "cache_write")
    stops = (StopReason.STOP, StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW, StopReason.CONTENT_FILTER)
    text_arguments = False

    def model(self, endpoint: Endpoint) -> Model:
        options = endpoint.options
        return BedrockModel(
            endpoint.model,
            api_key=endpoint.key,
            endpoint_url=endpoint.base_url,
            retries=options.retries,
            silence_timeout=options.silence_timeout,
        )

    def reply(self, request: SeenRequest, response: ModelResponse) -> WireReply:
        stop = response.provider_stop or STOPS[response.stop]
        if not request.path.endswith("-stream"):
            message = {"role": "assistant", "content": blocks(response)}
            whole = {"output": {"message": message}, "stopReason": stop, "usage": usage_of(response), "metrics": {"latencyMs": 1}}
            return WireReply((json.dumps(whole).encode(),))
        pieces = [event("messageStart", {"role": "assistant"})]
        for index, block in enumerate(blocks(response)):
            pieces += streamed(block, index)
        pieces.append(event("messageStop", {"stopReason": stop}))
        return WireReply((*pieces, event("metadata", {"usage": usage_of(response), "metrics": {"latencyMs": 1}})), STREAM)

    def refusal(self, request: SeenRequest, refusal: Refusal) -> WireReply:
        status, name, words = REFUSALS[refusal.kind]
        headers = {"x-amzn-errortype": name, "x-amzn-requestid": "req-1"}
        return WireReply((json.dumps({"message": words + refusal.words}).encode(),), status=status, headers=headers)

    def refusal_in_stream(self, refusal: Refusal) -> bytes | None:
        _, name, words = REFUSALS[refusal.kind]
        return exception(name[0].lower() + name[1:], words + refusal.words)

    def garble(self, piece: bytes) -> bytes:
        return piece[:-1] + bytes([piece[-1] ^ 0xFF]) if piece[:1] == b"\0" else super().garble(piece)
