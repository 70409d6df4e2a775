"""Hints name a distribution of the project only where there is one."""

from __future__ import annotations

import pkgutil

import pytest

from agentfp_core.cli.extension import NOT_INSTALLED
from agentfp_core.events.catalog import CATALOG
from agentfp_core.patterns import SHARED
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
        ("office_guard", [], "accepted: nothing. What brings it is not installed; by custom that is called agentfp-office-guard"),
    ],
)
def test_what_to_do_about_a_name(name: str, known: list[str], words: str) -> None:
    assert what_to_do(name, known, PLUGINS) == words


def test_the_domains_that_plugins_share_with_the_kernel() -> None:
    """In these a name that the kernel does not know may be a plugin's."""
    found: set[str] = set()
    for folder in distributions():
        for target in pyproject(folder)["project"].get("entry-points", {}).get("agentfp.plugins", {}).values():
            names = [kind.event_name.split(".") for kind in pkgutil.resolve_name(target).events]
            found |= {name[1] for name in names if name[0] == "agentfp"}
    assert sorted(found & {name.split(".")[1] for name in CATALOG}) == sorted(domain for (domain,) in SHARED)


def test_the_commands_that_sister_distributions_bring() -> None:
    found: set[str] = set()
    for folder in distributions():
        found |= set(pyproject(folder)["project"].get("entry-points", {}).get("agentfp.commands", {}))
    assert found == set(NOT_INSTALLED)
