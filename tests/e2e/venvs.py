"""Wheels of this checkout and of other projects, and virtual environments that they are installed into, as users do it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.workshop import CONSTRAINTS


def find_uv() -> str | None:
    """The uv of this machine; without one, pip does the work."""
    found = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    return found if Path(found).exists() else None


def environ() -> dict[str, str]:
    """The environment without what belongs to the tests."""
    foreign = ("PYTEST_", "AGENTFP", "PYTHONPATH", "VIRTUAL_ENV", "COVERAGE")
    return {key: value for key, value in os.environ.items() if not key.startswith(foreign)}


def call(*command: str | Path, cwd: Path | None = None) -> None:
    """Run a command that must succeed."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environ(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"


def build_wheel(project: Path, into: Path) -> None:
    """Build the wheel of a project."""
    uv = find_uv()
    if uv is not None:
        call(uv, "build", "--quiet", "--wheel", "--out-dir", into, project)
    else:
        call(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", into, project)


@dataclass(frozen=True)
class Venv:
    """A virtual environment.

    Args:
        folder: its folder.
        wheels: the folder of our wheels.
    """

    folder: Path
    wheels: Path

    @classmethod
    def make(cls, folder: Path, wheels: Path) -> Venv:
        """Make an empty one."""
        uv = find_uv()
        if uv is not None:
            call(uv, "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, folder)
        else:
            call(sys.executable, "-m", "venv", folder)
        return cls(folder, wheels)

    @property
    def bin(self) -> Path:
        """Where its programs are."""
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    def install(self, *names: str) -> None:
        """Install distributions: ours from their wheels, others from the index at the versions that are tested with."""
        uv = find_uv()
        where: tuple[str | Path, ...] = ("--find-links", self.wheels, "--constraint", CONSTRAINTS, *names)
        if uv is not None:
            call(uv, "pip", "install", "--quiet", "--python", self.bin / "python", *where)
        else:
            call(self.bin / "python", "-m", "pip", "install", "--quiet", *where)

    def uninstall(self, name: str) -> None:
        """Uninstall a distribution."""
        uv = find_uv()
        if uv is not None:
            call(uv, "pip", "uninstall", "--quiet", "--python", self.bin / "python", name)
        else:
            call(self.bin / "python", "-m", "pip", "uninstall", "--quiet", "--yes", name)

    def run(self, arguments: Sequence[str], cwd: Path, *, stdin: str = "", program: str = "agentfp") -> subprocess.CompletedProcess[str]:
        """Run one of its programs."""
        command = [str(self.bin / program), *arguments]
        return subprocess.run(command, cwd=cwd, env=environ(), input=stdin, capture_output=True, text=True, check=False, timeout=60)
