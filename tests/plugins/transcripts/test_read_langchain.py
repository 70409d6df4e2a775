"""Messages of LangChain, in the forms in which the library itself writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)

from tests.plugins.transcripts.telling import ANSWER, ASKED, CONVERSATION, RESULT, failed, read_one, told

MESSAGES: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage(ASKED, id="h1"),
    AIMessage("", tool_calls=[{"name": "price", "args": {"city": "Oslo"}, "id": "c1"}]),
    ToolMessage(json.dumps(RESULT), tool_call_id="c1", name="price"),
    AIMessage(ANSWER),
]
FORMS: dict[str, Callable[[Sequence[BaseMessage]], Any]] = {
    "messages_to_dict": messages_to_dict,
    "dumpd": lambda messages: dumpd(list(messages)),
    "model_dump": lambda messages: [m.model_dump(mode="json") for m in messages],
}


@pytest.mark.parametrize("form", FORMS)
def test_the_forms_of_the_library(form: str) -> None:
    transcript = read_one(json.loads(json.dumps(FORMS[form](MESSAGES))), "langchain")
    assert told(transcript) == CONVERSATION
    assert transcript.messages[1].id == "h1"


@pytest.mark.parametrize("form", FORMS)
def test_states_that_hold_messages(form: str) -> None:
    dumped = FORMS[form](MESSAGES)
    for state in (
        {"messages": dumped, "next": []},
        {"values": {"messages": dumped}, "config": {"configurable": {"thread_id": "t1"}}},
        {"v": 4, "id": "x", "ts": "2026", "channel_values": {"messages": dumped}, "channel_versions": {}},
        {"checkpoint": {"channel_values": {"messages": dumped}}},
    ):
        assert told(read_one(state, "langchain")) == CONVERSATION


def test_a_state_is_called_by_its_thread() -> None:
    state = {"values": {"messages": messages_to_dict(MESSAGES)}, "config": {"configurable": {"thread_id": "t1"}}}
    assert read_one(state, "langchain").id == "t1"


def test_a_traced_model_call() -> None:
    run = {
        "id": "r1",
        "inputs": {"messages": [dumpd(MESSAGES[:-1])]},
        "outputs": {"generations": [[{"text": ANSWER, "message": dumpd(MESSAGES[-1])}]]},
    }
    assert told(read_one(run, "langchain")) == CONVERSATION


def test_tools_that_failed() -> None:
    messages = [*MESSAGES[:3], ToolMessage("no such city 99", tool_call_id="c1", status="error"), MESSAGES[-1]]
    for form in FORMS.values():
        transcript = read_one(form(messages), "langchain")
        assert failed(transcript) == ["no such city 99"]
        assert transcript.messages[3].tool_name == "price"


def test_blocks_of_content() -> None:
    said: list[str | dict[str, Any]] = [
        {"type": "text", "text": "Let me "},
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "look."},
        {"type": "tool_use", "id": "c1", "name": "price", "input": {"city": "Oslo"}},
    ]
    calling = AIMessage(said, tool_calls=[{"name": "price", "args": {"city": "Oslo"}, "id": "c1"}])
    transcript = read_one(messages_to_dict([MESSAGES[1], calling]), "langchain")
    assert told(transcript)[1] == ("assistant", "Let me look.", "price", {"city": "Oslo"})
    assert not transcript.problems


def test_older_and_rarer_messages() -> None:
    older = AIMessage("", additional_kwargs={"function_call": {"name": "price", "arguments": '{"city":"Oslo"}'}})
    messages = [
        ChatMessage(content="Be brief.", role="developer"),
        HumanMessage(ASKED),
        older,
        FunctionMessage(content=json.dumps(RESULT), name="price"),
        AIMessageChunk(content=ANSWER),
    ]
    assert told(read_one(messages_to_dict(messages), "langchain")) == CONVERSATION
    assert told(read_one(dumpd(messages), "langchain")) == CONVERSATION
