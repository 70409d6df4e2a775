"""What is made of Converse's replies, whole and streamed, beside what Amazon's own client makes of the same bytes."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
from typing import Any

import anyio.to_thread
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentfp import Agent
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
from tests.providers.bedrock.converse_oracle import client
from tests.providers.bedrock.converse_wire import STREAM, ConverseWire, event
from tests.providers.bedrock.conversing import DONE, NAME, exchanged, model, request, sent, user
from tests.providers.faults import Faults, reply, stream

pytestmark = pytest.mark.anyio
WEATHER = ToolSpec("get_weather", "", '{"properties":{},"type":"object"}')
COUNTS = {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}
END = event("messageStop", {"stopReason": "end_turn"}) + event("metadata", {"usage": COUNTS, "metrics": {"latencyMs": 1}})


async def streamed(faults: Faults, body: bytes, *, size: int | None = None) -> tuple[list[ModelChunk], ModelResponse]:
    """The chunks that a stream gives, and the whole reply at its end."""
    faults.plays(*stream(body, STREAM, size=size, x_amzn_requestid="req-9"))
    chunks = [chunk async for chunk in model(faults).stream(request())]
    last = chunks.pop()
    assert isinstance(last, ModelResponse)
    return chunks, last


# --- beside Amazon's client -------------------------------------------------------------------------------------------------

texts = st.text(max_size=20)
arguments = st.dictionaries(texts, texts | st.integers(-5, 5) | st.none() | st.lists(texts, max_size=2), max_size=3)
replies = st.builds(
    ModelResponse,
    text=texts,
    tool_calls=st.lists(arguments, max_size=3).map(
        lambda made: tuple(ToolCall.make("get_weather", one, id=f"t_{n}") for n, one in enumerate(made))
    ),
    usage=st.builds(Usage, st.integers(100, 200), st.integers(50, 99), st.none() | st.integers(0, 50), st.none() | st.integers(0, 50)),
    stop=st.sampled_from([StopReason.STOP, StopReason.TOOL_USE, StopReason.MAX_TOKENS, StopReason.CONTENT_FILTER]),
    thinking=st.lists(st.builds(ThinkingBlock, texts, texts), max_size=2).map(tuple),
)


def written(said: ModelResponse, way: str) -> Any:
    """A reply as the API writes it."""
    asked: Any = type("Asked", (), {"path": way})
    return ConverseWire().reply(asked, said)


def by_amazon(url: str, way: str) -> Any:
    """What Amazon's client reads, as a whole reply."""
    with contextlib.closing(client(url)) as theirs:
        asked = {"modelId": NAME, "messages": [{"role": "user", "content": [{"text": "Hi."}]}]}
        if way == "converse":
            return theirs.converse(**asked)
        blocks: dict[int, dict[str, Any]] = {}
        whole: dict[str, Any] = {}
        for item in theirs.converse_stream(**asked)["stream"]:
            if "contentBlockStart" in item:
                blocks[item["contentBlockStart"]["contentBlockIndex"]] = {
                    "toolUse": item["contentBlockStart"]["start"]["toolUse"] | {"input": ""}
                }
            elif "contentBlockDelta" in item:
                _join(blocks.setdefault(item["contentBlockDelta"]["contentBlockIndex"], {}), item["contentBlockDelta"]["delta"])
            else:
                whole |= item.get("messageStop", {}) | item.get("metadata", {})
        for block in blocks.values():
            if "toolUse" in block:
                block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
        return whole | {"output": {"message": {"content": [blocks[index] for index in sorted(blocks)]}}}


def _join(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    else:
        inner = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {"text": ""})
        for name, value in delta["reasoningContent"].items():
            inner[name] = inner.get(name, "") + value


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=replies, way=st.sampled_from(["converse", "converse-stream"]), size=st.sampled_from([1, 7, 64, None]))
async def test_a_reply_is_what_amazons_client_reads(faults: Faults, said: ModelResponse, way: str, size: int | None) -> None:
    wire = written(said, way)
    body = b"".join(wire.pieces)
    if way == "converse":
        faults.plays(reply(200, body))
        got = await model(faults).complete(request())
    else:
        _, got = await streamed(faults, body, size=size)
    faults.plays(*([reply(200, body)] if way == "converse" else stream(body, STREAM)))
    theirs = await anyio.to_thread.run_sync(by_amazon, faults.url, way)
    faults.plays(reply(200, {key: value for key, value in theirs.items() if key != "ResponseMetadata"}))
    again = await model(faults).complete(request())
    for name in ("text", "tool_calls", "usage", "stop", "thinking"):
        assert getattr(got, name) == getattr(again, name)
    assert (got.text, got.tool_calls, got.usage, got.stop) == (said.text, said.tool_calls, said.usage, said.stop)


