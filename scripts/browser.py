"""Brings Debian's Chromium to a machine that has no browser, for the tests that drive one.

Standard library only: `install.py` runs it before anything is installed. It installs where it may, which is in continuous integration and
as root; elsewhere those tests say themselves what is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium")


def found() -> str | None:
    """The path of a browser that the tests can drive."""
    named = os.environ.get("AGENTFP_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name)) is not None), None)


def may_install() -> bool:
    """Whether packages of the system are ours to install."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return shutil.which("apt-get") is not None and (is_root or (bool(os.environ.get("CI")) and shutil.which("sudo") is not None))


def ensure() -> None:
    """Install a browser where there is none and that may be done; what goes wrong is told, and breaks nothing else."""
    if found() is not None or not may_install():
        return
    before = [] if os.geteuid() == 0 else ["sudo", "-n"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    print("setup: installing Chromium, which some tests drive", file=sys.stderr, flush=True)
    for command in (["apt-get", "update", "-qq"], list(INSTALL)):
        done = subprocess.run([*before, *command], env=environment, stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            print(f"setup: {' '.join(command)} ended with {done.returncode}; tests that drive a browser will fail", file=sys.stderr)
            return


if __name__ == "__main__":
    ensure()
