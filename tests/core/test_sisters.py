"""Hints name a distribution of the project only where there is one."""

from __future__ import annotations

import pytest

from agentfp_core.sisters import PLUGINS, PROVIDERS, what_to_do
from scripts.workshop import distributions, pyproject


def test_what_each_distribution_brings() -> None:
    """Else a hint says to install what nobody has published."""
    found: dict[str, dict[str, str]] = {"agentfp.plugins": {}, "agentfp.models": {}}
    for folder in distributions():
        project = pyproject(folder)["project"]
        for group, names in found.items():
            names.update(dict.fromkeys(project.get("entry-points", {}).get(group, {}), project["name"]))
    assert found == {"agentfp.plugins": PLUGINS, "agentfp.models": PROVIDERS}


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        ("evidence", ["hours"], "pip install agentfp-evidence"),
        ("evidnce", ["hours"], "did you mean 'evidence'? pip install agentfp-evidence"),
        ("evidnce", ["evidence"], "did you mean 'evidence'? Accepted: 'evidence'"),
        ("huors", ["hours"], "did you mean 'hours'? Accepted: 'hours'"),
        ("office_guard", [], "Accepted: nothing. What brings it is not installed; by custom that is called agentfp-office-guard"),
    ],
)
def test_what_to_do_about_a_name(name: str, known: list[str], words: str) -> None:
    assert what_to_do(name, known, PLUGINS) == words
