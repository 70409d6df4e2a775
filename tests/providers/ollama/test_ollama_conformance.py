"""The checks that every model should pass, for Ollama."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from agentfp.model import Model, ModelResponse, StopReason
from agentfp.testing import Endpoint, ModelConformance, Refusal, SeenRequest, Wire, WireReply, cut
from agentfp_ollama import OllamaModel
from tests.providers.ollama.chats import LINES

REFUSALS = {
    "authentication": (401, "unauthorized: "),
    "not_found": (404, "model 'x' not found: "),
    "rate_limit": (429, ""),
    "overloaded": (503, "server busy, please try again: "),
    "context_too_long": (400, "the input length exceeds the context length: "),
    "bad_request": (400, "invalid options: "),
}


class OllamaWire(Wire):
    """An Ollama server."""

    call_ids = False
    text_arguments = False
    signatures = False

    def model(self, endpoint: Endpoint) -> Model:
        options = {f.name: getattr(endpoint.options, f.name) for f in dataclasses.fields(endpoint.options)}
        return OllamaModel(endpoint.model, api_key=endpoint.key, base_url=endpoint.base_url, **options)

    def reply(self, request: SeenRequest, response: ModelResponse) -> WireReply:
        calls = [{"function": {"name": c.name, "arguments": json.loads(c.arguments_json)}} for c in response.tool_calls]
        thinking = "".join(block.text for block in response.thinking)
        counts = {"prompt_eval_count": response.usage.input, "eval_count": response.usage.output}
        end = {
            "done": True,
            "done_reason": response.provider_stop or ("length" if response.stop is StopReason.MAX_TOKENS else "stop"),
            **{name: value for name, value in counts.items() if value is not None},
        }
        if not request.json()["stream"]:
            message = {"role": "assistant", "content": response.text, "thinking": thinking, "tool_calls": calls}
            return WireReply((_line(message, **end).rstrip(),))
        pieces = [_line({"role": "assistant", "content": "", "thinking": piece}) for piece in cut(thinking)]
        pieces += [_line({"role": "assistant", "content": piece}) for piece in cut(response.text)]
        pieces += [_line({"role": "assistant", "content": "", "tool_calls": [call]}) for call in calls]
        return WireReply((*pieces, _line({"role": "assistant", "content": ""}, **end)), LINES)

    def refusal(self, request: SeenRequest, refusal: Refusal) -> WireReply:
        status, words = REFUSALS[refusal.kind]
        return WireReply((json.dumps({"error": words + refusal.words}).encode(),), status=status)

    def refusal_in_stream(self, refusal: Refusal) -> bytes:
        return json.dumps({"error": refusal.words}).encode() + b"\n"


def _line(message: dict[str, Any], **facts: Any) -> bytes:
    data = {"model": "m", "created_at": "2026-11-30T00:00:00Z", "message": message, "done": False, **facts}
    return json.dumps(data, ensure_ascii=False).encode() + b"\n"


class TestOllama(ModelConformance):
    wire = OllamaWire()
