"""Requests, replies and the official SDK's opinion of them, for the tests of the Ollama provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import ollama
from ollama import _types as types
from pydantic import TypeAdapter

from agentfp import ImagePart, Message
from agentfp.model import ModelRequest, ModelSettings, ThinkingBlock, ToolCall, ToolSpec
from tests.providers.faults import Faults, reply

LOOK = ToolSpec("look", "Looks.", '{"properties":{"n":{"description":"which","type":"integer"}},"required":["n"],"type":"object"}')
LINES = "application/x-ndjson"
SCHEMA = '{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}'


def ndjson(*pieces: Any) -> bytes:
    return b"".join(json.dumps(piece, ensure_ascii=False).encode() + b"\n" for piece in pieces)


def piece(content: str = "", **message: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "created_at": "2026-11-30T00:00:00Z",
        "message": {"role": "assistant", "content": content, **message},
        "done": False,
    }


def end(content: str = "", reason: str = "stop", **facts: Any) -> dict[str, Any]:
    counts = {
        "prompt_eval_count": 7,
        "eval_count": 3,
        "total_duration": 5,
        "load_duration": 1,
        "prompt_eval_duration": 1,
        "eval_duration": 1,
    }
    return {**piece(content), "done": True, "done_reason": reason, **counts, **facts}


def call(name: str = "look", **arguments: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}}


def everything() -> ModelRequest:
    """A request with all that one may hold."""
    asked = Message(
        "a",
        "assistant",
        "Let me look.",
        tool_calls=(ToolCall("c1", "look", '{"n":1}'), ToolCall("c2", "look", '{"n":2}')),
        thinking=(ThinkingBlock("hm", provider_meta='{"ollama":"thinking"}'), ThinkingBlock("another's", "c2ln")),
    )
    return ModelRequest(
        system="You look.",
        messages=(
            Message("1", "user", "What is this?", parts=(ImagePart("image/png", b"\x89PNG"),)),
            asked,
            Message("r1", "tool", "seen ü", tool_call_id="c1", tool_name="look", notes=("Mind this.",)),
            Message("r2", "tool", "more", tool_call_id="c2", tool_name="look"),
            Message("2", "system", "Be brief."),
            Message("3", "user", "Go on."),
        ),
        tools=(LOOK,),
        output_schema_json=SCHEMA,
        settings=ModelSettings(
            temperature=0.5,
            top_p=0.9,
            max_tokens=100,
            stop=("END",),
            seed=7,
            thinking_tokens=0,
            extra={"keep_alive": "10m", "options": {"top_k": 20, "num_ctx": 2048}},
        ),
    )


def check_body(body: Mapping[str, Any]) -> None:
    """Refuse a body that holds what the SDK's types do not know. The schemas of tools it reads only in part, so these are left aside."""
    TypeAdapter(types.ChatRequest).validate_python({name: value for name, value in body.items() if name != "tools"}, extra="forbid")
    for message in body["messages"]:
        images = {"images": [{"value": image} for image in message["images"]]} if "images" in message else {}
        TypeAdapter(types.Message).validate_python({**message, **images}, extra="forbid")
    TypeAdapter(types.Options).validate_python(body.get("options", {}), extra="forbid")
    for tool in body.get("tools", ()):
        bare = {**tool, "function": {**tool["function"], "parameters": {}}}
        TypeAdapter(types.Tool).validate_python(bare, extra="forbid")
        types.Tool.model_validate(tool)


def check_reply(data: Mapping[str, Any]) -> None:
    """Refuse a reply that the SDK would not give back as it came."""
    made = TypeAdapter(types.ChatResponse).validate_python(data, extra="forbid")
    assert made.model_dump(exclude_none=True) == data


def sent_by_the_sdk(faults: Faults, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body that the SDK sends for the same request."""
    faults.plays(reply(200, end("x")))
    with ollama.Client(host=faults.url) as client:
        client.chat(**body)
    sent: dict[str, Any] = faults.requests[-1].json()
    return sent
