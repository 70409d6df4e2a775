"""What is sent to Converse: messages, tools, wishes, cache points, images and documents, signatures."""

from __future__ import annotations

import base64
import contextlib
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
    resolve_model,
)
from agentfp_bedrock import BedrockModel
from tests.providers.bedrock.converse_oracle import KEY, SECRET, TOKEN, client, signature
from tests.providers.bedrock.conversing import DONE, NAME, exchanged, model, request, sent, user
from tests.providers.faults import Faults, reply

pytestmark = pytest.mark.anyio

SCHEMA = '{"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"}'
WEATHER = ToolSpec("get_weather", "The weather of a city.", SCHEMA)
TIME = ToolSpec("get_time", "", SCHEMA)
KEYS: dict[str, Any] = {"access_key_id": KEY, "secret_access_key": SECRET, "session_token": TOKEN, "region": "eu-central-1"}
POINT = {"cachePoint": {"type": "default"}}
ARN = "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/a1b2c3"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that runs the tests may have an account of its own."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/credentials")


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
        calling(call("t1", city="Paris"), call("t2", city="Rome"), text="Let me look."),
        result("t1", "sunny"),
        result("t2", "rain", notes=("From a cache.",), failed=True),
        user("Thanks.", id="m_5"),
        system="Be brief.",
        tools=(WEATHER, TIME),
        tool_choice="get_time",
    )
    body = await sent(faults, wish)
    assert body["system"] == [{"text": "Be brief."}]
    assert body["toolConfig"] == {
        "tools": [
            {"toolSpec": {"name": "get_weather", "description": "The weather of a city.", "inputSchema": {"json": json.loads(SCHEMA)}}},
            {"toolSpec": {"name": "get_time", "inputSchema": {"json": json.loads(SCHEMA)}}},
        ],
        "toolChoice": {"tool": {"name": "get_time"}},
    }
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"] == [
        {"text": "Let me look."},
        {"toolUse": {"toolUseId": "t1", "name": "get_weather", "input": {"city": "Paris"}}},
        {"toolUse": {"toolUseId": "t2", "name": "get_weather", "input": {"city": "Rome"}}},
    ]
    assert body["messages"][2]["content"] == [
        {"toolResult": {"toolUseId": "t1", "content": [{"text": "sunny"}]}},
        {"toolResult": {"toolUseId": "t2", "content": [{"text": "rain\n\nFrom a cache."}], "status": "error"}},
        {"text": "Thanks."},
    ]


async def test_tools_that_are_offered_no_more_are_there_for_their_calls(faults: Faults) -> None:
    body = await sent(faults, request(user(), calling(call("t1", city="Rome")), result("t1", "")))
    specs = [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]]
    assert specs == ["get_weather"]
    assert body["messages"][2]["content"] == [{"toolResult": {"toolUseId": "t1", "content": [{"text": "(empty)"}]}}]


async def test_wishes_are_sent(faults: Faults) -> None:
    extra = {"guardrailConfig": {"guardrailIdentifier": "abc", "guardrailVersion": "1"}, "additionalModelRequestFields": {"top_k": 5}}
    wishes = ModelSettings(temperature=0.5, top_p=0.9, max_tokens=10, stop=("END",), extra=extra)
    body = await sent(faults, request(settings=wishes))
    assert body["inferenceConfig"] == {"temperature": 0.5, "topP": 0.9, "maxTokens": 10, "stopSequences": ["END"]}
    assert body["guardrailConfig"] == extra["guardrailConfig"]
    assert body["additionalModelRequestFields"] == {"top_k": 5}
    assert (await sent(faults, request())).keys() == {"messages"}


async def test_thinking_and_further_fields_are_joined(faults: Faults) -> None:
    wishes = ModelSettings(thinking_tokens=2000, extra={"additionalModelRequestFields": {"anthropic_beta": ["x"]}})
    body = await sent(faults, request(settings=wishes))
    assert body["additionalModelRequestFields"] == {"thinking": {"type": "enabled", "budget_tokens": 2000}, "anthropic_beta": ["x"]}
    assert body["inferenceConfig"]["maxTokens"] > 2000


@pytest.mark.parametrize(
    ("name", "tokens", "style", "thinking"),
    [
        (NAME, 0, {}, {"type": "disabled"}),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", 0, {}, None),
        ("us.anthropic.claude-sonnet-5-5", 0, {}, {"type": "between_tools"}),
        ("anthropic.claude-opus-4-7", None, {"thinking": "adaptive"}, {"type": "adaptive"}),
    ],
)
async def test_thinking(faults: Faults, name: str, tokens: int | None, style: dict[str, Any], thinking: Any) -> None:
    body = await sent(faults, request(settings=ModelSettings(thinking_tokens=tokens)), name, **style)
    assert body.get("additionalModelRequestFields") == (thinking and {"thinking": thinking})


