"""What is received over the Responses interface, and how it goes back to the provider as it came."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from agentfp.model import Message, ModelRequest, ProviderProtocolError, StopReason, Usage
from tests.providers.faults import Faults, reply
from tests.providers.openai.replying import PARIS, answered, complete, events, stream_of
from tests.providers.openai.samples import (
    called,
    check,
    own_model,
    responses_reply,
    result,
    said,
    thought,
    user,
)

pytestmark = pytest.mark.anyio


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
