"""``agentfp check`` in this process, with a judge of these tests' own, which is plain enough to foresee what it says."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agentfp.testing import PluginDist
from agentfp_core.cli import main

JUDGE = '''
"""Judges numbers: one that stands in a result is supported, one that stands in what the person said unverifiable, others are not."""

import json
import re

from agentfp.transcripts import JudgedValue, Judgement, ValueSource

NUMBER = re.compile(r"\\d[\\d.,:-]*\\d|\\d")


def leaves(data, path="$"):
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, f"{path}.{key}")
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from leaves(value, f"{path}[{index}]")
    else:
        yield path, str(data)


def places(content):
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, (dict, list)):
        for path, text in leaves(data):
            for hit in NUMBER.finditer(text):
                yield hit[0], path
    else:
        for hit in NUMBER.finditer(content):
            yield hit[0], f"characters {hit.start()}-{hit.end()}"


class Numbers:
    name = "numbers"

    def __init__(self, least=1):
        self.least = least

    def judge(self, transcript, answers):
        made = []
        for answer in answers:
            values = [self.value(transcript, answer, hit) for hit in NUMBER.finditer(transcript.messages[answer].content)]
            values = [value for value in values if len(value.text) >= self.least]
            bad = any(value.verdict == "unsupported" for value in values)
            made.append(Judgement(answer=answer, standing="unsupported" if bad else "supported", values=tuple(values)))
        return made

    def value(self, transcript, answer, hit):
        sources, asked, near = [], False, None
        for index, message in enumerate(transcript.messages[:answer]):
            for text, path in places(message.content):
                if text == hit[0] and message.role == "tool" and message.id not in transcript.failed:
                    sources.append(ValueSource(index, path, message.tool_call_id))
                near = text if sorted(text) == sorted(hit[0]) else near
                asked = asked or (text == hit[0] and message.role in ("user", "system"))
        verdict = "supported" if sources else "unverifiable" if asked else "unsupported"
        severity = None if verdict != "unsupported" else "strong" if len(hit[0]) >= 3 else "weak"
        how = {"supported": "exact", "unverifiable": "given", "unsupported": ""}[verdict]
        return JudgedValue(text=hit[0], kind="number", start=hit.start(), end=hit.end(), verdict=verdict, severity=severity, how=how,
                           sources=tuple(sources), near=near if verdict == "unsupported" else None)


class Failing:
    name = "failing"

    def judge(self, transcript, answers):
        print("a judge that prints")
        raise RuntimeError("out of order")


class Short:
    name = "short"

    def judge(self, transcript, answers):
        return []
'''


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """What it printed, as lines of JSON; fails where anything else was printed."""
        return [json.loads(line) for line in self.out.splitlines()]


Checker: TypeAlias = Callable[..., Done]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PluginDist]:
    """A folder that distributions are installed into, the judges among them."""
    with PluginDist(tmp_path / "site") as dist:
        points = {"numbers": "test_judges:Numbers", "failing": "test_judges:Failing", "short": "test_judges:Short"}
        dist("agentfp-test-judges", entry_points={"agentfp.judges": points}, modules={"test_judges": JUDGE})
        yield dist


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty."""
    made = tmp_path / "work"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def cli(folder: Path, site: PluginDist, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Checker:
    """Runs a command line in this process, in a pipe."""

    def run(*arguments: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        sys.stdout.write(captured.out)  # for pytest to show when the test fails
        sys.stderr.write(captured.err)
        return Done(int(code), captured.out, captured.err)

    return run


@pytest.fixture
def check(cli: Checker) -> Checker:
    """Runs ``agentfp check`` with the judge of numbers."""

    def run(*arguments: str, stdin: bytes = b"") -> Done:
        return cli("check", *arguments, "--judge", "numbers", stdin=stdin)

    return run
