"""The journal file is the record, line by line; and the same run writes the same bytes."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentfp import Agent, Journal, Pause, Record, RunResult, ToolContext, approve, tool
from agentfp.events import ToolDispatched
from agentfp.plugin import CallView, Deny, Plugin, RequestDraft, hookimpl
from agentfp.testing import CountingIds, ScriptedModel, StepClock, call
from tests.core.running import check_record

pytestmark = pytest.mark.anyio


@tool
async def look(ctx: ToolContext[Any], word: str = "é") -> str:
    """Look something up."""
    ctx.emit("acme.looked", {"word": word})
    return f"found {word}"


@tool
async def fail() -> str:
    """Fail."""
    raise RuntimeError("it is broken")


@tool(approval=True)
async def act() -> str:
    """Do it."""
    return "did it"


@tool
async def ask(ctx: ToolContext[Any]) -> str:
    """Ask a person."""
    ctx.ask_human("Which one?")


class Busy(Plugin):
    """Uses every moment, so that every kind of event is on the record."""

    name = "busy"

    @hookimpl(phase="compose")
    def serve_context(self, draft: RequestDraft) -> None:
        draft.add_piece("now", f"Call {draft.call}.")
        if draft.call == 2:
            draft.ticket(draft.messages[0].id, "[the question]")
            draft.decorate_tools("why", {"type": "string"})

    @hookimpl(phase="authorize")
    def before_tool(self, call: CallView) -> Deny | None:
        if call.name == "fail" and call.index == 1:
            return Deny("not twice", rule="once")
        return None


def busy_agent(**settings: Any) -> Agent[Any, str]:
    child: Agent[Any, str] = Agent(ScriptedModel([call("look", word="deep"), "child's answer"]), tools=[look])
    script = [
        [call("look"), call("fail"), call("nothing"), call("look", word=5)],
        call("helper", request="go"),
        [call("act"), call("look", word="b")],
        call("ask"),
        "Done.",
    ]
    tools = [look, fail, act, ask, child.as_tool("helper", "Helps.")]
    return Agent(ScriptedModel(script), tools=tools, plugins=[Busy()], instructions="Be brief.", **settings)


async def drive(agent: Agent[Any, str], between: Callable[[Pause], Pause] = lambda pause: pause, **options: Any) -> RunResult[str]:
    """Run to the end, answering what is asked."""
    result = await agent.run("Go", **options)
    while result.pause is not None:
        answers = {q.id: approve(by="ann") if q.kind == "decision" else "the second" for q in result.pause.questions}
        result = await agent.resume(between(result.pause), answers, **options)
    return result


# --- journal and record ---


async def test_a_journal_is_its_record_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    result = await drive(busy_agent(), journal=path)
    assert result.status == "answered"
    check_record(result)
    loaded = Record.load(path)
    assert list(loaded.to_lines()) == list(result.record.to_lines())
    assert [list(child) for child in loaded.children.values()] == [list(child) for child in result.record.children.values()]
    for number in range(1, 6):
        assert loaded.served_at(number) == result.record.served_at(number)


async def test_a_journal_begun_in_another_process_holds_what_came_before(tmp_path: Path) -> None:
    first = tmp_path / "first.jsonl"
    paused = await busy_agent().run("Go", journal=first)
    assert paused.pause is not None
    stored = Pause.from_json(paused.pause.to_json())
    second = tmp_path / "second.jsonl"
    agent = busy_agent().replace(model=ScriptedModel([call("ask"), "Done."]))
    result = await agent.resume(stored, {stored.questions[0].id: approve()}, journal=second)
    assert list(Record.load(second).to_lines()) == list(result.record.to_lines())


async def test_a_journal_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    await Agent(ScriptedModel(["done"])).run("Go", journal=path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_all_that_a_tool_may_depend_on_is_in_the_file_before_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    seen: list[Record] = []

    @tool(inline=True)
    def peek() -> str:
        """Read the file."""
        seen.append(Record.load(path))
        return "x"

    await Agent(ScriptedModel([call("peek"), "done"]), tools=[peek]).run("Go", journal=path)
    assert isinstance(list(seen[0])[-1].payload, ToolDispatched)
    assert [m.role for m in seen[0].history] == ["user", "assistant"]


async def test_after_a_failure_all_that_happened_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with pytest.raises(ZeroDivisionError):
        await Agent(ScriptedModel([ZeroDivisionError()])).run("Go", journal=path)
    names = [one.name for one in Record.load(path)]
    assert names[-2:] == ["agentfp.error.fatal", "agentfp.run.ended"]
    assert "agentfp.context.served" in names


async def test_a_cancelled_run_ends_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"

    @tool
    async def wait() -> str:
        """Wait."""
        await anyio.sleep_forever()
        return "never"

    journal = Journal(path)
    with anyio.move_on_after(0.05):
        await Agent(ScriptedModel([call("wait"), "done"]), tools=[wait]).run("Go", journal=journal)
    record = check_record(journal.load())
    assert [one.name for one in record][-2:] == ["agentfp.run.cancelled", "agentfp.run.ended"]
    journal.close()


async def test_each_line_is_one_json_object_and_the_first_is_a_header(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    await drive(busy_agent(), journal=path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert "segment" in rows[0]
    assert rows[0]["agentfp"] == 1
    assert {"seq", "name", "ts", "off", "turn", "iter", "src", "data"} <= set(rows[1])
    assert path.read_bytes().endswith(b"\n")


# --- golden records ---


async def plain(path: Path) -> bytes:
    agent = Agent(
        ScriptedModel([[call("look"), call("fail")], call("look", word="b"), "Done."]),
        tools=[look, fail],
        plugins=[Busy()],
        clock=StepClock(),
        ids=CountingIds(),
    )
    await agent.run("Go", journal=path)
    return path.read_bytes()


async def test_the_same_run_under_the_same_clock_writes_the_same_bytes(tmp_path: Path) -> None:
    first = await plain(tmp_path / "a.jsonl")
    assert first == await plain(tmp_path / "b.jsonl")
    assert b'"ts":18934560' in first, "time comes from the clock that was given"


async def test_the_format_is_what_it_was() -> None:
    """Two lines in full: whoever changes the format changes its version, and this test."""
    agent = Agent(ScriptedModel(["Yes."]), name="a", clock=StepClock(), ids=CountingIds())
    record = (await agent.run("Well?")).record
    lines = list(record.to_lines())
    started = 1_893_456_000_001_000_000
    assert json.loads(lines[0]) == {
        "agentfp": 1,
        "segment": {"root_id": "conv_1", "run_id": "run_2", "first_seq": 0, "started_ns": started, "agent_id": "a"},
    }
    said = next(line for line in lines if "agentfp.message.added" in line)
    at = json.loads(said)
    assert said == (
        f'{{"seq":1,"name":"agentfp.message.added","ts":{at["ts"]},"off":{at["off"]},"turn":1,"iter":0,"src":"kernel",'
        '"data":{"message_id":"m_3","role":"user","author":"person","content":"Well?"}}'
    )
