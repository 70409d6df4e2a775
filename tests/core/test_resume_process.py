"""A pause that is answered in another process: stored as text, read by a fresh interpreter, with a fresh agent and its own deps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentfp import Pause, Record
from agentfp.events import RunEnded, ToolEnded
from tests.core.running import check_record

PROGRAM = """
import json, sys
from pathlib import Path

import anyio

from agentfp import Agent, AskField, Pause, ToolContext, approve, tool
from agentfp.plugin import Allow, AskPerson, Plugin, hookimpl
from agentfp_core.testing.scripted import ScriptedModel, call

folder, step = Path(sys.argv[1]), sys.argv[2]


def did(what):
    with (folder / "effects.txt").open("a") as file:
        file.write(f"{step} {what}\\n")


class Period(Plugin):
    name = "period"

    @hookimpl(phase="fill")
    def before_tool(self, call):
        given = call.answers(self)
        if call.name == "report" and "period" not in call.arguments:
            return Allow({"period": given["period"]}) if given else AskPerson([AskField("period", "Which period?")])


@tool(mutating=True)
async def log(ctx: ToolContext[dict], text: str) -> str:
    did(f"log {text} for {ctx.deps['user']}")
    return "logged"


@tool
async def report(ctx: ToolContext[dict], period: str | None = None) -> str:
    did(f"report {period} for {ctx.deps['user']}")
    return f"report of {period}"


@tool(approval=True, mutating=True)
def refund(amount: int) -> str:
    did(f"refund {amount}")
    return "refunded"


@tool
async def ask(ctx: ToolContext[dict], what: str) -> str:
    ctx.ask_human(f"Which {what}?")


SCRIPT = [
    [call("log", id="c1", text="one"), call("report", id="c2"), call("log", id="c3", text="two")],
    [call("refund", id="c4", amount=900), call("ask", id="c5", what="account"), call("log", id="c6", text="three")],
    "All done.",
]
REPLIES = {"start": SCRIPT, "period": SCRIPT[1:], "approve": [], "account": SCRIPT[2:]}
ANSWERS = {"period": "2024", "approve": approve(by="ann"), "account": "77"}


async def main():
    agent = Agent(ScriptedModel(REPLIES[step]), tools=[log, report, refund, ask], plugins=[Period()], deps_type=dict)
    if step == "start":
        result = await agent.run("do it", deps={"user": step})
    else:
        pause = Pause.from_json((folder / "pause.json").read_text())
        result = await agent.resume(pause, {pause.questions[0].id: ANSWERS[step]}, deps={"user": step})
    if result.paused:
        (folder / "pause.json").write_text(result.pause.to_json())
    result.record.save(folder / "record.jsonl")
    print(json.dumps({"status": result.status, "text": None if result.paused else result.text}))


anyio.run(main, backend=sys.argv[3])
"""


def run(folder: Path, step: str, backend: str) -> dict[str, Any]:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(program), str(folder), step, backend], cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()
    said: dict[str, Any] = json.loads(done.stdout)
    return said


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_each_tool_runs_once_over_four_processes(tmp_path: Path, backend: str) -> None:
    waiting = []
    for step in ("start", "period", "approve"):
        assert run(tmp_path, step, backend)["status"] == "paused"
        (asked,) = Pause.from_json((tmp_path / "pause.json").read_text()).questions
        waiting.append((asked.kind, asked.tool, asked.call_id))
    assert run(tmp_path, "account", backend) == {"status": "answered", "text": "All done."}
    assert waiting == [("value", "report", "c2"), ("decision", "refund", "c4"), ("value", "ask", "c5")]
    assert (tmp_path / "effects.txt").read_text().splitlines() == [
        "period log one for period",
        "period report 2024 for period",
        "period log two for period",
        "approve refund 900",
        "account log three for account",
    ]
    record = Record.load(tmp_path / "record.jsonl")
    check_record(record)
    assert [ended.status for ended in record.of(RunEnded)] == ["paused", "paused", "paused", "answered"]
    assert len(record.of(ToolEnded)) == 6
    assert len({header.run_id for header in record.headers}) == 4
    assert len({header.root_id for header in record.headers}) == 1
