"""Anthropic's messages, as the official SDK's types write them, and sessions of Claude Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import Message

from agentfp.transcripts import Transcript
from agentfp_transcripts import Readers, read
from tests.plugins.transcripts.telling import ANSWER, ASKED, CONVERSATION, RESULT, failed, read_all, read_one, told


def reply(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    return Message.model_validate(
        {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(content), "stop_reason": stop,
            "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    ).model_dump(mode="json")  # fmt: skip


CALLING = reply({"type": "tool_use", "id": "c1", "name": "price", "input": {"city": "Oslo"}}, stop="tool_use")
ANSWERING = reply({"type": "thinking", "thinking": "Easy.", "signature": "x"}, {"type": "text", "text": ANSWER})
RESULTS = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": json.dumps(RESULT)}]}],
}
ASKING = {"role": "user", "content": ASKED}
REQUEST = {
    "model": "m", "max_tokens": 99, "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "price", "description": "A price.", "input_schema": {"type": "object"}}],
    "messages": [ASKING, {"role": "assistant", "content": CALLING["content"]}, RESULTS],
}  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        {"request": REQUEST, "response": ANSWERING},
        {**REQUEST, "response": ANSWERING},
        {"id": "t", "system": "Be brief.", "messages": [ASKING, CALLING, RESULTS, ANSWERING]},
        {"custom_id": "b", "params": REQUEST, "response": ANSWERING},
    ],
    ids=["exchange", "request with response", "conversation", "batch"],
)
def test_exchanges(data: Any) -> None:
    assert told(read_one(data, "anthropic")) == CONVERSATION


def test_a_list_of_messages() -> None:
    assert told(read_one([ASKING, CALLING, RESULTS, ANSWERING], "anthropic")) == CONVERSATION[1:]


def test_a_request_without_tools_is_known_by_its_fields() -> None:
    transcript = read_one({"system": "Be brief.", "max_tokens": 9, "messages": [ASKING]}, "anthropic")
    assert told(transcript) == CONVERSATION[:2]


def test_tools_that_failed_and_words_beside_results() -> None:
    results = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "out of order 99", "is_error": True},
            {"type": "tool_result", "tool_use_id": "c2"},
            {"type": "text", "text": "And hurry."},
        ],
    }
    calling = reply(
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "c1", "name": "price", "input": {}},
        {"type": "tool_use", "id": "c2", "name": "stock", "input": {}},
    )
    transcript = read_one([ASKING, calling, results, ANSWERING], "anthropic")
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert failed(transcript) == ["out of order 99"]
    assert [m.tool_name for m in transcript.messages[2:4]] == ["price", "stock"]


def test_tools_that_the_vendor_runs_stand_between_parts_of_the_answer() -> None:
    found = [{"type": "web_search_result", "url": "https://x", "title": "Prices 1234", "encrypted_content": "e", "page_age": None}]
    answering = reply(
        {"type": "text", "text": "I search. "},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "oslo"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": found},
        {"type": "text", "text": "It costs "},
        {"type": "text", "text": "1234."},
    )
    transcript = read_one([ASKING, answering], "anthropic")
    assert [(m.role, m.tool_name) for m in transcript.messages[1:]] == [("assistant", None), ("tool", "web_search"), ("assistant", None)]
    assert "1234" in transcript.messages[2].content
    assert transcript.messages[3].content == "It costs 1234."


def test_an_error_of_a_tool_that_the_vendor_runs() -> None:
    answering = reply(
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
        },
        {"type": "text", "text": "I could not search."},
    )
    assert "unavailable" in failed(read_one([ASKING, answering], "anthropic"))[0]


def test_sessions_of_claude_code_and_their_helpers() -> None:
    def line(kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"type": kind, "sessionId": "s1", "uuid": "u", "isSidechain": False, "message": message, **more}

    lines = [
        {"type": "summary", "summary": "Prices"},
        line("user", ASKING),
        line("user", {"role": "user", "content": "Look up 77."}, isSidechain=True, agentId="a1"),
        line("assistant", CALLING),
        line("user", RESULTS),
        line("assistant", {"role": "assistant", "content": [{"type": "text", "text": "77 it is."}]}, isSidechain=True, agentId="a1"),
        line("assistant", ANSWERING),
    ]
    main, helper = read_all(lines)
    assert (main.id, helper.id) == ("s1", "s1/a1")
    assert told(main) == CONVERSATION[1:]
    assert told(helper) == [("user", "Look up 77."), ("assistant", "77 it is.")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_session_file_may_begin_with_any_number_of_lines_that_are_no_messages(end: str, tmp_path: Path) -> None:
    notes = [{"type": "file-history-snapshot", "messageId": "u", "snapshot": {}}] * 60 + [
        {"type": "summary", "summary": "x", "leafUuid": "u"}
    ]
    said = [("user", ASKING), ("assistant", CALLING), ("user", RESULTS), ("assistant", ANSWERING)]
    lines = [*notes, *({"type": kind, "sessionId": "s1", "uuid": "u", "message": message} for kind, message in said)]
    file = tmp_path / "session.jsonl"
    file.write_text(end.join(map(json.dumps, lines)), encoding="utf-8", newline="")
    (found,) = read([file], readers=Readers())
    assert isinstance(found, Transcript)
    assert (found.id, told(found)) == ("s1", CONVERSATION[1:])


def test_what_claude_code_streams_to_programs() -> None:
    def line(kind: str, message: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
        return {"type": kind, "session_id": "s1", "parent_tool_use_id": parent, "message": message}

    lines = [
        {"type": "system", "subtype": "init", "session_id": "s1", "tools": ["price"]},
        line("user", ASKING),
        line("assistant", CALLING),
        line("assistant", {"role": "assistant", "content": [{"type": "text", "text": "77 it is."}]}, "t9"),
        line("user", RESULTS),
        line("assistant", ANSWERING),
        {"type": "result", "subtype": "success", "session_id": "s1", "result": ANSWER},
    ]
    main, helper = read_all(lines)
    assert (main.id, told(main)) == ("s1", CONVERSATION[1:])
    assert (helper.id, told(helper)) == ("s1/t9", [("assistant", "77 it is.")])
