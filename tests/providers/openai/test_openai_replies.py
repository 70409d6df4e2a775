"""What is received: replies and streams of the official SDK's types, read, and what goes back to the provider in the next request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from agentfp.model import Message, ModelRequest, ModelResponse, ModelSettings, ProviderProtocolError, StopReason, TextChunk, ToolCall, Usage
from tests.providers.faults import STALL, Faults, reply, sse, stream
from tests.providers.openai.samples import (
    CHAT_USAGE,
    HELLO,
    WEATHER,
    called,
    chat_chunk,
    chat_reply,
    check,
    model_at,
    own_model,
    responses_reply,
    result,
    said,
    streamed,
    thought,
    user,
)

pytestmark = pytest.mark.anyio
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


# --- odd servers ----------------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"choices": "x"},
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


async def test_content_in_parts(faults: Faults) -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi."}]
    assert (await complete(faults, "chat", chat_reply(parts))).text == "Hi."  # type: ignore[arg-type]


# --- thinking goes back ---------------------------------------------------------------------------------------------------------


def answered(got: ModelResponse, *results: Message) -> ModelRequest:
    """The next request of a conversation."""
    message = Message("a", "assistant", got.text, 1, "model", tool_calls=got.tool_calls, thinking=got.thinking)
    restored = Message(**{f: getattr(message, f) for f in message.__slots__})
    return ModelRequest(system="", messages=(user("?"), restored, *results), tools=(WEATHER,))


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


# --- responses ------------------------------------------------------------------------------------------------------------------


async def test_a_whole_reply_over_responses(faults: Faults) -> None:
    got = await complete(
        faults, "responses", responses_reply(thought("rs_1", "Hm.", "So."), said("Look."), called("c1", "get_weather", PARIS))
    )
    assert got.text == "Look."
    assert [(call.id, call.name, call.arguments_json) for call in got.tool_calls] == [("c1", "get_weather", '{"city":"Paris"}')]
    assert got.thinking[0].text == "Hm.\n\nSo."
    assert got.usage == Usage(20, 7, 16, 2, 3)
    assert (got.stop, got.provider_stop) == (StopReason.TOOL_USE, "completed")
    assert (got.response_id, got.model, got.request_id) == ("resp_1", "m-2026", "req_1")


@pytest.mark.parametrize("size", [None, 1, 5, 17, 1000])
async def test_a_stream_over_responses_says_what_the_whole_reply_says(faults: Faults, size: int | None) -> None:
    items = (
        thought("rs_1", "Hm.", "So."),
        said("Look ☀", "msg_1", phase="commentary"),
        called("c1", "get_weather", PARIS),
        said("Well.", "msg_2"),
    )
    text, thinking, got = await stream_of(faults, "responses", *events(*items), size=size)
    assert (text, thinking) == ("Look ☀\n\nWell.", "Hm.\n\nSo.")
    assert got == await complete(faults, "responses", responses_reply(*items))


async def test_a_stream_whose_end_says_little(faults: Faults) -> None:
    """The items are taken from their own events then; and text that no piece said is shown at the end."""
    items = (said("Look."), called("c1", "get_weather", PARIS))
    few = {"type": "response.completed", "response": {"id": "resp_1", "usage": {"input_tokens": 3, "output_tokens": 1}}}
    some = [event for name, event in events(*items) if name == "response.output_item.done"]
    text, _, got = await stream_of(faults, "responses", *some, few)
    assert (text, got.text, len(got.tool_calls), got.usage) == ("Look.", "Look.", 1, Usage(3, 1))


@pytest.mark.parametrize(
    ("output", "more", "stop", "word"),
    [
        ([said("x")], {}, StopReason.STOP, "completed"),
        ([said("x") | {"content": [{"type": "refusal", "refusal": "No."}]}], {}, StopReason.REFUSAL, "completed"),
        (
            [said("x")],
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            StopReason.CONTENT_FILTER,
            "content_filter",
        ),
        (
            [said("x")],
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            StopReason.MAX_TOKENS,
            "max_output_tokens",
        ),
        ([said("x")], {"status": "incomplete", "incomplete_details": None}, StopReason.UNKNOWN, "incomplete"),
        ([], {}, StopReason.STOP, "completed"),
    ],
)
async def test_stops_over_responses(faults: Faults, output: list[Any], more: dict[str, Any], stop: StopReason, word: str) -> None:
    got = await complete(faults, "responses", responses_reply(*output, **more))
    assert (got.stop, got.provider_stop) == (stop, word)


async def test_a_refusal_is_streamed_too(faults: Faults) -> None:
    item = said("x") | {"content": [{"type": "refusal", "refusal": "I will not."}]}
    delta = {"type": "response.refusal.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "I will not."}
    end = {"type": "response.completed", "response": responses_reply(item)}
    text, _, got = await stream_of(faults, "responses", delta, end)
    assert (text, got.text, got.stop) == ("I will not.", "I will not.", StopReason.REFUSAL)


@pytest.mark.parametrize(
    "items",
    [
        [thought("rs_1"), called("c1", "get_weather", '{"city":"Paris"}')],
        [thought("rs_1", "Hm."), said("Look."), called("c1", "get_weather", '{"city":"Paris"}')],
        [
            thought("rs_1"),
            said("First.", "msg_1", phase="commentary"),
            called("c1", "get_weather", '{"city":"Paris"}', "fc_1"),
            thought("rs_2"),
            called("c2", "get_weather", '{"city":"Rome"}', "fc_2"),
            said("Then.", "msg_2", phase="commentary"),
        ],
        [said("Hi.", phase="final_answer")],
        [{"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}, said("Found.")],
        [called("c1", "get_weather", '{"city":"Paris"}'), said("After.")],
        [thought("rs_1"), said("", "msg_0"), said("One.", "msg_1"), said("Two.", "msg_2")],
    ],
)
async def test_the_items_of_a_reply_go_back_as_they_came(faults: Faults, items: list[dict[str, Any]]) -> None:
    check(Response, responses_reply(*items))
    got = await complete(faults, "responses", responses_reply(*items))
    results = [result(call.id, "sunny") for call in got.tool_calls]
    faults.plays(reply(200, responses_reply(said("Done."))))
    await own_model(faults.url, "responses", "gpt-6.2-sol").complete(answered(got, *results))
    body = faults.requests[-1].json()
    check(ResponseCreateParamsNonStreaming, body)
    back = body["input"][1 : len(body["input"]) - len(results)]
    assert back == [item for item in items if item.get("content") != said("")["content"]]


async def test_what_is_null_in_a_reply_is_left_out_of_the_request(faults: Faults) -> None:
    item = {**thought("rs_1"), "status": None, "content": None}
    got = await complete(faults, "responses", responses_reply(item, said("Hi.")))
    faults.plays(reply(200, responses_reply(said("Done."))))
    await own_model(faults.url, "responses", "gpt-6.2-sol").complete(answered(got))
    body = faults.requests[-1].json()
    check(ResponseCreateParamsNonStreaming, body)
    assert body["input"][1] == thought("rs_1")


async def test_text_that_was_changed_since_goes_back_as_one_message(faults: Faults) -> None:
    items = (thought("rs_1"), said("One.", "msg_1"), said("Two.", "msg_2"))
    got = await complete(faults, "responses", responses_reply(*items))
    request = ModelRequest(system="", messages=(user("?"), Message("a", "assistant", "Changed.", thinking=got.thinking)))
    await complete(faults, "responses", responses_reply(said("x")), request)
    back = faults.requests[-1].json()["input"][1:]
    assert [item["type"] for item in back] == ["reasoning", "message"]
    assert back[1]["content"][0]["text"] == "Changed."


@pytest.mark.parametrize(
    "data",
    [
        [],
        responses_reply() | {"output": {}},
        responses_reply({"kind": "x"}),
        responses_reply(called("c1", "f", "{}") | {"name": None}),
        responses_reply(status="queued"),
    ],
)
async def test_what_is_no_reply_over_responses(faults: Faults, data: Any) -> None:
    with pytest.raises(ProviderProtocolError) as caught:
        await complete(faults, "responses", data)
    assert (caught.value.provider, caught.value.model, caught.value.request_id) == ("openai", "m", "req_1")
    if isinstance(data, dict):
        assert caught.value.usage == Usage(20, 7, 16, 2, 3)


async def test_a_tool_loop_of_chat_bodies_is_of_the_sdks_type(faults: Faults) -> None:
    got = await complete(faults, "chat", chat_reply(None, finish="tool_calls", tool_calls=[wire("c1", PARIS)]))
    await complete(faults, "chat", chat_reply(), answered(got, result("c1", "sunny")))
    check(CompletionCreateParamsNonStreaming, faults.requests[-1].json())