async def test_the_schema_of_an_answer_and_effort(faults: Faults) -> None:
    body = await sent(faults, request(output_schema_json=SCHEMA), "global.anthropic.claude-opus-4-6-v1", effort="low")
    assert body["outputConfig"]["effort"] == "low"
    schema = json.loads(body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"])
    assert schema == {**json.loads(SCHEMA), "additionalProperties": False}


@pytest.mark.parametrize(
    ("name", "wishes", "says"),
    [
        (NAME, {"seed": 1}, "of 'bedrock' has no seed"),
        ("us.anthropic.claude-opus-5-5", {"temperature": 0.5}, "'us.anthropic.claude-opus-5-5' of 'bedrock' has no temperature"),
        ("anthropic.claude-opus-5-5", {"thinking_tokens": 2000}, "has no budget for thinking"),
        ("anthropic.claude-opus-5-5", {"thinking_tokens": 0}, "has no way to switch thinking off"),
        ("amazon.nova-2-lite-v1:0", {"thinking_tokens": 2000}, "has no budget for thinking"),
        (NAME, {"thinking_tokens": 9}, "as small as thinking_tokens=9"),
        (NAME, {"thinking_tokens": 2000, "max_tokens": 9}, "has no room for thinking_tokens=2000 within max_tokens=9"),
        (NAME, {"thinking_tokens": 2000, "temperature": 0.5}, "has no temperature beside thinking_tokens"),
    ],
)
async def test_what_the_model_lacks_is_refused_before_sending(faults: Faults, name: str, wishes: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelFeatureError, match=says):
        await sent(faults, request(settings=ModelSettings(**wishes)), name)
    assert faults.requests == []


# --- the cache --------------------------------------------------------------------------------------------------------------

MARKED = request(
    user("One."),
    Message("m_2", "assistant", "Two."),
    user("Three.", id="m_3"),
    user("Late.", id="m_4"),
    system="Be brief.\n\nNow: 12:00",
    tools=(WEATHER, TIME),
    cache_marks=(CacheMark("system", 9), CacheMark("tools", 1, "long"), CacheMark("messages", 2), CacheMark("messages", 3)),
)


async def test_cache_points_stand_where_the_request_says(faults: Faults) -> None:
    body = await sent(faults, MARKED)
    assert body["system"] == [{"text": "Be brief."}, POINT, {"text": "\n\nNow: 12:00"}]
    assert [next(iter(tool)) for tool in body["toolConfig"]["tools"]] == ["toolSpec", "cachePoint", "toolSpec"]
    assert body["toolConfig"]["tools"][1] == {"cachePoint": {"type": "default", "ttl": "1h"}}
    assert [message["content"] for message in body["messages"]] == [
        [{"text": "One."}],
        [{"text": "Two."}, POINT],
        [{"text": "Three."}, POINT, {"text": "Late."}],
    ]


async def test_two_points_in_one_message_stand_in_their_order(faults: Faults) -> None:
    marks = (CacheMark("messages", 1), CacheMark("messages", 2), CacheMark("tools", 1), CacheMark("tools", 2))
    body = await sent(faults, request(user("One."), user("Two.", id="m_2"), tools=(WEATHER, TIME), cache_marks=marks))
    assert body["messages"][0]["content"] == [{"text": "One."}, POINT, {"text": "Two."}, POINT]
    assert [next(iter(tool)) for tool in body["toolConfig"]["tools"]] == ["toolSpec", "cachePoint", "toolSpec", "cachePoint"]


async def test_nova_takes_no_points_among_tools_and_none_for_an_hour(faults: Faults) -> None:
    body = await sent(faults, MARKED, "us.amazon.nova-pro-v1:0")
    assert "cachePoint" not in json.dumps(body["toolConfig"])
    assert body["system"][1] == POINT


# --- images and documents ---------------------------------------------------------------------------------------------------


async def test_parts(faults: Faults) -> None:
    png = {"image": {"format": "png", "source": {"bytes": base64.b64encode(b"\x89PNG").decode()}}}
    stored = {"image": {"format": "jpeg", "source": {"s3Location": {"uri": "s3://bucket/a.jpg"}}}}
    pdf = {"document": {"format": "pdf", "name": "Q3 -report- (final)", "source": {"bytes": base64.b64encode(b"%PDF").decode()}}}
    parts = (
        ImagePart("image/png", b"\x89PNG"),
        ImagePart("image/jpeg", url="s3://bucket/a.jpg"),
        DocumentPart("application/pdf", b"%PDF", name="Q3  _report_ (final).pdf"),
    )
    body = await sent(faults, request(user("Look.", parts=parts)))
    assert body["messages"][0]["content"] == [png, stored, pdf, {"text": "Look."}]
    body = await sent(faults, request(user(), calling(call("t1")), result("t1", "", parts=parts[:1]), tools=(WEATHER,)))
    assert body["messages"][2]["content"] == [{"toolResult": {"toolUseId": "t1", "content": [png]}}]


async def test_documents_have_names_of_their_own_and_some_text_beside_them(faults: Faults) -> None:
    same = DocumentPart("text/plain", b"x", name="a.txt")
    body = await sent(faults, request(user("", parts=(same, same, DocumentPart("text/csv", b"x")))))
    content = body["messages"][0]["content"]
    assert [block["document"]["name"] for block in content[:-1]] == ["a", "a (2)", "document"]
    assert content[-1]["text"].strip()


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (ImagePart("image/tiff", b"x"), "has no images of 'image/tiff'; it takes image/png"),
        (ImagePart("image/png", url="https://x.example/a"), "has no images of 'image/png' by URL; it takes them as bytes"),
        (DocumentPart("application/zip", b"x"), "has no documents of 'application/zip'"),
    ],
)
async def test_parts_that_the_api_does_not_take_are_refused(faults: Faults, part: ImagePart | DocumentPart, says: str) -> None:
    with pytest.raises(ModelFeatureError, match=says):
        await sent(faults, request(user("Look.", parts=(part,))))


