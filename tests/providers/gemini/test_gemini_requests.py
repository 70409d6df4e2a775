"""What goes out to Gemini, against the official SDK: its types, and the bodies that it sends itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp import ImagePart, Message, ModelFeatureError, ThinkingBlock
from agentfp.events import ThinkingOmitted
from agentfp.model import ModelRequest, ModelSettings, ToolCall, ToolSpec
from agentfp_gemini.known import known
from agentfp_gemini.request import Bodies
from tests.providers.faults import Faults
from tests.providers.gemini.histories import LOOK, SIGNATURE, answer_of, call, everything, part, reply_of, result_of
from tests.providers.gemini.oracle import check_body, check_reply, sent_by_the_sdk


def body_of(request: ModelRequest, model: str = "m") -> dict[str, Any]:
    made = Bodies("gemini", model, known(model)).body(request)
    check_body(made)
    wire: dict[str, Any] = json.loads(json.dumps(made))
    return wire


def asking(*messages: Message, **more: Any) -> ModelRequest:
    return ModelRequest(system="", messages=messages or (Message("1", "user", "go"),), **more)


def test_a_request_with_everything_is_one_that_the_sdk_would_send_itself(faults: Faults) -> None:
    body = body_of(everything())
    sent = sent_by_the_sdk(faults, "m", body)
    assert sent == body


def test_what_is_not_wished_for_is_not_sent() -> None:
    assert body_of(asking()) == {"contents": [{"role": "user", "parts": [{"text": "go"}]}]}


def test_results_of_a_batch_stand_in_one_content_in_the_order_of_the_calls_with_the_ids_that_the_model_gave() -> None:
    asked = answer_of(call(id="x"), call("find", id="y"))
    contents = body_of(asking(Message("1", "user", "go"), asked, result_of(asked, 1, "b"), result_of(asked, 0, "a")))["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert contents[2]["parts"] == [
        {"functionResponse": {"id": "x", "name": "look", "response": {"output": "a"}}},
        {"functionResponse": {"id": "y", "name": "find", "response": {"output": "b"}}},
    ]


def test_ids_that_the_library_minted_are_not_told_to_the_model() -> None:
    asked = answer_of(call(), call())
    contents = body_of(asking(Message("1", "user", "go"), asked, result_of(asked, 0, "a"), result_of(asked, 1, "b")))["contents"]
    assert contents[1]["parts"] == [call(), call()]
    assert [p["functionResponse"]["response"]["output"] for p in contents[2]["parts"]] == ["a", "b"]
    assert all("id" not in p["functionResponse"] for p in contents[2]["parts"])


def test_an_id_that_the_library_had_to_change_goes_back_as_the_model_gave_it() -> None:
    asked = answer_of(call(id="x"))
    (made,) = asked.tool_calls
    changed = ToolCall("fresh", made.name, made.arguments_json, made.provider_meta)
    message = Message("a", "assistant", "", tool_calls=(changed,))
    contents = body_of(asking(message, Message("r", "tool", "seen", tool_call_id="fresh", tool_name="look")))["contents"]
    assert contents[0]["parts"] == [call(id="x")]
    assert contents[1]["parts"][0]["functionResponse"]["id"] == "x"


def test_images_of_a_tools_result_stand_behind_the_results() -> None:
    asked = answer_of(call(), call())
    first = Message("r", "tool", "seen", tool_call_id=asked.tool_calls[0].id, tool_name="look", parts=(ImagePart("image/png", b"x"),))
    parts = body_of(asking(asked, first, result_of(asked, 1)))["contents"][1]["parts"]
    assert [next(iter(p)) for p in parts] == ["functionResponse", "functionResponse", "inlineData"]


def test_notes_of_plugins_are_part_of_a_result() -> None:
    asked = answer_of(call())
    noted = Message("r", "tool", "seen", tool_call_id=asked.tool_calls[0].id, tool_name="look", notes=("Mind this.",))
    assert body_of(asking(asked, noted))["contents"][1]["parts"][0]["functionResponse"]["response"] == {"output": "seen\n\nMind this."}


def test_the_models_own_text_goes_back_and_not_the_one_that_people_were_shown() -> None:
    message = Message("a", "assistant", "shown", own="what it said")
    assert body_of(asking(message))["contents"][0]["parts"] == [{"text": "what it said"}]


def test_an_empty_reply_is_a_content_with_an_empty_text() -> None:
    assert body_of(asking(Message("a", "assistant", "")))["contents"][0]["parts"] == [{"text": ""}]


# --- signatures -----------------------------------------------------------------------------------------------------------------


_texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
_signatures = st.none() | st.binary(min_size=1, max_size=6).map(lambda raw: __import__("base64").b64encode(raw).decode())


def _signed(made: dict[str, Any], signature: str | None) -> dict[str, Any]:
    return made if signature is None else {**made, "thoughtSignature": signature}


_part = st.one_of(
    st.builds(lambda text, signature: _signed({"text": text}, signature), _texts, _signatures),
    st.builds(lambda text, signature: _signed({"text": text, "thought": True}, signature), _texts, _signatures),
    st.builds(
        lambda name, given, signature: _signed({"functionCall": {"name": name, "args": {"a": [1]}, **given}}, signature),
        st.sampled_from(["look", "find"]),
        st.sampled_from([{}, {"id": "i1"}, {"id": "i2"}]),
        _signatures,
    ),
    st.builds(lambda signature: {"text": "", "thoughtSignature": signature}, st.just(SIGNATURE)),
    st.just({"executableCode": {"code": "1", "language": "PYTHON"}}),
)


def _joined(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Unsigned neighbours of one kind are one text in a message; whatever has a signature stays alone."""
    made: list[dict[str, Any]] = []
    for item in parts:
        before = made[-1] if made else {}
        alike = "text" in item and "text" in before and item.get("thought") == before.get("thought")
        if alike and "thoughtSignature" not in before and "thoughtSignature" not in item:
            made[-1] = {**before, "text": before["text"] + item["text"]}
        else:
            made.append(dict(item))
    return made


