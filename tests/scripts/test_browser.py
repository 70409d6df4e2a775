"""A browser is installed where there is none and that may be done, and never else; what goes wrong breaks nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts import browser


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of the path, with an apt-get that notes what it is called with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script(folder / "apt-get", f'echo "$@" >> {tmp_path}/calls\nexit $APT_CODE')
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("APT_CODE", "0")
    monkeypatch.delenv("AGENTFP_CHROMIUM", raising=False)
    monkeypatch.delenv("CI", raising=False)
    return folder


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def calls(programs: Path) -> list[str]:
    noted = programs.parent / "calls"
    return noted.read_text(encoding="utf-8").splitlines() if noted.exists() else []


def test_root_gets_one(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    browser.ensure()
    assert calls(programs) == ["update -qq", "install -y -qq --no-install-recommends chromium"]


def test_others_get_none_unless_it_is_a_machine_of_continuous_integration(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    script(programs / "sudo", 'shift\nexec "$@"')
    browser.ensure()
    assert calls(programs) == []
    monkeypatch.setenv("CI", "true")
    browser.ensure()
    assert len(calls(programs)) == 2


@pytest.mark.parametrize("there", ["a program", "a name"])
def test_one_that_is_there_is_enough(programs: Path, monkeypatch: pytest.MonkeyPatch, there: str) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    if there == "a program":
        script(programs / "chromium", "")
    else:
        monkeypatch.setenv("AGENTFP_CHROMIUM", "/opt/chrome")
    browser.ensure()
    assert calls(programs) == []


def test_what_goes_wrong_is_told(programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("APT_CODE", "100")
    browser.ensure()
    assert calls(programs) == ["update -qq"]
    assert "apt-get update -qq ended with 100; tests that drive a browser will fail" in capsys.readouterr().err


def test_without_apt_nothing_is_tried(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (programs / "apt-get").unlink()
    browser.ensure()
