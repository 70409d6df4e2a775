"""agentfp's own recordings: each conversation, its prompt, and nested runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentfp import Agent, RedactionPolicy, tool
from agentfp.testing import ScriptedModel, call
from agentfp.transcripts import Transcript
from agentfp_transcripts import Problem, read
from tests.plugins.transcripts.telling import ANSWER, ASKED, CONVERSATION, RESULT, failed, told

pytestmark = pytest.mark.anyio


@tool
def price(city: str) -> dict[str, object]:
    """A price.

    Args:
        city: where.
    """
    return {**RESULT, "city": city}


@tool
def broken() -> str:
    """Never works."""
    raise RuntimeError("99")


def saved(path: Path) -> list[Transcript | Problem]:
    return list(read([path]))


async def test_a_recording(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel([call("price", city="Oslo"), ANSWER]), tools=[price], instructions="Be brief.")
    result = await agent.run(ASKED)
    result.record.save(tmp_path / "run.jsonl")
    (transcript,) = saved(tmp_path / "run.jsonl")
    assert isinstance(transcript, Transcript)
    assert transcript.format == "agentfp"
    assert transcript.id == result.record.root_id
    assert told(transcript) == CONVERSATION
    assert [spec.name for spec in transcript.tools] == ["price"]


async def test_what_a_recording_says_of_its_file_is_passed_over(tmp_path: Path) -> None:
    result = await Agent(ScriptedModel([call("price", city="Oslo"), ANSWER]), tools=[price]).run(ASKED)
    head = '{"file":{"format":"agentfp.recording/1","run_id":"r"}}'
    (tmp_path / "run.jsonl").write_text("\n".join([head, *result.record.to_lines(), '{"file":{"sealed":"r"}}']) + "\n")
    (transcript,) = saved(tmp_path / "run.jsonl")
    assert isinstance(transcript, Transcript)
    assert transcript.format == "agentfp"
    assert told(transcript)[-1] == CONVERSATION[-1]


async def test_a_tool_that_failed(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel([call("broken"), ANSWER]), tools=[broken])
    (await agent.run(ASKED)).record.save(tmp_path / "run.jsonl")
    (transcript,) = saved(tmp_path / "run.jsonl")
    assert isinstance(transcript, Transcript)
    assert len(failed(transcript)) == 1


async def test_nested_runs_are_transcripts_of_their_own(tmp_path: Path) -> None:
    inner = Agent(ScriptedModel([call("price", city="Oslo"), ANSWER]), tools=[price])
    outer = Agent(ScriptedModel([call("helper", request=ASKED), "It costs 1234."]), tools=[inner.as_tool("helper", "Helps.")])
    (await outer.run("Ask the helper.")).record.save(tmp_path / "run.jsonl")
    main, nested = saved(tmp_path / "run.jsonl")
    assert isinstance(main, Transcript)
    assert isinstance(nested, Transcript)
    assert nested.id.startswith(f"{main.id}/")
    assert told(nested)[-1] == ("assistant", ANSWER)
    assert [m.author for m in main.messages if m.role == "tool"] == ["model"]


async def test_a_redacted_copy_says_so(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel([call("price", city="Oslo"), ANSWER]), tools=[price])
    record = (await agent.run(ASKED)).record
    record.save(tmp_path / "run.jsonl", policy=RedactionPolicy(patterns=["Oslo"]))
    (transcript,) = saved(tmp_path / "run.jsonl")
    assert isinstance(transcript, Transcript)
    assert "redacted" in transcript.problems[0]


async def test_a_damaged_recording_is_told(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel([call("price", city="Oslo"), ANSWER]), tools=[price])
    (await agent.run(ASKED)).record.save(tmp_path / "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    (tmp_path / "run.jsonl").write_text("\n".join([lines[0], json.dumps({"name": "odd"}), *lines[3:]]))
    (problem,) = saved(tmp_path / "run.jsonl")
    assert isinstance(problem, Problem)
    assert str(problem).startswith(str(tmp_path / "run.jsonl"))