@settings(max_examples=150)
@given(st.lists(_part, min_size=1, max_size=7))
def test_parts_go_back_as_they_came_with_each_signature_on_just_the_text_that_it_came_with(parts: list[dict[str, Any]]) -> None:
    check_reply(reply_of(*parts))
    answer = answer_of(*parts)
    assert body_of(asking(answer))["contents"][0]["parts"] == _joined(parts)


def test_what_was_kept_survives_a_saved_history() -> None:
    from agentfp import History

    parts = [part("hm", thought=True, thoughtSignature=SIGNATURE), part("a"), part("b", thoughtSignature="eA=="), call(signature="eQ==")]
    saved = History([answer_of(*parts)]).to_json()
    assert body_of(asking(*History.from_json(saved)))["contents"][0]["parts"] == parts


def test_a_text_that_was_changed_goes_back_without_its_signature_and_that_is_reported() -> None:
    answer = answer_of(part("secret", thoughtSignature=SIGNATURE))
    changed = Message("a", "assistant", "hidden", thinking=answer.thinking)
    seen: list[Any] = []
    assert body_of(asking(changed, report=seen.append))["contents"][0]["parts"] == [{"text": "hidden"}]
    (event,) = seen
    assert (event.provider, event.model, event.message_index, event.block_index, event.reason) == ("gemini", "m", 0, 0, "text-changed")


def test_thinking_of_another_provider_is_left_out() -> None:
    message = Message("a", "assistant", "x", thinking=(ThinkingBlock("hm", "c2ln"), ThinkingBlock("", provider_meta='{"other": 1}')))
    seen: list[Any] = []
    assert body_of(asking(message, report=seen.append))["contents"][0]["parts"] == [{"text": "x"}]
    assert seen == [ThinkingOmitted("gemini", "m", 0, block, "another-provider") for block in (0, 1)]