# --- thinking ---------------------------------------------------------------------------------------------------------------

OPAQUE = base64.b64encode(b"\x00opaque\xff").decode()
INTERLEAVED: list[dict[str, Any]] = [
    {"reasoningContent": {"reasoningText": {"text": "First, ünïcode.", "signature": "sig+/=="}}},
    {"text": "Let me "},
    {"reasoningContent": {"redactedContent": OPAQUE}},
    {"text": "look."},
    {"toolUse": {"toolUseId": "t1", "name": "get_weather", "input": {"city": "Rome"}}},
    {"reasoningContent": {"reasoningText": {"text": "", "signature": "sealed"}}},
    {"toolUse": {"toolUseId": "t2", "name": "get_weather", "input": {}}},
]


def as_frames() -> bytes:
    made = event("messageStart", {"role": "assistant"})
    for index, block in enumerate(INTERLEAVED):
        deltas: list[Any]
        if "toolUse" in block:
            use = block["toolUse"]
            start = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
            made += event("contentBlockStart", {"contentBlockIndex": index, "start": start})
            deltas = [{"toolUse": {"input": json.dumps(use["input"])}}]
        elif "text" in block:
            deltas = [block]
        else:
            inner = block["reasoningContent"]
            deltas = [{"reasoningContent": {name: value}} for name, value in inner.get("reasoningText", inner).items()]
        made += b"".join(event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta}) for delta in deltas)
        made += event("contentBlockStop", {"contentBlockIndex": index})
    return made + END


@pytest.mark.parametrize("way", ["complete", "stream"])
async def test_all_blocks_go_back_as_they_came_and_in_their_order(faults: Faults, way: str) -> None:
    if way == "complete":
        answer = DONE | {"output": {"message": {"role": "assistant", "content": INTERLEAVED}}, "stopReason": "tool_use"}
        _, response = await exchanged(faults, request(), answer)
    else:
        chunks, response = await streamed(faults, as_frames())
        assert chunks == [ThinkingChunk("First, ünïcode."), TextChunk("Let me "), TextChunk("look.")]
    assert [thought.redacted for thought in response.thinking] == [False, True, False]
    said = Message("m_2", "assistant", response.text, tool_calls=response.tool_calls, thinking=response.thinking)
    results = [Message(c.id, "tool", "ok", tool_call_id=c.id, tool_name=c.name) for c in response.tool_calls]
    body = await sent(faults, request(user(), said, *results, tools=(WEATHER,)))
    assert body["messages"][1]["content"] == INTERLEAVED


async def test_thinking_of_another_provider_is_left_out_and_that_is_filed(faults: Faults) -> None:
    foreign = ThinkingBlock("Hm.", "seal", provider_meta='{"provider":"anthropic","block":{"type":"thinking"}}')
    filed: list[Any] = []
    said = Message("m_2", "assistant", "Yes.", thinking=(foreign,))
    body = await sent(faults, request(user(), said, user("And?", id="m_3"), report=filed.append))
    assert (body["messages"][1]["content"], filed) == ([{"text": "Yes."}], []), "no thinking of an earlier turn is needed"
    open_turn = dataclasses.replace(said, tool_calls=(ToolCall("c_1", "weather"),))
    body = await sent(faults, request(user(), open_turn, Message("m_3", "tool", "4", tool_call_id="c_1"), report=filed.append))
    assert body["messages"][1]["content"][:1] == [{"text": "Yes."}]
    assert filed == [ThinkingOmitted("bedrock", NAME, 1, 0, "another-provider")]


