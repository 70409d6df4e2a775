"""``agentfp run`` and ``chat`` on a terminal: what streams, what is asked, and how Ctrl-C and a closed pipe end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentfp import Record
from agentfp.events import ApprovalDecided, ToolEnded
from tests.cli.conftest import Open

KEYS = "[q]uit and answer later"


def outcomes(file: Path) -> list[str]:
    return [ended.outcome for ended in Record.load(file).of(ToolEnded)]


def test_status_tool_calls_and_text_are_shown(agents: Path, terminal: Open) -> None:
    shown = terminal("run", "desk_agents:looking", "Is A up?")
    shown.expect("thinking")
    shown.expect('look(switch="A"): success')
    shown.expect("Switch A is up.")
    shown.expect("answered · 2 model calls · 1 tool call")
    assert shown.wait() == 0
    assert shown.text.count("Switch A is up.") == 1


def test_a_call_is_approved(agents: Path, terminal: Open) -> None:
    shown = terminal("run", "desk_agents:shutting", "Shut it", "--by", "ann", "--record", "r.jsonl")
    shown.expect("Approval")
    shown.expect("port = 3")
    shown.expect("May shut run?")
    shown.expect(KEYS)
    shown.send("what?")
    shown.expect("> ")
    shown.send("a")
    shown.expect("Port 3 is shut.")
    shown.expect("recorded in r.jsonl")
    assert shown.wait() == 0
    assert outcomes(agents / "r.jsonl") == ["success"]
    assert [(d.approved, d.by) for d in Record.load(agents / "r.jsonl").of(ApprovalDecided)] == [(True, "ann")]


def test_a_call_is_rejected_with_a_reason(agents: Path, terminal: Open) -> None:
    shown = terminal("run", "desk_agents:shutting", "Shut it", "--record", "r.jsonl")
    shown.expect(KEYS)
    shown.send("r")
    shown.expect("why (the model reads it")
    shown.send("not before noon")
    assert shown.wait() == 0
    assert outcomes(agents / "r.jsonl") == ["declined"]
    assert any("not before noon" in m.text for m in Record.load(agents / "r.jsonl").history)


def test_arguments_are_edited(agents: Path, terminal: Open) -> None:
    shown = terminal("run", "desk_agents:shutting", "Shut it", "--record", "r.jsonl")
    shown.expect(KEYS)
    shown.send("e")
    shown.expect('"switch": "A"}')  # the line begins as it is; Ctrl-U takes it away
    shown.send("\x15{no json")
    shown.expect("that is no JSON")
    shown.expect("> {no json")
    shown.send("\x15[1]")
    shown.expect("that is no JSON object")
    shown.expect("> [1]")
    shown.send('\x15{"switch": "A", "port": 7}')
    assert shown.wait() == 0
    assert Record.load(agents / "r.jsonl").of(ToolEnded)[0].content == "port 7 of A is shut"


def test_a_question_can_be_left_open(agents: Path, terminal: Open) -> None:
    shown = terminal("run", "desk_agents:shutting", "Shut it", "--save-pause", "p.json")
    shown.expect(KEYS)
    shown.send("q")
    shown.expect("agentfp run desk_agents:shutting --resume p.json")
    assert shown.wait() == 4
    shown = terminal("run", "desk_agents:after", "--resume", "p.json", "--record", "r.jsonl")
    shown.expect(KEYS)
    shown.send("a")
    assert shown.wait() == 0
    assert outcomes(agents / "r.jsonl") == ["success"]


def test_values_are_asked_until_they_fit(agents: Path, terminal: Open) -> None:
    shown = terminal("run", "desk_agents:asking", "hi", "--record", "r.jsonl")
    shown.expect("Who are you?")
    shown.send("Ann")
    shown.expect("How many?")
    shown.send("none")
    shown.expect("does not fit")
    shown.send("3")
    shown.expect('one of "red", "blue" (Enter for none)')
    shown.send("")
    shown.expect("Enter when you have read it")
    shown.send("")
    shown.expect("Thanks.")
    assert shown.wait() == 0
    results = [ended.content for ended in Record.load(agents / "r.jsonl").of(ToolEnded)]
    assert results[0] == "Ann"
    assert json.loads(results[1])["values"] == {"count": 3, "note": True}


def test_what_a_model_writes_cannot_steer_the_terminal(agents: Path, terminal: Open) -> None:
    shown = terminal("run", "desk_agents:escaping", "hi")
    assert shown.wait() == 0
    assert "red \\x1b[31malert\\x07" in shown.text
    assert "\x1b[31malert" not in shown.raw


def test_no_colours_where_none_are_wanted(agents: Path, terminal: Open) -> None:
    shown = terminal("config", "check", NO_COLOR="1")
    assert shown.wait() == 2
    assert "\x1b[31m" not in shown.raw


def test_a_conversation(agents: Path, terminal: Open) -> None:
    shown = terminal("chat", "desk_agents:chatty", "--record", "r.jsonl")
    shown.expect("> ")
    shown.send("one")
    shown.expect("1: one")
    shown.expect("> ")
    shown.send("")
    shown.expect("> ")
    shown.send("two")
    shown.expect("2: 3 messages")
    shown.expect("> ")
    shown.send("three")
    shown.expect("the script has no reply")  # a turn that fails does not end the conversation
    shown.expect("> ")
    shown.send("/exit")
    assert shown.wait() == 0
    assert [m.text for m in Record.load(agents / "r.jsonl").history if m.role == "user"] == ["one", "two"]


def test_a_conversation_asks_too_and_goes_on_when_a_question_is_dropped(agents: Path, terminal: Open) -> None:
    shown = terminal("chat", "desk_agents:shutting")
    shown.expect("> ")
    shown.send("shut it")
    shown.expect(KEYS)
    shown.send("q")
    shown.expect("the question is dropped; its calls did not run")
    shown.expect("> ")
    shown.send("and now?")
    shown.expect("Port 3 is shut.")
    shown.send("/quit")
    assert shown.wait() == 0


@pytest.mark.parametrize("where", ["model", "question", "chat"])
def test_ctrl_c_ends_with_130(agents: Path, terminal: Open, where: str) -> None:
    command = {
        "model": ["run", "desk_agents:slow", "x"],
        "question": ["run", "desk_agents:shutting", "x"],
        "chat": ["chat", "desk_agents:slow"],
    }
    shown = terminal(*command[where], "--record", "r.jsonl")
    shown.expect({"model": "thinking", "question": f"{KEYS}\n  > ", "chat": "> "}[where])
    time.sleep(0.3)  # readline shows its prompt a moment before it can be interrupted
    shown.interrupt()
    assert shown.wait() == 130
    assert "Traceback" not in shown.text
    if where != "chat":
        ended = Record.load(agents / "r.jsonl").events("agentfp.run.ended")
        assert ended[-1].payload.status == {"model": "cancelled", "question": "paused"}[where]  # type: ignore[attr-defined]


# --- pipes ----------------------------------------------------------------------------------------------------------------------


def agentfp(arguments: list[str], folder: Path, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "agentfp", *arguments]
    return subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload, no-any-return]


def test_ctrl_c_in_a_pipe(agents: Path) -> None:
    source = (agents / "desk_agents.py").read_text()
    (agents / "desk_agents.py").write_text(
        source + "\n\n@contextlib.contextmanager\ndef ready():\n    print('ready', flush=True)\n    yield\n"
    )
    process = agentfp(["run", "desk_agents:slow", "x", "--deps", "desk_agents:ready"], agents)
    assert process.stderr is not None  # stdout of a pipe is for the answer alone
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.strip()) == (130, "", "")


def test_a_reader_that_goes_away_is_no_error(agents: Path) -> None:
    process = agentfp(["config", "schema"], agents)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(30) == 141


def test_a_pipe_gets_no_colours_and_no_progress(agents: Path) -> None:
    process = agentfp(["run", "desk_agents:looking", "x"], agents, env={**os.environ, "FORCE_COLOR": "1"})
    assert process.communicate(timeout=30) == ("Switch A is up.\n", "")


def test_of_a_folder_it_is_told_which_recording_is_shown(agents: Path, terminal: Open) -> None:
    assert terminal("run", "desk_agents:looking", "Is A up?", "--record", "one.jsonl").wait() == 0
    shown = terminal("steps", ".")
    shown.expect("one.jsonl, the newest in .:")
    shown.expect("Is A up?")
    assert shown.wait() == 0
