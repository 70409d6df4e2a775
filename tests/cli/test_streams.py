"""The streams of the command line: JSON that is JSON whatever others print, closed streams, files that cannot be written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentfp.testing import PluginDist
from tests.cli.conftest import Cli

NOISE = '''
import contextlib
import sys

from agentfp import Agent, tool
from agentfp.testing import ScriptedModel, call

print("printed by the module")


@tool
def noisy() -> str:
    """Make noise."""
    print("printed by the tool")
    return "ok"


@tool(approval=True)
def asks(x: str) -> str:
    """Ask."""
    return x


def agent():
    print("printed by the factory")
    return Agent(ScriptedModel([call("noisy"), "é ☃"]), tools=[noisy])


def pausing():
    return Agent(ScriptedModel([[call("asks", x="1"), call("asks", x="2")], "done"]), tools=[asks])


def leaving():
    sys.exit(0)


async def later():
    return agent()


@contextlib.contextmanager
def deps():
    print("printed by the deps")
    yield
'''


@pytest.fixture
def noise(folder: Path) -> str:
    """A module that prints wherever it can; its name is the folder's own, for a process imports a module once."""
    name = f"noise_{abs(hash(str(folder)))}"
    (folder / f"{name}.py").write_text(NOISE, encoding="utf-8")
    return name


def test_what_others_print_goes_to_stderr(noise: str, cli: Cli) -> None:
    done = cli("run", f"{noise}:agent", "hi", "--deps", f"{noise}:deps")
    assert done.out == "é ☃\n"
    assert done.err.splitlines() == [f"printed by the {what}" for what in ("module", "factory", "deps", "tool")]


def test_json_is_json_whatever_others_print(noise: str, cli: Cli, site: PluginDist, folder: Path) -> None:
    source = "print('loud')\nfrom agentfp.plugin import Plugin\nclass Loud(Plugin):\n    name = 'loud'\n"
    site("agentfp-loud", entry_points={"agentfp.plugins": {"loud": "loud_module:Loud"}}, modules={"loud_module": source})
    (folder / "agentfp.toml").write_text('version = 1\n[agent]\nmodel = "stub:x"\nplugins = ["loud"]\n')
    for command in (["run", f"{noise}:agent", "hi"], ["config", "check"], ["config", "show"], ["plugins", "--load"], ["doctor"]):
        sys.modules.pop("loud_module", None)
        json.loads(cli(*command, "--json").out)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_json_in_every_encoding(noise: str, folder: Path, encoding: str) -> None:
    done = process(folder, "run", f"{noise}:agent", "hi", "--json", env={"PYTHONIOENCODING": encoding})
    assert json.loads(done.stdout.decode(encoding))["text"] == "é ☃"


def process(folder: Path, *arguments: str, env: dict[str, str] | None = None, closing: str = "") -> subprocess.CompletedProcess[bytes]:
    command = ["sh", "-c", f'exec "$@" {closing}', "sh", sys.executable, "-m", "agentfp", *arguments]
    return subprocess.run(command, cwd=folder, env=os.environ | (env or {}), capture_output=True, timeout=60, check=False)


@pytest.mark.skipif(os.name == "nt", reason="a shell closes the streams")
@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_may_be_closed(noise: str, folder: Path, closing: str) -> None:
    done = process(folder, "run", f"{noise}:agent", "hi", closing=closing)
    assert done.returncode == 0
    assert done.stdout.decode() == ("" if ">&-" in closing.split() else "é ☃\n")
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a shell closes the streams")
def test_a_closed_stdin_holds_no_question(noise: str, folder: Path) -> None:
    assert process(folder, "run", f"{noise}:agent", "-", closing="<&-").returncode == 2
    assert process(folder, "chat", f"{noise}:agent", closing="<&-").returncode == 0


