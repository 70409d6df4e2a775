"""Both interfaces seen from the server: how OpenAI would write a reply, for the suite of checks that every provider passes."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from agentfp.model import Model, ModelResponse, StopReason, Usage
from agentfp.testing import Endpoint, Refusal, SeenRequest, Wire, WireReply, cut
from agentfp_openai import ChatModel, ResponsesModel, Server, openai
from tests.providers.faults import sse
from tests.providers.openai.samples import called, chat_chunk, chat_reply, responses_reply, said, thought

REFUSALS: dict[str, tuple[int, str | None, str]] = {
    "authentication": (401, "invalid_api_key", "invalid_request_error"),
    "not_found": (404, "model_not_found", "invalid_request_error"),
    "rate_limit": (429, "rate_limit_exceeded", "tokens"),
    "overloaded": (503, None, "service_unavailable"),
    "context_too_long": (400, "context_length_exceeded", "invalid_request_error"),
    "bad_request": (400, None, "invalid_request_error"),
    "content_filter": (400, "content_filter", "invalid_request_error"),
}


class OpenAIWire(Wire):
    """What both interfaces have in common."""

    usage_fields = ("input", "output", "cache_read", "cache_write", "thinking")
    refusals = (*Wire.refusals, "content_filter")
    signatures = False  # the seal of a reasoning item is a part of the item, which goes back whole
    kind: type[ChatModel | ResponsesModel]

    def model(self, endpoint: Endpoint) -> Model:
        server = Server(f"{endpoint.base_url}/v1", "openai", endpoint.key)
        return self.kind(endpoint.model, server=server, features=openai(endpoint.model).features, options=endpoint.options)

    def refusal(self, request: SeenRequest, refusal: Refusal) -> WireReply:
        return WireReply((json.dumps(_error(refusal)).encode(),), status=REFUSALS[refusal.kind][0])

    def refusal_in_stream(self, refusal: Refusal) -> bytes:
        return sse(_error(refusal))


def _error(refusal: Refusal) -> dict[str, Any]:
    _, code, kind = REFUSALS[refusal.kind]
    return {"error": {"message": refusal.words, "type": kind, "param": None, "code": code}}


def _numbers(usage: Usage, names: tuple[str, str, str, str]) -> dict[str, Any] | None:
    """The usage of an interface, without the fields that are not reported."""
    if usage == Usage():
        return None
    request, reply, request_details, reply_details = names
    details = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
    return {
        request: usage.input,
        reply: usage.output,
        "total_tokens": usage.total,
        request_details: {name: value for name, value in details.items() if value is not None},
        reply_details: {} if usage.thinking is None else {"reasoning_tokens": usage.thinking},
    }


class ChatWire(OpenAIWire):
    """Chat Completions."""

    kind = ChatModel
    stops = (StopReason.STOP, StopReason.MAX_TOKENS, StopReason.CONTENT_FILTER)
    words: ClassVar[dict[StopReason, str]] = {
        StopReason.STOP: "stop",
        StopReason.MAX_TOKENS: "length",
        StopReason.TOOL_USE: "tool_calls",
        StopReason.CONTENT_FILTER: "content_filter",
    }

    def reply(self, request: SeenRequest, response: ModelResponse) -> WireReply:
        word = response.provider_stop or self.words[response.stop]
        usage = _numbers(response.usage, ("prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details"))
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments_json}}
            for call in response.tool_calls
        ]
        thinking = "".join(block.text for block in response.thinking)
        if not request.json().get("stream"):
            more = {"tool_calls": calls} if calls else {}
            if thinking:
                more["reasoning_content"] = thinking  # type: ignore[assignment]
            return WireReply((json.dumps({**chat_reply(response.text, finish=word, **more), "usage": usage}).encode(),))
        events: list[Any] = [chat_chunk({"role": "assistant", "content": ""})]
        events += [chat_chunk({"reasoning_content": piece}) for piece in cut(thinking)]
        events += [chat_chunk({"content": piece}) for piece in cut(response.text)]
        for index, call in enumerate(calls):
            name, arguments = call["function"]["name"], call["function"]["arguments"]  # type: ignore[index]
            events.append(chat_chunk({"tool_calls": [{**call, "index": index, "function": {"name": name, "arguments": ""}}]}))
            events += [chat_chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}) for piece in cut(arguments, 500)]
        events += [chat_chunk({}, finish=word), *([chat_chunk(usage=usage)] if usage else []), "[DONE]"]
        return WireReply(tuple(sse(event) for event in events), "text/event-stream")


class ResponsesWire(OpenAIWire):
    """The Responses interface."""

    kind = ResponsesModel
    stops = (StopReason.STOP, StopReason.MAX_TOKENS, StopReason.CONTENT_FILTER, StopReason.REFUSAL)

    def reply(self, request: SeenRequest, response: ModelResponse) -> WireReply:
        items = [thought(f"rs_{n}", block.text) for n, block in enumerate(response.thinking)]
        if response.text:
            items.append(said(response.text))
        items += [called(call.id, call.name, call.arguments_json, f"fc_{n}") for n, call in enumerate(response.tool_calls)]
        more: dict[str, Any] = {}
        if response.stop is StopReason.REFUSAL:
            items[-1]["content"] = [{"type": "refusal", "refusal": response.text}]
        elif response.stop not in (StopReason.STOP, StopReason.TOOL_USE):
            word = response.provider_stop or {StopReason.MAX_TOKENS: "max_output_tokens"}.get(response.stop, "content_filter")
            more = {"status": "incomplete", "incomplete_details": {"reason": word}}
        usage = _numbers(response.usage, ("input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details"))
        whole = responses_reply(*items, **more) | {"usage": usage}
        if not request.json().get("stream"):
            return WireReply((json.dumps(whole).encode(),))
        events: list[dict[str, Any]] = [{"type": "response.created", "response": responses_reply(status="in_progress") | {"usage": None}}]
        for index, item in enumerate(items):
            events += _item_events(index, item)
        events.append({"type": "response.incomplete" if more else "response.completed", "response": whole})
        return WireReply(tuple(sse((str(event["type"]), event)) for event in events), "text/event-stream")


def _item_events(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    at = {"output_index": index, "item_id": item["id"]}
    begun = {**item, "status": "in_progress", **({"content": []} if item["type"] == "message" else {})}
    events: list[dict[str, Any]] = [{"type": "response.output_item.added", "output_index": index, "item": begun}]
    if item["type"] == "reasoning":
        text = item["summary"][0]["text"]
        events += [{"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": piece, **at} for piece in cut(text)]
    elif item["type"] == "message":
        part = item["content"][0]
        kind, text = ("output_text", part["text"]) if part["type"] == "output_text" else ("refusal", part["refusal"])
        events += [{"type": f"response.{kind}.delta", "content_index": 0, "delta": piece, **at} for piece in cut(text)]
    return [*events, {"type": "response.output_item.done", "output_index": index, "item": item}]
