"""Messages of the Vercel AI SDK.

Those of version 6 have the form that ``ai`` 6.0.326 wrote in runs on its own mock model; older forms are written by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentfp.transcripts import Transcript
from agentfp_transcripts import Readers, read
from tests.plugins.transcripts.telling import ANSWER, ASKED, CONVERSATION, RESULT, failed, read_one, told

CALL = {"toolCallId": "c1", "toolName": "price"}
SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": ASKED}
DONE = {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}
INVOCATION = {**CALL, "state": "result", "args": {"city": "Oslo"}, "result": RESULT}


def model_messages(result: dict[str, Any], **arguments: Any) -> list[dict[str, Any]]:
    return [
        SYSTEM,
        USER,
        {"role": "assistant", "content": [{"type": "tool-call", **CALL, **(arguments or {"input": {"city": "Oslo"}})}]},
        {"role": "tool", "content": [{"type": "tool-result", **CALL, **result}]},
        DONE,
    ]


def shown(*parts: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    asked = {"id": "u", "role": "user", "parts": [{"type": "text", "text": ASKED}]}
    return [
        {"id": "s", "role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
        asked,
        {"id": "a", "role": "assistant", **({"parts": list(parts)} if parts else {}), **more},
    ]


FORMS = {
    "model 6": model_messages({"output": {"type": "json", "value": RESULT}}),
    "model 4": model_messages({"result": RESULT}, args={"city": "Oslo"}),
    "interface 6": shown(
        {"type": "step-start"},
        {"type": "tool-price", "toolCallId": "c1", "state": "output-available", "input": {"city": "Oslo"}, "output": RESULT},
        {"type": "step-start"},
        {"type": "text", "text": ANSWER, "state": "done"},
    ),
    "interface 6, a tool of run time": shown(
        {"type": "dynamic-tool", **CALL, "state": "output-available", "input": {"city": "Oslo"}, "output": RESULT},
        {"type": "text", "text": ANSWER},
    ),
    "interface 4": shown(
        {"type": "step-start"},
        {"type": "tool-invocation", "toolInvocation": INVOCATION},
        {"type": "text", "text": ANSWER},
        content=ANSWER,
        toolInvocations=[INVOCATION],
    ),
    "interface 3": shown(content=ANSWER, toolInvocations=[INVOCATION]),
}


@pytest.mark.parametrize("messages", FORMS.values(), ids=list(FORMS))
@pytest.mark.parametrize("named", [False, True])
def test_messages_of_each_version(messages: list[Any], named: bool) -> None:
    transcript = read_one({"id": "chat1", "messages": messages} if named else messages, "vercel")
    assert (told(transcript), transcript.problems) == (CONVERSATION, ())
    assert transcript.messages[3].tool_call_id == "c1"


def test_lines_of_which_the_first_looks_like_another_vendors(tmp_path: Path) -> None:
    file = tmp_path / "made.jsonl"
    file.write_text("".join(json.dumps(message) + "\n" for message in FORMS["model 6"]), encoding="utf-8")
    (transcript,) = read([file], readers=Readers())
    assert isinstance(transcript, Transcript)
    assert (transcript.format, told(transcript)) == ("vercel", CONVERSATION)


@pytest.mark.parametrize(
    "messages",
    [
        model_messages({"output": {"type": "error-text", "value": "no 777"}}),
        model_messages({"output": {"type": "execution-denied", "reason": "no 777"}}),
        model_messages({"result": "no 777", "isError": True}, args={}),
        shown({"type": "tool-price", "toolCallId": "c1", "state": "output-error", "input": {}, "errorText": "no 777"}),
    ],
)
def test_a_tool_that_failed(messages: list[Any]) -> None:
    assert failed(read_one(messages, "vercel")) == ["no 777"]


def test_several_results_in_one_message_and_words_before_a_call() -> None:
    calls: list[Any] = [{"type": "tool-call", "toolCallId": own, "toolName": "price", "input": {}} for own in ("c1", "c2")]
    results = [
        {"type": "tool-result", "toolCallId": own, "toolName": "price", "output": {"type": "text", "value": text}}
        for own, text in (("c2", "2"), ("c1", "1"))
    ]
    messages = [
        USER,
        {"role": "assistant", "content": [{"type": "text", "text": "Wait."}, *calls]},
        {"role": "tool", "content": results},
        DONE,
    ]
    transcript = read_one(messages, "vercel")
    assert [(m.role, m.content, m.tool_call_id) for m in transcript.messages[1:]] == [
        ("assistant", "Wait.", None),
        ("tool", "2", "c2"),
        ("tool", "1", "c1"),
        ("assistant", ANSWER, None),
    ]


def test_a_call_without_a_result_and_parts_that_are_no_text() -> None:
    waiting = {"type": "tool-price", "toolCallId": "c1", "state": "input-available", "input": {"city": "Oslo"}}
    transcript = read_one(shown(waiting, {"type": "file", "url": "x"}, {"type": "reasoning", "text": "hm"}), "vercel")
    assert [m.role for m in transcript.messages] == ["system", "user", "assistant"]
    assert transcript.problems == ("1 part of type 'file' cannot be read as text",)
