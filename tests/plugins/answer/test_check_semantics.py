"""`agentfp check-semantics`: samples of results, by the rules that a run has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentfp_answer.command import problems_of

FACTS = {
    "af_semantics": True,
    "facts": [{"entity": "x", "n": 1}],
    "provenance": {"measured_at": "t", "source": "s"},
    "coverage": {"checked": ["all"]},
}
COVERED = {"af_coverage": {"checked": ["all"]}, "result": [1]}
SERIES = {**FACTS, "series": [{"t": 1, "entity": "x", "metric": "m", "value": 1}]}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"samples": [[1], COVERED, FACTS]}, []),
        ({"result_class": "triage", "samples": [COVERED]}, []),
        ({"result_class": "triage", "samples": [[1]]}, [("error", 0, "no-coverage")]),
        ({"result_class": "triage", "samples": []}, [("warning", None, "no-samples")]),
        ({"result_class": "inventory", "samples": [{**FACTS, "render": "table"}]}, []),
        ({"result_class": "inventory", "samples": [FACTS]}, [("warning", 0, "no-render")]),
        ({"samples": [SERIES]}, [("error", 0, "series-without-grain")]),
        ({"samples": [{"af_absent": True, "checked": []}]}, [("error", 0, "no-declaration")]),
        ({"samples": [{"af_coverage": {"checked": ["a", 7]}, "result": []}]}, [("error", 0, "bad-item")]),
    ],
)
def test_samples(said: Any, found: list[Any]) -> None:
    assert [(problem.level, problem.sample, problem.code) for problem in problems_of({"list_ports": said})] == found


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (json.dumps({"a": {"samples": [COVERED]}}), 0, "1 tools, 0 errors, 0 warnings"),
        (json.dumps({"a": {"result_class": "triage", "samples": [[]]}}), 1, "a, sample 0: a result of class triage says what it covers"),
        (json.dumps({"a": {"result_class": "other"}}), 2, "the result_class is one of triage, inventory"),
        (json.dumps({"a": [1]}), 2, "is an object with"),
        ("[]", 2, "holds a list"),
        ("{", 2, "is no JSON"),
        (None, 2, "cannot be read"),
    ],
)
def test_the_command(tmp_path: Path, text: str | None, code: int, words: str) -> None:
    path = tmp_path / "samples.json"
    if text is not None:
        path.write_text(text)
    command = [sys.executable, "-m", "agentfp", "check-semantics", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={"COLUMNS": "200", "PATH": ""})
    assert (done.returncode, words in done.stdout + done.stderr) == (code, True)


def test_as_json(tmp_path: Path) -> None:
    path = tmp_path / "samples.json"
    path.write_text(json.dumps({"a": {"result_class": "triage", "samples": [[]]}}))
    command = [sys.executable, "-m", "agentfp", "check-semantics", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert json.loads(done.stdout)["problems"][0]["code"] == "no-coverage"
    assert done.returncode == 1
