"""What is made of the API's replies, whole and streamed, beside what the official SDK makes of the same bytes."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from anthropic import Anthropic
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentfp import Agent, History
from agentfp.events import ThinkingOmitted
from agentfp.model import (
    Message,
    ModelChunk,
    ModelResponse,
    ProviderProtocolError,
    StopReason,
    TextChunk,
    ThinkingBlock,
    ThinkingChunk,
    ToolCall,
    ToolSpec,
    Usage,
)
from agentfp_anthropic import AnthropicModel
from tests.providers.anthropic.messages_oracle import check_event, check_reply, check_request
from tests.providers.anthropic.messages_wire import MessagesWire, event
from tests.providers.anthropic.sending import DONE, exchanged, request, sent, user
from tests.providers.faults import Faults, reply, stream

pytestmark = pytest.mark.anyio
COUNTS = {"input_tokens": 10, "output_tokens": 2}
WEATHER = ToolSpec("get_weather", "", '{"properties":{},"type":"object"}')


async def streamed(faults: Faults, body: bytes, *, size: int | None = None, **settings: Any) -> tuple[list[ModelChunk], ModelResponse]:
    """The chunks that a stream gives, and the whole reply at its end."""
    faults.plays(*stream(body, "text/event-stream", size=size, request_id="req_9"))
    model = AnthropicModel("m", base_url=faults.url, **settings)
    chunks = [chunk async for chunk in model.stream(request())]
    last = chunks.pop()
    assert isinstance(last, ModelResponse)
    return chunks, last


def start(**usage: Any) -> bytes:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [], "usage": usage}
    return event({"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}})


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    events = [{"type": "content_block_start", "index": index, "content_block": content}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return b"".join(map(event, [*events, {"type": "content_block_stop", "index": index}]))


def end(stop: str, **usage: Any) -> bytes:
    delta = {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 7, **usage}}
    return event(delta) + event({"type": "message_stop"})


# --- beside the SDK ---------------------------------------------------------------------------------------------------------

texts = st.text(max_size=20)
arguments = st.dictionaries(texts, texts | st.integers(-5, 5) | st.none() | st.lists(texts, max_size=2), max_size=3)
replies = st.builds(
    ModelResponse,
    text=texts,
    tool_calls=st.lists(arguments, max_size=3).map(
        lambda made: tuple(ToolCall.make("get_weather", one, id=f"toolu_{n}") for n, one in enumerate(made))
    ),
    usage=st.builds(Usage, st.integers(100, 200), st.integers(50, 99), st.none() | st.integers(0, 50), st.none() | st.integers(0, 50)),
    stop=st.sampled_from([StopReason.STOP, StopReason.TOOL_USE, StopReason.MAX_TOKENS, StopReason.REFUSAL]),
    thinking=st.lists(st.builds(ThinkingBlock, texts, texts), max_size=2).map(tuple),
)
SDK = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(said: ModelResponse, *, streaming: bool) -> Any:
    """A reply as the API writes it."""
    asked: Any = type("Asked", (), {"json": staticmethod(lambda: {"stream": streaming})})
    return MessagesWire().reply(asked, said)


@SDK
@given(said=replies)
async def test_a_whole_reply_is_what_the_sdk_reads(faults: Faults, said: ModelResponse) -> None:
    data = json.loads(written(said, streaming=False).pieces[0])
    check_reply(data)
    _, got = await exchanged(faults, request(), data)
    assert (got.text, got.tool_calls, got.usage, got.stop) == (said.text, said.tool_calls, said.usage, said.stop)
    assert [(thought.text, thought.signature) for thought in got.thinking] == [(t.text, t.signature) for t in said.thinking]


@SDK
@given(said=replies, size=st.sampled_from([1, 7, 64, None]))
async def test_a_streamed_reply_is_what_the_sdk_reads(faults: Faults, said: ModelResponse, size: int | None) -> None:
    pieces = written(said, streaming=True).pieces
    for data in (json.loads(piece.partition(b"data: ")[2]) for piece in pieces):
        if data["type"] != "ping":  # the SDK passes over them before it types events
            check_event(data)
    _, got = await streamed(faults, b"".join(pieces), size=size)
    faults.plays(*stream(b"".join(pieces), "text/event-stream"))

    def by_the_sdk() -> dict[str, Any]:
        with httpx2.Client(trust_env=False) as http:
            client = Anthropic(base_url=faults.url, api_key="k", http_client=http, max_retries=0)
            asked: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi."}]}
            with client.messages.stream(**asked) as running:
                return running.get_final_message().model_dump(mode="json", exclude_unset=True)

    theirs = await anyio.to_thread.run_sync(by_the_sdk)
    faults.plays(reply(200, theirs))
    ours = await AnthropicModel("m", base_url=faults.url).complete(request())
    assert (ours.text, ours.tool_calls, ours.usage, ours.stop, ours.thinking) == (
        got.text,
        got.tool_calls,
        got.usage,
        got.stop,
        got.thinking,
    )


# --- thinking ---------------------------------------------------------------------------------------------------------------

INTERLEAVED: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "First, ünïcode.", "signature": "sig+/=="},
    {"type": "text", "text": "Let me "},
    {"type": "redacted_thinking", "data": "EmwKAhgB"},
    {"type": "text", "text": "look."},
    {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Rome"}},
    {"type": "thinking", "thinking": "", "signature": "sealed"},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {}},
]


def as_events() -> bytes:
    made = start(input_tokens=5, output_tokens=1)
    for index, content in enumerate(INTERLEAVED):
        if content["type"] == "text":
            made += block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": content["text"]})
        elif content["type"] == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": content["thinking"]}] if content["thinking"] else []
            seal = {"type": "signature_delta", "signature": content["signature"]}
            made += block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, seal)
        elif "input" in content:
            whole = {"type": "input_json_delta", "partial_json": json.dumps(content["input"])}
            made += block(index, {**content, "input": {}}, whole)
        else:
            made += block(index, content)
    return made + end("tool_use")


def back(response: ModelResponse) -> list[Message]:
    """The reply in a history, its calls answered."""
    said = Message("m_2", "assistant", response.text, tool_calls=response.tool_calls, thinking=response.thinking)
    return [user(), said, *(Message(call.id, "tool", "ok", tool_call_id=call.id, tool_name=call.name) for call in response.tool_calls)]


@pytest.mark.parametrize("way", ["complete", "stream"])
async def test_all_blocks_go_back_as_they_came_and_in_their_order(faults: Faults, way: str) -> None:
    if way == "complete":
        _, response = await exchanged(faults, request(), DONE | {"content": INTERLEAVED, "stop_reason": "tool_use"})
    else:
        chunks, response = await streamed(faults, as_events())
        assert chunks == [ThinkingChunk("First, ünïcode."), TextChunk("Let me "), TextChunk("look.")]
    assert response.text == "Let me look."
    assert [call.arguments for call in response.tool_calls] == [{"city": "Rome"}, {}]
    assert [thought.redacted for thought in response.thinking] == [False, True, False, True]
    body = await sent(faults, request(*back(response), tools=(WEATHER,)))
    assert body["messages"][1]["content"] == INTERLEAVED


async def test_a_history_saved_as_json_sends_the_same(faults: Faults) -> None:
    _, response = await exchanged(faults, request(), DONE | {"content": INTERLEAVED, "stop_reason": "tool_use"})
    loaded = History.from_json(History(back(response)).to_json())
    body = await sent(faults, request(*loaded, tools=(WEATHER,)))
    assert body["messages"][1]["content"] == INTERLEAVED


async def test_thinking_of_another_provider_is_left_out_and_that_is_filed(faults: Faults) -> None:
    foreign = ThinkingBlock("Hm.", "seal", provider_meta='{"provider":"bedrock","block":{}}')
    filed: list[Any] = []
    said = Message("m_2", "assistant", "Yes.", thinking=(foreign,))
    body = await sent(faults, request(user(), said, user("And?", id="m_3"), report=filed.append))
    assert (body["messages"][1]["content"], filed) == ([{"type": "text", "text": "Yes."}], []), "no thinking of an earlier turn is needed"
    open_turn = dataclasses.replace(said, tool_calls=(ToolCall("c_1", "weather"),))
    body = await sent(faults, request(user(), open_turn, Message("m_3", "tool", "4", tool_call_id="c_1"), report=filed.append))
    assert body["messages"][1]["content"][:1] == [{"type": "text", "text": "Yes."}]
    assert filed == [ThinkingOmitted("anthropic", "m", 1, 0, "another-provider")]


async def test_thinking_whose_past_changed_is_dropped_by_the_api_and_that_is_filed(faults: Faults) -> None:
    thinking = ThinkingBlock("Hm.", "seal", provider_meta='{"provider":"anthropic","block":{"type":"thinking"}}')
    said = Message("m_2", "assistant", "Yes.", thinking=(thinking,))
    filed: list[Any] = []
    dropped = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
    wish = request(user(), said, user("And?", id="m_3"), report=filed.append)
    received, _ = await exchanged(faults, wish, DONE | {"input_transformations": [dropped]}, name="claude-opus-5-5")
    check_request(received.json(), beta=True)
    assert received.json()["thinking"] == {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert received.headers["anthropic-beta"] == "thinking-binding-controls-2026-08-01"
    assert filed == [ThinkingOmitted("anthropic", "claude-opus-5-5", 1, 0, "prefix_binding_mismatch")]
    body = await sent(faults, wish, "claude-opus-5-5", on_changed_history="error")
    assert "thinking" not in body
    assert "thinking" not in await sent(faults, request(), "claude-opus-5-5")


# --- usage, stops, ids ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        (COUNTS, Usage(10, 2)),
        (
            {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": None, "cache_creation_input_tokens": 0},
            Usage(10, 2, None, 0),
        ),
        ({"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 5}, Usage(115, 2, 100, 5)),
        ({"input_tokens": 10, "output_tokens": 20, "output_tokens_details": {"thinking_tokens": 0}}, Usage(10, 20, thinking=0)),
        ({}, Usage()),
    ],
)
async def test_usage_holds_what_is_reported_and_no_more(faults: Faults, counts: dict[str, Any], usage: Usage) -> None:
    _, response = await exchanged(faults, request(), DONE | {"usage": counts})
    assert response.usage == usage


async def test_the_counts_at_the_end_of_a_stream_hold(faults: Faults) -> None:
    body = start(input_tokens=10, output_tokens=1, cache_read_input_tokens=4) + block(0, {"type": "text", "text": "Hi"})
    chunks, response = await streamed(faults, body + end("end_turn", input_tokens=12, cache_read_input_tokens=None))
    assert response.usage == Usage(16, 7, 4)
    assert chunks == [TextChunk("Hi")], "a block may begin with text"


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("end_turn", StopReason.STOP),
        ("stop_sequence", StopReason.STOP),
        ("tool_use", StopReason.TOOL_USE),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.CONTEXT_WINDOW),
        ("refusal", StopReason.REFUSAL),
        ("pause_turn", StopReason.UNKNOWN),
    ],
)
async def test_stop_reasons(faults: Faults, word: str, stop: StopReason) -> None:
    _, whole = await exchanged(faults, request(), DONE | {"stop_reason": word})
    _, pieces = await streamed(faults, start(input_tokens=1) + end(word))
    assert [(got.stop, got.provider_stop) for got in (whole, pieces)] == [(stop, word)] * 2


async def test_ids_and_the_name_of_the_model_that_answered(faults: Faults) -> None:
    _, response = await streamed(faults, start(input_tokens=1) + end("end_turn"))
    assert (response.response_id, response.model, response.request_id) == ("msg_1", "claude-x", "req_9")


async def test_kinds_of_events_and_deltas_that_are_yet_to_come_are_passed_over(faults: Faults) -> None:
    new = event({"type": "brand_new", "x": 1})
    odd = {"type": "brand_new_delta", "y": 2}
    text = block(0, {"type": "text", "text": ""}, odd, {"type": "text_delta", "text": "Hi"}, {"type": "citations_delta", "citation": {}})
    _, response = await streamed(faults, start(input_tokens=1) + new + text + end("end_turn"))
    assert response.text == "Hi"


@pytest.mark.parametrize(
    "piece",
    [
        event({"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "x"}}),
        event({"type": "content_block_start", "index": 0, "content_block": {}}),
        event({"type": "content_block_delta", "index": 0}),
        b"data: []\n\n",
        b"data: null\n\n",
        b"data: {\n\n",
        b'event: message_start\ndata: {"type": "message_start"}\n\n',
    ],
)
async def test_malformed_events_are_protocol_errors_that_know_the_usage(faults: Faults, piece: bytes) -> None:
    with pytest.raises(ProviderProtocolError) as caught:
        await streamed(faults, start(input_tokens=10, output_tokens=1) + piece)
    error = caught.value
    assert (error.provider, error.model, error.request_id, error.usage) == ("anthropic", "m", "req_9", Usage(10, 1))


@pytest.mark.parametrize("data", [{}, {"content": [{}]}, {"content": [{"type": "text"}]}, {"content": None}])
async def test_malformed_replies_are_protocol_errors(faults: Faults, data: Any) -> None:
    with pytest.raises(ProviderProtocolError, match="sent a reply that is no message"):
        await exchanged(faults, request(), data)


# --- an agent ---------------------------------------------------------------------------------------------------------------


async def test_an_agent_calls_its_tools_and_thinking_goes_along(faults: Faults, allow_any_model: None) -> None:
    def get_weather(city: str = "") -> str:
        """The weather."""
        return f"sunny in {city}"

    faults.plays(*stream(as_events(), "text/event-stream"))
    faults.plays(*stream(start(input_tokens=20) + block(0, {"type": "text", "text": "Sunny."}) + end("end_turn"), "text/event-stream"))
    result = await Agent(AnthropicModel("claude-haiku-4-5", base_url=faults.url), tools=[get_weather]).run("Weather?")
    assert result.text == "Sunny."
    second = faults.requests[1].json()
    check_request(second)
    assert second["messages"][1]["content"] == INTERLEAVED
    assert [block["content"] for block in second["messages"][2]["content"]] == ["sunny in Rome", "sunny in "]
    assert result.usage.input == 25
    assert result.cost_usd is not None
