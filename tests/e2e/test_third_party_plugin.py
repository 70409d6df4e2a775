"""What a user goes through: wheels installed into empty environments, a plugin of one's own switched on, off, and taken away."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.workshop import ROOT
from tests.e2e.venvs import Venv, build_wheel, call, environ

CONFIG = """\
version = 1
[agent]
model = "scripted:desk"
tools = ["app:shut_port"]
plugins = {plugins}

[plugins.door_guard]
refuse = ["shut_port"]
tell_model = "Ask an engineer."
{more}
"""
APP = '''\
"""An application: a tool, and the agent of the file with a model that follows a script."""

from agentfp import Agent, tool
from agentfp.testing import CountingIds, ScriptedModel, StepClock, call


@tool(mutating=True)
def shut_port(port: int) -> str:
    """Shut a port."""
    return f"port {port} is shut"


def agent() -> Agent:
    model = ScriptedModel([call("shut_port", id="call_1", port=3), "That is all."])
    return Agent.from_config("agentfp.toml", model=model, clock=StepClock(), ids=CountingIds())
'''


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels of the library and of a plugin that ``new-plugin`` wrote."""
    folder = tmp_path_factory.mktemp("wheels")
    build_wheel(ROOT, folder / "dist")
    call(sys.executable, "-m", "agentfp", "new-plugin", "door-guard", cwd=folder)
    build_wheel(folder / "agentfp-door-guard", folder / "dist")
    return folder / "dist"


@pytest.fixture(scope="module")
def venv(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Venv:
    """An environment with the library and nothing else."""
    made = Venv.make(tmp_path_factory.mktemp("venv") / "venv", wheels)
    made.install("agentfp")
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP)
    return tmp_path


def configure(project: Path, *, listed: bool, more: str = "") -> None:
    (project / "agentfp.toml").write_text(CONFIG.format(plugins='["door_guard"]' if listed else "[]", more=more))


def run(venv: Venv, project: Path, name: str) -> dict[str, Any]:
    """Run the agent; gives its recording and its requests."""
    done = venv.run(["run", "app:agent", "Shut port 3.", "--record", name], project)
    assert (done.returncode, done.stdout) == (0, "That is all.\n"), done.stderr
    requests = [venv.run(["steps", name, "--call", str(call_number), "--json"], project).stdout for call_number in (1, 2)]
    return {"record": (project / name).read_bytes(), "requests": requests}


def outcome(venv: Venv, project: Path, name: str) -> str:
    walked = json.loads(venv.run(["steps", name, "--json"], project).stdout)
    calls = [call for step in walked["steps"] if step["kind"] == "model_call" for call in step["calls"]]
    return str(calls[0]["outcome"])


def plugins(venv: Venv, project: Path) -> dict[str, str]:
    rows = json.loads(venv.run(["plugins", "--json"], project).stdout)["plugins"]
    return {row["name"]: row["state"] for row in rows}


def test_every_command_works_or_says_what_to_install(venv: Venv, tmp_path: Path, project: Path) -> None:
    """Must come first: the environment has the library alone."""
    bare = tmp_path / "bare"
    configure(project, listed=False)
    assert run(venv, project, "r.jsonl")["record"]
    works: list[tuple[list[str], Path]] = [
        (["--help"], project),
        (["--version"], project),
        (["doctor"], project.parent),
        (["plugins"], project),
        (["config", "schema"], project),
        (["config", "show"], project),
        (["tools", "app:agent"], project),
        (["steps", "r.jsonl"], project),
        (["run", "app:agent", "x"], project),
        (["chat", "app:agent"], project),
        (["new-plugin", "other"], project),
        (["init", str(bare)], project),
        (["tools"], bare),
    ]
    for arguments, folder in works:
        done = venv.run(arguments, folder)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    missing: list[tuple[list[str], int]] = [
        (["run", "What is due?"], 3),
        (["chat"], 3),
        (["check", "transcript.json"], 3),
        (["mcp-serve", "r.toml"], 3),
        (["plugins", "show", "evidence"], 3),
        (["config", "check"], 1),
        (["doctor"], 1),
    ]
    for arguments, code in missing:
        done = venv.run(arguments, bare, stdin="hi\n")
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        assert "pip install" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_a_plugin_is_installed_switched_on_and_off_and_taken_away(venv: Venv, project: Path) -> None:
    configure(project, listed=False)
    never = run(venv, project, "never.jsonl")
    venv.install("agentfp-door-guard")
    assert plugins(venv, project) == {"door_guard": "found"}

    configure(project, listed=True)
    assert plugins(venv, project) == {"door_guard": "on"}
    on = run(venv, project, "on.jsonl")
    assert outcome(venv, project, "on.jsonl") == "denied"
    assert "Ask an engineer." in on["requests"][1]
    assert b'"door_guard.call.refused"' in on["record"]

    configure(project, listed=True, more="enabled = false")
    assert plugins(venv, project) == {"door_guard": "off"}
    assert run(venv, project, "off.jsonl") == never
    configure(project, listed=False)
    assert run(venv, project, "not_listed.jsonl") == never
    assert outcome(venv, project, "off.jsonl") == "success"

    venv.uninstall("agentfp-door-guard")
    assert plugins(venv, project) == {}
    assert run(venv, project, "gone.jsonl") == never
    walked = json.loads(venv.run(["steps", "on.jsonl", "--json"], project).stdout)
    assert walked["unknown_events"] == {"door_guard.call.refused": 1}
    assert run_again(venv, project, "on.jsonl") == on["record"]

    configure(project, listed=True)
    refused = venv.run(["run", "app:agent", "Shut port 3."], project)
    assert refused.returncode == 3
    assert "pip install agentfp-door-guard" in refused.stderr


def run_again(venv: Venv, project: Path, name: str) -> bytes:
    """The bytes of a recording that is loaded and saved where its plugin is not installed."""
    code = f"from agentfp import Record; Record.load({name!r}).save('again.jsonl')"
    subprocess.run([venv.bin / "python", "-c", code], cwd=project, env=environ(), check=True)
    return (project / "again.jsonl").read_bytes()
