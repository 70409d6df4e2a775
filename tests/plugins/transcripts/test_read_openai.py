"""OpenAI's chat messages and Responses items, as the official SDK's types write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.responses import Response

from agentfp_transcripts import Problem, Readers, read
from tests.plugins.transcripts.telling import ANSWER, ASKED, CONVERSATION, RESULT, failed, read_one, told

CALL = {"id": "c1", "type": "function", "function": {"name": "price", "arguments": '{"city": "Oslo"}'}}
TOOLS = [{"type": "function", "function": {"name": "price", "description": "A price.", "parameters": {"type": "object"}}}]
BEFORE: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": ASKED},
    ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [CALL]}).model_dump(),
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps(RESULT)},
]
COMPLETION = ChatCompletion.model_validate(
    {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWER}}],
    }
).model_dump(mode="json")  # fmt: skip
MESSAGES = [*BEFORE, COMPLETION["choices"][0]["message"]]


@pytest.mark.parametrize(
    "data",
    [
        MESSAGES,
        {"id": "t1", "messages": MESSAGES},
        {"task_id": 7, "reward": 1.0, "traj": MESSAGES},
        {"request": {"model": "m", "messages": BEFORE, "tools": TOOLS}, "response": COMPLETION},
        {"messages": BEFORE, "tools": TOOLS, **COMPLETION},
        {"custom_id": "r1", "body": {"messages": BEFORE}, "response": {"status_code": 200, "body": COMPLETION}},
        {"input": {"messages": BEFORE}, "output": COMPLETION},
        {"type": "GENERATION", "input": BEFORE, "output": MESSAGES[-1]},
        {"type": "GENERATION", "input": BEFORE, "output": ANSWER},
    ],
    ids=["list", "named", "trajectory", "exchange", "flat exchange", "batch", "traced", "observed", "observed text"],
)
def test_chat_in_the_forms_that_tools_write(data: Any) -> None:
    transcript = read_one(data, "openai-chat")
    assert told(transcript) == CONVERSATION
    assert transcript.messages[3].tool_call_id == "c1"
    assert [m.turn for m in transcript.messages] == [0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("key", "value", "name"), [("id", "t1", "t1"), ("conversation_id", "c", "c"), ("task_id", 7, "7"), ("x", 1, "made")]
)
def test_a_transcript_is_called_what_its_data_calls_it(key: str, value: Any, name: str) -> None:
    assert read_one({key: value, "messages": MESSAGES}, "openai-chat").id == name


def test_the_tools_of_a_request_are_kept() -> None:
    (tool,) = read_one({"messages": MESSAGES, "tools": TOOLS}, "openai-chat").tools
    assert (tool.name, tool.description, tool.parameters) == ("price", "A price.", {"type": "object"})


def test_content_parts_and_what_is_no_text() -> None:
    parts = [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "text", "text": "here"},
    ]
    transcript = read_one(
        [{"role": "user", "content": parts}, {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}], "openai-chat"
    )
    assert told(transcript) == [("user", "Look\n[image]\nhere"), ("assistant", "No.")]
    assert transcript.problems == ("1 part of type 'image_url' cannot be read as text",)


@pytest.mark.parametrize("mark", [{"is_error": True}, {"error": True}, {"status": "error"}])
def test_a_tool_that_failed_is_told_by_any_of_the_marks_that_tools_write(mark: dict[str, Any]) -> None:
    transcript = read_one([*BEFORE[:3], {**BEFORE[3], "content": "no such city", **mark}], "openai-chat")
    assert failed(transcript) == ["no such city"]


FOREIGN = {
    "untyped blocks": [BEFORE[1], {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"json": RESULT}]}}]}],
    "threads": [{"object": "thread.message", "role": "assistant", "content": [{"type": "text", "text": {"value": ANSWER}}]}],
}


@pytest.mark.parametrize("messages", FOREIGN.values(), ids=list(FOREIGN))
@pytest.mark.parametrize("form", ["list", "named", "lines"])
def test_messages_that_only_look_like_these_are_not_read_as_these(messages: list[Any], form: str, tmp_path: Path) -> None:
    file = tmp_path / "made.jsonl"
    data = {"list": messages, "named": {"messages": messages}}.get(form)
    lines = [data] if data is not None else messages
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = list(read([file], readers=Readers()))
    assert found
    assert all(isinstance(one, Problem) and "--map" in one.text for one in found)


def test_functions_of_the_older_form() -> None:
    transcript = read_one(
        [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": None, "function_call": {"name": "price", "arguments": '{"city":"Oslo"}'}},
            {"role": "function", "name": "price", "content": json.dumps(RESULT)},
            {"role": "assistant", "content": ANSWER},
        ],
        "openai-chat",
    )
    assert told(transcript) == CONVERSATION[1:]


def test_arguments_that_are_no_json_are_kept() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "price", "arguments": '{"city": "Os'}}
    (message,) = read_one([{"role": "assistant", "content": "", "tool_calls": [call]}], "openai-chat").messages
    assert message.tool_calls[0].arguments_json == '{"city": "Os'


def test_a_message_that_cannot_be_read_keeps_its_place() -> None:
    transcript = read_one([*BEFORE[:2], "what?", {"role": "narrator", "content": "and then"}, *BEFORE[2:]], "openai-chat")
    assert [m.role for m in transcript.messages] == ["system", "user", "system", "system", "assistant", "tool"]
    assert transcript.problems[0] == "message 2 is no object, but a str"
    assert "message 3 has the role 'narrator'" in transcript.problems[1]


# --- Responses ------------------------------------------------------------------------------------------------------------

CALL_ITEM = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "price", "arguments": '{"city":"Oslo"}', "status": "completed"}
RESULT_ITEM = {"type": "function_call_output", "call_id": "c1", "output": json.dumps(RESULT)}
THINKING_ITEM = {"type": "reasoning", "id": "rs_1", "summary": []}
ANSWER_ITEM = {
    "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": ANSWER, "annotations": []}],
}  # fmt: skip
ASKED_ITEM = {"role": "user", "content": [{"type": "input_text", "text": ASKED}]}


def response(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    return Response.model_validate(
        {
            "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": list(output), "parallel_tool_calls": True,
            "tool_choice": "auto", "tools": [], **more,
        }
    ).model_dump(mode="json")  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        [{"role": "developer", "content": "Be brief."}, ASKED_ITEM, THINKING_ITEM, CALL_ITEM, RESULT_ITEM, ANSWER_ITEM],
        {"instructions": "Be brief.", "input": [ASKED_ITEM, CALL_ITEM, RESULT_ITEM], "output": [THINKING_ITEM, ANSWER_ITEM]},
        {"request": {"instructions": "Be brief.", "input": [ASKED_ITEM, CALL_ITEM, RESULT_ITEM]}, "response": response(ANSWER_ITEM)},
        {"object": "list", "data": [{"role": "system", "content": "Be brief."}, ASKED_ITEM, CALL_ITEM, RESULT_ITEM, ANSWER_ITEM]},
    ],
    ids=["items", "exchange", "request and response", "listed"],
)
def test_responses_in_the_forms_that_tools_write(data: Any) -> None:
    assert told(read_one(data, "openai-responses")) == CONVERSATION


def test_an_input_that_is_a_text() -> None:
    transcript = read_one({"input": ASKED, "output": [CALL_ITEM], "previous_response_id": "resp_0"}, "openai-responses")
    assert told(transcript) == CONVERSATION[1:3]
    assert "previous_response_id" in transcript.problems[0]


def test_calls_in_a_row_are_of_one_message() -> None:
    second = {**CALL_ITEM, "call_id": "c2"}
    transcript = read_one([ASKED_ITEM, CALL_ITEM, second, RESULT_ITEM, {**RESULT_ITEM, "call_id": "c2"}, ANSWER_ITEM], "openai-responses")
    assert [len(m.tool_calls) for m in transcript.messages] == [0, 2, 0, 0, 0]


def test_tools_of_the_vendor() -> None:
    found = response(
        {
            "type": "file_search_call",
            "id": "fs",
            "status": "completed",
            "queries": ["oslo"],
            "results": [{"text": "1234", "filename": "a.txt"}],
        },
        {
            "type": "code_interpreter_call",
            "id": "ci",
            "status": "completed",
            "code": "1+1",
            "container_id": "x",
            "outputs": [{"type": "logs", "logs": "2"}],
        },
        {"type": "mcp_call", "id": "m1", "name": "price", "server_label": "s", "arguments": "{}", "output": "1234", "error": None},
        {
            "type": "mcp_call",
            "id": "m2",
            "name": "price",
            "server_label": "s",
            "arguments": "{}",
            "output": None,
            "error": {"type": "http_error", "code": 503, "message": "down"},
        },
        {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "oslo"}},
        ANSWER_ITEM,
    )
    transcript = read_one({"input": ASKED, **found}, "openai-responses")
    results = [(m.tool_name, m.content) for m in transcript.messages if m.role == "tool"]
    assert [name for name, _ in results] == ["file_search", "code_interpreter", "price", "price"]
    assert "1234" in results[0][1]
    assert "logs" in results[1][1]
    assert results[2][1] == "1234"
    assert "down" in failed(transcript)[0]
    assert "web_search_call" in transcript.problems[-1]
