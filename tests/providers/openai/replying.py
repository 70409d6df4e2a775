"""Whole replies and streams of both interfaces, as the official SDK types them, played to a model."""

from __future__ import annotations

from typing import Any

from agentfp.model import Message, ModelRequest, ModelResponse
from tests.providers.faults import Faults, reply, sse, stream
from tests.providers.openai.samples import (
    CHAT_USAGE,
    HELLO,
    WEATHER,
    chat_chunk,
    model_at,
    responses_reply,
    streamed,
    user,
)

PARIS, ROME = '{"city": "Paris"}', '{"city": "Rome"}'


def wire(call_id: str, arguments: str, **more: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "get_weather", "arguments": arguments}, **more}


async def complete(faults: Faults, api: str, data: dict[str, Any], request: ModelRequest = HELLO, **settings: Any) -> ModelResponse:
    faults.plays(reply(200, data, x_request_id="req_1"))
    return await model_at(faults.url, api, **settings).complete(request)


async def stream_of(
    faults: Faults, api: str, *events: Any, size: int | None = None, request: ModelRequest = HELLO
) -> tuple[str, str, ModelResponse]:
    faults.plays(*stream(sse(*events), "text/event-stream", size=size, x_request_id="req_1"))
    return await streamed(model_at(faults.url, api), request)


def chunks() -> list[dict[str, Any]]:
    """A stream as OpenAI sends it: text, two calls in parallel, usage at the end."""
    return [
        chat_chunk({"role": "assistant", "content": "", "refusal": None}),
        chat_chunk({"content": "Let me "}),
        chat_chunk({"content": "look ☀"}),
        chat_chunk({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": ""}}]}),
        chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"city": '}}]}),
        chat_chunk({"tool_calls": [{"index": 1, "id": "c2", "type": "function", "function": {"name": "get_weather", "arguments": ""}}]}),
        chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"Paris"}'}}, {"index": 1, "function": {"arguments": ROME}}]}),
        chat_chunk({}, finish="tool_calls"),
        chat_chunk(usage=CHAT_USAGE),
    ]


def events(*output: dict[str, Any], reply_of: dict[str, Any] | None = None) -> list[tuple[str, dict[str, Any]]]:
    """The events of a reply as OpenAI sends them."""
    made: list[dict[str, Any]] = [
        {"type": "response.created", "response": responses_reply(status="in_progress", usage=None)},
        {"type": "response.in_progress", "response": responses_reply(status="in_progress", usage=None)},
    ]
    for index, item in enumerate(output):
        at = {"output_index": index, "item_id": item["id"]}
        made.append({"type": "response.output_item.added", "output_index": index, "item": item | {"status": "in_progress"}})
        if item["type"] == "reasoning":
            for place, part in enumerate(item["summary"]):
                text = {"type": "response.reasoning_summary_text.delta", "summary_index": place, **at}
                made += [{**text, "delta": part["text"][:2]}, {**text, "delta": part["text"][2:]}]
        elif item["type"] == "message":
            text = {"type": "response.output_text.delta", "content_index": 0, "logprobs": [], **at}
            whole = item["content"][0]["text"]
            made += [{**text, "delta": whole[:3]}, {**text, "delta": whole[3:]}]
        else:
            made.append({"type": "response.function_call_arguments.delta", "delta": item["arguments"], **at})
        made.append({"type": "response.output_item.done", "output_index": index, "item": item})
    made.append({"type": "response.completed", "response": reply_of or responses_reply(*output)})
    return [(data["type"], {**data, "sequence_number": n}) for n, data in enumerate(made)]


def answered(got: ModelResponse, *results: Message) -> ModelRequest:
    """The next request of a conversation."""
    message = Message("a", "assistant", got.text, 1, "model", tool_calls=got.tool_calls, thinking=got.thinking)
    restored = Message(**{f: getattr(message, f) for f in message.__slots__})
    return ModelRequest(system="", messages=(user("?"), restored, *results), tools=(WEATHER,))
