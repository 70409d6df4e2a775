"""Whatever a user's installation brings along may be used as our own licence may be: no dependency asks for more."""

from __future__ import annotations

import importlib.metadata
import re

from scripts.pins import closure
from scripts.workshop import distributions, pyproject

PERMISSIVE = re.compile(r"\b(MIT|MIT-0|Apache|BSD|0BSD|ISC|ISCL|PSF|Zlib|CC0|Unlicense|CNRI)\b", re.IGNORECASE)
STRONG = re.compile(r"\b(A?GPL|LGPL|SSPL|EUPL|BUSL|Commons Clause|CC-BY-NC)", re.IGNORECASE)
BY_FILE = {"certifi", "orjson"}
"""Under the MPL 2.0, which binds changes of their own files only."""


def _licence(name: str) -> str:
    meta = importlib.metadata.distribution(name).metadata.json
    classifiers = [line.rpartition("::")[2] for line in meta.get("classifier", ()) if line.startswith("License ::")]
    told = str(meta.get("license_expression") or meta.get("license") or "").strip().partition("\n")[0]
    return " ".join([told, *classifiers])


def test_every_dependency_of_every_distribution_is_permissive() -> None:
    projects = [pyproject(folder)["project"] for folder in distributions()]
    lines = [line for project in projects for line in project.get("dependencies", [])]
    lines += [line for project in projects for extra in project.get("optional-dependencies", {}).values() for line in extra]
    versions, missing = closure(lines)
    assert not missing
    assert "pydantic" in versions
    licences = {name: _licence(name) for name in versions}
    wrong = {name: text for name, text in licences.items() if name not in BY_FILE and (not PERMISSIVE.search(text) or STRONG.search(text))}
    assert not wrong