@pytest.mark.parametrize(
    "meta", ["no json", "[]", '{"gemini":"part"}', '{"gemini":"text","at":-1,"chars":"x"}', '{"gemini":"call","id":5}']
)
def test_a_history_that_somebody_forged_breaks_nothing(meta: str) -> None:
    message = Message(
        "a", "assistant", "x", tool_calls=(ToolCall("i", "look", "{}", meta),), thinking=(ThinkingBlock("t", None, False, meta),)
    )
    parts = body_of(asking(message))["contents"][0]["parts"]
    assert [part for part in parts if "functionCall" in part] == [{"functionCall": {"name": "look", "args": {}}}]


@pytest.mark.parametrize(("model", "marked"), [("gemini-4-hydrogen", True), ("gemini-3.1-pro-preview", True), ("gemini-2.5-flash", False)])
def test_calls_of_other_models_get_the_mark_that_stands_in_for_a_signature_where_the_model_wants_one(model: str, marked: bool) -> None:
    message = Message("a", "assistant", "", tool_calls=(ToolCall("i", "look"), ToolCall("j", "look")))
    first, second = body_of(asking(message), model)["contents"][0]["parts"]
    assert (first.get("thoughtSignature") == "skip_thought_signature_validator") is marked
    assert "thoughtSignature" not in second
    signed = answer_of(call(signature=SIGNATURE), call())
    assert body_of(asking(signed), model)["contents"][0]["parts"] == [call(signature=SIGNATURE), call()]


# --- wishes ----------------------------------------------------------------------------------------------------------------------


def test_a_forced_tool() -> None:
    config = body_of(asking(tools=(LOOK,), tool_choice="look"))["toolConfig"]["functionCallingConfig"]
    assert config == {"mode": "ANY", "allowedFunctionNames": ["look"]}


@pytest.mark.parametrize(
    ("model", "tokens", "config"),
    [
        ("gemini-2.5-flash", 512, {"thinkingBudget": 512, "includeThoughts": True}),
        ("gemini-2.5-flash", 0, {"thinkingBudget": 0, "includeThoughts": False}),
        ("gemini-3.1-pro-preview", 512, {"thinkingBudget": 512, "includeThoughts": True}),
        ("somebodys-own", 1, {"thinkingBudget": 1, "includeThoughts": True}),
        ("gemini-2.0-flash", 0, None),
    ],
)
def test_a_budget_for_thinking(model: str, tokens: int, config: Any) -> None:
    body = body_of(asking(settings=ModelSettings(thinking_tokens=tokens)), model)
    assert body.get("generationConfig", {}).get("thinkingConfig") == config


@pytest.mark.parametrize(
    ("model", "wish", "says"),
    [
        ("gemini-4-argon", {"settings": ModelSettings(thinking_tokens=100)}, "thinking budget"),
        ("gemini-2.5-pro", {"settings": ModelSettings(thinking_tokens=0)}, "switched off"),
        ("gemini-2.0-flash", {"settings": ModelSettings(thinking_tokens=100)}, "thinking"),
        ("gemini-2.5-flash", {"output_schema_json": '{"type":"object"}'}, "json_schema"),
        (
            "m",
            {"tools": (ToolSpec("t", "", '{"properties":{"a":{"not":{}}},"type":"object"}'),)},
            "'not' at '#/properties/a' of the schema of tool 't'",
        ),
        ("m", {"output_schema_json": '{"if":{},"type":"object"}'}, "'if' at '#' of the schema of the answer"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_before_sending(model: str, wish: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelFeatureError) as caught:
        body_of(asking(**wish), model)
    assert f"model {model!r} of 'gemini' has no" in str(caught.value)
    assert says in str(caught.value)


def test_thinking_by_level_goes_through_extra() -> None:
    extra = {"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}}}
    body = body_of(asking(settings=ModelSettings(temperature=0.1, extra=extra)), "gemini-4-argon")
    assert body["generationConfig"] == {"temperature": 0.1, "thinkingConfig": {"thinkingLevel": "LOW"}}
