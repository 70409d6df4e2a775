"""Runs whose process is killed: the journal holds what a tool may depend on, and another process goes on from it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, Journal, NoConversationError, Record, RecordFormatError, RunCheckpointError, ToolContext, tool
from agentfp.events import Event, RunEnded, ToolDispatched, ToolEnded, TurnStart
from tests.core.running import ScriptedModel, call, check_history, outcomes, tool_texts

pytestmark = pytest.mark.anyio

PROGRAM = """
import os, signal, sys
from pathlib import Path

import anyio

from agentfp import Agent, ToolContext, tool
from agentfp_core.testing.scripted import ScriptedModel, call

folder, idempotent, where = Path(sys.argv[1]), sys.argv[2] == "True", sys.argv[3]


def did(what):
    with (folder / "effects.txt").open("a") as file:
        file.write(what + "\\n")


@tool
async def note(text: str) -> str:
    did(f"note {text}")
    return f"noted {text}"


@tool(idempotent=idempotent)
async def charge(ctx: ToolContext, amount: int) -> str:
    await anyio.wait_all_tasks_blocked()
    did(f"charge {amount} {ctx.idempotency_key}")
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@tool(mutating=True)
async def change(text: str) -> str:
    did(f"change {text}")
    return f"changed {text}"


def dies(request):
    os.kill(os.getpid(), signal.SIGKILL)


