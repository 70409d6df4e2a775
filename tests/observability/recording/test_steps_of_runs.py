"""Steps and receipts of recorded runs: who handed to whom, and that what was served can be proved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, Limits, Record, RecordFile, RecordFormatError
from agentfp.plugin import Plugin, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_recording import TimeTravel, open_recording
from tests.observability.recording.scenes import agent_of, look, the_file

pytestmark = pytest.mark.anyio


def hands(steps: list[dict[str, Any]]) -> list[str]:
    """Who handed to whom, in order."""
    return [f"{t['from']}→{t['to']}" for step in steps for t in step.get("transitions", ())]


async def test_an_agent_with_one_tool(tmp_path: Path) -> None:
    result = await agent_of(tmp_path).run("Is A up?")
    assert hands(result.record.steps()) == ["user→llm", "llm→tool", "tool→llm", "llm→user"]
    assert hands(list(RecordFile(the_file(tmp_path)).steps())) == hands(result.record.steps())


async def test_a_single_call(tmp_path: Path) -> None:
    result = await agent_of(tmp_path, "Yes.").run("Is it?")
    assert hands(result.record.steps()) == ["user→llm", "llm→user"]


async def test_parallel_calls_and_a_second_turn(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, [call("look", switch="A"), call("look", switch="B")], "Both.", "Thanks.")
    first = await agent.run("Are A and B up?")
    second = await agent.run("Well.", history=first.history)
    expected = ["user→llm", "llm→tool", "llm→tool", "tool→llm", "llm→user", "user→llm", "llm→user"]
    assert hands(second.record.steps()) == expected
    assert hands(list(RecordFile(the_file(tmp_path)).steps())) == expected


async def test_only_the_steps_of_a_nested_run(tmp_path: Path) -> None:
    inner = Agent(ScriptedModel([call("look", switch="B"), "B is up."]), tools=[look], name="network")
    outer = agent_of(tmp_path, call("network", id="c1", request="B?"), "Yes.", tools=[inner.as_tool("network", "Knows.")])
    result = await outer.run("Is B up?")
    drilled = list(RecordFile(the_file(tmp_path)).steps(("c1",)))
    assert hands(drilled) == ["user→llm", "llm→tool", "tool→llm", "llm→user"]
    assert drilled == result.record.children["c1"].steps()


async def test_two_runs_in_one_folder_do_not_mix(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, "One.", "Two.")
    for text in ("1", "2"):
        result = await agent.run(text)
        (found,) = [RecordFile(path) for path in tmp_path.glob("*.jsonl") if path.stem == result.record.root_id]
        assert [event.seq for _, event in found] == list(range(len(result.record)))


# --- what was served --------------------------------------------------------------------------------------------------------


async def test_the_same_prompt_in_two_runs_has_other_receipts(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, "Yes.", "Yes.")
    a, b = await agent.run("Is it?"), await agent.run("Is it?")
    assert a.record.receipt(1) != b.record.receipt(1)


async def test_a_wrap_up_call_can_be_proved_and_has_no_tools(tmp_path: Path) -> None:
    script = [*[call("look", switch="A")] * 2, "So far A is up."]
    await agent_of(tmp_path, *script, limits=Limits(iterations=2)).run("Go")
    recorded = open_recording(the_file(tmp_path))
    assert recorded.verify().changed_calls == ()
    assert recorded.file.served_at(3).tools == ()


async def changed(path: Path, name: str, change: Any) -> RecordFile:
    """The recording with one event changed: the first of a name for which the change gives something."""
    lines = path.read_text().splitlines()
    for index, line in enumerate(lines):
        data = json.loads(line)
        if data.get("name") == name and (new := change(data["data"])) is not None:
            lines[index] = json.dumps({**data, "data": new})
            break
    path.write_text("\n".join(lines) + "\n")
    return RecordFile(path)


async def test_a_changed_system_text_is_found_at_each_call(tmp_path: Path) -> None:
    await agent_of(tmp_path, instructions="Be brief.").run("Is A up?")
    file = await changed(
        the_file(tmp_path), "agentfp.context.blob", lambda data: {**data, "body": "Be long."} if data["body"] == "Be brief." else None
    )
    assert file.changed_calls() == [1, 2]
    with pytest.raises(RecordFormatError, match="a text that it is made of is missing or changed"):
        file.served_at(1)


async def test_a_message_that_was_taken_out_is_found_at_the_first_call_that_had_it(tmp_path: Path) -> None:
    await agent_of(tmp_path).run("Is A up?")
    path = the_file(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if '"role":"tool"' in line)
    path.write_text("".join(lines[:at] + lines[at + 1 :]))
    assert RecordFile(path).changed_calls() == [2]


async def test_exchanged_tool_names_of_equal_results_are_found(tmp_path: Path) -> None:
    def one() -> str:
        """One."""
        return "same"

    def two() -> str:
        """Two."""
        return "same"

    await agent_of(tmp_path, [call("one", id="c1"), call("two", id="c2")], "Done.", tools=[one, two]).run("Go")
    path = the_file(tmp_path)
    lines = path.read_text().splitlines()
    for index, line in enumerate(lines):
        data = json.loads(line)
        if data.get("name") == "agentfp.message.added" and data["data"].get("role") == "tool":
            data["data"]["tool_name"] = {"one": "two", "two": "one"}[data["data"]["tool_name"]]
            lines[index] = json.dumps(data)
    path.write_text("\n".join(lines) + "\n")
    assert RecordFile(path).changed_calls() == [2]


async def test_a_recording_that_begins_in_the_middle_says_that_it_cannot_prove(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, "One.", "Two.")
    first = await agent.run("1")
    the_file(tmp_path).unlink()
    await agent.run("2", history=first.history)
    recorded = open_recording(the_file(tmp_path))
    assert recorded.legs[0].first_seq > 0
    assert recorded.verify().changed_calls is None
    with pytest.raises(RecordFormatError, match="the legs before it are not in it"):
        recorded.file.served_at(2)
    assert TimeTravel(recorded).stops[0].kind == "start"


class Snapshots(Plugin):
    """Keeps what the live record was at each event."""

    name = "snapshots"

    def __init__(self) -> None:
        super().__init__()
        self.record: Record | None = None
        self.taken: list[tuple[int, list[str]]] = []

    @hookimpl
    def admit_input(self, message: Any, run: Any) -> None:
        self.record = run.record

    def heard(self, event: Any) -> None:
        if self.record is not None and event.seq >= 0:
            self.taken.append((event.seq, [message.text for message in self.record.history]))


async def test_the_state_at_each_event_is_what_was_live_then(tmp_path: Path) -> None:
    snapshots = Snapshots()
    agent = agent_of(tmp_path, [call("look", switch="A"), call("look", switch="B")], "Both.", plugins=[snapshots])
    await agent.run("Are A and B up?", on_event=snapshots.heard)
    loaded = open_recording(the_file(tmp_path)).record()
    assert len(snapshots.taken) > 20
    for seq, texts in snapshots.taken:
        assert [message.text for message in loaded.at(seq).history] == texts
