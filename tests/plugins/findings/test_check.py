"""Recordings are judged by what the model declared in them: which standings there are, and which values rest on set-aside results."""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any

import pytest

from agentfp import Message, ToolCall
from agentfp.transcripts import Transcript, TranscriptJudge
from agentfp_findings.check import FindingsJudge
from tests.plugins.findings.ledgers import harness, judged, looking, noted, says


def transcript(*messages: Message) -> Transcript:
    return Transcript(id="t", messages=messages)


def calls(call_id: str, *previous: dict[str, Any], declares: bool = True) -> Message:
    arguments = {"_findings": says(*previous)} if declares else {}
    return Message(f"a{call_id}", "assistant", "", tool_calls=(ToolCall.make("look", arguments, id=call_id),))


def gives(call_id: str, text: str) -> Message:
    return Message(f"t{call_id}", "tool", text, author="tool", tool_call_id=call_id, tool_name="look")


def test_the_judge_is_found_by_its_entry_point() -> None:
    (entry,) = [e for e in importlib.metadata.entry_points(group="agentfp.judges") if e.name == "findings"]
    made = entry.load()()
    assert isinstance(made, TranscriptJudge)
    assert made.name == "findings"


def test_values_that_rest_on_set_aside_results_are_named() -> None:
    answer = "It is QX-4471, seen on 2024-05-01 at 10.20.30.40 or 77-77; you said AB-1234."
    note = "\n" + json.dumps({"_findings": {"previous": [judged("c2", "fact"), judged("7", "open")]}})
    found = transcript(
        Message("u", "user", "Is AB-1234 it?"),
        calls("c1"),
        gives("c1", "QX-4471 and AB-1234, 77-77"),
        calls("c2", judged("c1", "noise")),
        gives("c2", "2024-05-01"),
        calls("c3", declares=False),
        gives("c3", "10.20.30.40 77-77"),
        Message("x", "assistant", answer + note),
    )
    (judgement,) = FindingsJudge().judge(found, [7])
    assert judgement.standing == "contingent"
    assert [(v.text, v.verdict, v.severity, v.how) for v in judgement.values] == [
        ("QX-4471", "unsupported", "weak", "set-aside"),
        ("2024-05-01", "supported", None, "fact"),
        ("10.20.30.40", "supported", None, "undeclared"),
        ("77-77", "supported", None, "undeclared"),
    ]
    assert all((answer + note)[v.start : v.end] == v.text for v in judgement.values)
    assert [source.message for source in judgement.values[0].sources] == [2]
    assert judgement.data == {
        "standings": {"c1": "noise", "c2": "fact"},
        "counts": {"fact": 1, "open": 0, "ruled-out": 0, "noise": 1, "undeclared": 1},
        "unknown_ids": 1,
        "malformed": 0,
    }
    assert judgement.notes == ("results: 1 fact, 1 noise, 1 undeclared", "1 standings name no result")


def test_answers_are_judged_by_what_stands_before_them() -> None:
    found = transcript(
        Message("u", "user", "Go."),
        calls("c1"),
        gives("c1", "QX-4471"),
        Message("x", "assistant", "QX-4471" + noted(judged("c1", "open"))),
        Message("u2", "user", "Sure?"),
        Message("y", "assistant", "Yes, QX-4471." + noted(judged("c1", "fact"))),
    )
    first, second = FindingsJudge().judge(found, [3, 5])
    assert (first.standing, second.standing) == ("contingent", "standing")
    assert FindingsJudge().judge(found, [5])[0] == second


def test_a_transcript_without_declarations_is_not_judged() -> None:
    found = transcript(
        Message("u", "user", "Go."), calls("c1", declares=False), gives("c1", "QX-4471"), Message("x", "assistant", "QX-4471")
    )
    (judgement,) = FindingsJudge().judge(found, [3])
    assert judgement.standing == "undeclared"
    assert judgement.values == ()
    assert judgement.not_checked == ("the model declared nothing, so no value can rest on what it set aside",)


@pytest.mark.anyio
async def test_a_run_of_our_own_is_judged_by_its_history() -> None:
    outcome = await harness(looking("c1", "QX-4471"), "It is QX-4471." + noted(judged("c1", "noise"))).run("Go.")
    messages = tuple(outcome.result.history)
    (judgement,) = FindingsJudge().judge(transcript(*messages), [len(messages) - 1])
    (value,) = judgement.values
    assert judgement.standing == "contingent"
    assert messages[-1].content[value.start : value.end] == "QX-4471"
