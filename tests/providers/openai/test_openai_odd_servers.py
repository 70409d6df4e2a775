"""Streams of Chat Completions as compatible servers send them: calls in whatever pieces, usage wherever, characters cut in two."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp.model import (
    Message,
    ModelError,
    ModelOverloadedError,
    ModelRequest,
    ProviderProtocolError,
    StopReason,
    TextChunk,
    ThinkingBlock,
    ToolCall,
    Usage,
)
from agentfp_openai.chat_reply import ChatReply
from agentfp_openai.chat_request import chat_body
from agentfp_openai.families import Family
from agentfp_openai.responses_reply import ResponsesReply
from agentfp_openai.responses_request import responses_body
from agentfp_openai.server import Server
from tests.providers.faults import STALL, Faults, sse, stream
from tests.providers.openai.replying import PARIS, ROME, complete, stream_of
from tests.providers.openai.samples import (
    CHAT_USAGE,
    HELLO,
    assistant,
    chat_chunk,
    chat_reply,
    model_at,
    responses_reply,
    said,
    streamed,
    user,
)

pytestmark = pytest.mark.anyio


def piece(**more: Any) -> dict[str, Any]:
    return chat_chunk({"tool_calls": [more]})


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            [
                piece(id="c1", function={"name": "get_weather", "arguments": PARIS}),
                piece(id="c2", function={"name": "get_weather", "arguments": ROME}),
            ],
            id="no index",
        ),
        pytest.param(
            [
                piece(index=0, id="c1", function={"name": "get_weather", "arguments": PARIS}),
                piece(index=0, id="c2", function={"name": "get_weather", "arguments": ROME}),
            ],
            id="one index for all",
        ),
        pytest.param(
            [
                piece(index=0, id="c1", function={"name": "get_weather"}),
                piece(index=0, id="c1", function={"name": "get_weather", "arguments": PARIS}),
                piece(index=1, id="c2", function={"name": "get_weather", "arguments": ROME[:5]}),
                piece(index=1, id="c2", function={"name": "get_weather", "arguments": ROME[5:]}),
            ],
            id="id and name repeated",
        ),
        pytest.param(
            [
                piece(id="c1", function={"name": "get_weather", "arguments": PARIS[:4]}),
                piece(function={"arguments": PARIS[4:]}),
                piece(id="c2", function={"name": "get_weather", "arguments": json.loads(ROME)}),
            ],
            id="arguments as an object",
        ),
        pytest.param(
            [
                piece(index=0, function={"name": "get_", "arguments": PARIS}, id="c1"),
                piece(index=0, function={"name": "weather"}),
                piece(index=1, function={"name": "get_weather", "arguments": ROME}, id="c2"),
            ],
            id="a name in pieces",
        ),
        pytest.param(
            [
                piece(index=0, id="c1", function={"name": "get_weather", "arguments": PARIS[:4]}),
                piece(index=1, id="c2", function={"name": "get_weather", "arguments": ROME[:4]}),
                piece(id="c1", function={"arguments": PARIS[4:]}),
                piece(id="c2", function={"arguments": ROME[4:]}),
            ],
            id="index only at first",
        ),
    ],
)
async def test_calls_in_whatever_pieces(faults: Faults, pieces: list[Any]) -> None:
    _, _, got = await stream_of(faults, "chat", *pieces, chat_chunk({}, finish="stop"), "[DONE]")
    assert [(c.id, c.name, c.arguments["city"]) for c in got.tool_calls] == [("c1", "get_weather", "Paris"), ("c2", "get_weather", "Rome")]
    assert got.stop is StopReason.TOOL_USE


async def test_calls_without_ids_and_arguments(faults: Faults) -> None:
    pieces = [piece(index=0, function={"name": "now"}), piece(index=1, function={"name": "now", "arguments": "{bad"})]
    _, _, got = await stream_of(faults, "chat", *pieces, chat_chunk({}, finish="tool_calls"), "[DONE]")
    assert got.tool_calls == (ToolCall("", "now", "{}"), ToolCall("", "now", "{bad"))


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param([chat_chunk({}, finish="stop", usage=CHAT_USAGE), "[DONE]"], id="usage in the last choice"),
        pytest.param([chat_chunk({}, finish="stop"), chat_chunk(usage=CHAT_USAGE)], id="no DONE"),
        pytest.param([chat_chunk({}, finish="stop", x_groq={"usage": CHAT_USAGE}), "[DONE]"], id="Groq"),
        pytest.param(
            [chat_chunk({"content": ""}, finish="stop", usage={"prompt_tokens": 1}), chat_chunk(usage=CHAT_USAGE), "[DONE]"],
            id="usage twice",
        ),
        pytest.param(
            [{"choices": [], "prompt_filter_results": []}, chat_chunk({}, finish="stop"), chat_chunk(usage=CHAT_USAGE), "[DONE]"],
            id="Azure",
        ),
    ],
)
async def test_usage_wherever_it_stands(faults: Faults, tail: list[Any]) -> None:
    text, _, got = await stream_of(faults, "chat", chat_chunk({"content": "Hi."}), *tail)
    assert (text, got.text, got.stop) == ("Hi.", "Hi.", StopReason.STOP)
    assert got.usage == Usage(20, 7, 16, None, 3)


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_character_that_is_cut_in_two_comes_out_whole(faults: Faults, api: str) -> None:
    first, second = "a\ud83d", "\udc4bb"
    if api == "chat":
        events_sent: list[Any] = [
            chat_chunk({"content": first, "reasoning": first}),
            chat_chunk({"content": second, "reasoning": second}, finish="stop"),
            "[DONE]",
        ]
    else:
        delta = {"type": "response.output_text.delta", "item_id": "msg_1"}
        end = {"type": "response.completed", "response": responses_reply(said("a👋b"))}
        events_sent = [delta | {"delta": first}, delta | {"delta": second}, end]
    text, _, got = await stream_of(faults, api, *events_sent)
    assert (text, got.text) == ("a👋b", "a👋b")
    assert [block.text for block in got.thinking] == (["a👋b"] if api == "chat" else [])


async def test_a_stream_without_usage_and_with_comments(faults: Faults) -> None:
    body = b": OPENROUTER PROCESSING\n\n" + sse(chat_chunk({"content": "Hi."}), chat_chunk({}, finish="eos"), chat_chunk(), "[DONE]")
    faults.plays(*stream(body, "text/event-stream"))
    _, _, got = await streamed(model_at(faults.url, "chat"), HELLO)
    assert (got.text, got.stop, got.usage) == ("Hi.", StopReason.STOP, Usage())


async def test_choices_that_nobody_asked_for_are_left_out(faults: Faults) -> None:
    other = chat_chunk({"content": "other"})
    other["choices"][0]["index"] = 1
    text, _, _ = await stream_of(faults, "chat", chat_chunk({"content": "Hi."}), other, chat_chunk({}, finish="stop"), "[DONE]")
    assert text == "Hi."


async def test_a_server_that_keeps_the_connection_open_after_the_end(faults: Faults) -> None:
    faults.plays(*stream(sse(chat_chunk({"content": "Hi."}, finish="stop"), "[DONE]"), "text/event-stream", whole=False), STALL)
    assert (await streamed(model_at(faults.url, "chat"), HELLO))[0] == "Hi."
    assert faults.hung_up.wait(5)


async def test_a_connection_serves_the_next_call_too(faults: Faults) -> None:
    model = model_at(faults.url, "chat")
    for _ in range(3):
        faults.plays(*stream(sse(chat_chunk({"content": "Hi."}, finish="stop"), "[DONE]"), "text/event-stream", keep=True))
        assert (await streamed(model, HELLO))[0] == "Hi."
    assert faults.connections == 1


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"choices": "x"},
        {"choices": []},
        [],
        chat_reply(tool_calls={"id": "c1"}),
        chat_reply(tool_calls=["c1"]),
        chat_reply(tool_calls=[{"function": "f"}]),
        chat_reply(content=5),  # type: ignore[arg-type]
    ],
)
async def test_what_is_no_reply_over_chat(faults: Faults, data: Any) -> None:
    with pytest.raises(ProviderProtocolError) as caught:
        await complete(faults, "chat", data)
    assert (caught.value.provider, caught.value.model, caught.value.request_id) == ("openai", "m", "req_1")
    if isinstance(data, dict) and data.get("usage"):
        assert caught.value.usage == Usage(20, 7, 16, None, 3)


@pytest.mark.parametrize("data", [{}, {"choices": []}, {"output": None}, {"output": {}}, {"id": "r", "status": "completed"}])
async def test_what_is_no_reply_over_responses(faults: Faults, data: Any) -> None:
    with pytest.raises(ProviderProtocolError):
        await complete(faults, "responses", data)


async def test_an_error_in_place_of_a_reply_over_responses(faults: Faults) -> None:
    with pytest.raises(ModelOverloadedError):
        await complete(faults, "responses", {"error": {"code": "server_error", "message": "down"}})


async def test_a_stream_without_any_choice_is_no_empty_answer(faults: Faults) -> None:
    with pytest.raises(ProviderProtocolError, match="without choices") as caught:
        await stream_of(faults, "chat", {"choices": []}, chat_chunk(usage=CHAT_USAGE), "[DONE]")
    assert caught.value.usage == Usage(20, 7, 16, None, 3), "its tokens were spent"


async def test_fields_of_a_server_go_back_to_that_server_alone(faults: Faults) -> None:
    called = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}, "extra_content": {"seal": "s"}}
    response = await complete(faults, "chat", chat_reply(reasoning="Hm.", tool_calls=[called]))
    said_so = Message("m_2", "assistant", response.text, tool_calls=response.tool_calls, thinking=response.thinking)
    request = ModelRequest(system="", messages=(user("Go"), said_so, Message("m_3", "tool", "4", tool_call_id="c1")))
    own, other = (
        chat_body("m", request, server=Server(url, "compatible"), family=Family(), effort=None, streaming=False)["messages"][1]
        for url in (faults.url, "https://api.groq.com/openai/v1")
    )
    assert (own["reasoning"], own["tool_calls"]) == ("Hm.", [called])
    assert not {"reasoning", "extra_content"} & {*other, *other["tool_calls"][0]}


async def test_content_in_parts(faults: Faults) -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi."}]
    assert (await complete(faults, "chat", chat_reply(parts))).text == "Hi."  # type: ignore[arg-type]


WORDS = [
    "arguments",
    "annotations",
    "choices",
    "code",
    "completion_tokens",
    "content",
    "delta",
    "encrypted_content",
    "error",
    "finish_reason",
    "function",
    "id",
    "incomplete_details",
    "index",
    "item",
    "item_id",
    "message",
    "name",
    "object",
    "output",
    "output_index",
    "phase",
    "prompt_tokens",
    "reason",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "refusal",
    "response",
    "status",
    "summary",
    "text",
    "tool_calls",
    "type",
    "usage",
]
KINDS = [
    "error",
    "function_call",
    "message",
    "output_text",
    "reasoning",
    "refusal",
    "response.completed",
    "response.output_item.done",
    "response.output_text.delta",
]
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-1, 2)
    | st.text(max_size=2)
    | st.sampled_from([*KINDS, "\ud83d", "completed", "failed", "stop"])
)
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5), max_leaves=20
)


@given(st.lists(anything, max_size=4))
def test_whatever_a_server_sends_is_a_reply_or_a_typed_error(sent: list[Any]) -> None:
    for reply in (ChatReply(), ResponsesReply()):
        shown = ""
        try:
            for data in sent:
                for chunk in reply.add(data):
                    shown += chunk.text if isinstance(chunk, TextChunk) else ""
            if isinstance(reply, ChatReply):
                shown += "".join(chunk.text for chunk in reply.finished())
            got = reply.response(HELLO, 10, None)
        except ModelError:
            continue
        assert shown == got.text or not shown
        back = ModelRequest(system="", messages=(assistant(got.text, *got.tool_calls, thinking=got.thinking),))
        json.dumps(chat_body("m", back, server=Server("http://x/v1", "compatible"), family=Family(), effort=None, streaming=False))
        json.dumps(responses_body("m", back, kind="openai", family=Family(), effort=None, summary=None, streaming=False))


@pytest.mark.parametrize("meta", ["[]", "5", "no JSON", '{"openai.chat": 5, "openai.responses": []}', '{"other": {}}'])
async def test_notes_of_another_provider_are_left_alone(faults: Faults, meta: str) -> None:
    message = assistant("x", ToolCall("c1", "now", "{}", meta), thinking=(ThinkingBlock("hm", provider_meta=meta),))
    request = ModelRequest(system="", messages=(user("?"), message))
    await complete(faults, "chat", chat_reply(), request)
    await complete(faults, "responses", responses_reply(said("x")), request)