FIRST = call("note", id="c0", text="first")
BATCH = [
    call("note", id="c1", text="a"),
    call("charge", id="c2", amount=7),
    call("note", id="c3", text="c"),
    call("change", id="c4", text="d"),
]
SCRIPTS = {"tool": [FIRST, BATCH], "model": [FIRST, dies], "first": [dies]}
agent = Agent(ScriptedModel(SCRIPTS[where]), tools=[note, charge, change])
anyio.run(lambda: agent.run("go", journal=folder / "run.jsonl"))
"""


def killed(folder: Path, *, idempotent: bool = False, where: str = "tool") -> Path:
    """Run the program until it kills itself; gives its journal."""
    (folder / "program.py").write_text(PROGRAM)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(folder / "program.py"), str(folder), str(idempotent), where],
        cwd=root,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    return folder / "run.jsonl"


def going_on(effects: list[str], *script: Any, idempotent: bool = False) -> Agent[Any, Any]:
    """An agent like the one that was killed."""

    @tool
    async def note(text: str) -> str:
        effects.append(f"note {text}")
        return f"noted {text}"

    @tool(idempotent=idempotent)
    async def charge(ctx: ToolContext[Any], amount: int) -> str:
        effects.append(f"charge {amount} {ctx.idempotency_key}")
        return "charged"

    @tool(mutating=True)
    async def change(text: str) -> str:
        effects.append(f"change {text}")
        return f"changed {text}"

    return Agent(ScriptedModel(list(script)), tools=[note, charge, change])


def effects_of(folder: Path) -> list[str]:
    return (folder / "effects.txt").read_text().splitlines()


async def test_a_call_that_may_have_run_is_unknown_and_is_not_run_again(tmp_path: Path) -> None:
    journal = killed(tmp_path)
    before = effects_of(tmp_path)
    assert [line.split()[:2] for line in before] == [["note", "first"], ["note", "a"], ["note", "c"], ["charge", "7"]]
    left = Record.load(journal)
    assert left.torn_line is None
    assert {event.call_id for event in left if isinstance(event.payload, ToolEnded)} == {"c0", "c1", "c3"}
    effects: list[str] = []
    result = await going_on(effects, "done").resume_on_error(journal, journal=journal)
    assert effects == ["change d"]  # what was not dispatched runs, what ended or may have run does not
    assert outcomes(result.record) == {"c0": "success", "c1": "success", "c2": "unknown", "c3": "success", "c4": "success"}
    assert tool_texts(result.history)[2] == "It is not known whether charge ran to its end: the run broke off in the middle of it."
    assert result.text == "done"
    check_history(result.history)
    assert [event.seq for event in result.record] == list(range(len(result.record)))
    loaded = Record.load(journal)
    assert list(loaded) == list(result.record)
    assert [header.run_id for header in loaded.headers] == [header.run_id for header in result.record.headers]


async def test_an_idempotent_call_runs_again_under_its_key(tmp_path: Path) -> None:
    journal = killed(tmp_path, idempotent=True)
    effects: list[str] = []
    result = await going_on(effects, "done", idempotent=True).resume_on_error(journal)
    assert effects == [effects_of(tmp_path)[-1], "change d"]
    assert outcomes(result.record)["c2"] == "success"
    assert result.record.of(ToolDispatched)[-1].calls == ("c4",)


@pytest.mark.parametrize("where", ["model", "first"])
async def test_a_process_that_dies_in_a_model_call_loses_nothing(tmp_path: Path, where: str) -> None:
    journal = killed(tmp_path, where=where)
    effects: list[str] = []
    result = await going_on(effects, "done").resume_on_error(journal)
    assert effects == []
    assert [message.text for message in result.history if message.role == "user"] == ["go"]
    assert tool_texts(result.history) == (["noted first"] if where == "model" else [])


async def test_a_journal_cut_at_any_byte_loads_up_to_its_last_whole_line(tmp_path: Path) -> None:
    data = killed(tmp_path).read_bytes()
    whole = list(Record.load(tmp_path / "run.jsonl"))
    copy = tmp_path / "cut.jsonl"
    for size in range(len(data) - 300, len(data) + 1):
        copy.write_bytes(data[:size])
        record = Record.load(copy)
        ends = data[:size].count(b"\n")
        last = data[:size].rpartition(b"\n")[2]
        complete = bool(last) and data[size : size + 1] == b"\n"  # all of the line but its end
        assert len(record) == ends - 1 + complete
        assert list(record) == whole[: len(record)]
        assert (record.torn_line is not None) is (bool(last) and not complete)


EFFECTS = {"c0": "note first", "c1": "note a", "c2": "charge 7", "c3": "note c", "c4": "change d"}


async def test_a_run_goes_on_in_a_journal_cut_anywhere(tmp_path: Path) -> None:
    data = killed(tmp_path).read_bytes()
    journal = tmp_path / "cut.jsonl"
    lines = data.split(b"\n")
    line_ends = [len(b"\n".join(lines[: index + 1])) for index in range(2, len(lines) - 1)]
    for size in sorted({end + shift for end in line_ends for shift in (-7, -1, 0, 1, 9)} | {len(data)}):
        journal.write_bytes(data[:size])
        effects: list[str] = []
        before = Record.load(journal)
        agent = going_on(effects, "done")
        if not before.of(TurnStart):
            with pytest.raises(NoConversationError):
                await agent.resume_on_error(journal, journal=journal)
            continue
        result = await agent.resume_on_error(journal, journal=journal)
        loaded = Record.load(journal)
        assert loaded.torn_line is None
        assert list(loaded) == list(result.record)
        check_history(result.history)
        gone = {call_id for payload in before.of(ToolDispatched) for call_id in payload.calls}
        assert not {EFFECTS[call_id] for call_id in gone} & {" ".join(effect.split()[:2]) for effect in effects}, size


@pytest.mark.parametrize("text", [b"", b"\n", b'{"agentfp":1,"segm', b"not a journal\n", b'{"seq":0}\n'])
async def test_a_file_that_is_no_journal_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "x.jsonl").write_bytes(text)
    with pytest.raises(RecordFormatError):
        Record.load(tmp_path / "x.jsonl")


async def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path) -> None:
    journal = killed(tmp_path)
    lines = journal.read_bytes().split(b"\n")
    lines[5] = lines[5][:-10]
    journal.write_bytes(b"\n".join(lines))
    with pytest.raises(RecordFormatError, match="line 6"):
        Record.load(journal)


class Interrupted(BaseException):
    """What nothing but a ``finally`` sees."""


@pytest.mark.parametrize(("fatal", "status"), [(RuntimeError, "failed"), (Interrupted, "cancelled")])
async def test_everything_up_to_a_fatal_error_is_in_the_journal(tmp_path: Path, fatal: type[BaseException], status: str) -> None:
    agent = going_on([], call("note", id="c1", text="a"), fatal("x"))
    heard: list[Event] = []
    with pytest.raises((RunCheckpointError, Interrupted)):
        await agent.run("go", journal=tmp_path / "run.jsonl", on_event=heard.append)
    record = Record.load(tmp_path / "run.jsonl")
    assert list(record) == [event for event in heard if event.seq >= 0]
    assert record.of(RunEnded)[0].status == status
    assert tool_texts(record.history) == ["noted a"]


async def test_a_journal_is_for_its_owner_only_and_may_be_handed_in_open(tmp_path: Path) -> None:
    effects: list[str] = []
    journal = Journal(tmp_path / "run.jsonl", fsync=True)
    agent = going_on(effects, call("note", text="a"), "done", "more")
    result = await agent.run("go", journal=journal)
    result = await agent.run("on", history=result.history, journal=journal)
    journal.close()
    assert (tmp_path / "run.jsonl").stat().st_mode & 0o077 == 0
    assert list(journal.load()) == list(result.record)
    assert all(json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines())


async def test_a_journal_begun_later_holds_what_was_before(tmp_path: Path) -> None:
    agent = going_on([], call("note", text="a"), "done", "more")
    result = await agent.run("go")
    result = await agent.run("on", history=result.history, journal=tmp_path / "late.jsonl")
    assert list(Record.load(tmp_path / "late.jsonl")) == list(result.record)
