"""``agentfp init``, ``new-plugin`` and ``tools``: what is written works, and nothing is overwritten."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from agentfp.testing import PluginDist
from tests.cli.conftest import Cli


def run_tests(folder: Path) -> str:
    """Run a project's own tests in a process of their own; gives pytest's last line."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "AGENTFP"))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()[-1]


# --- init -------------------------------------------------------------------------------------------------------------------


def test_init_writes_a_project_whose_tests_pass(folder: Path, cli: Cli) -> None:
    done = cli("init", "desk", "--json")
    assert done.code == 0
    assert done.json["files"] == ["agentfp.toml", "desk_tools.py", "test_desk.py"]
    assert done.json["model"] == "local"
    assert 'pip install "agentfp[local]"' in done.json["install"]
    assert "2 passed" in run_tests(folder / "desk")


def test_init_takes_the_provider_that_is_there(folder: Path, provider: PluginDist, cli: Cli) -> None:
    done = cli("init")
    assert (done.code, done.err) == (0, "")
    assert tomllib.loads(Path("agentfp.toml").read_text())["agent"]["model"] == "stub"
    assert cli("config", "check").code == 0
    assert cli("run", "hi").out == "hello\n"
    assert cli("doctor").code == 0


def test_init_with_a_model_that_is_not_installed_says_what_to_install(folder: Path, provider: PluginDist, cli: Cli) -> None:
    done = cli("init", "--model", "openai:gpt-5-mini")
    assert done.code == 0
    assert 'pip install "agentfp[openai]"' in done.err


def test_init_says_what_the_model_lacks(folder: Path, site: PluginDist, cli: Cli) -> None:
    lacking = "class M:\n    def __init__(self, name, **settings): ...\n    def check_ready(self): raise ValueError('there is no key')\n"
    site("agentfp-stub", entry_points={"agentfp.models": {"stub": "keyless:M"}}, modules={"keyless": lacking})
    done = cli("init")
    assert (done.code, done.err) == (0, "there is no key\n")
    assert "next: python -m pytest; after that, agentfp run" in done.out
    assert cli("init", "other", "--json").json["install"] == "there is no key"


def test_init_overwrites_nothing(folder: Path, cli: Cli) -> None:
    Path("desk_tools.py").write_text("mine")
    done = cli("init")
    assert (done.code, done.out) == (2, "")
    assert "desk_tools.py is there already; nothing was written" in done.err
    assert sorted(path.name for path in folder.iterdir()) == ["desk_tools.py"]


# --- tools --------------------------------------------------------------------------------------------------------------------


def test_tools_of_a_file_need_no_model(folder: Path, cli: Cli) -> None:
    cli("init")
    shown = cli("tools", "--json").json
    assert [tool["name"] for tool in shown] == ["list_tasks", "finish_task"]
    assert shown[0]["parameters"]["properties"]["open_only"] == {
        "type": "boolean",
        "default": True,
        "description": "leave out those that are done.",
    }
    assert shown[1]["marks"] == ["approval", "mutating"]
    text = cli("tools").out
    assert "finish_task  (approval, mutating)" in text
    assert "A person approves each call." in text


def test_tools_of_an_agent_in_code(agents: Path, cli: Cli) -> None:
    assert [t["name"] for t in cli("tools", "desk_agents:looking", "--json").json] == ["look", "shut", "who", "form"]
    assert [t["name"] for t in cli("tools", "desk_agents:looking", "--name", "shut", "--json").json] == ["shut"]
    done = cli("tools", "desk_agents:looking", "--name", "shoot")
    assert done.code == 2
    assert "did you mean 'shut'" in done.err


# --- new-plugin -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["office-hours", "agentfp-office_hours"])
def test_new_plugin_writes_a_distribution_whose_tests_pass(folder: Path, cli: Cli, name: str) -> None:
    done = cli("new-plugin", name, "--json")
    assert (done.code, done.json["plugin"], done.json["distribution"]) == (0, "office_hours", "agentfp-office-hours")
    written = folder / "agentfp-office-hours"
    assert sorted(done.json["files"]) == sorted(str(p.relative_to(written)) for p in written.rglob("*") if p.is_file())
    project = tomllib.loads((written / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["agentfp.plugins"] == {"office_hours": "agentfp_office_hours:OfficeHours"}
    marks = re.compile(r"@[A-Z]+@")
    assert not [path for path in written.rglob("*.*") if path.is_file() and marks.search(path.read_text())]
    assert "5 passed" in run_tests(written)


def test_new_plugin_is_typed_and_clean(folder: Path, cli: Cli) -> None:
    cli("new-plugin", "hours", "--folder", "here")
    checks = ["--isolated", "--select", "E,F,I,UP,B", "--line-length", "140", "."]
    ruff = subprocess.run([sys.executable, "-m", "ruff", "check", *checks], cwd="here", check=False, capture_output=True, text=True)
    assert ruff.returncode == 0, ruff.stdout
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--no-incremental", "here/src", "here/tests"]
    done = subprocess.run(mypy, check=False, capture_output=True, text=True, env={**os.environ, "MYPYPATH": "here/src"})
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["9lives", "kernel", "class", "a.b", "", "core"])
def test_names_that_cannot_be_are_refused(folder: Path, cli: Cli, name: str) -> None:
    done = cli("new-plugin", name)
    assert (done.code, done.out) == (2, "")
    assert list(folder.iterdir()) == []


def test_new_plugin_takes_no_name_that_is_taken(folder: Path, site: PluginDist, cli: Cli) -> None:
    site("hours-of-others", entry_points={"agentfp.plugins": {"hours": "hours:P"}}, modules={"hours": ""}, version="2.0")
    for name, owner in (("hours", "hours-of-others 2.0"), ("evidence", "agentfp-evidence")):
        done = cli("new-plugin", name)
        assert (done.code, done.out) == (2, "")
        assert f"there is a plugin '{name}' already, of {owner}" in done.err
    assert not list(folder.glob("agentfp-*"))


def test_new_plugin_overwrites_nothing(folder: Path, cli: Cli) -> None:
    assert cli("new-plugin", "hours").code == 0
    done = cli("new-plugin", "hours")
    assert done.code == 2
    assert "there already; nothing was written" in done.err
