"""The audit of a folder: what is known passes, what is new fails and is in every report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell script")


def audit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(["./audit.sh", *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=False)


def reported(folder: Path) -> tuple[int, int]:
    """Failures in the one report, new results in the other."""
    suite = ET.parse(folder / "reports" / "junit.xml").getroot()
    sarif = json.loads((folder / "reports" / "findings.sarif").read_text(encoding="utf-8"))
    new = [result for result in sarif["runs"][0]["results"] if result["baselineState"] == "new"]
    return len(suite.findall(".//failure")), len(new)


def test_what_is_known_passes(example: Callable[[str], Path]) -> None:
    folder = example("audit_folder")
    done = audit(folder)
    assert (done.returncode, reported(folder)) == (0, (0, 0)), done.stderr
    assert "TB-2041" in (folder / "reports" / "page.html").read_text(encoding="utf-8")


def test_a_new_invention_fails_the_job(example: Callable[[str], Path]) -> None:
    folder = example("audit_folder")
    path = folder / "transcripts" / "langchain.json"
    text = path.read_text(encoding="utf-8")
    head, said, tail = text.rpartition("TB-2041")
    assert said
    path.write_text(f"{head}TB-2047{tail}", encoding="utf-8")
    done = audit(folder)
    assert done.returncode == 1
    assert "TB-2047" in done.stdout
    assert reported(folder) == (1, 1)


def test_a_new_weak_finding_is_shown_and_passes(example: Callable[[str], Path]) -> None:
    folder = example("audit_folder")
    path = folder / "transcripts" / "langchain.json"
    head, said, tail = path.read_text(encoding="utf-8").rpartition("TB-2041")
    path.write_text(f"{head}{said} of Brunhild Vantongeren{tail}", encoding="utf-8")
    done = audit(folder)
    assert "Brunhild Vantongeren" in done.stdout
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_cannot_be_read_fails_the_job(example: Callable[[str], Path]) -> None:
    folder = example("audit_folder")
    (folder / "transcripts" / "torn.jsonl").write_text('{"messages": [\n', encoding="utf-8")
    assert audit(folder).returncode != 0


def test_the_job_of_the_workflow_runs_the_script(example: Callable[[str], Path]) -> None:
    folder = example("audit_folder")
    job = (folder / ".github" / "workflows" / "audit.yml").read_text(encoding="utf-8")
    assert "- run: ./audit.sh\n" in job
    assert "sarif_file: reports/findings.sarif\n" in job
