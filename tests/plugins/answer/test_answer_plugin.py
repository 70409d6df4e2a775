"""The rules of plugins, the readme, and `agentfp check --plugin answer`."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, Message
from agentfp.plugin import ConfigError
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp.transcripts import Transcript, TranscriptJudge
from agentfp_answer import Answer, AnswerValidation
from agentfp_answer.transcript_judge import NOT_HELD, AnswerJudge
from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun
from tests.plugins.answer.answering import find

SCRIPT = [[call("find", what="gap"), call("find", what="nothing")], call("find", what="empty"), "Port 3."]


def test_it_keeps_the_rules_of_plugins() -> None:
    check_plugin(Answer, tools=[find], script=SCRIPT)
    check_plugin(lambda: Answer(limits_travel=True, rows_at={"find": "rows"}), tools=[find], script=SCRIPT)


def test_a_plugin_that_is_off_is_absent() -> None:
    def requests(*plugins: Any) -> list[str]:
        model = ScriptedModel([call("find", id="c1"), "Port 3."])
        Agent(model, tools=[find], plugins=plugins).run_sync("Go.")
        return [repr((request.system, request.tools, [message.text for message in request.messages])) for request in model.requests]

    assert requests() == requests(Answer(limits_travel=True, standing_line=True))


# --- transcripts --------------------------------------------------------------------------------------------------------------


def transcript(*messages: Message, **more: Any) -> Transcript:
    return Transcript(id="t", messages=messages, **more)


def gives(index: int, content: str, **more: Any) -> Message:
    return Message(f"t{index}", "tool", content, author="tool", tool_call_id=f"c{index}", tool_name="list_ports", **more)


def test_the_judge_is_found_by_its_entry_point() -> None:
    (entry,) = [e for e in importlib.metadata.entry_points(group="agentfp.judges") if e.name == "answer"]
    assert isinstance(entry.load()(), TranscriptJudge)


def test_answers_are_assessed_by_the_results_of_their_turn() -> None:
    found = transcript(
        Message("u1", "user", "Which ports are down?"),
        gives(1, "[]"),
        Message("a1", "assistant", "None.", author="model"),
        Message("u2", "user", "And on B?"),
        gives(2, '{"af_coverage":{"checked":["B"],"not_checked":["C"]},"result":[{"port":3}]}'),
        gives(3, "timed out"),
        Message("a2", "assistant", "Port 3.", author="model"),
        Message("u3", "user", "Thanks."),
        Message("a3", "assistant", "Gladly.", author="model"),
        failed=frozenset({"t3"}),
    )
    first, second, third = AnswerJudge().judge(found, [2, 6, 8])
    assert [judgement.standing for judgement in (first, second, third)] == ["not-sure", "not-sure", "not-assessed"]
    assert first.notes[0] == "a result is empty and does not say what was looked at"
    assert second.notes == (
        "something was not looked at",
        "result-shape: 1 of 1 could be looked at",
        "tool-coverage: 1 of 1 could be looked at",
    )
    assert second.data is not None
    assert second.data["assessment"]["reasons"][0]["witness"][0] == {
        "seq": 4,
        "event": "message",
        "path": "/content/af_coverage/not_checked/0",
        "call_id": "c2",
    }
    assert second.data["coverage"]["not_checked"][0]["what"] == "C"
    assert third.not_checked == NOT_HELD
    assert AnswerJudge().judge(found, [6])[0] == second
    json.dumps([judgement.data for judgement in (first, second, third)])


def test_rows_under_a_key_of_a_transcript() -> None:
    found = transcript(Message("u1", "user", "Go."), gives(1, '{"ports":[]}'), Message("a1", "assistant", "None.", author="model"))
    assert AnswerJudge().judge(found, [2])[0].standing == "not-assessed"
    assert AnswerJudge(rows_at={"list_ports": "ports"}).judge(found, [2])[0].standing == "not-sure"
    with pytest.raises(ConfigError, match="rows_at maps"):
        AnswerJudge(rows_at=["ports"])  # type: ignore[arg-type]


def test_a_transcript_in_which_nobody_speaks_is_read_whole() -> None:
    found = transcript(gives(1, "[]"), Message("a1", "assistant", "None.", author="model"))
    (judgement,) = AnswerJudge().judge(found, [1])
    assert judgement.data is not None
    assert judgement.data["assessment"]["turn_from"] == "whole-history"


def test_check_assesses_transcripts(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Which ports are down?"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "list_ports", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "[]"},
        {"role": "assistant", "content": "None are down."},
    ]
    path = tmp_path / "transcript.json"
    path.write_text(json.dumps(messages))
    command = [sys.executable, "-m", "agentfp", "check", "--judge", "answer", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    data = json.loads(done.stdout)
    assert data["answers"][0]["standing"] == "not-sure"
    assert data["not_checked"] == list(NOT_HELD)
    assert done.returncode == 0


# --- the readme ---------------------------------------------------------------------------------------------------------------

README = Path(__file__).resolve().parents[3] / "plugins" / "answer" / "README.md"
NOT_RUN = {"pip install agentfp-answer": "installs into the environment that this test runs in"}


def test_the_blocks_of_the_readme_run(tmp_path: Path) -> None:
    page = PageRun("answer.md", tmp_path)
    with page.open():
        for block in blocks_of("plugins/answer/README.md", README.read_text(encoding="utf-8")):
            if block.text.strip() not in NOT_RUN:
                page.run(block)


def test_a_check_of_answers_can_be_named_in_a_config_file() -> None:
    assert isinstance(CHECK, AnswerValidation)


CHECK = AnswerValidation("a", "1", lambda candidate, artifacts: {"checks": []})
