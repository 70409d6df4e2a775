"""The checks that every model should pass, for Gemini."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from agentfp.model import Model, ModelResponse, StopReason
from agentfp.testing import Endpoint, ModelConformance, Refusal, SeenRequest, Wire, WireReply, cut
from agentfp_gemini import GeminiModel

ENDS = {StopReason.MAX_TOKENS: "MAX_TOKENS", StopReason.CONTENT_FILTER: "SAFETY"}
REFUSALS = {
    "authentication": (400, "INVALID_ARGUMENT", "", [{"reason": "API_KEY_INVALID"}]),
    "not_found": (404, "NOT_FOUND", "", []),
    "rate_limit": (429, "RESOURCE_EXHAUSTED", "", []),
    "overloaded": (503, "UNAVAILABLE", "", []),
    "context_too_long": (400, "INVALID_ARGUMENT", " The input token count exceeds the maximum number of tokens allowed.", []),
    "bad_request": (400, "INVALID_ARGUMENT", "", []),
}


class GeminiWire(Wire):
    """A server of the Gemini API."""

    usage_fields = ("input", "output", "cache_read", "thinking")
    stops = (StopReason.STOP, StopReason.MAX_TOKENS, StopReason.CONTENT_FILTER)
    call_ids = False  # older models give none; how those of newer ones go back is tested beside this
    text_arguments = False

    def model(self, endpoint: Endpoint) -> Model:
        options = {f.name: getattr(endpoint.options, f.name) for f in dataclasses.fields(endpoint.options)}
        return GeminiModel(endpoint.model, api_key=endpoint.key, base_url=f"{endpoint.base_url}/v1beta", **options)

    def reply(self, request: SeenRequest, response: ModelResponse) -> WireReply:
        streamed = ":streamGenerateContent" in request.path
        parts: list[dict[str, Any]] = [_thought(block.text, block.signature) for block in response.thinking]
        parts += [{"text": piece} for piece in (cut(response.text) if streamed else [response.text])]
        parts += [{"functionCall": {"name": c.name, "args": json.loads(c.arguments_json)}} for c in response.tool_calls]
        counted = {"usageMetadata": _counts(response)} if _counts(response) else {}
        finish = {"finishReason": response.provider_stop or ENDS.get(response.stop, "STOP")}
        if not streamed:
            return WireReply((_json({"candidates": [{"content": {"role": "model", "parts": parts}, **finish}], **counted}),))
        pieces = [{"candidates": [{"content": {"role": "model", "parts": [part]}}], **counted} for part in parts]
        pieces.append({"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, **finish}], **counted})
        return WireReply(tuple(_event(piece) for piece in pieces), "text/event-stream")

    def refusal(self, request: SeenRequest, refusal: Refusal) -> WireReply:
        status, name, words, details = REFUSALS[refusal.kind]
        error = {"code": status, "status": name, "message": refusal.words + words, "details": details}
        return WireReply((_json({"error": error}),), status=status)

    def refusal_in_stream(self, refusal: Refusal) -> bytes:
        return _event({"error": {"code": 503, "status": "UNAVAILABLE", "message": refusal.words}})


def _thought(text: str, signature: str | None) -> dict[str, Any]:
    return {"text": text, "thought": True} if signature is None else {"text": text, "thought": True, "thoughtSignature": signature}


def _counts(response: ModelResponse) -> dict[str, int]:
    usage = response.usage
    said = None if usage.output is None else usage.output - (usage.thinking or 0)
    counts = {
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": said,
        "thoughtsTokenCount": usage.thinking,
    }
    return {name: value for name, value in counts.items() if value is not None}


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode()


def _event(data: Any) -> bytes:
    return b"data: " + _json(data) + b"\r\n\r\n"


class TestGemini(ModelConformance):
    wire = GeminiWire()
