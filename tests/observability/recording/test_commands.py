"""The commands over recordings: what they print, as text and as data, and their exit codes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agentfp import Agent, approve, tool
from agentfp.testing import ScriptedModel, call
from agentfp_core.cli import main
from agentfp_recording import RecordingFile, pack_recording
from tests.observability.recording.scenes import agent_of, the_file


@dataclass
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@tool(approval=True)
def shut(switch: str) -> str:
    """Shut a switch."""
    return f"{switch} is shut"


Cli: TypeAlias = Callable[..., Done]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Cli:
    def run(*words: Any) -> Done:
        out, err = io.StringIO(), io.StringIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr(sys, "argv", ["agentfp", *map(str, words)])
            try:
                code = main()
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 1
        return Done(int(code or 0), out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two recordings that are the same, and one that differs in its answer."""
    scripts = {"a": "A is up.", "b": "A is up.", "c": "A is well."}
    for name, answer in scripts.items():
        agent_of(tmp_path / name, call("look", switch="A"), answer).run_sync("Is A up?")
    a, b, c = (the_file(tmp_path / name) for name in scripts)
    return a, b, c


def test_diff(files: tuple[Path, Path, Path], cli: Cli) -> None:
    a, b, c = files
    same = cli("diff", a, b)
    assert (same.code, same.out, same.err) == (0, "the same in all 5 steps\n", "")
    assert cli("diff", a, b, "--json").json == {"same": True, "steps": 5}
    differs = cli("diff", a, c)
    assert (differs.code, differs.err) == (1, "")
    for line in (
        "step 4, model call 2: the model was served the same and replied something else",
        "    - A is up.",
        "    + A is well.",
        "served, the same to both",
        "  tool: A is up",
    ):
        assert line in differs.out
    found = cli("diff", a, c, "--json")
    assert found.code == 1
    assert (found.json["steps"], found.json["cause"], found.json["call"]) == (3, "reply", 2)
    assert found.json["served"]["same"] is True
    assert found.json["a"]["text"] == "A is up."


@pytest.mark.parametrize("command", ["diff", "tell", "verify"])
def test_what_is_no_recording_exits_with_2(files: tuple[Path, Path, Path], cli: Cli, command: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("no record\n")
    for path, said in ((tmp_path / "x.jsonl", "no record"), (tmp_path / "y.jsonl", "No such file")):
        done = cli(command, *([files[0]] if command == "diff" else []), path)
        assert (done.code, done.out) == (2, "")
        assert said in done.err


def test_a_folder_stands_for_its_newest_recording(files: tuple[Path, Path, Path], cli: Cli, tmp_path: Path) -> None:
    agent_of(tmp_path / "a", "Hello.").run_sync("Hi")
    assert cli("tell", tmp_path / "a").out.splitlines()[0] == 'The user asked the agent: "Hi"'
    assert cli("diff", tmp_path / "b", files[0]).code == 0
    assert "    Hi\n" in cli("steps", tmp_path / "a").out
    (tmp_path / "a" / "log.jsonl").write_text('{"type": "of a log"}\n')  # newer, and no recording
    assert cli("tell", tmp_path / "a").code == 0
    pack_recording(max((tmp_path / "a").glob("conv*.jsonl"), key=lambda path: path.stat().st_mtime_ns))
    assert cli("tell", tmp_path / "a").out.splitlines()[0] == 'The user asked the agent: "Hi"'
    (tmp_path / "none").mkdir()
    done = cli("tell", tmp_path / "none")
    assert done.code == 2
    assert "no recording in the folder" in done.err


def test_tell(files: tuple[Path, Path, Path], cli: Cli) -> None:
    done = cli("tell", files[0])
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == 'The user asked the agent: "Is A up?"'
    assert cli("tell", files[0], "--voice", "first").out.splitlines()[-1] == "Then I had my answer."
    assert "Desk put the question to the model." in cli("tell", files[0], "--name", "Desk").out
    assert [json.loads(line) for line in cli("tell", files[0], "--json").out.splitlines()] == done.out.splitlines()


def test_verify(files: tuple[Path, Path, Path], cli: Cli) -> None:
    path = files[0]
    done = cli("verify", path)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "intact"
    assert cli("verify", path, "--json").json["intact"] is True
    assert "not looked at" in cli("verify", path, "--no-requests").out
    path.write_text(path.read_text().replace('"content":"A is up"', '"content":"A is no"'))
    changed = cli("verify", path)
    assert changed.code == 1
    assert "CHANGED" in changed.out
    assert "model call 2 does not hash to its receipt" in changed.out
    assert cli("verify", path, "--json").json["changed_calls"] == [["", 2]]
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + '{"seq": 99, "na')
    torn = cli("verify", path)
    assert torn.code == 1
    assert "is torn and left out" in torn.err
    assert "nothing in it is sealed" in torn.out


def test_steps_reads_recordings_and_says_what_is_missing(files: tuple[Path, Path, Path], cli: Cli) -> None:
    path = files[0]
    done = cli("steps", path)
    assert (done.code, done.err) == (0, "")
    assert "model call 2" in done.out
    lines = path.read_text().splitlines(keepends=True)
    note = '{"file":{"dropped":{"run_id":"r","count":3,"first_seq":4,"last_seq":6,"why":"disk full"}}}\n'
    path.write_text("".join([*lines[:6], note, *lines[9:]]))
    gap = cli("steps", path)
    assert gap.code == 0
    assert "3 events from 4 to 6 are missing: disk full" in gap.err
    path.write_text("".join([*lines[:12], "broken\n", *lines[12:]]))
    broken = cli("steps", path)
    assert broken.code == 1
    assert "model call 1" in broken.out
    assert "what can be read of it is shown" in broken.err
    walked = cli("steps", path, "--json")
    assert walked.code == 1
    assert "line 13" in walked.json["problem"]


def test_verify_of_a_leg_that_was_resumed_where_nobody_recorded_before(tmp_path: Path, cli: Cli) -> None:
    script = [call("shut", switch="A"), "Done."]
    paused = Agent(ScriptedModel(script[:1]), tools=[shut]).run_sync("Shut A.")
    assert paused.pause is not None
    agent_of(tmp_path, *script[1:], tools=[shut]).resume_sync(paused.pause, approve())
    record = RecordingFile(the_file(tmp_path)).record()
    assert [message.text for message in record.history] == ["A is shut", "Done."], "the result is there, though not the call"
    done = cli("verify", the_file(tmp_path))
    assert (done.code, done.out.splitlines()[-1]) == (0, "intact")
    assert "cannot be proved: the first legs of the conversation are not in this file" in done.out
    assert "does not hash" not in done.out
    shown = cli("steps", the_file(tmp_path), "--call", "2")
    assert (shown.code, "the legs before it are not in it" in shown.err) == (1, True)


def test_verify_says_of_a_saved_record_that_it_has_no_checksums(tmp_path: Path, cli: Cli) -> None:
    Agent(ScriptedModel(["Hi."])).run_sync("Hi").record.save(tmp_path / "saved.jsonl")
    done = cli("verify", tmp_path / "saved.jsonl")
    assert done.code == 1
    assert "saved records and journals have no checksums" in done.out
