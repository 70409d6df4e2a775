"""Examples run as their users run them: from their folders, by the interpreter that has the distributions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.workshop import ROOT
from tests.providers.conftest import aimock, aimock_process

__all__ = ["aimock", "aimock_process"]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def example(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of an example to run in, so that the checkout stays clean."""

    def copied(name: str) -> Path:
        left = shutil.ignore_patterns("recordings", "__pycache__", "*.sqlite3")
        return Path(shutil.copytree(ROOT / "examples" / name, tmp_path / name, ignore=left))

    return copied


@pytest.fixture
def run() -> Run:
    """Runs a program in a folder, with variables of the environment besides."""

    def program(folder: Path, *command: str, stdin: str = "", **variables: Any) -> subprocess.CompletedProcess[str]:
        environ = {key: value for key, value in os.environ.items() if not key.startswith(("AGENTFP", "PYTEST_"))}
        environ |= {"PYTHONUTF8": "1", **{key: str(value) for key, value in variables.items()}}
        return subprocess.run(
            [sys.executable, *command], cwd=folder, env=environ, input=stdin, capture_output=True, text=True, check=False, timeout=120
        )

    return program
