"""The README says what is: its program prints what stands below it, its commands work, its table lists the settings."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from agentfp import Agent
from agentfp_local import LocalModel

README = (Path(__file__).resolve().parents[3] / "providers" / "local" / "README.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", README, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.real_model
def test_the_program_prints_what_stands_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block("python"), "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out == block("text")


@pytest.mark.real_model
def test_a_new_project_answers_without_a_key(tmp_path: Path) -> None:
    lines = [line.partition("#")[0].strip() for line in block("sh").splitlines() if not line.startswith("pip")]
    command = "\n".join(["set -e", 'agentfp() { "$0" -m agentfp "$@"; }', *lines])
    ran = subprocess.run(["bash", "-c", command, sys.executable], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert "report" in ran.stdout
    assert "2030-03-12" in ran.stdout


def test_the_settings_are_those_of_the_model(tmp_path: Path) -> None:
    table = README[README.index("| setting |") : README.index("A reply has at most")]
    listed = {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert listed == set(inspect.signature(LocalModel).parameters) - {"name", "options"}
    config = tmp_path / "agentfp.toml"
    config.write_text(f'version = 1\n[agent]\nmodel = "small"\n{block("toml")}', encoding="utf-8")
    assert tomllib.loads(block("toml"))["models"]["small"]["context"] == 2048
    assert Agent.from_config(config).model.features.context_window == 2048