# --- who asks, and where ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [NAME, "us.anthropic.claude-haiku-4-5-20251001-v1:0", ARN])
async def test_requests_are_signed_as_botocore_signs_them_and_go_where_it_sends_them(faults: Faults, name: str) -> None:
    received, response = await exchanged(faults, request(user("Grüße ✓")), name=name, **KEYS)
    assert received.headers["authorization"] == signature(received, faults.url, "eu-central-1")
    assert received.headers["x-amz-security-token"] == TOKEN
    assert response.request_id == "req-7"
    faults.plays(reply(200, DONE))
    with contextlib.closing(client(faults.url)) as theirs:
        theirs.converse(modelId=name, messages=[{"role": "user", "content": [{"text": "Hi."}]}])
    assert faults.requests[-1].path == received.path
    assert faults.requests[-1].headers["authorization"] == signature(faults.requests[-1], faults.url, "eu-central-1")


async def test_a_bearer_token_goes_as_it_is(faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    received, _ = await exchanged(faults, request())
    assert received.headers["authorization"] == "Bearer k"
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "from-the-environment")
    faults.plays(reply(200, DONE))
    await BedrockModel(NAME, endpoint_url=faults.url).complete(request())
    assert faults.requests[-1].headers["authorization"] == "Bearer from-the-environment"


