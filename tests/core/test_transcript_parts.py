"""Readers and judges of transcripts, as other distributions offer them through entry points."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentfp import ConfigError
from agentfp.testing import PluginDist
from agentfp.transcripts import (
    PluginLoadError,
    Transcript,
    TranscriptError,
    installed_judges,
    installed_readers,
    make_judge,
    read_transcripts,
)

PARTS = """
from agentfp import ConfigError

class Reader:
    name = "good"
    def recognises(self, data):
        return False
    def read(self, data, *, id, source):
        return []

made = Reader()

def make():
    return Reader()

def broken():
    raise RuntimeError("out of order")

class Judge:
    name = "judge"
    def __init__(self, strict=False):
        if strict == "odd":
            raise ConfigError(["strict is true or false"])
        self.strict = strict
    def judge(self, transcript, answers):
        return []

number = 7

def files(paths):
    from agentfp.transcripts import Transcript
    for path in paths:
        yield Transcript(id=str(path), messages=())
        yield ValueError("the rest cannot be read")
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PluginDist]:
    with PluginDist(tmp_path / "site") as dist:
        yield dist


def test_readers_in_every_form_and_those_that_cannot_be_used(site: PluginDist) -> None:
    points = {
        "object": "made",
        "function": "make",
        "class_": "Reader",
        "broken": "broken",
        "number": "number",
        "judge": "Judge",
        "gone": "nothing",
    }
    site("parts", entry_points={"agentfp.transcripts": {k: f"some_parts:{v}" for k, v in points.items()}}, modules={"some_parts": PARTS})
    readers, problems = installed_readers()
    assert {"object", "function", "class_"} <= set(readers)
    told = {name: text for name in points for text in problems if text.startswith(f"reader {name!r} cannot be used: ")}
    assert set(told) == {"broken", "number", "judge", "gone"}
    assert "RuntimeError: out of order" in told["broken"]
    assert "is no reader" in told["number"] or "must be a callable" in told["number"]
    assert "parts" in told["gone"]


def test_judges_are_found_unimported_and_made_with_settings(site: PluginDist) -> None:
    points = {"judge": "some_judges:Judge", "broken": "some_judges:broken", "number": "some_judges:number", "reader": "some_judges:Reader"}
    site("parts", entry_points={"agentfp.judges": points}, modules={"some_judges": PARTS})
    assert set(points) <= set(installed_judges())
    assert make_judge("judge").name == "judge"
    assert vars(make_judge("judge", {"strict": True}))["strict"] is True
    for name, words in (("broken", "out of order"), ("number", "must be a callable"), ("reader", "made no judge")):
        with pytest.raises(PluginLoadError, match=words):
            make_judge(name)
    with pytest.raises(ConfigError, match="there is no setting 'loose'; accepted: 'strict'"):
        make_judge("judge", {"loose": 1})
    with pytest.raises(ConfigError, match="strict is true or false"):
        make_judge("judge", {"strict": "odd"})
    with pytest.raises(KeyError):
        make_judge("nobody")


def test_two_distributions_that_bring_one_name_are_told(site: PluginDist) -> None:
    for number in (1, 2):
        module = f"judges_{number}"
        site(f"parts-{number}", entry_points={"agentfp.judges": {"judge": f"{module}:Judge"}}, modules={module: PARTS})
    with pytest.raises(PluginLoadError, match="uninstall all but one"):
        make_judge("judge")


def test_files_are_read_by_what_is_installed_for_it(site: PluginDist) -> None:
    with pytest.raises(TranscriptError, match=r'pip install "agentfp\[check\]"'):
        list(read_transcripts(["a.json"]))
    site("parts", entry_points={"agentfp.transcript_files": {"files": "some_files:files"}}, modules={"some_files": PARTS})
    assert list(read_transcripts(["a.json"])) == [Transcript(id="a.json", messages=()), "the rest cannot be read"]


def test_what_reads_files_and_fails_is_named(site: PluginDist) -> None:
    site("parts", entry_points={"agentfp.transcript_files": {"files": "broken_files:broken"}}, modules={"broken_files": PARTS})
    with pytest.raises(PluginLoadError, match="broken_files:broken"):
        list(read_transcripts(["a.json"]))
