"""Declarations in calls as models write them when they do not keep to the schema; and in tools of all kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from agentfp import Agent, Pause, approve, conversation_redaction, raw_tool, tool
from agentfp.model import ModelResponse, ToolCall
from agentfp.testing import ScriptedModel, call, override
from agentfp_findings import Findings
from tests.plugins.findings.ledgers import contents, harness, judged, look, looking, rows, says, states

pytestmark = pytest.mark.anyio


def written(arguments: str, name: str = "look") -> ModelResponse:
    """A call with arguments as the model wrote them."""
    return ModelResponse(tool_calls=(ToolCall("c1", name, arguments),))


async def told(arguments: str, name: str = "look", **more: Any) -> tuple[list[tuple[str, Any]], list[str]]:
    outcome = await harness(written(arguments, name), "Done.", **more).run("Go.")
    return [(row.kind, getattr(row.data, "basis", getattr(row.data, "count", None))) for row in rows(outcome)], contents(outcome, 2)


@pytest.mark.parametrize(
    ("arguments", "filed"),
    [
        (r'{"x":"a","\u005ffindings":{"basis":"direct"}}', [("basis", "direct")]),
        ('{"x":"a","_findings":{"basis":"direct"},"_findings":{"basis":"exploratory"}}', [("basis", "exploratory")]),
        (r'{"x":"a","_findings":"{\"basis\":\"direct\"}"}', [("findings-malformed", 1)]),
        ('{"x":"a","_findings":null}', [("findings-malformed", 1)]),
        ('{"x":"a","_findings":[{"basis":"direct"}]}', [("findings-malformed", 1)]),
        (r'{"x":"a","_findings":{}}', []),
    ],
)
async def test_the_tool_never_gets_it_however_it_is_written(arguments: str, filed: list[tuple[str, Any]]) -> None:
    assert await told(arguments) == (filed, ["a"])


async def test_in_another_argument_it_is_data() -> None:
    got = []

    async def take(_: Any, arguments: dict[str, Any]) -> str:
        got.append(arguments)
        return "Taken."

    taking = raw_tool("take", "Take anything.", {"type": "object"}, take)
    nested = {"options": {"_findings": {"basis": "direct"}}, "text": '{"_findings":{}}'}
    assert await told(json.dumps(nested), "take", tools=[taking]) == ([], ["Taken."])
    assert await told(json.dumps({**nested, "_findings": says()}), "take", tools=[taking]) == ([("basis", "direct")], ["Taken."])
    assert got == [nested, nested]


async def test_a_schema_that_allows_nothing_else_and_a_model_that_forbids_more() -> None:
    class Place(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)
        floor: int

    @tool
    def go(place: Place) -> str:
        """Go to a place."""
        return f"On {place.floor}."

    async def take(_: Any, arguments: dict[str, Any]) -> str:
        return json.dumps(arguments)

    closed = raw_tool("take", "Take x.", {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}, take)
    batch = [call("go", id="c1", place={"floor": 2}, _findings=says()), call("take", id="c2", x="a", _findings=says(judged("c1", "noise")))]
    outcome = await harness(batch, "Done.", tools=[go, closed]).run("Go.")
    assert [row.kind for row in rows(outcome)] == ["standing", "basis", "basis"]
    assert contents(outcome, 2) == ["On 2.", '{"x": "a"}']


async def test_a_run_that_waits_for_a_person_declares_once() -> None:
    ran = []

    @tool(approval=True)
    def shut(door: str) -> str:
        """Shut a door."""
        ran.append(door)
        return "Shut."

    batch = [looking("c2", "b", judged("c1", "noise")), call("shut", id="c3", door="d12", _findings=says()), looking("c4", "c")]
    agent = Agent(ScriptedModel([looking("c1", "a"), batch]), tools=[look, shut], plugins=[Findings()])
    before = await agent.run("Go.")
    assert before.pause is not None
    pause = Pause.from_json(before.pause.to_json())
    model = ScriptedModel(["Done."])
    with override(agent, model=model):
        result = await agent.resume(pause, {question.id: approve(by="ann") for question in pause.questions})
    assert ran == ["d12"]
    assert [row.kind for row in Findings.ledger(result) or []] == ["basis", "standing", "basis", "basis", "basis"]
    (request,) = model.requests
    assert [message.text for message in request.messages if message.role == "tool"][1:] == ["b", "Shut.", "c"]
    assert result.record.served_at(3).system == request.system


async def test_a_masked_copy_still_tells_what_stands(tmp_path: Path) -> None:
    def shuts(call_id: str, value: str) -> dict[str, Any]:
        return judged(call_id, "fact", assertions=[states("door", f"canary {value}", "lock", f"canary {value}")])

    script = [looking("c1", "canary"), looking("c2", "b", shuts("c1", "one")), looking("c3", "c", shuts("c2", "two")), "A canary."]
    agent = Agent(ScriptedModel(script), tools=[look], plugins=[Findings()], redact=conversation_redaction())
    result = await agent.run("Is it a canary?")
    result.record.save(tmp_path / "run.jsonl")
    assert "canary" not in (tmp_path / "run.jsonl").read_text("utf-8")
    live, masked = Findings.standings(result), Findings.standings(tmp_path / "run.jsonl")
    assert {call_id: row.standing for call_id, row in masked.standing_of.items()} == {"c1": "fact", "c2": "fact"}
    assert masked.conflicts == live.conflicts == ()
