"""Histories: out of a run and in again, from elsewhere, and mended where a provider would refuse them for ever."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfp import CheckpointError, DocumentPart, History, ImagePart, Message, ThinkingBlock, ToolCall
from agentfp.events import MessageRepaired, TurnStart
from tests.core.running import answering, call, check_record, last_request, roles, says, tool_texts

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> str:
    """Look."""
    return f"seen {n}"


EVERYTHING = [
    Message("m1", "user", "see", 1, parts=(ImagePart("image/png", b"\x00\xff"), DocumentPart("application/pdf", url="u", name="n"))),
    Message(
        "m2",
        "assistant",
        "shown",
        1,
        "model",
        tool_calls=(ToolCall("c1", "look", '{"n":1}', '{"k": 1}'),),
        thinking=(ThinkingBlock("hm", "sig", provider_meta="1"), ThinkingBlock("", redacted=True)),
        own="shown <note/>",
    ),
    Message(
        "m3",
        "tool",
        "seen 1",
        1,
        "tool",
        tool_call_id="c1",
        tool_name="look",
        notes=("once", "twice"),
        parts=(ImagePart("image/png", url="v"),),
    ),
    Message("m4", "assistant", "ü \U0001f600", 1, "model"),
    Message("m5", "user", "from the library", 1, "library"),
]


# --- out and in -------------------------------------------------------------------------------------------------------------------


def test_a_history_comes_back_from_its_json_whole() -> None:
    text = History(EVERYTHING, root_id="conv_1").to_json()
    back = History.from_json(text)
    assert (list(back), back.root_id) == (EVERYTHING, "conv_1")
    assert back.to_json() == text
    assert History.of(json.loads(text)) == History.of(text.encode()) == back


@pytest.mark.parametrize("form", ["history", "json", "parsed", "messages", "dicts"])
async def test_a_conversation_goes_on_from_any_form_of_its_history(form: str) -> None:
    agent = answering(call("look", n=1), "one", "two", tools=[look])
    first = await agent.run("a")
    forms: dict[str, Any] = {
        "history": first.history,
        "json": first.history.to_json(),
        "parsed": json.loads(first.history.to_json()),
        "messages": list(first.history),
        "dicts": [message.to_dict() for message in first.history],
    }
    result = await agent.run("b", history=forms[form])
    check_record(result)
    assert [m.text for m in result.history] == ["a", "", "seen 1", "one", "b", "two"]
    assert [m.turn for m in result.history] == [1, 1, 1, 1, 2, 2]
    assert [(m.role, m.text, m.tool_calls) for m in last_request(agent).messages] == [
        (m.role, m.text, m.tool_calls) for m in list(result.history)[:-1]
    ]
    assert (result.root_id == first.root_id) == (form in ("history", "json", "parsed"))


FOREIGN: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "first"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "x1", "type": "function", "function": {"name": "look", "arguments": '{"n": 4}'}}],
    },
    {"role": "tool", "tool_call_id": "x1", "content": "seen 4"},
    {"role": "assistant", "content": "four"},
    {"role": "user", "content": "second"},
    {"role": "assistant", "content": "yes"},
]


async def test_a_history_of_another_framework_is_read() -> None:
    agent = answering("three", instructions="Own words.")
    result = await agent.run("third", history=FOREIGN)
    check_record(result)
    request = last_request(agent)
    assert request.system == "Own words.\n\nBe brief."
    assert roles(request.messages) == ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]
    assert request.messages[1].tool_calls == (ToolCall("x1", "look", '{"n":4}'),)
    assert (request.messages[2].tool_name, request.messages[2].author) == ("look", "tool")
    assert [(m.turn, m.content) for m in result.history if m.role == "user"] == [(1, "first"), (2, "second"), (3, "third")]
    assert [event.turn for event in result.record if isinstance(event.payload, TurnStart)] == [3]


async def test_ids_of_calls_to_come_avoid_those_of_the_history() -> None:
    result = await answering(call("look", id="x1"), "done", tools=[look]).run("go", history=FOREIGN)
    ids = [made.id for message in result.history for made in message.tool_calls]
    assert len(ids) == len(set(ids)) == 2
    check_record(result)


# --- mending ----------------------------------------------------------------------------------------------------------------------


def asks(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [{"id": one, "name": "look", "arguments": {}} for one in ids]}


def told(one: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": one, "content": f"result of {one}"}


def person(text: str = "hi") -> dict[str, Any]:
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("history", "repaired", "answered"),
    [
        ([person(), asks("a")], [("a", "orphan-call")], ["a"]),
        ([person(), asks("a", "b"), told("b"), person()], [("a", "orphan-call")], ["b", "a"]),
        ([person(), asks("a"), person(), told("a")], [("a", "orphan-call"), ("a", "orphan-result")], ["a"]),
        ([person(), told("z"), asks("a"), told("a")], [("z", "orphan-result")], ["a"]),
        ([person(), asks("a"), told("a"), told("a")], [("a", "duplicate-result")], ["a"]),
        ([person(), asks("a"), asks("b"), told("b")], [("a", "orphan-call")], ["a", "b"]),
        ([person(), asks("a"), told("a")], [], ["a"]),
        ([], [], []),
    ],
)
async def test_every_call_gets_one_result_and_the_record_says_what_was_mended(history: Any, repaired: Any, answered: list[str]) -> None:
    agent = answering("fine", "fine again")
    result = await agent.run("go", history=history)
    record = result.record
    assert [(repair.tool_call_id, repair.reason) for repair in record.of(MessageRepaired)] == repaired
    messages = last_request(agent).messages
    assert [m.tool_call_id for m in messages if m.role == "tool"] == answered
    lost = {call_id for call_id, reason in repaired if reason == "orphan-call"}
    assert tool_texts(messages) == ["The result of this call is not known." if one in lost else f"result of {one}" for one in answered]
    again = await agent.run("more", history=result.history.to_json())
    assert again.record.of(MessageRepaired) == []
    assert again.text == "fine again"


# --- what is no history -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "words"),
    [
        (5, "a list of messages, got a int"),
        ("not json", "this is not JSON"),
        ('"text"', "this is not JSON|a list of messages"),
        ({"version": 2, "messages": []}, "version 2 cannot be read; this library reads version 1"),
        ({"messages": []}, "version None"),
        ([person(), "SECRET"], "message 1 of the history must be an object, got a str"),
        ([{"content": "SECRET"}], "message 0 of the history needs a role"),
        ([{"role": "robot", "content": "SECRET"}], "message 0 of the history needs a role"),
        ([person(), {"role": "user", "content": ["SECRET"]}], "message 1 of the history needs a text in 'content', got a list"),
        ([person(), {"role": "user", "content": None}], "message 1 of the history needs a text"),
        (
            [{"role": "assistant", "content": "", "tool_calls": [{"name": "SECRET"}]}],
            "message 0 of the history has a field that cannot be read",
        ),
        ([{"role": "assistant", "content": "", "tool_calls": [{"id": "a", "name": "x", "arguments": 5}]}], "message 0"),
        ([{"role": "user", "content": "x", "parts": [{"kind": "image"}]}], "message 0"),
        ([{"role": "user", "content": "x", "turn": "SECRET"}], "message 0"),
        ([{"role": "user", "content": "x", "thinking": [{"SECRET": 1}]}], "message 0"),
    ],
)
async def test_what_is_no_history_is_refused_by_its_place_and_never_by_its_words(history: Any, words: str) -> None:
    agent = answering("never")
    with pytest.raises(CheckpointError, match=words) as caught:
        await agent.run("go", history=history)
    assert "SECRET" not in str(caught.value)
    assert isinstance(caught.value, TypeError)


# --- a history is a value -----------------------------------------------------------------------------------------------------------


async def test_a_history_does_not_grow_with_the_conversation() -> None:
    chat = answering("one", "two").conversation()
    first = (await chat.send("a")).history
    kept = list(first)
    await chat.send("b")
    assert (len(first), list(first), first[-1].content) == (2, kept, "one")
    assert first[0:9] == kept
    with pytest.raises(IndexError):
        first[2]
    with pytest.raises(IndexError):
        first[-3]


async def test_the_history_is_a_fold_of_the_record() -> None:
    result = await answering(says("Let me", call("look", n=1)), "done", tools=[look]).run("go")
    assert result.record.history == result.history
    assert result.record.at(result.record.events("agentfp.tool.ended")[0].seq).history == History(list(result.history)[:2])
