"""The example of a regulated decision: both of its programs, run as a person runs them, and files that somebody has laid hands on."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / "regulated_decision" / f"{program}.py"), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loan") / "files"
    done = run("decide", folder)
    assert done.returncode == 0, done.stderr
    assert "to be signed: record_decision" in done.stdout
    return folder


def copy(decided: Path, to: Path) -> Path:
    return Path(shutil.copytree(decided, to / "copy"))


def changed(folder: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    path = folder / "bundle" / "audit.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    path.write_text("".join(json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines))


def test_weeks_later(decided: Path) -> None:
    told = run("explain", decided / "bundle", decided / "kept")
    assert told.returncode == 0, told.stderr
    for words in (
        "1 signatures",
        "household by roles: rule loan_officer.deny, role loan_officer, a credit decision is made without data on family",
        "assess (c3): invalid",
        "record_decision (c5): waits",
        "record_decision (c5): success",
        "record_decision by officer-9: both rules are not met",
        "register handed to a tool",
        "answer       The application of A-1017",
        "'588' supported (exact), $.score of c1, $.rules[0].actual of c4",
        "'90 days' unsupported",
        "cost         $0.0024, model calls: 5",
        "not checked  values of the answer that are unsupported: 1",
    ):
        assert words in told.stdout


def test_the_log_holds_nothing_personal_and_no_file_holds_the_token(decided: Path) -> None:
    log = (decided / "bundle" / "audit.jsonl").read_text()
    for words in ("A-1017", "2150", "officer-9", "family", "90 days"):
        # By word: digests and instants of the log are digits too.
        assert not re.search(rf"\b{words}\b", log)
    for path in (decided / "bundle").rglob("*.jsonl"):
        assert "tok-register-4711" not in path.read_text()


def is_denial(line: dict[str, Any]) -> bool:
    return line.get("event_type") == "agentfp.permission.check" and line["payload"]["result"] == "deny"


def test_a_changed_denial_is_named(decided: Path, tmp_path: Path) -> None:
    folder, at = copy(decided, tmp_path), []

    def change(lines: list[dict[str, Any]]) -> None:
        denial = next(line for line in lines if is_denial(line))
        denial["payload"]["policy_rule_id"] = "another"
        at.append(denial["seq"])

    changed(folder, change)
    told = run("explain", folder / "bundle", folder / "kept")
    assert told.returncode == 1
    assert f"record {at[0]} was changed" in told.stdout
    assert "household" not in told.stdout


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines.pop(8), "record 7 is missing"),
        (lambda lines: lines.pop(), "does not end with a seal"),
        (lambda lines: lines.pop(-2), "the seal is of"),
        (lambda lines: lines[-1].pop("signature"), "without a signature"),
    ],
)
def test_a_log_with_something_taken_out_is_refused(decided: Path, tmp_path: Path, change: Any, words: str) -> None:
    folder = copy(decided, tmp_path)
    changed(folder, change)
    told = run("explain", folder / "bundle", folder / "kept")
    assert (told.returncode, words in told.stdout) == (1, True), told.stdout


def test_a_recording_that_was_changed_is_refused(decided: Path, tmp_path: Path) -> None:
    folder = copy(decided, tmp_path)
    (path,) = (folder / "bundle" / "recordings").iterdir()
    path.write_text(path.read_text().replace("588", "688"))
    told = run("explain", folder / "bundle", folder / "kept")
    assert told.returncode == 1
    assert "is not the one that was archived" in told.stderr
