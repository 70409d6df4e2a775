"""The provider's HTTP layer against a server that plays llama.cpp's: what it says, how it refuses, how it breaks."""

from __future__ import annotations

import json
from typing import Any

from agentfp.model import Model, ModelResponse, StopReason
from agentfp.testing import Endpoint, ModelConformance, Refusal, SeenRequest, Wire, WireReply, cut
from agentfp_local import LocalModel

WORDS = {StopReason.STOP: "stop", StopReason.MAX_TOKENS: "length"}


class LlamaWire(Wire):
    """The chat interface of llama.cpp's server.

    Calls are no part of it: the provider has them decoded as JSON text, which the tests with the real model see to.
    """

    usage_fields = ("input", "output", "cache_read")
    refusals = ("authentication", "not_found", "rate_limit", "overloaded", "context_too_long", "bad_request")

    def model(self, endpoint: Endpoint) -> Model:
        return LocalModel(endpoint.model, tools=False, base_url=endpoint.base_url, key=endpoint.key, options=endpoint.options)

    def reply(self, request: SeenRequest, response: ModelResponse) -> WireReply:
        finish = response.provider_stop or WORDS[response.stop]
        common: dict[str, Any] = {"created": 1, "id": "chatcmpl-1", "model": request.json()["model"]}
        usage = _usage(response)
        if not request.json().get("stream"):
            choice = {"finish_reason": finish, "index": 0, "message": {"role": "assistant", "content": response.text}}
            return WireReply((json.dumps({"choices": [choice], **common, **usage}).encode(),))
        deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": None}, None)]
        deltas += [({"content": piece}, None) for piece in cut(response.text)]
        deltas.append(({}, finish))
        chunks = [{"choices": [{"finish_reason": why, "index": 0, "delta": delta}], **common} for delta, why in deltas]
        if usage:
            chunks.append({"choices": [], **common, **usage})
        events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
        return WireReply((*events, b"data: [DONE]\n\n"), "text/event-stream")

    def refusal(self, request: SeenRequest, refusal: Refusal) -> WireReply:
        status, kind = {
            "authentication": (401, "authentication_error"),
            "not_found": (404, "not_found_error"),
            "rate_limit": (429, "rate_limit_error"),
            "overloaded": (503, "unavailable_error"),
            "context_too_long": (400, "exceed_context_size_error"),
            "bad_request": (400, "invalid_request_error"),
        }[refusal.kind]
        body = {"error": {"code": status, "message": refusal.words, "type": kind}}
        return WireReply((json.dumps(body).encode(),), status=status)

    def refusal_in_stream(self, refusal: Refusal) -> bytes:
        body = {"error": {"code": 503, "message": refusal.words, "type": "unavailable_error"}}
        return b"data: " + json.dumps(body).encode() + b"\n\n"


def _usage(response: ModelResponse) -> dict[str, Any]:
    counted = {"prompt_tokens": response.usage.input, "completion_tokens": response.usage.output}
    usage: dict[str, Any] = {key: value for key, value in counted.items() if value is not None}
    if response.usage.cache_read is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": response.usage.cache_read}
    return {"usage": usage} if usage else {}


class TestLocal(ModelConformance):
    wire = LlamaWire()
