"""Requests that use what the protocol has, and replies of both interfaces as the official SDK types them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from agentfp.http import HttpOptions
from agentfp.model import (
    DocumentPart,
    ImagePart,
    Message,
    Model,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    TextChunk,
    ThinkingChunk,
    ToolCall,
    ToolSpec,
    resolve_model,
)
from agentfp_openai import ChatModel, ResponsesModel, Server

PIXEL = b"\x89PNG\r\n\x1a\n"
WEATHER = ToolSpec(
    "get_weather",
    "The weather of a city.",
    json.dumps(
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False},
    ),
)
LOOSE = ToolSpec(
    "search",
    "Search.",
    json.dumps(
        {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 5}}, "required": ["query"]}
    ),
)
NOTHING = ToolSpec("now", "The time.", json.dumps({"type": "object", "properties": {}, "additionalProperties": False}))
ANSWER = json.dumps(
    {
        "title": "Report of ports",
        "type": "object",
        "properties": {"up": {"type": "integer"}, "down": {"type": "array", "items": {"type": "integer"}}},
        "required": ["up", "down"],
    }
)


def user(text: str, *parts: Any) -> Message:
    return Message("u", "user", text, 1, parts=parts)


def assistant(text: str, *calls: ToolCall, **more: Any) -> Message:
    return Message("a", "assistant", text, 1, "model", tool_calls=calls, **more)


def result(call_id: str, text: str, *parts: Any, **more: Any) -> Message:
    return Message("t", "tool", text, 1, "tool", tool_call_id=call_id, tool_name="get_weather", parts=parts, **more)


HELLO = ModelRequest(system="Be short.", messages=(user("hello"),))
HISTORY = (
    user("How is the weather in Paris and Rome?"),
    assistant("", ToolCall("c1", "get_weather", '{"city":"Paris"}'), ToolCall("c2", "get_weather", '{"city":"Rome"}')),
    result("c1", '{"sky":"sunny"}', notes=("Units are Celsius.",)),
    result("c2", "städtisch ☀"),
    assistant("Both are sunny."),
    Message("s", "system", "Speak French from now on.", 2, "app"),
    user("And in Oslo?"),
)
REQUESTS: Mapping[str, ModelRequest] = {
    "hello": HELLO,
    "no system": ModelRequest(system="", messages=(user(""),)),
    "history": ModelRequest(system="Be short.", messages=HISTORY, tools=(WEATHER, LOOSE, NOTHING)),
    "forced": ModelRequest(system="", messages=(user("Paris?"),), tools=(WEATHER, NOTHING), tool_choice="get_weather"),
    "schema": ModelRequest(system="", messages=(user("Ports?"),), output_schema_json=ANSWER),
    "parts": ModelRequest(
        system="",
        messages=(
            user(
                "What is this?",
                ImagePart("image/png", PIXEL),
                ImagePart("image/jpeg", url="https://example.com/a.jpg"),
                DocumentPart("application/pdf", b"%PDF-1.7", name="a.pdf"),
                DocumentPart("text/plain", b"words"),
            ),
            assistant("A picture."),
            user("", ImagePart("image/png", PIXEL)),
        ),
    ),
    "settings": ModelRequest(
        system="",
        messages=(user("hi"),),
        settings=ModelSettings(temperature=0.5, top_p=0.9, max_tokens=64, extra={"metadata": {"team": "net"}, "user": "u1"}),
    ),
}


def settings_for(url: str, **more: Any) -> dict[str, Any]:
    """Of a model that is OpenAI's in all but its address, and tries once."""
    return {"base_url": url, "api_key": "k", "retries": {"attempts": 1}, **more}


def model_at(url: str, api: str, name: str = "m", **more: Any) -> Model:
    return resolve_model(f"openai-{api}:{name}", settings=settings_for(f"{url}/v1", **more))


def own_model(url: str, api: str, name: str, **more: Any) -> Model:
    """A model that takes the server for OpenAI itself: what only OpenAI is sent, is sent."""
    kind = ChatModel if api == "chat" else ResponsesModel
    features = resolve_model(f"openai:{name}").features
    return kind(name, server=Server(f"{url}/v1", "openai", "k"), features=features, options=HttpOptions(), **more)


def chat_reply(content: str | None = "Hi.", *, finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m-2026",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "logprobs": None,
                "message": {"role": "assistant", "content": content, "refusal": None, **message},
            }
        ],
        "usage": {
            "prompt_tokens": 20,
            "completion_tokens": 7,
            "total_tokens": 27,
            "prompt_tokens_details": {"cached_tokens": 16, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
    }


def chat_chunk(delta: Mapping[str, Any] | None = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": dict(delta), "finish_reason": finish, "logprobs": None}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-2026"}
    return {**head, "choices": choices, **more}


CHAT_USAGE = chat_reply()["usage"]


def responses_reply(*output: Mapping[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "m-2026",
        "output": list(output),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 20,
            "input_tokens_details": {"cached_tokens": 16, "cache_write_tokens": 2},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 3},
            "total_tokens": 27,
        },
        **more,
    }


def said(text: str, id: str = "msg_1", **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": id, "status": "completed", "role": "assistant", "content": content, **more}


def thought(id: str = "rs_1", *summary: str, **more: Any) -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": id, "summary": parts, "encrypted_content": f"sealed+{id}==", **more}


def called(call_id: str, name: str, arguments: str, id: str = "fc_1") -> dict[str, Any]:
    return {"type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments, "status": "completed"}


def deep(value: Any) -> Any:
    """Validate what the SDK's types validate lazily."""
    if isinstance(value, dict):
        return {key: deep(item) for key, item in value.items()}
    if isinstance(value, list) or type(value).__name__ == "ValidatorIterator":
        return [deep(item) for item in value]
    return value


def check(kind: Any, data: Any) -> Any:
    """Validate data by a type of the official SDK, unknown keys forbidden."""
    return deep(_adapter(kind).validate_python(data, extra="forbid"))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Made once: it takes long, and what it validates lazily must not outlive it."""
    return TypeAdapter(kind)


async def streamed(model: Model, request: ModelRequest) -> tuple[str, str, ModelResponse]:
    """What a stream shows: text, thinking, and the reply."""
    text, thinking, reply = [], [], None
    async for chunk in model.stream(request):
        assert reply is None, "the reply is the last chunk"
        if isinstance(chunk, TextChunk):
            text.append(chunk.text)
        elif isinstance(chunk, ThinkingChunk):
            thinking.append(chunk.text)
        else:
            reply = chunk
    assert reply is not None
    return "".join(text), "".join(thinking), reply
