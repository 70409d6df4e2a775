"""Receipts of served requests: the same for a live record, one read from a file, and one that went on in other processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, AskField, Pause, Record, RecordFormatError, RunCheckpointError, ToolContext, approve, tool
from agentfp.events import Served
from agentfp.model import ModelRequest
from agentfp.plugin import AskPerson, Plugin, hookimpl
from tests.core.asking import Counter, before, made, plugin
from tests.core.running import ScriptedModel, call, check_record

pytestmark = pytest.mark.anyio


async def ask(ctx: ToolContext[Any], what: str) -> str:
    ctx.ask_human(f"Which {what}?")


def busy() -> Plugin:
    """A plugin that edits requests in all ways that are recorded as a difference."""

    def serve(self: Plugin, draft: Any, run: Any) -> None:
        draft.add_piece("now", f"iteration {run.iteration}")
        draft.add_piece("fixed", "always the same")
        if run.iteration == 2:
            draft.decorate_tools("why", {"type": "string", "description": "Why this call?"}, only=["note"])
            draft.hold_out_tool("change")
        for message in run.history:
            if message.role == "tool" and len(message.text) > 30:
                draft.ticket(message.id, "[a long result]")

    return plugin("busy", hook=hookimpl(moment="serve_context", phase="compose")(serve))


def asks() -> Plugin:
    def fill(self: Plugin, call: Any) -> Any:
        return AskPerson([AskField("f", "Well?")]) if call.name == "note" and not call.answers(self) else None

    return plugin("asks", hook=before("fill")(fill))


SCRIPT = [
    [call("ask", id="c1", what="one"), call("ask", id="c2", what="two")],
    call("note", id="c3", text="n" * 40),
    call("note", id="c4", text="short"),
    call("ask", id="c5", what="three"),
    "done",
]


def agent_at(served: int, sent: list[ModelRequest]) -> Agent[Any, Any]:
    """An agent as a process would make it that goes on after a number of model calls."""

    def reply(request: ModelRequest) -> Any:
        sent.append(request)
        return SCRIPT[len(sent) - 1]

    return Agent(ScriptedModel(reply), tools=[ask, *Counter().tools()], plugins=[busy(), asks()], instructions="Be brief.")


def same(one: ModelRequest, other: ModelRequest) -> bool:
    return (one.system, list(one.messages), one.tools) == (other.system, list(other.messages), other.tools)


async def in_processes(tmp_path: Path) -> tuple[Record, list[ModelRequest]]:
    """Run, answer each pause from JSON on an agent made anew; gives the last record and the requests that were sent."""
    sent: list[ModelRequest] = []
    result = await agent_at(0, sent).run("go", journal=tmp_path / "run.jsonl")
    while result.paused:
        assert result.pause is not None
        pause = Pause.from_json(result.pause.to_json())
        first = pause.questions[0]
        answers = {first.id: "an answer"}  # one by one, so that there are partial answers too
        result = await agent_at(len(sent), sent).resume(pause, answers, journal=tmp_path / "run.jsonl")
    assert result.text == "done"
    check_record(result)
    return result.record, sent


async def test_receipts_are_the_same_live_loaded_and_resumed(tmp_path: Path) -> None:
    record, sent = await in_processes(tmp_path)
    record.save(tmp_path / "saved.jsonl")
    copies = [
        record,
        Record.load(tmp_path / "saved.jsonl"),
        Record.load(tmp_path / "run.jsonl"),
        Record.from_lines(record.to_lines(checkpoint=True)),
    ]
    calls = len(record.of(Served))
    assert calls == len(sent) == len(SCRIPT)
    for number in range(1, calls + 1):
        assert len({copy.receipt(number) for copy in copies}) == 1
        for copy in copies:
            assert same(copy.served_at(number), sent[number - 1])
    assert len({record.receipt(number) for number in range(1, calls + 1)}) == calls


async def test_a_run_that_never_paused_has_the_same_requests(tmp_path: Path) -> None:
    """What pauses add is nothing that a model reads: the same turn without them, its answers given by tools, is served alike."""
    _, sent = await in_processes(tmp_path)

    async def tool_of_same_name(what: str) -> str:
        return "an answer"

    live: list[ModelRequest] = []
    agent = agent_at(0, live)
    plain = agent.replace(tools=[tool(name="ask")(tool_of_same_name), *Counter().tools()], plugins=[busy()])
    await plain.run("go")
    for one, other in zip(sent, live, strict=True):
        assert one.system == other.system
        assert [m.text for m in one.messages] == [m.text for m in other.messages]
        assert one.tools == other.tools


async def test_receipts_of_a_failed_and_recovered_run() -> None:
    counter = Counter()
    agent = made(call("note", text="a"), RuntimeError("down"), call("note", text="b"), "done", tools=counter.tools(), plugins=[busy()])
    with pytest.raises(RunCheckpointError) as caught:
        await agent.run("go")
    result = await agent.resume_on_error(caught.value.checkpoint.to_json())
    model: Any = agent.model
    for number, request in enumerate(model.requests, 1):
        assert same(result.record.served_at(number), request)
    assert caught.value.checkpoint.record.receipt(2) == result.record.receipt(2)
    assert result.record.receipt(3) != result.record.receipt(2)


async def test_a_changed_record_does_not_give_a_request_away_as_the_served_one() -> None:
    agent = made(call("note", text="a"), "done", tools=Counter().tools(approval=True))
    result = await agent.run("go")
    assert result.pause is not None
    result = await agent.resume(result.pause, approve())
    lines = [line.replace("noted a", "noted b") for line in result.record.to_lines()]
    changed = Record.from_lines(lines)
    assert same(changed.served_at(1), result.record.served_at(1))
    with pytest.raises(RecordFormatError, match="receipt"):
        changed.served_at(2)
    with pytest.raises(RecordFormatError, match="no model call 9"):
        changed.served_at(9)
