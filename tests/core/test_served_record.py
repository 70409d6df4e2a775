"""What is recorded of requests: each text once, each message hashed once, enough to rebuild every request."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from agentfp import Agent, Message, Pause, Record, RecordFormatError, RedactionPolicy, approve, tool
from agentfp.events import Blob, Served
from agentfp.plugin import Plugin, hookimpl
from agentfp.testing import CountingIds, ScriptedModel, call
from agentfp_core import served
from tests.core.editors import Action, Keeping, agent_of, count, editor, look, run_edits, script_of, write
from tests.core.running import check_record

pytestmark = pytest.mark.anyio


async def test_a_text_stands_on_the_record_once_a_conversation() -> None:
    plugin = editor("a", {k: [("piece", "k", "the same"), ("late", "l", f"turn {k % 2}"), ("ticket", 0, "T")] for k in range(1, 9)})
    agent = agent_of(Keeping(script_of(4) * 2), plugin, instructions="Be brief.")
    first = await agent.run("Go")
    second = await agent.run("Go on", history=first.history)
    bodies = [blob.body for blob in second.record.of(Blob)]
    assert len(bodies) == len(set(bodies))
    assert {"the same", "turn 0", "turn 1", "T", "Be brief."} <= set(bodies)
    runs = [await agent_of(ScriptedModel(["Done."]), instructions="Be brief.").run("Go") for _ in range(2)]
    one, two = ({blob.digest for blob in run.record.of(Blob)} for run in runs)
    assert not one & two, "digests of two conversations do not compare"


async def test_a_call_without_changes_is_a_line_of_a_few_numbers() -> None:
    result, _ = await run_edits(
        6, editor("a", {1: [("piece", "k", "x")], 2: [("ticket", 0, "T"), ("ticket", 0, "T")], 3: [("ticket", 0, "T")]})
    )
    third, fourth = result.record.of(Served)[2:4]
    assert (third.pieces, third.edits, third.tools, third.params, third.model) == (None,) * 5
    assert (fourth.pieces, fourth.edits, fourth.tools, fourth.params, fourth.model) == (None,) * 5


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the messages that were hashed, in order."""
    ids: list[str] = []
    real = served.message_digest

    def counting(salt: str, message: Message) -> str:
        ids.append(message.id)
        return real(salt, message)

    monkeypatch.setattr(served, "message_digest", counting)
    return ids


async def test_a_message_is_hashed_once_in_a_run_without_edits(hashed: list[str]) -> None:
    agent = agent_of(Keeping(script_of(12) + script_of(5)), editor("a", {3: [("late", "l", "L"), ("piece", "p", "P")]}))
    first = await agent.run("Go")
    second = await agent.run("Go on", history=first.history)
    assert set(Counter(hashed).values()) == {1}
    assert hashed == [m.id for m in second.history][: len(hashed)]


async def test_an_edit_costs_the_hashes_from_its_place_on(hashed: list[str]) -> None:
    seen: list[int] = []

    class Watch(Plugin):
        name = "watch"

        @hookimpl(phase="window")
        def serve_context(self) -> None:
            seen.append(len(hashed))

    result, model = await run_edits(6, Watch(), editor("a", {4: [("ticket", 4, "T")], 5: [("hide", 2)]}))
    ids = [[m.id for m in r.messages] for r in model.requests]
    assert hashed[seen[3] : seen[4]] == ids[3][4:]
    assert hashed[seen[4] : seen[5]] == ids[4][2:]
    check_record(result)


# --- rebuilt across legs ---


async def test_requests_are_rebuilt_over_pauses_and_turns() -> None:
    @tool(approval=True)
    async def act_now() -> str:
        """Act."""
        return "acted"

    plugin = editor("a", {2: [("ticket", 0, "T"), ("hold_out", "look")], 4: [("late", "l", "L"), ("restore", 0)]})
    model = Keeping([call("look"), call("act_now"), call("count"), "Done.", call("write"), "Done again."])
    agent: Agent[Any, str] = Agent(model, tools=[look, count, write, act_now], plugins=[plugin])
    paused = await agent.run("Go")
    assert paused.pause is not None
    fresh = agent.replace(model=model)
    done = await fresh.resume(Pause.from_json(paused.pause.to_json()), {paused.pause.questions[0].id: approve()})
    again = await fresh.run("And?", history=done.history)
    assert again.status == "answered"
    for number, request in enumerate(model.requests, 1):
        assert again.record.served_at(number) == request
        assert Record.from_lines(again.record.to_lines()).served_at(number) == request
    model.check_unchanged()


