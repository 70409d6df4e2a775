"""What a checkout is made of: the root distribution and its sisters, what they need, and where their code lies.

Standard library only: `install.py` runs it with any Python 3.11 before anything is installed.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SISTER_FOLDERS = ("plugins", "providers", "observability")
CONSTRAINTS = ROOT / "constraints.txt"


def distributions() -> list[Path]:
    """Folders of all distributions: the root first, then every sister that is there."""
    found = [path.parent for folder in SISTER_FOLDERS for path in sorted((ROOT / folder).glob("*/pyproject.toml"))]
    return [ROOT, *found]


def pyproject(folder: Path) -> dict[str, Any]:
    """What the `pyproject.toml` of a distribution says."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def dev_requirements(project: dict[str, Any]) -> list[str]:
    """The `dev` dependency group, with the groups that it includes."""
    groups: dict[str, list[Any]] = project.get("dependency-groups", {})

    def expand(name: str) -> list[str]:
        out: list[str] = []
        for entry in groups.get(name, []):
            out.extend([entry] if isinstance(entry, str) else expand(entry["include-group"]))
        return out

    return expand("dev")


def all_dev_requirements() -> list[str]:
    """The `dev` groups of all distributions, each requirement once."""
    return list(dict.fromkeys(line for folder in distributions() for line in dev_requirements(pyproject(folder))))


def local_names() -> set[str]:
    """Names of the distributions that lie in this checkout."""
    return {pyproject(folder)["project"]["name"] for folder in distributions()}
