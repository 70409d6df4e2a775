"""What is received over Chat Completions, and what of it goes back to the server in the next request."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import Response, ResponseStreamEvent

from agentfp.model import ModelRequest, ModelResponse, ModelSettings, StopReason, TextChunk, ToolCall, Usage
from tests.providers.faults import STALL, Faults, sse, stream
from tests.providers.openai.replying import PARIS, ROME, answered, chunks, complete, events, stream_of, wire
from tests.providers.openai.samples import (
    HELLO,
    called,
    chat_chunk,
    chat_reply,
    check,
    model_at,
    responses_reply,
    result,
    said,
    thought,
    user,
)

pytestmark = pytest.mark.anyio


def test_the_samples_are_of_the_sdks_types() -> None:
    check(ChatCompletion, chat_reply(tool_calls=[wire("c1", PARIS)]))
    for chunk in chunks():
        check(ChatCompletionChunk, chunk)
    items = (thought("rs_1", "Hm.", "So."), said("Hello", phase="commentary"), called("c1", "get_weather", PARIS))
    check(Response, responses_reply(*items))
    for _, event in events(*items):
        check(ResponseStreamEvent, event)


# --- chat -----------------------------------------------------------------------------------------------------------------------


async def test_a_whole_reply_over_chat(faults: Faults) -> None:
    got = await complete(faults, "chat", chat_reply("Look.", finish="tool_calls", tool_calls=[wire("c1", PARIS), wire("c2", ROME)]))
    assert got.text == "Look."
    assert got.tool_calls == (ToolCall("c1", "get_weather", '{"city":"Paris"}'), ToolCall("c2", "get_weather", '{"city":"Rome"}'))
    assert got.usage == Usage(20, 7, 16, None, 3)
    assert (got.stop, got.provider_stop) == (StopReason.TOOL_USE, "tool_calls")
    assert (got.response_id, got.model, got.request_id) == ("chatcmpl-1", "m-2026", "req_1")


@pytest.mark.parametrize("size", [None, 1, 2, 3, 7, 64, 1000])
async def test_a_stream_over_chat_at_every_chunk_size(faults: Faults, size: int | None) -> None:
    text, thinking, got = await stream_of(faults, "chat", *chunks(), "[DONE]", size=size)
    assert (text, thinking) == ("Let me look ☀", "")
    assert got == ModelResponse(
        text="Let me look ☀",
        tool_calls=(ToolCall("c1", "get_weather", '{"city":"Paris"}'), ToolCall("c2", "get_weather", '{"city":"Rome"}')),
        usage=Usage(20, 7, 16, None, 3),
        stop=StopReason.TOOL_USE,
        provider_stop="tool_calls",
        response_id="chatcmpl-1",
        model="m-2026",
        request_id="req_1",
    )


@pytest.mark.parametrize(
    ("finish", "message", "settings", "stop"),
    [
        ("stop", {}, {}, StopReason.STOP),
        ("length", {}, {}, StopReason.MAX_TOKENS),
        ("length", {}, {"max_tokens": 7}, StopReason.MAX_TOKENS),
        ("content_filter", {}, {}, StopReason.CONTENT_FILTER),
        ("stop", {"content": None, "refusal": "I will not."}, {}, StopReason.REFUSAL),
        ("stop", {"tool_calls": [wire("c1", PARIS)]}, {}, StopReason.TOOL_USE),
        ("weird", {}, {}, StopReason.UNKNOWN),
    ],
)
async def test_stops_over_chat(faults: Faults, finish: str, message: dict[str, Any], settings: dict[str, Any], stop: StopReason) -> None:
    data = chat_reply(finish=finish)
    data["choices"][0]["message"] |= message
    got = await complete(faults, "chat", data, ModelRequest(system="", messages=(user("?"),), settings=ModelSettings(**settings)))
    assert (got.stop, got.provider_stop) == (stop, finish)
    assert got.text == (message.get("refusal") or "Hi.")


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_full_window_is_told_from_a_limit(faults: Faults, api: str) -> None:
    cut = responses_reply(said("Hi."), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    data = chat_reply(finish="length") if api == "chat" else cut
    assert (await complete(faults, api, data, features={"context_window": 27})).stop is StopReason.CONTEXT_WINDOW
    assert (await complete(faults, api, data, features={"context_window": 28})).stop is StopReason.MAX_TOKENS
    limited = dataclasses.replace(HELLO, settings=ModelSettings(max_tokens=7))
    assert (await complete(faults, api, data, limited, features={"context_window": 27})).stop is StopReason.MAX_TOKENS


async def test_tokens_that_are_not_reported_are_unknown(faults: Faults) -> None:
    data = chat_reply() | {"usage": {"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 3}}
    assert (await complete(faults, "chat", data)).usage == Usage(3, 0)
    assert (await complete(faults, "chat", chat_reply() | {"usage": None})).usage == Usage()
    odd = {"prompt_tokens": "3", "completion_tokens": True, "prompt_tokens_details": [1]}
    assert (await complete(faults, "chat", chat_reply() | {"usage": odd})).usage == Usage()
    assert (await complete(faults, "responses", responses_reply(said("x"), usage=None))).usage == Usage()


async def test_a_chunk_is_shown_before_the_next_one_is_there(faults: Faults) -> None:
    faults.plays(*stream(sse(chat_chunk({"content": "first"})), "text/event-stream", whole=False), STALL)
    chunks_seen = model_at(faults.url, "chat").stream(HELLO)
    assert await anext(chunks_seen) == TextChunk("first")
    await chunks_seen.aclose()  # type: ignore[attr-defined]
    assert faults.hung_up.wait(5), "leaving a stream closes its connection"


# --- thinking goes back ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_thinking_of_a_compatible_server_goes_back_in_its_field(faults: Faults, field: str) -> None:
    data = chat_reply("", finish="tool_calls", tool_calls=[wire("c1", PARIS, extra_content={"seal": "s="})], **{field: "Hm.\n So "})
    got = await complete(faults, "chat", data)
    assert got.thinking[0].text == "Hm.\n So "
    await_next = answered(got, result("c1", "sunny"))
    await complete(faults, "chat", chat_reply(), await_next)
    message = faults.requests[-1].json()["messages"][1]
    assert message[field] == "Hm.\n So "
    assert message["tool_calls"][0]["extra_content"] == {"seal": "s="}


async def test_thinking_streamed_over_chat(faults: Faults) -> None:
    details = [{"type": "reasoning.text", "index": 0, "text": "Hm"}, {"type": "reasoning.text", "index": 0, "text": ".", "signature": "s"}]
    text, thinking, got = await stream_of(
        faults,
        "chat",
        chat_chunk({"role": "assistant", "content": None, "reasoning": "Hm", "reasoning_details": details[:1]}),
        chat_chunk({"reasoning": ".", "reasoning_content": ".", "reasoning_details": details[1:]}),
        chat_chunk({"content": "Hi."}, finish="stop"),
        "[DONE]",
    )
    assert (text, thinking, got.thinking[0].text) == ("Hi.", "Hm.", "Hm.")
    await complete(faults, "chat", chat_reply(), answered(got))
    message = faults.requests[-1].json()["messages"][1]
    assert message["reasoning_details"] == [{"type": "reasoning.text", "index": 0, "text": "Hm.", "signature": "s"}]
    assert message["reasoning"] == "Hm."


async def test_a_tool_loop_of_chat_bodies_is_of_the_sdks_type(faults: Faults) -> None:
    got = await complete(faults, "chat", chat_reply(None, finish="tool_calls", tool_calls=[wire("c1", PARIS)]))
    await complete(faults, "chat", chat_reply(), answered(got, result("c1", "sunny")))
    check(CompletionCreateParamsNonStreaming, faults.requests[-1].json())
