"""What is sent to the Messages API: messages, tools, wishes, marks of the cache, images and documents, headers."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentfp import ConfigError
from agentfp.model import (
    CacheMark,
    DocumentPart,
    ImagePart,
    Message,
    ModelAuthenticationError,
    ModelFeatureError,
    ModelRequest,
    ModelSettings,
    ToolCall,
    ToolSpec,
    fitting_id,
    resolve_model,
)
from agentfp_anthropic import AnthropicModel
from tests.providers.anthropic.sending import exchanged, request, sent, user
from tests.providers.faults import Faults

pytestmark = pytest.mark.anyio

SCHEMA = '{"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"}'
WEATHER = ToolSpec("get_weather", "The weather of a city.", SCHEMA)
TIME = ToolSpec("get_time", "", SCHEMA)
EPHEMERAL = {"type": "ephemeral"}


def calling(*calls: ToolCall, **more: Any) -> Message:
    return Message("m_2", "assistant", more.pop("text", ""), tool_calls=calls, **more)


def result(call_id: str, text: str, **more: Any) -> Message:
    return Message(f"r_{call_id}", "tool", text, tool_call_id=call_id, tool_name="get_weather", **more)


def call(call_id: str, **arguments: Any) -> ToolCall:
    return ToolCall.make("get_weather", arguments, id=call_id)


# --- messages ---------------------------------------------------------------------------------------------------------------


async def test_a_whole_turn_with_parallel_calls(faults: Faults) -> None:
    wish = request(
        user("Weather in Paris and Rome?"),
        calling(call("toolu_1", city="Paris"), call("toolu_2", city="Rome"), text="Let me look."),
        result("toolu_1", "sunny"),
        result("toolu_2", "rain", notes=("From a cache.",), failed=True),
        user("Thanks.", id="m_5"),
        system="Be brief.",
        tools=(WEATHER, TIME),
    )
    body = await sent(faults, wish)
    assert body["system"] == "Be brief."
    assert body["tools"] == [
        {"name": "get_weather", "description": "The weather of a city.", "input_schema": json.loads(SCHEMA)},
        {"name": "get_time", "input_schema": json.loads(SCHEMA)},
    ]
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"] == [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}},
        {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {"city": "Rome"}},
    ]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "rain\n\nFrom a cache.", "is_error": True},
        {"type": "text", "text": "Thanks."},
    ]


async def test_ids_and_names_of_other_providers_are_put_into_letters_that_the_api_takes(faults: Faults) -> None:
    odd = ToolCall.make("my tool!", {}, id="call:1/ä")
    body = await sent(faults, request(user(), calling(odd), result("call:1/ä", "x"), tools=(WEATHER,)))
    assert body["messages"][1]["content"][0] == {"type": "tool_use", "id": fitting_id("call:1/ä"), "name": "my_tool_", "input": {}}
    assert body["messages"][2]["content"][0]["tool_use_id"] == fitting_id("call:1/ä")


async def test_blank_texts_are_left_out_for_the_api_refuses_them(faults: Faults) -> None:
    body = await sent(faults, request(user(" \n"), Message("m_2", "assistant", ""), user("Well?", id="m_3"), system="  "))
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Well?"}]}]
    assert "system" not in body


async def test_tools_that_are_offered_no_more_are_there_for_their_calls_and_may_not_be_called(faults: Faults) -> None:
    body = await sent(faults, request(user(), calling(call("toolu_1", city="Rome")), result("toolu_1", "rain")))
    assert body["tools"] == [{"name": "get_weather", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}


# --- wishes -----------------------------------------------------------------------------------------------------------------


async def test_wishes_are_sent(faults: Faults) -> None:
    wishes = ModelSettings(temperature=0.5, top_p=0.9, max_tokens=10, stop=("END",), extra={"service_tier": "auto"})
    body = await sent(faults, request(settings=wishes, tools=(WEATHER,), tool_choice="get_weather"))
    assert {key: body[key] for key in ("temperature", "top_p", "max_tokens", "stop_sequences", "service_tier", "tool_choice")} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 10,
        "stop_sequences": ["END"],
        "service_tier": "auto",
        "tool_choice": {"type": "tool", "name": "get_weather"},
    }


async def test_bare_requests_hold_nothing_that_was_not_asked_for(faults: Faults) -> None:
    body = await sent(faults, request(), "claude-haiku-4-5")
    assert body.keys() == {"model", "max_tokens", "messages"}
    assert body["max_tokens"] == 64_000, "the API wants one: what the model can give"


async def test_further_fields_join_objects_that_are_there(faults: Faults) -> None:
    wish = request(output_schema_json=SCHEMA, settings=ModelSettings(extra={"output_config": {"effort": "low"}}))
    body = await sent(faults, wish, "claude-opus-4-6")
    assert body["output_config"] == {
        "effort": "low",
        "format": {"type": "json_schema", "schema": {**json.loads(SCHEMA), "additionalProperties": False}},
    }


async def test_free_keys_in_the_schema_of_an_answer_are_refused(faults: Faults) -> None:
    with pytest.raises(ModelFeatureError, match="'m' of 'anthropic' has no JSON schema output"):
        await sent(faults, request(output_schema_json='{"type":"object"}'))


@pytest.mark.parametrize(
    ("name", "wishes", "says"),
    [
        ("m", {"seed": 1}, "'m' of 'anthropic' has no seed"),
        ("claude-opus-5-5", {"temperature": 0.5}, "'claude-opus-5-5' of 'anthropic' has no temperature"),
        ("claude-opus-4-8", {"top_p": 0.5}, "has no top_p"),
        ("claude-opus-5-5", {"thinking_tokens": 2000}, "has no budget for thinking .thinking_tokens."),
        ("claude-fable-5-1", {"thinking_tokens": 0}, "has no way to switch thinking off .thinking_tokens=0."),
        ("claude-haiku-4-5", {"thinking_tokens": 1000}, "has no budget for thinking as small as thinking_tokens=1000"),
        ("m", {"thinking_tokens": 2000, "max_tokens": 2000}, "has no room for thinking_tokens=2000 within max_tokens=2000"),
        ("m", {"thinking_tokens": 2000, "temperature": 0.5}, "has no temperature beside thinking_tokens"),
    ],
)
async def test_what_the_model_lacks_is_refused_before_sending(faults: Faults, name: str, wishes: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelFeatureError, match=says):
        await sent(faults, request(settings=ModelSettings(**wishes)), name)
    assert faults.requests == []


async def test_a_forced_tool_beside_thinking_is_refused(faults: Faults) -> None:
    wish = request(tools=(WEATHER,), tool_choice="get_weather", settings=ModelSettings(thinking_tokens=2000))
    with pytest.raises(ModelFeatureError, match="has no forced tool choice"):
        await sent(faults, wish)


# --- thinking ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "tokens", "settings", "thinking"),
    [
        ("m", None, {}, None),
        ("m", 2000, {}, {"type": "enabled", "budget_tokens": 2000}),
        ("m", 0, {}, {"type": "disabled"}),
        ("m", 2000, {"thinking_display": "summarized"}, {"type": "enabled", "budget_tokens": 2000, "display": "summarized"}),
        ("claude-haiku-4-5", 0, {}, None),
        ("claude-sonnet-5-5", 0, {}, {"type": "between_tools"}),
        ("claude-opus-5", 0, {}, {"type": "disabled"}),
        ("claude-opus-4-8", None, {"thinking": "adaptive"}, {"type": "adaptive"}),
        ("claude-opus-5-5", None, {"thinking_display": "summarized"}, {"type": "adaptive", "display": "summarized"}),
        ("claude-opus-5", None, {"thinking": "disabled", "thinking_display": "summarized"}, {"type": "disabled"}),
    ],
)
async def test_thinking(faults: Faults, name: str, tokens: int | None, settings: dict[str, Any], thinking: Any) -> None:
    body = await sent(faults, request(settings=ModelSettings(thinking_tokens=tokens)), name, **settings)
    assert body.get("thinking") == thinking


async def test_more_is_asked_for_than_may_be_thought(faults: Faults) -> None:
    body = await sent(faults, request(settings=ModelSettings(thinking_tokens=20_000)))
    assert body["max_tokens"] > 20_000


async def test_effort(faults: Faults) -> None:
    assert (await sent(faults, request(), "claude-opus-5-5", effort="low"))["output_config"] == {"effort": "low"}


# --- the cache --------------------------------------------------------------------------------------------------------------


async def test_marks_stand_where_the_request_says(faults: Faults) -> None:
    marks = (CacheMark("system", 9), CacheMark("tools", 1, "long"), CacheMark("messages", 2), CacheMark("messages", 3))
    wish = request(
        user("One."),
        Message("m_2", "assistant", "Two."),
        user("Three.", id="m_3"),
        user("Late.", id="m_4"),
        system="Be brief.\n\nNow: 12:00",
        tools=(WEATHER, TIME),
        cache_marks=marks,
    )
    body = await sent(faults, wish)
    assert body["system"] == [
        {"type": "text", "text": "Be brief.", "cache_control": EPHEMERAL},
        {"type": "text", "text": "\n\nNow: 12:00"},
    ]
    assert [tool.get("cache_control") for tool in body["tools"]] == [{"type": "ephemeral", "ttl": "1h"}, None]
    assert [[block.get("cache_control") for block in message["content"]] for message in body["messages"]] == [
        [None],
        [EPHEMERAL],
        [EPHEMERAL, None],
    ]


async def test_the_api_takes_four_marks(faults: Faults) -> None:
    messages = [user(f"{n}.", id=f"m_{n}") for n in range(6)]
    marks = tuple(CacheMark("messages", n) for n in range(1, 7))
    body = await sent(faults, request(*messages, cache_marks=marks))
    assert [bool(block.get("cache_control")) for block in body["messages"][0]["content"]] == [False, False, True, True, True, True]


async def test_a_switched_off_cache_gets_no_marks(faults: Faults) -> None:
    wish = request(cache_marks=(CacheMark("messages", 1),), settings=ModelSettings(prompt_cache="off"))
    assert "cache_control" not in json.dumps(await sent(faults, wish))


# --- images and documents ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            ImagePart("image/png", b"\x89PNG"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"\x89PNG").decode()}},
        ),
        (ImagePart("image/*", url="https://x.example/a"), {"type": "image", "source": {"type": "url", "url": "https://x.example/a"}}),
        (
            DocumentPart("application/pdf", b"%PDF", name="a.pdf"),
            {
                "type": "document",
                "title": "a.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(b"%PDF").decode()},
            },
        ),
        (
            DocumentPart("application/pdf", url="https://x.example/a"),
            {"type": "document", "source": {"type": "url", "url": "https://x.example/a"}},
        ),
        (
            DocumentPart("text/markdown", "# Ä".encode()),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "# Ä"}},
        ),
    ],
)
async def test_parts(faults: Faults, part: ImagePart | DocumentPart, block: dict[str, Any]) -> None:
    body = await sent(faults, request(user("Look.", parts=(part,))))
    assert body["messages"][0]["content"] == [block, {"type": "text", "text": "Look."}]
    body = await sent(faults, request(user(), calling(call("toolu_1")), result("toolu_1", "", parts=(part,)), tools=(WEATHER,)))
    assert body["messages"][2]["content"] == [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [block]}]


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (ImagePart("image/tiff", b"x"), "has no images of 'image/tiff'; it takes image/jpeg"),
        (ImagePart("image/png"), "has no images of 'image/png'"),
        (DocumentPart("application/zip", b"x"), "has no documents of 'application/zip'"),
        (DocumentPart("text/plain", url="https://x.example/a"), "has no documents of 'text/plain'"),
        (DocumentPart("text/plain", b"\xff"), "has no text documents that are not UTF-8"),
    ],
)
async def test_parts_that_the_api_does_not_take_are_refused(faults: Faults, part: ImagePart | DocumentPart, says: str) -> None:
    with pytest.raises(ModelFeatureError, match=says):
        await sent(faults, request(user("Look.", parts=(part,))))


# --- headers, keys and settings ---------------------------------------------------------------------------------------------


async def test_headers(faults: Faults) -> None:
    received, response = await exchanged(faults, request(), api_key="k", betas=["a", "b"], headers={"x-team": "7"})
    assert (received.method, received.path) == ("POST", "/v1/messages")
    wanted = {"x-api-key": "k", "anthropic-version": "2023-06-01", "anthropic-beta": "a,b", "x-team": "7"}
    assert {name: received.headers.get(name) for name in wanted} == wanted
    assert response.text == "Done."


async def test_a_bearer_token_goes_in_place_of_a_key(faults: Faults) -> None:
    received, _ = await exchanged(faults, request(), auth_token="t")
    assert received.headers["authorization"] == "Bearer t"
    assert "x-api-key" not in received.headers


async def test_the_key_of_the_environment_is_looked_up_at_the_call(faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-the-environment")
    received, _ = await exchanged(faults, request())
    assert received.headers["x-api-key"] == "from-the-environment"


async def test_without_a_key_the_first_call_says_which_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    model = AnthropicModel("m")
    with pytest.raises(ModelAuthenticationError, match="set the variable ANTHROPIC_API_KEY, or pass api_key") as caught:
        await model.complete(request())
    assert (caught.value.provider, caught.value.model) == ("anthropic", "m")


def test_wrong_settings_are_named_all_at_once() -> None:
    made: Any = AnthropicModel
    with pytest.raises(ConfigError) as caught:
        made("m", api_kye="k", effort="hihg", thinking=5, betas="a")
    assert len(caught.value.problems) == 4
    assert "'anthropic' has no setting 'api_kye'; did you mean 'api_key'" in str(caught.value)


def test_the_provider_is_found_by_its_name() -> None:
    model = resolve_model("anthropic:claude-opus-5-5")
    assert (model.provider, model.name) == ("anthropic", "claude-opus-5-5")
    assert resolve_model("anthropic").name == "claude-sonnet-5-5"
    assert "k3y" not in repr(resolve_model("anthropic:m", settings={"api_key": "k3y"}))


def test_features_are_data() -> None:
    known, dated, unknown = (AnthropicModel(name).features for name in ("claude-haiku-4-5", "claude-haiku-4-5-20251001", "claude-99"))
    assert known == dated
    assert known.context_window == 200_000
    assert known.prices is not None
    assert str(known.prices.input) == "0.000001"
    assert known.json_schema
    assert known.forced_tool_choice
    assert not AnthropicModel("claude-opus-5-5").features.forced_tool_choice
    assert unknown.prices is None
    assert unknown.tools
    assert not unknown.json_schema


# --- whatever is asked ------------------------------------------------------------------------------------------------------

texts = st.text(max_size=12)
calls = st.builds(
    ToolCall.make,
    st.sampled_from(["get_weather", "made up"]),
    st.dictionaries(texts, st.one_of(texts, st.integers(-9, 9), st.none(), st.lists(st.booleans(), max_size=2)), max_size=2),
)
marks = st.builds(
    CacheMark,
    st.sampled_from(["system", "tools", "messages"]),
    st.integers(0, 12),
    st.sampled_from(["short", "long"]),
)
wishes = st.builds(
    ModelSettings,
    max_tokens=st.none() | st.integers(3000, 9000),
    stop=st.lists(st.text("xyz", min_size=1, max_size=3), max_size=2).map(tuple),
    thinking_tokens=st.sampled_from([None, 0, 2048]),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    for turn in range(draw(st.integers(1, 3))):
        messages.append(user(draw(texts) or "Hi.", id=f"u{turn}"))
        batch = [ToolCall(f"toolu_{turn}_{n}", made.name, made.arguments_json) for n, made in enumerate(draw(st.lists(calls, max_size=2)))]
        messages.append(Message(f"a{turn}", "assistant", draw(texts), tool_calls=tuple(batch)))
        messages += [Message(f"t{one.id}", "tool", draw(texts), tool_call_id=one.id, tool_name=one.name) for one in batch]
    return [*messages, user("Go on.", id="last")]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    messages=conversations(), system=texts, tools=st.sampled_from([(), (WEATHER,), (WEATHER, TIME)]), marked=st.lists(marks, max_size=6),
    wish=wishes,
)  # fmt: skip
async def test_whatever_is_asked_is_of_the_api(
    faults: Faults, messages: list[Message], system: str, tools: tuple[ToolSpec, ...], marked: list[CacheMark], wish: ModelSettings
) -> None:
    asked = ModelRequest(system=system, messages=messages, tools=tools, cache_marks=tuple(marked), settings=wish)
    body = await sent(faults, asked)
    assert json.dumps(body).count('"cache_control"') <= 4
    for before, after in zip(body["messages"], body["messages"][1:], strict=False):
        assert before["role"] != after["role"]
        uses = [block["id"] for block in before["content"] if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in after["content"][: len(uses)] if block["type"] == "tool_result"]
        assert uses == results, "each call is answered first thing in the next message, in its order"
