"""The forms of output that other programs read, also when the texts are hostile."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from sarif_pydantic import Sarif  # type: ignore[import-untyped]

from agentfp.testing import PluginDist
from agentfp_transcripts.formats.findings import Place, place_of
from tests.plugins.transcripts.conftest import Checker
from tests.plugins.transcripts.test_check import conversation
from tests.plugins.transcripts.test_check import write as write

HOSTILE = "a\x1b[31m\x00\ufffe::error::x%0A\r\n::warning::<b>&\"'"


@pytest.fixture
def findings(write: Any) -> str:
    """Two transcripts with findings, one without, one without an answer; the first has a hostile name."""
    path: str = write(conversation(HOSTILE, "999 and 9", "888"), conversation("b", "1234"), conversation("c"))
    return path


def test_junit(check: Checker, findings: str, folder: Path) -> None:
    with (folder / findings).open("a") as file:
        file.write("{broken\n")
    root = ET.fromstring(check(findings, "--format", "junit").out)
    assert root.tag == "testsuites"
    assert [suite.get("name") for suite in root] == ["t.jsonl", "unread"]
    for element in (root, *root):
        cases = element.findall(".//testcase")
        assert element.get("tests") == str(len(cases))
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert element.get(name) == str(len(element.findall(f".//{tag}")))
        for case in cases:
            assert case.get("classname")
            assert case.get("name")
            assert len(case) <= 1
    failures = root.findall(".//failure")
    assert [f.get("type") for f in failures] == ["strong", "strong"]
    assert failures[0].get("message") == "unsupported: 999, 9"
    assert len(root.findall(".//error")) == 1
    assert len(root.findall(".//skipped")) == 1


def test_sarif(check: Checker, findings: str) -> None:
    done = check(findings, "--format", "sarif")
    assert Sarif.model_validate_json(done.out)
    (run,) = json.loads(done.out)["runs"]
    assert [r["level"] for r in run["results"]] == ["error", "warning", "error"]
    assert {r["ruleId"] for r in run["results"]} == {"unsupported-number"} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    (location,) = run["results"][0]["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "t.jsonl"}, "region": {"startLine": 1}}
    assert len({r["partialFingerprints"]["agentfpFinding/v1"] for r in run["results"]}) == 3
    assert run["invocations"][0]["executionSuccessful"]


def test_sarif_knows_what_the_baseline_holds(check: Checker, findings: str) -> None:
    check(findings, "--write-baseline", "known.json")
    (run,) = json.loads(check(findings, "--baseline", "known.json", "--format", "sarif").out)["runs"]
    assert {r["baselineState"] for r in run["results"]} == {"unchanged"}


def test_sarif_tells_what_could_not_be_read(check: Checker, findings: str, folder: Path) -> None:
    with (folder / findings).open("a") as file:
        file.write("{broken\n")
    (run,) = json.loads(check(findings, "--format", "sarif").out)["runs"]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert "t.jsonl:4" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_annotations_of_github(check: Checker, findings: str) -> None:
    lines = check(findings, "--format", "github").out.splitlines()
    assert len(lines) == 3
    pattern = re.compile(r"::(error|warning) file=t\.jsonl,line=1,title=unsupported number::number '\d+' in answer \d of transcript .*")
    assert all(pattern.fullmatch(line) for line in lines)


def test_a_name_cannot_begin_a_command_of_its_own(check: Checker, write: Any, folder: Path) -> None:
    name = "a,line=9::x%0A.jsonl"
    write(conversation("b\n::error::x", "999"), name=name)
    (line,) = check(name, "--format", "github").out.splitlines()
    head, _, message = line.removeprefix("::error ").partition("::")
    assert "file=a%2Cline=9%3A%3Ax%250A.jsonl" in head
    assert "%0A" not in message.replace("\\n", "") or "\n" not in message


def test_what_a_judge_says_when_it_fails_cannot_either(check: Checker, write: Any, site: PluginDist) -> None:
    module = "class Evil:\n    name = 'evil'\n    def judge(self, transcript, answers):\n        raise RuntimeError('a\\n::error::b')\n"
    site("agentfp-evil", entry_points={"agentfp.judges": {"evil": "evil_judge:Evil"}}, modules={"evil_judge": module})
    (line,) = check(write(conversation("a", "1234")), "--plugin", "evil", "--format", "github").out.splitlines()
    assert line.endswith("RuntimeError: a%0A::error::b")


def test_lines_of_json_hold_hostile_texts(check: Checker, findings: str) -> None:
    assert check(findings, "--json").lines[0]["id"] == HOSTILE


def test_where_several_files_are_judged_each_has_a_suite(check: Checker, write: Any) -> None:
    write(conversation("a", "1234"), name="x.jsonl")
    write(conversation("b", "999"), name="y.json")
    root = ET.fromstring(check("x.jsonl", "y.json", "--format", "junit").out)
    assert [(s.get("name"), s.get("failures")) for s in root] == [("x.jsonl", "0"), ("y.json", "1")]


@pytest.mark.parametrize(
    ("source", "file", "line"),
    [
        ("t.jsonl:12", "t.jsonl", 12),
        ("t.json", "t.json", 1),
        ("a:b/t.json $[3]", "a:b/t.json", 1),
        ("t.jsonl:7 $.runs[0]", "t.jsonl", 7),
        ("t.json document 2", "t.json", 1),
        ("stdin:4", "stdin", 4),
        ("", "stdin", 1),
    ],
)
def test_the_file_and_line_of_a_source(source: str, file: str, line: int) -> None:
    assert place_of(source) == Place(file, line)
