"""The plugin as its users have it: built, installed into an empty environment, tested there, switched on by a config file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from scripts.workshop import ROOT
from tests.e2e.venvs import Venv, build_wheel

CONFIG = """\
version = 1
[agent]
model = "scripted:desk"
plugins = {plugins}
[plugins.result_age]
seconds = 60
"""
APP = '''\
from agentfp import Agent
from agentfp.testing import ScriptedModel, call


def stock() -> dict[str, object]:
    """What is in stock."""
    return {"left": 3, "as_of": "2001-02-03T04:05:06Z"}


def agent() -> Agent:
    return Agent.from_config("agentfp.toml", model=ScriptedModel([call("stock"), "Three are left."]), tools=[stock])
'''


def test_it_is_built_installed_tested_and_switched(example: Callable[[str], Path], tmp_path: Path) -> None:
    folder = example("third_party_plugin")
    for project in (ROOT, folder):
        build_wheel(project, tmp_path / "dist")
    venv = Venv.make(tmp_path / "venv", tmp_path / "dist")
    venv.install("agentfp-result-age[test]")

    tested = venv.run(["-q", "-p", "no:cacheprovider"], folder, program="pytest")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert " passed" in tested.stdout

    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    notes = []
    for plugins in ('["result_age"]', "[]"):
        (tmp_path / "agentfp.toml").write_text(CONFIG.format(plugins=plugins), encoding="utf-8")
        done = venv.run(["run", "app:agent", "How many?", "--record", "r.jsonl", "--json"], tmp_path)
        assert done.returncode == 0, done.stderr
        notes.append("minutes old" in (tmp_path / "r.jsonl").read_text(encoding="utf-8"))
        (tmp_path / "r.jsonl").unlink()
        assert json.loads(done.stdout)
    assert notes == [True, False]
