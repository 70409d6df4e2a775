"""What is sent, held against the request types of the official SDK with unknown keys forbidden."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming

from agentfp.events import ThinkingOmitted
from agentfp.model import DocumentPart, ImagePart, ModelFeatureError, ModelRequest, ModelSettings, ThinkingBlock, ToolCall
from agentfp_openai.chat_request import chat_body
from agentfp_openai.families import Family
from agentfp_openai.responses_request import responses_body
from agentfp_openai.server import Server
from tests.providers.faults import Faults, reply, sse, stream
from tests.providers.openai.samples import (
    ANSWER,
    HELLO,
    LOOSE,
    PIXEL,
    REQUESTS,
    WEATHER,
    assistant,
    chat_chunk,
    chat_reply,
    check,
    model_at,
    own_model,
    responses_reply,
    result,
    said,
    streamed,
    user,
)

pytestmark = pytest.mark.anyio
CHAT = {False: CompletionCreateParamsNonStreaming, True: CompletionCreateParamsStreaming}
RESPONSES = {False: ResponseCreateParamsNonStreaming, True: ResponseCreateParamsStreaming}


async def sent(faults: Faults, model: Any, request: ModelRequest, *, streaming: bool = False) -> dict[str, Any]:
    """The body that a model sends for a request."""
    chat = type(model).__name__ == "ChatModel"
    if streaming:
        events = sse(chat_chunk({"content": "x"}, finish="stop"), "[DONE]") if chat else sse(done(said("x")))
        faults.plays(*stream(events, "text/event-stream"))
        await streamed(model, request)
    else:
        faults.plays(reply(200, chat_reply() if chat else responses_reply(said("x"))))
        await model.complete(request)
    body: dict[str, Any] = faults.requests[-1].json()
    return body


def done(*output: Any) -> dict[str, Any]:
    return {"type": "response.completed", "sequence_number": 9, "response": responses_reply(*output)}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("name", REQUESTS)
async def test_chat_bodies_are_of_the_sdks_type(faults: Faults, name: str, streaming: bool) -> None:
    for model in (model_at(faults.url, "chat"), own_model(faults.url, "chat", "gpt-4.1")):
        check(CHAT[streaming], await sent(faults, model, REQUESTS[name], streaming=streaming))
    assert [r.path for r in faults.requests] == ["/v1/chat/completions"] * 2


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("name", REQUESTS)
async def test_responses_bodies_are_of_the_sdks_type(faults: Faults, name: str, streaming: bool) -> None:
    for model in (model_at(faults.url, "responses"), own_model(faults.url, "responses", "gpt-4.1")):
        check(RESPONSES[streaming], await sent(faults, model, REQUESTS[name], streaming=streaming))
    assert [r.path for r in faults.requests] == ["/v1/responses"] * 2


def test_the_oracle_sees_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="rolle"):
        check(CHAT[False], {"model": "m", "messages": [{"rolle": "user", "content": "x"}]})


async def test_a_conversation_over_chat(faults: Faults) -> None:
    body = await sent(faults, model_at(faults.url, "chat"), dataclasses.replace(REQUESTS["history"], tools=(WEATHER,)))
    function = {"name": "get_weather", "arguments": '{"city":"Paris"}'}
    assert body["messages"][0] == {"role": "system", "content": "Be short."}
    assert body["messages"][2]["content"] is None
    assert body["messages"][2]["tool_calls"][0] == {"id": "c1", "type": "function", "function": function}
    assert body["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": '{"sky":"sunny"}\n\nUnits are Celsius.'}
    assert body["messages"][6] == {"role": "system", "content": "Speak French from now on."}
    assert "strict" not in body["tools"][0]["function"], "a compatible server may not know it"


async def test_a_conversation_over_responses(faults: Faults) -> None:
    body = await sent(faults, own_model(faults.url, "responses", "gpt-4.1"), REQUESTS["history"])
    assert body["instructions"] == "Be short."
    assert body["store"] is False
    assert body["input"][1] == {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city":"Paris"}'}
    assert body["input"][4] == {"type": "function_call_output", "call_id": "c2", "output": "städtisch ☀"}
    assert body["input"][5] == {"type": "message", "role": "assistant", "content": "Both are sunny."}
    assert body["input"][6] == {"type": "message", "role": "developer", "content": "Speak French from now on."}
    assert [(tool["name"], tool["strict"]) for tool in body["tools"]] == [("get_weather", True), ("search", False), ("now", True)]
    assert body["tools"][1]["parameters"] == LOOSE.parameters


async def test_a_tool_can_be_forced(faults: Faults) -> None:
    chat = await sent(faults, model_at(faults.url, "chat"), REQUESTS["forced"])
    assert chat["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
    responses = await sent(faults, model_at(faults.url, "responses"), REQUESTS["forced"])
    assert responses["tool_choice"] == {"type": "function", "name": "get_weather"}


async def test_the_schema_of_the_answer(faults: Faults) -> None:
    chat = await sent(faults, model_at(faults.url, "chat"), REQUESTS["schema"])
    schema = chat["response_format"]["json_schema"]
    assert (schema["name"], schema["strict"], schema["schema"]["additionalProperties"]) == ("Report_of_ports", True, False)
    responses = await sent(faults, model_at(faults.url, "responses"), REQUESTS["schema"])
    assert responses["text"]["format"] == {"type": "json_schema", **schema}


async def test_a_schema_without_a_strict_form_is_sent_as_it_is(faults: Faults) -> None:
    schema = json.loads(ANSWER) | {"required": []}
    body = await sent(
        faults, model_at(faults.url, "chat"), ModelRequest(system="", messages=(user("?"),), output_schema_json=json.dumps(schema))
    )
    assert body["response_format"]["json_schema"] == {"name": "Report_of_ports", "schema": schema, "strict": False}


async def test_images_and_documents(faults: Faults) -> None:
    chat = await sent(faults, model_at(faults.url, "chat", features={"documents": True}), REQUESTS["parts"])
    text, inline, linked, pdf, plain = chat["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is this?"}
    assert inline["image_url"]["url"] == "data:image/png;base64,iVBORw0KGgo="
    assert linked["image_url"]["url"] == "https://example.com/a.jpg"
    assert pdf["file"] == {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="}
    assert plain["file"]["filename"] == "document.txt"
    assert len(chat["messages"][2]["content"]) == 1
    responses = await sent(faults, model_at(faults.url, "responses"), REQUESTS["parts"])
    assert [part["type"] for part in responses["input"][0]["content"]] == ["input_text", *["input_image"] * 2, *["input_file"] * 2]


async def test_responses_take_documents_by_url_and_images_in_results(faults: Faults) -> None:
    history = (
        user("?", DocumentPart("application/pdf", url="https://example.com/a.pdf")),
        assistant("", ToolCall("c1", "get_weather")),
        result("c1", "a map", ImagePart("image/png", PIXEL)),
    )
    request = ModelRequest(system="", messages=history)
    body = await sent(faults, model_at(faults.url, "responses"), request)
    check(RESPONSES[False], body)
    assert body["input"][0]["content"][1] == {"type": "input_file", "file_url": "https://example.com/a.pdf"}
    assert [part["type"] for part in body["input"][2]["output"]] == ["input_text", "input_image"]


@pytest.mark.parametrize(
    "message",
    [user("?", DocumentPart("application/pdf", url="https://example.com/a.pdf")), result("c1", "a map", ImagePart("image/png", PIXEL))],
)
async def test_chat_refuses_parts_that_it_cannot_carry(faults: Faults, message: Any) -> None:
    with pytest.raises(ModelFeatureError, match=r"'m' takes no .*openai-responses:m"):
        await model_at(faults.url, "chat").complete(ModelRequest(system="", messages=(message,)))
    assert faults.requests == []


# --- wishes ---------------------------------------------------------------------------------------------------------------------


async def test_most_tokens_has_the_name_that_the_server_knows(faults: Faults) -> None:
    request = dataclasses.replace(HELLO, settings=ModelSettings(max_tokens=5, seed=1, stop=("END",)))
    theirs = await sent(faults, model_at(faults.url, "chat"), request)
    ours = await sent(faults, own_model(faults.url, "chat", "gpt-4.1"), request)
    responses = await sent(faults, model_at(faults.url, "responses"), dataclasses.replace(HELLO, settings=ModelSettings(max_tokens=5)))
    assert (theirs["max_tokens"], ours["max_completion_tokens"], responses["max_output_tokens"]) == (5, 5, 5)
    assert (theirs["seed"], theirs["stop"]) == (1, ["END"])


async def test_further_fields_are_put_over_the_rest(faults: Faults) -> None:
    extra = {
        "temperature": 0.1,
        "tools": [{"type": "web_search"}],
        "text": {"verbosity": "low"},
        "include": ["message.output_text.logprobs"],
    }
    request = dataclasses.replace(REQUESTS["schema"], tools=(WEATHER,), settings=ModelSettings(temperature=0.9, extra=extra))
    body = await sent(faults, model_at(faults.url, "responses"), request)
    check(RESPONSES[False], body)
    assert body["temperature"] == 0.1
    assert [tool["type"] for tool in body["tools"]] == ["function", "web_search"]
    assert body["text"]["verbosity"] == "low"
    assert body["text"]["format"]["type"] == "json_schema"


@pytest.mark.parametrize(("name", "value"), [("temperature", 0.5), ("top_p", 0.5), ("stop", ("x",))])
async def test_a_model_that_reasons_samples_nothing(faults: Faults, name: str, value: Any) -> None:
    request = dataclasses.replace(HELLO, settings=ModelSettings(**{name: value}))
    with pytest.raises(ModelFeatureError, match=f"'gpt-6.2-sol' of 'openai' takes no {name} while it reasons"):
        await own_model(faults.url, "chat", "gpt-6.2-sol").complete(request)
    assert faults.requests == []


async def test_a_model_that_can_stop_reasoning_samples_then(faults: Faults) -> None:
    request = dataclasses.replace(HELLO, settings=ModelSettings(temperature=0.5, thinking_tokens=0))
    body = await sent(faults, own_model(faults.url, "responses", "gpt-5.6-luna"), request)
    check(RESPONSES[False], body)
    assert (body["temperature"], body["reasoning"]) == (0.5, {"effort": "none"})
    quiet = dataclasses.replace(HELLO, settings=ModelSettings(temperature=0.5))
    assert (await sent(faults, own_model(faults.url, "responses", "gpt-5.4"), quiet))["temperature"] == 0.5  # by itself it does not reason
    with pytest.raises(ModelFeatureError, match="switch thinking off"):
        await own_model(faults.url, "responses", "gpt-5.6-luna").complete(quiet)


@pytest.mark.parametrize(("tokens", "effort"), [(1, "low"), (2_048, "low"), (10_000, "medium"), (60_000, "high")])
async def test_a_budget_becomes_an_effort(faults: Faults, tokens: int, effort: str) -> None:
    request = dataclasses.replace(HELLO, settings=ModelSettings(thinking_tokens=tokens))
    responses = await sent(faults, own_model(faults.url, "responses", "gpt-6.2-sol", reasoning_summary="auto"), request)
    chat = await sent(faults, own_model(faults.url, "chat", "gpt-6.2-sol"), request)
    check(RESPONSES[False], responses)
    check(CHAT[False], chat)
    assert responses["reasoning"] == {"effort": effort, "summary": "auto"}
    assert responses["include"] == ["reasoning.encrypted_content"]
    assert chat["reasoning_effort"] == effort


@pytest.mark.parametrize(
    ("name", "tokens", "effort", "said"),
    [
        ("gpt-6.2-sol", 0, None, "cannot switch thinking off"),
        ("gpt-4.1", 100, None, "has no thinking"),
        ("gpt-6.2-sol", None, "minimal", "has no reasoning effort 'minimal'"),
        ("gpt-5", None, "none", "cannot switch thinking off"),
    ],
)
async def test_an_effort_that_a_model_has_not(faults: Faults, name: str, tokens: int | None, effort: str | None, said: str) -> None:
    request = dataclasses.replace(HELLO, settings=ModelSettings(thinking_tokens=tokens))
    with pytest.raises(ModelFeatureError, match=f"{name!r} of 'openai'.* ?{said}"):
        await own_model(faults.url, "chat", name, reasoning_effort=effort).complete(request)
    assert faults.requests == []


async def test_thinking_is_off_where_there_is_none_or_little_of_it(faults: Faults) -> None:
    off = dataclasses.replace(HELLO, settings=ModelSettings(thinking_tokens=0))
    assert "reasoning_effort" not in await sent(faults, own_model(faults.url, "chat", "gpt-4.1"), off)
    assert (await sent(faults, own_model(faults.url, "chat", "gpt-5-nano"), off))["reasoning_effort"] == "minimal"


@pytest.mark.parametrize("wish", [{"seed": 1}, {"stop": ("x",)}])
async def test_responses_have_no_seed_and_no_stop(faults: Faults, wish: dict[str, Any]) -> None:
    request = dataclasses.replace(HELLO, settings=ModelSettings(**wish))
    with pytest.raises(ModelFeatureError, match=f"takes no {next(iter(wish))} over Responses.*openai-chat:m"):
        await model_at(faults.url, "responses").complete(request)
    assert faults.requests == []


async def test_thinking_of_another_provider_is_left_out_and_reported(faults: Faults) -> None:
    for api in ("chat", "responses"):
        reported: list[Any] = []
        foreign = ThinkingBlock("hm", signature="s")
        history = (
            user("old"),
            assistant("x", thinking=(foreign,)),
            user("?"),
            assistant("", ToolCall("c1", "now"), thinking=(foreign,)),
            result("c1", "1"),
        )
        await sent(faults, model_at(faults.url, api), ModelRequest(system="", messages=history, report=reported.append))
        assert "hm" not in json.dumps(faults.requests[-1].json())
        assert [(type(event), event.message_index) for event in reported] == [(ThinkingOmitted, 3)], "only of the present turn"


texts = st.text(st.characters(codec="utf-8"), max_size=20)
parts = st.one_of(
    st.builds(ImagePart, st.just("image/png"), st.binary(min_size=1, max_size=8)),
    st.builds(DocumentPart, st.just("application/pdf"), st.binary(min_size=1, max_size=8)),
)
calls = st.builds(ToolCall, st.text("abc", min_size=1, max_size=3), st.just("get_weather"), st.just('{"city":"Paris"}'))
histories = st.lists(
    st.one_of(
        st.builds(lambda text, p: user(text, *p), texts, st.lists(parts, max_size=2)),
        st.builds(lambda text, c: assistant(text, *c), texts, st.lists(calls, max_size=3)),
        st.builds(lambda call, text: result(call, text), st.text("abc", min_size=1, max_size=3), texts),
    ),
    max_size=6,
)
wishes = st.builds(
    ModelSettings,
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1),
    max_tokens=st.none() | st.integers(1, 100_000),
    thinking_tokens=st.none() | st.integers(0, 100_000),
)


@given(
    texts,
    histories,
    st.lists(st.sampled_from([WEATHER, LOOSE]), unique=True, max_size=2),
    wishes,
    st.none() | st.just(ANSWER),
    st.booleans(),
)
def test_any_request_is_of_the_sdks_types(system: str, messages: Any, tools: Any, settings: Any, schema: Any, streaming: bool) -> None:
    request = ModelRequest(system=system, messages=tuple(messages), tools=tuple(tools), settings=settings, output_schema_json=schema)
    for kind in ("openai", "azure", "compatible"):
        chat = chat_body("m", request, server=Server("http://x/v1", kind), family=Family(), effort=None, streaming=streaming)
        check(CHAT[streaming], json.loads(json.dumps(chat)))
        responses = responses_body("m", request, kind=kind, family=Family(), effort=None, summary=None, streaming=streaming)
        check(RESPONSES[streaming], json.loads(json.dumps(responses)))