async def test_a_record_that_was_changed_rebuilds_nothing() -> None:
    result, _ = await run_edits(2, editor("a", {1: [("piece", "k", "secret sauce")]}))
    lines = [line.replace("found x", "found y") for line in result.record.to_lines()]
    changed = Record.from_lines(lines)
    assert changed.served_at(1) == result.record.served_at(1)
    with pytest.raises(RecordFormatError, match="model call 2 cannot be rebuilt"):
        changed.served_at(2)
    for number in (0, 3, -1):
        with pytest.raises(RecordFormatError, match=rf"no model call {number}; it has 2"):
            result.record.served_at(number)
        with pytest.raises(RecordFormatError):
            result.record.receipt(number)


async def test_every_part_of_a_request_is_in_its_receipt() -> None:
    receipts = {}
    variants: list[tuple[str, list[Action], dict[str, Any]]] = [
        ("plain", [], {}),
        ("piece", [("piece", "k", "x")], {}),
        ("other piece", [("piece", "k", "y")], {}),
        ("late", [("late", "k", "x")], {}),
        ("ticket", [("ticket", 0, "x")], {}),
        ("hidden", [("hide", 0)], {}),
        ("held out", [("hold_out", "look")], {}),
        ("decorated", [("decorate", "why", "string", None)], {}),
        ("decorated otherwise", [("decorate", "why", "integer", None)], {}),
        ("decorated in part", [("decorate", "why", "string", ("look",))], {}),
        ("explained", [("explain", "look", "word", "Short.", ())], {}),
        ("explained otherwise", [("explain", "look", "word", "Long.", ())], {}),
        ("optional", [("explain", "look", "word", "Short.", ("word",))], {}),
        ("delivered", [("deliver", "user", "x")], {}),
        ("settings", [], {"model_settings": {"temperature": 0.5}}),
        ("model", [("use_model",)], {}),
    ]
    for name, schedule, more in variants:
        other = ScriptedModel(["Done."], name="other")
        agent = agent_of(ScriptedModel(["Done."]), editor("a", {1: schedule}, model=other), ids=CountingIds(), **more)
        receipts[name] = (await agent.run("Go")).record.receipt(1)
    assert len(set(receipts.values())) == len(receipts)
    assert all(len(one) == 64 for one in receipts.values())


async def test_edits_of_several_plugins_are_played_in_their_order_live_and_from_the_record() -> None:
    one = editor("a", {1: [("decorate", "why", "string", None)], 2: [("undecorate", "why"), ("decorate", "why", "integer", None)]})
    other = editor("b", {2: [("decorate", "why", "number", None)]})
    result, model = await run_edits(3, one, other)
    kinds = [request.tools[0].parameters["properties"]["why"]["type"] for request in model.requests]
    assert kinds == ["string", "number", "number"]
    for number, request in enumerate(model.requests, 1):
        assert Record.from_lines(result.record.to_lines()).served_at(number) == request


async def test_changed_calls_are_those_whose_request_cannot_be_rebuilt() -> None:
    result = await agent_of(Keeping(script_of(3)), instructions="Be brief.").run("Go")
    record = result.record
    assert record.changed_calls() == ()
    lines = list(record.to_lines())
    first = next(index for index, line in enumerate(lines) if '"agentfp.tool.ended"' in line)
    lines[first] = lines[first].replace('"content":"', '"content":"more than ', 1)
    assert lines != list(record.to_lines())
    changed = Record.from_lines(lines).changed_calls()
    assert changed == tuple(range(2, len(record.of(Served)) + 1)), "the first call was served before the result was there"
    other = [line.replace("Be brief.", "Be long.") if '"agentfp.context.blob"' in line else line for line in record.to_lines()]
    assert Record.from_lines(other).changed_calls() == tuple(range(1, len(record.of(Served)) + 1)), "each was served that text"
    masked = Record.from_lines(record.to_lines(policy=RedactionPolicy(content=True)))
    with pytest.raises(RecordFormatError, match="redacted"):
        masked.changed_calls()
