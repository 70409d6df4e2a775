"""What goes out to Ollama, against the official SDK: its types, and the bodies that it sends itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfp import ImagePart, Message, ModelFeatureError
from agentfp.model import DocumentPart, ModelRequest, ModelSettings, ToolSpec
from agentfp_ollama import OllamaModel
from agentfp_ollama.request import Bodies
from agentfp_ollama.schemas import inlined
from tests.providers.faults import Faults
from tests.providers.ollama.chats import LOOK, SCHEMA, check_body, everything, sent_by_the_sdk


def body_of(request: ModelRequest, model: str = "m", *, stream: bool = False, num_ctx: int | None = None) -> dict[str, Any]:
    made = Bodies("ollama", model, OllamaModel(model).features, num_ctx).body(request, stream=stream)
    check_body(made)
    wire: dict[str, Any] = json.loads(json.dumps(made))
    return wire


def asking(*messages: Message, **more: Any) -> ModelRequest:
    return ModelRequest(system="", messages=messages or (Message("1", "user", "go"),), **more)


def test_a_request_with_everything_is_one_that_the_sdk_would_send_itself(faults: Faults) -> None:
    body = body_of(everything())
    assert sent_by_the_sdk(faults, body) == body


def test_what_each_message_becomes() -> None:
    body = body_of(everything())
    assert body["messages"] == [
        {"role": "system", "content": "You look."},
        {"role": "user", "content": "What is this?", "images": ["iVBORw=="]},
        {
            "role": "assistant",
            "content": "Let me look.",
            "thinking": "hm",
            "tool_calls": [
                {"function": {"name": "look", "arguments": {"n": 1}}},
                {"function": {"name": "look", "arguments": {"n": 2}}},
            ],
        },
        {"role": "tool", "content": "seen ü\n\nMind this.", "tool_name": "look"},
        {"role": "tool", "content": "more", "tool_name": "look"},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Go on."},
    ]
    assert body["options"] == {
        "temperature": 0.5,
        "top_p": 0.9,
        "num_predict": 100,
        "stop": ["END"],
        "seed": 7,
        "top_k": 20,
        "num_ctx": 2048,
    }
    assert (body["keep_alive"], body["think"], body["format"]) == ("10m", False, json.loads(SCHEMA))


def test_what_is_not_wished_for_is_not_sent() -> None:
    assert body_of(asking(), stream=True) == {"model": "m", "messages": [{"role": "user", "content": "go"}], "stream": True}


def test_the_room_for_the_context() -> None:
    assert body_of(asking(), num_ctx=4096)["options"] == {"num_ctx": 4096}
    assert body_of(asking(settings=ModelSettings(extra={"options": {"num_ctx": 1}})), num_ctx=4096)["options"] == {"num_ctx": 1}


def test_thinking_is_switched_on_and_off_by_a_budget_and_set_by_extra() -> None:
    assert body_of(asking(settings=ModelSettings(thinking_tokens=100)))["think"] is True
    assert body_of(asking(settings=ModelSettings(extra={"think": "high"})))["think"] == "high"
    assert body_of(asking(settings=ModelSettings(thinking_tokens=0)))["think"] is False
    assert "think" not in body_of(asking(settings=ModelSettings(thinking_tokens=0)), "llama3.2")


@pytest.mark.parametrize(
    ("model", "request_", "says"),
    [
        ("m", asking(tools=(LOOK,), tool_choice="look"), "forced tool choice (forced_tool_choice)"),
        ("llama3.2", asking(settings=ModelSettings(thinking_tokens=100)), "thinking (thinking_tokens)"),
        ("gemma3:4b", asking(tools=(LOOK,)), "tools"),
        ("llama3.2:1b", asking(Message("1", "user", "x", parts=(ImagePart("image/png", b"x"),))), "images"),
        ("m", asking(Message("1", "user", "x", parts=(ImagePart("image/png", url="https://e.org/x"),))), "images by URL"),
        ("m", asking(Message("1", "user", "x", parts=(DocumentPart("text/plain", b"x"),))), "documents"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_before_sending(model: str, request_: ModelRequest, says: str) -> None:
    with pytest.raises(ModelFeatureError) as caught:
        body_of(request_, model)
    assert f"model {model!r} of 'ollama' has no {says}; " in str(caught.value)


# --- schemas of tools --------------------------------------------------------------------------------------------------------


def test_what_a_reference_leads_to_is_written_out() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A", "description": "mine"}, "l": {"type": "array", "items": {"$ref": "#/$defs/A"}}},
        "$defs": {"A": {"type": "string", "enum": ["x"], "description": "its own"}},
    }
    before = repr(schema)
    made = inlined(schema)
    assert made == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "enum": ["x"], "description": "mine"},
            "l": {"type": "array", "items": {"type": "string", "enum": ["x"], "description": "its own"}},
        },
    }
    assert repr(schema) == before
    body = body_of(asking(tools=(ToolSpec("t", "", json.dumps(schema)),)))
    assert body["tools"][0]["function"]["parameters"] == made


def test_a_reference_that_leads_back_stays_where_it_would_begin_anew() -> None:
    tree = {"type": "object", "properties": {"below": {"$ref": "#/$defs/T"}}}
    made = inlined({"properties": {"t": {"$ref": "#/$defs/T"}}, "$defs": {"T": tree}})
    assert made == {"properties": {"t": {**tree, "properties": {"below": {"$ref": "#/$defs/T"}}}}, "$defs": {"T": tree}}


@pytest.mark.parametrize("reference", ["https://e.org/x", "#/$defs/Gone", "#foo", 5])
def test_a_reference_that_leads_nowhere_stays(reference: Any) -> None:
    schema = {"properties": {"a": {"$ref": reference}}}
    assert inlined(schema) == schema


def test_a_schema_that_would_grow_without_end_goes_out_as_it_is() -> None:
    defs: dict[str, Any] = {f"D{n}": {"properties": {s: {"$ref": f"#/$defs/D{n + 1}"} for s in "ab"}} for n in range(25)}
    schema = {"$ref": "#/$defs/D0", "$defs": {**defs, "D25": {}}}
    assert inlined(schema) == schema