# --- usage, stops, ids ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        (COUNTS, Usage(10, 2)),
        (COUNTS | {"cacheReadInputTokens": 0}, Usage(10, 2, 0)),
        (COUNTS | {"cacheReadInputTokens": 100, "cacheWriteInputTokens": 5}, Usage(115, 2, 100, 5)),
        ({}, Usage()),
    ],
)
async def test_usage_holds_what_is_reported_and_no_more(faults: Faults, counts: dict[str, Any], usage: Usage) -> None:
    _, response = await exchanged(faults, request(), DONE | {"usage": counts})
    assert response.usage == usage


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("end_turn", StopReason.STOP),
        ("stop_sequence", StopReason.STOP),
        ("tool_use", StopReason.TOOL_USE),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.CONTEXT_WINDOW),
        ("guardrail_intervened", StopReason.CONTENT_FILTER),
        ("content_filtered", StopReason.CONTENT_FILTER),
        ("malformed_tool_use", StopReason.UNKNOWN),
    ],
)
async def test_stop_reasons(faults: Faults, word: str, stop: StopReason) -> None:
    _, whole = await exchanged(faults, request(), DONE | {"stopReason": word})
    _, pieces = await streamed(faults, event("messageStop", {"stopReason": word}) + event("metadata", {"usage": COUNTS}))
    assert [(got.stop, got.provider_stop) for got in (whole, pieces)] == [(stop, word)] * 2
    assert (whole.request_id, pieces.request_id) == ("req-7", "req-9")


async def test_a_router_says_which_model_answered(faults: Faults) -> None:
    _, response = await exchanged(faults, request(), DONE | {"trace": {"promptRouter": {"invokedModelId": "amazon.nova-lite"}}})
    assert response.model == "amazon.nova-lite"


async def test_text_with_citations_is_text(faults: Faults) -> None:
    cited = {"citationsContent": {"content": [{"text": "It is so."}], "citations": []}}
    _, response = await exchanged(faults, request(), DONE | {"output": {"message": {"content": [cited]}}})
    assert (response.text, response.thinking) == ("It is so.", ())


async def test_kinds_of_events_and_deltas_that_are_yet_to_come_are_passed_over(faults: Faults) -> None:
    body = event("brandNew", {"x": 1}) + event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"brandNew": 1}})
    _, response = await streamed(faults, body + event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hi"}}) + END)
    assert response.text == "Hi"


@pytest.mark.parametrize(
    "piece",
    [
        event("contentBlockDelta", {"contentBlockIndex": 3, "delta": {"toolUse": {"input": "{}"}}}),
        event("contentBlockDelta", {"contentBlockIndex": 0}),
        event("messageStop", {}),
        event("metadata", []),  # type: ignore[arg-type]
        event("contentBlockStart", {"start": {"toolUse": {}}}),
    ],
)
async def test_malformed_events_are_protocol_errors(faults: Faults, piece: bytes) -> None:
    usage = event("metadata", {"usage": COUNTS})
    with pytest.raises(ProviderProtocolError) as caught:
        await streamed(faults, usage + piece)
    error = caught.value
    assert (error.provider, error.model, error.request_id, error.usage) == ("bedrock", NAME, "req-9", Usage(10, 2))


@pytest.mark.parametrize("data", [{}, {"output": {}}, {"output": {"message": {"content": [{"toolUse": {}}]}}}])
async def test_malformed_replies_are_protocol_errors(faults: Faults, data: Any) -> None:
    with pytest.raises(ProviderProtocolError, match="sent a reply that is none of Converse"):
        await exchanged(faults, request(), data)


# --- an agent ---------------------------------------------------------------------------------------------------------------


async def test_an_agent_calls_its_tools_and_thinking_goes_along(faults: Faults, allow_any_model: None) -> None:
    def get_weather(city: str = "") -> str:
        """The weather."""
        return f"sunny in {city}"

    faults.plays(*stream(as_frames(), STREAM))
    faults.plays(*stream(event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Sunny."}}) + END, STREAM))
    result = await Agent(model(faults, "anthropic.claude-haiku-4-5"), tools=[get_weather]).run("Weather?")
    assert result.text == "Sunny."
    second = faults.requests[1].json()
    assert second["messages"][1]["content"] == INTERLEAVED
    assert [block["toolResult"]["content"] for block in second["messages"][2]["content"]] == [
        [{"text": "sunny in Rome"}],
        [{"text": "sunny in "}],
    ]
    assert result.usage.input == 20
    assert result.cost_usd is not None
