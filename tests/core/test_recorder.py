"""A run that another framework drives is recorded as our own loop would: history, requests, outcomes, nested runs, files."""

from __future__ import annotations

from pathlib import Path

from agentfp import Record
from agentfp.model import ToolSpec
from agentfp.plugin import Message, ToolCall, Usage
from agentfp.testing import assert_record_valid
from agentfp.transcripts import RunRecorder
from agentfp_core.steps import walk

ASKED = Message(id="u", role="user", content="How many bikes?")
CALLING = Message(id="a", role="assistant", content="", author="model", tool_calls=(ToolCall("c1", "search", '{"kind":"trail"}'),))
FOUND = Message(id="t", role="tool", content="7", author="tool", tool_call_id="c1", tool_name="search")
SAID = Message(id="a", role="assistant", content="Seven.", author="model")
SEARCH = ToolSpec("search", "Searches.", '{"type":"object"}')


def recorded(**values: object) -> RunRecorder:
    recorder = RunRecorder(agent="shop", provider="elsewhere", model="m-1", **values)  # type: ignore[arg-type]
    recorder.add(ASKED)
    recorder.serve([("kernel", "instructions.0", "system", "Be brief.")], [SEARCH])
    recorder.replied(calls=1, duration_ms=3, usage=Usage(10, 2))
    recorder.add(CALLING)
    recorder.add(FOUND)
    recorder.serve([("kernel", "instructions.0", "system", "Be brief."), ("gate", "revise", "late", "Again.")], [SEARCH])
    recorder.replied(calls=0, duration_ms=3, usage=Usage(20, 4), final=True)
    recorder.add(SAID)
    recorder.end("answered")
    return recorder


def test_the_record_has_the_history_and_the_requests(tmp_path: Path) -> None:
    record = recorded().record
    record.save(tmp_path / "run.jsonl")
    loaded = Record.load(tmp_path / "run.jsonl")
    for one in (record, loaded):
        assert [(m.role, m.content) for m in one.history] == [
            ("user", "How many bikes?"),
            ("assistant", ""),
            ("tool", "7"),
            ("assistant", "Seven."),
        ]
        first, second = one.served_at(1), one.served_at(2)
        assert (first.system, len(first.messages), first.tools, first.model) == ("Be brief.", 1, (SEARCH,), "m-1")
        assert [m.content for m in second.messages] == ["How many bikes?", "", "7", "Again."]


def test_ids_are_unique_and_turns_are_counted() -> None:
    recorder = recorded()
    recorder.add(ASKED)
    history = recorder.record.history
    assert len({message.id for message in history}) == len(history)
    assert [message.turn for message in history if message.role == "user"] == [1, 2]


def test_the_steps_tell_what_happened() -> None:
    steps = walk(recorded().record)["steps"]
    assert [step["kind"] for step in steps] == ["leg", "message", "model_call", "model_call", "end"]
    assert [(call["tool"], call["outcome"], call["result"]) for call in steps[2]["calls"]] == [("search", "success", "7")]
    assert (steps[2]["input_tokens"], steps[3]["text"], steps[4]["status"]) == (10, "Seven.", "answered")


def test_a_run_within_a_call_is_a_child_of_the_record(tmp_path: Path) -> None:
    outer = RunRecorder(agent="desk", provider="elsewhere", model="m-1")
    outer.add(ASKED)
    outer.serve([])
    outer.replied(calls=1, duration_ms=1)
    outer.add(CALLING)
    recorded(within=(outer, "c1"))
    outer.add(FOUND)
    outer.end("answered")
    outer.record.save(tmp_path / "run.jsonl")
    loaded = Record.load(tmp_path / "run.jsonl")
    assert loaded.children["c1"].history[-1].content == "Seven."
    assert loaded.children["c1"].headers[0].path == ("c1",)


def test_a_failed_result_says_so() -> None:
    recorder = RunRecorder(agent="shop", provider="elsewhere", model="m-1")
    recorder.add(ASKED)
    recorder.add(CALLING)
    recorder.add(Message(id="t", role="tool", content="broken", author="tool", tool_call_id="c1", failed=True))
    [ended] = recorder.record.events("agentfp.tool.ended")
    assert ended.payload.outcome == "failure"  # type: ignore[attr-defined]
    assert recorder.record.history[-1].failed


def test_the_record_is_valid() -> None:
    assert_record_valid(recorded().record)
