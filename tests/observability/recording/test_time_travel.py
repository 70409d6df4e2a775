"""Stops of a run, and what was known, served and changed at each."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentfp import Agent, Record
from agentfp.testing import ScriptedModel, call
from agentfp_recording import TimeTravel, open_recording, state_at
from tests.observability.recording.scenes import agent_of, look, the_file

pytestmark = pytest.mark.anyio

STOPS = [
    ("start#1", ""),
    ("iteration#1", ""),
    ("served#1", "model call 1"),
    ("llm_turn#1", ""),
    ("decision#1", "tool-calls"),
    ("tool_call#1", "look"),
    ("iteration#2", ""),
    ("served#2", "model call 2"),
    ("llm_turn#2", ""),
    ("decision#2", "final"),
    ("end#1", "answered"),
]


async def test_stops_are_the_milestones_of_a_run(tmp_path: Path) -> None:
    result = await agent_of(tmp_path).run("Is A up?")
    for source in (result, result.record, the_file(tmp_path), open_recording(the_file(tmp_path))):
        travel = TimeTravel(source)
        assert [(stop.step_id, stop.label) for stop in travel.stops] == STOPS
    covered = [seq for stop in travel.stops for seq in range(stop.seq, stop.last_seq + 1)]
    assert covered == list(range(len(result.record)))
    assert not travel.stops[0].prologue


async def test_the_state_at_each_event_is_the_one_that_was_live(tmp_path: Path) -> None:
    result = await agent_of(tmp_path).run("Is A up?")
    live = [(event.seq, [message.text for message in result.record.at(event.seq).history]) for event in result.record]
    for seq, texts in live:
        assert [message.text for message in state_at(the_file(tmp_path), seq).history] == texts
    assert len(state_at(the_file(tmp_path), -1)) == 0
    for outside in (-2, len(result.record)):
        with pytest.raises(IndexError):
            state_at(the_file(tmp_path), outside)


async def test_going_back_and_forth(tmp_path: Path) -> None:
    result = await agent_of(tmp_path, call("look", id="c1", switch="A"), "A is up.").run("Is A up?")
    travel = TimeTravel(the_file(tmp_path))
    assert travel.served() is None
    assert travel.back().step_id == "start#1"
    assert travel.jump("served#2").label == "model call 2"
    assert travel.served() == result.record.served_at(2)
    assert travel.back().step_id == "iteration#2"
    assert travel.served() == result.record.served_at(1)
    assert travel.jump("c1").step_id == "tool_call#1"
    assert travel.changed()[0].name == "agentfp.tool.ended"
    assert len(travel.state().history) == 2
    assert travel.jump(-1).step_id == "end#1"
    assert travel.forward().step_id == "end#1"
    assert len(travel.state().history) == 4
    with pytest.raises(KeyError, match="served#2"):
        travel.jump("servd#2")
    with pytest.raises(IndexError, match="there are 11"):
        travel.jump(11)


async def test_drilling_into_a_nested_run(tmp_path: Path) -> None:
    inner = Agent(ScriptedModel([call("look", switch="B"), "B is up."]), tools=[look], name="network")
    outer = agent_of(tmp_path, call("network", id="c1", request="B?"), "Yes.", tools=[inner.as_tool("network", "Knows switches.")])
    await outer.run("Is B up?")
    travel = TimeTravel(the_file(tmp_path))
    travel.jump("c1")
    nested = travel.drill()
    assert [stop.label for stop in nested.stops if stop.kind == "tool_call"] == ["look"]
    assert [stop.step_id for stop in TimeTravel(the_file(tmp_path), ["c1"]).stops] == [stop.step_id for stop in nested.stops]
    with pytest.raises(KeyError, match="c1"):
        travel.drill("c2")


async def test_records_without_milestones_and_with_a_cut_head(tmp_path: Path) -> None:
    result = await agent_of(tmp_path).run("Is A up?")
    assert TimeTravel(Record()).stops == ()
    lines = list(result.record.to_lines())
    cut = Record.from_lines([lines[0], *lines[2:]])
    first = TimeTravel(cut).stops[0]
    assert (first.step_id, first.prologue) == ("iteration#1", True)
    plain = Record.from_lines([lines[0], *[line for line in lines if '"agentfp.message.added"' in line]])
    assert [stop.step_id for stop in TimeTravel(plain).stops] == ["start#1", "end#1"]