# --- files ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--record", "--journal", "--save-pause"])
def test_a_file_that_cannot_be_written_is_told_of_before_the_run(option: str, noise: str, cli: Cli, folder: Path) -> None:
    for name, why in ((".", "it is a folder"), ("nowhere/x", "there is no folder nowhere")):
        done = cli("run", f"{noise}:agent", "hi", option, name)
        assert (done.code, done.out) == (2, "")
        assert f"{option} {name}: {why}" in done.err
        assert "tool" not in done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_recording_that_could_not_be_written_is_no_success(noise: str, cli: Cli) -> None:
    done = cli("run", f"{noise}:agent", "hi", "--record", "/dev/full")
    assert (done.code, done.out) == (1, "é ☃\n")
    assert "the recording cannot be written" in done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_pause_that_could_not_be_written_is_not_lost(noise: str, cli: Cli) -> None:
    done = cli("run", f"{noise}:pausing", "hi", "--save-pause", "/dev/full", "--json")
    assert done.code == 4
    assert json.loads(done.out)["pause"]
    assert "the pause cannot be written" in done.err


# --- code and answers ----------------------------------------------------------------------------------------------------


def test_code_that_exits_is_a_failure_and_not_a_success(noise: str, cli: Cli) -> None:
    done = cli("run", f"{noise}:leaving", "hi")
    assert (done.code, done.out) == (5, "")
    assert "called sys.exit(0)" in done.err
    assert cli("run", f"{noise}:agent", "hi", "--deps", f"{noise}:leaving").code == 5


def test_what_is_no_agent_is_not_called(noise: str, cli: Cli) -> None:
    done = cli("run", f"{noise}:noisy", "hi")
    assert (done.code, "is a Tool" in done.err, "by the tool" in done.err) == (2, True, False)
    done = cli("run", f"{noise}:later", "hi")
    assert (done.code, "is async" in done.err) == (2, True)
    assert f"without its ending: {noise}:agent" in cli("run", f"{noise}.py:agent", "hi").err


def test_one_question_takes_one_answer(noise: str, cli: Cli, folder: Path) -> None:
    told = cli("run", f"{noise}:pausing", "hi", "--save-pause", "p.json").err
    first, second = [question["id"] for question in json.loads((folder / "p.json").read_text())["questions"]]
    assert f"--answer {first}=approve --answer {second}=approve" in told
    done = cli("run", f"{noise}:pausing", "--resume", "p.json", "--answer", f"{first}=approve", "--answer", f"{first}=reject")
    assert (done.code, f"--answer for {first} is there twice" in done.err) == (2, True)


def test_a_pause_of_bytes_that_are_no_text(noise: str, cli: Cli, folder: Path) -> None:
    (folder / "p.json").write_bytes(b"\xff\xfe\x00")
    done = cli("run", f"{noise}:agent", "--resume", "p.json")
    assert (done.code, "takes a file with a pause" in done.err) == (2, True)


def test_time_limits(agents: Path, cli: Cli) -> None:
    for wrong in ("0", "-1", "nan"):
        assert cli("run", "desk_agents:slow", "x", "--timeout", wrong).code == 2
    done = cli("run", "desk_agents:slow", "x", "--timeout", "0.05", "--json")
    assert (done.code, json.loads(done.out)["status"]) == (5, "failed")


def test_steps_names_the_file(folder: Path, cli: Cli) -> None:
    (folder / "x.jsonl").write_text("no record")
    assert cli("steps", "x.jsonl").err.startswith("agentfp: x.jsonl: line 1 ")


# --- projects ------------------------------------------------------------------------------------------------------------


def test_init_writes_through_no_link(folder: Path, cli: Cli) -> None:
    (folder / "desk_tools.py").symlink_to(folder / "elsewhere.py")
    assert cli("init").code == 2
    assert not (folder / "elsewhere.py").exists()


@pytest.mark.parametrize("model", ['x"y', "", "two words", "a:b\nc", "a:\\"])
def test_init_takes_names_of_models_only(model: str, folder: Path, cli: Cli) -> None:
    assert cli("init", "--model", model).code == 2
    assert not (folder / "agentfp.toml").exists()


@pytest.mark.parametrize("name", ["none", "deny", "call-refused", "outcome", "settings"])
def test_new_plugin_gives_its_class_a_name_of_its_own(name: str, folder: Path, cli: Cli) -> None:
    assert cli("new-plugin", name, "--folder", "made").code == 0
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder / "made", capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["x_", "x__y", "_x"])
def test_names_that_make_no_name_of_a_distribution_are_refused(name: str, cli: Cli) -> None:
    assert cli("new-plugin", name).code == 2