async def test_credentials_and_region_of_a_profile(faults: Faults, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    (tmp_path / "config").write_text("[profile team]\nregion = eu-north-1\n")
    (tmp_path / "credentials").write_text(f"[team]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    faults.plays(reply(200, DONE))
    await BedrockModel(NAME, endpoint_url=faults.url, profile="team", region="eu-central-1").complete(request())
    assert faults.requests[-1].headers["authorization"] == signature(faults.requests[-1], faults.url, "eu-central-1", None)
    asked = BedrockModel(NAME, profile="team", connect_timeout=0.2, retries=1, proxy=faults.url)
    faults.plays(reply(502, "no way out", "text/plain"))
    with pytest.raises(Exception, match="bedrock"):
        await asked.complete(request())
    assert faults.requests[-1].path == "bedrock-runtime.eu-north-1.amazonaws.com:443", "the address is that of the profile's region"


async def test_credentials_that_run_out_are_made_anew(faults: Faults, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    count = tmp_path / "count"
    script = tmp_path / "credentials.sh"
    made = f'"Version": 1, "AccessKeyId": "{KEY}", "SecretAccessKey": "{SECRET}"'
    expires = "$(date -u -d '+2 minutes' +%Y-%m-%dT%H:%M:%SZ)"
    script.write_text(f"""#!/bin/sh\necho x >> {count}\necho '{{{made}, "Expiration": "'{expires}'"}}'\n""")
    script.chmod(0o755)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    (tmp_path / "config").write_text(f"[default]\nregion = eu-central-1\ncredential_process = {script}\n")
    asking = BedrockModel(NAME, endpoint_url=faults.url, region="eu-central-1")
    made_by: list[int] = []
    for _ in range(2):
        faults.plays(reply(200, DONE))
        await asking.complete(request())
        assert faults.requests[-1].headers["authorization"] == signature(faults.requests[-1], faults.url, "eu-central-1", None)
        made_by.append(len(count.read_text().split()))
    assert made_by[0] < made_by[1], "they run out within botocore's margin, so each call makes new ones"


async def test_without_credentials_the_first_call_says_what_to_set() -> None:
    with pytest.raises(ModelAuthenticationError, match="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or AWS_BEARER_TOKEN"):
        await BedrockModel(NAME, region="us-east-1").complete(request())
    with pytest.raises(ModelAuthenticationError, match="ProfileNotFound"):
        await BedrockModel(NAME, region="us-east-1", profile="nobody").complete(request())


async def test_a_server_on_this_machine_needs_none(faults: Faults) -> None:
    faults.plays(reply(200, DONE))
    assert (await BedrockModel(NAME, endpoint_url=faults.url).complete(request())).text == "Done."
    assert "authorization" not in faults.requests[-1].headers


async def test_without_a_region_the_first_call_says_so() -> None:
    with pytest.raises(ConfigError, match="needs a region; set AWS_REGION, or pass region"):
        await BedrockModel(NAME).complete(request())


def test_wrong_settings_are_named_all_at_once() -> None:
    made: Any = BedrockModel
    with pytest.raises(ConfigError) as caught:
        made("m", regoin="x", thinking="much", access_key_id="a", endpoint_url="http://a", base_url="http://b")
    assert len(caught.value.problems) == 4
    assert "'bedrock' has no setting 'regoin'; did you mean 'region'" in str(caught.value)


def test_features_are_data_whatever_the_region_and_version(faults: Faults) -> None:
    dated = "anthropic.claude-haiku-4-5-20251001-v1:0"
    names = (dated, f"us.{dated}", f"arn:aws:bedrock:us-east-1::foundation-model/{dated}")
    regional = [model(faults, name).features for name in names]
    assert regional[0] == regional[1] == regional[2]
    assert regional[0].context_window == 200_000
    world = model(faults, "global.anthropic.claude-haiku-4-5-20251001-v1:0").features
    assert world.prices is not None
    assert regional[0].prices is not None
    assert (str(world.prices.input), str(regional[0].prices.input)) == ("0.000001", "0.0000011")
    assert model(faults, ARN, base_model="global.anthropic.claude-haiku-4-5").features == world
    unknown = model(faults, "meta.llama-99").features
    assert (unknown.prices, unknown.thinking, unknown.prompt_cache, unknown.tools) == (None, False, "none", True)
    assert resolve_model("bedrock").name == "global.anthropic.claude-sonnet-5-5"


# --- whatever is asked ------------------------------------------------------------------------------------------------------

texts = st.text(max_size=12)
calls = st.builds(
    ToolCall.make,
    st.sampled_from(["get_weather", "made up"]),
    st.dictionaries(texts, st.one_of(texts, st.integers(-9, 9), st.none(), st.lists(st.booleans(), max_size=2)), max_size=2),
)
marks = st.builds(CacheMark, st.sampled_from(["system", "tools", "messages"]), st.integers(0, 12), st.sampled_from(["short", "long"]))


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    for turn in range(draw(st.integers(1, 3))):
        messages.append(user(draw(texts), id=f"u{turn}"))
        batch = [ToolCall(f"t_{turn}_{n}", made.name, made.arguments_json) for n, made in enumerate(draw(st.lists(calls, max_size=2)))]
        messages.append(Message(f"a{turn}", "assistant", draw(texts), tool_calls=tuple(batch)))
        messages += [Message(f"t{one.id}", "tool", draw(texts), tool_call_id=one.id, tool_name=one.name) for one in batch]
    return [*messages, user("Go on.", id="last")]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    messages=conversations(), system=texts, tools=st.sampled_from([(), (WEATHER,), (WEATHER, TIME)]), marked=st.lists(marks, max_size=6)
)  # fmt: skip
async def test_whatever_is_asked_is_of_the_api(
    faults: Faults, messages: list[Message], system: str, tools: tuple[ToolSpec, ...], marked: list[CacheMark]
) -> None:
    body = await sent(faults, ModelRequest(system=system, messages=messages, tools=tools, cache_marks=tuple(marked)))
    assert json.dumps(body).count('"cachePoint"') <= 4
    for before, after in zip(body["messages"], body["messages"][1:], strict=False):
        assert before["role"] != after["role"]
        uses = [block["toolUse"]["toolUseId"] for block in before["content"] if "toolUse" in block]
        answers = [block for block in after["content"] if "cachePoint" not in block][: len(uses)]
        assert uses == [block["toolResult"]["toolUseId"] for block in answers if "toolResult" in block]
