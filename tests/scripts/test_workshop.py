"""What a checkout is made of, and the file that pins what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import pins, workshop


def test_sister_distributions_are_found_without_being_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("providers/b", "plugins/a", "plugins/unfinished"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("providers/b", "plugins/a"):
        (tmp_path / folder / "pyproject.toml").touch()
    monkeypatch.setattr(workshop, "ROOT", tmp_path)
    assert workshop.distributions() == [tmp_path, tmp_path / "plugins/a", tmp_path / "providers/b"]


def test_dev_group_brings_the_groups_it_includes() -> None:
    groups = {"dev": ["ruff", {"include-group": "tests"}], "tests": ["pytest"], "docs": ["zensical"]}
    assert workshop.dev_requirements({"dependency-groups": groups}) == ["ruff", "pytest"]
    assert workshop.dev_requirements({}) == []


def test_closure_follows_dependencies_and_extras_and_skips_other_markers() -> None:
    versions, missing = pins.closure(["pytest", "anyio[trio]", "not-there-at-all ; python_version < '3'"])
    assert {"pytest", "pluggy", "anyio", "idna", "trio", "outcome"} <= versions.keys()
    assert missing == set()


def test_closure_leaves_out_what_lies_in_the_checkout_and_says_what_is_not_installed() -> None:
    versions, missing = pins.closure(["agentfp", "not-there-at-all"])
    assert versions == {}
    assert missing == {"not-there-at-all"}


def test_check_names_what_is_not_pinned_what_differs_and_what_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "constraints.txt"
    path.write_text("# a comment\na==1\nb==2\nuv==9\nz==3\n", encoding="utf-8")
    monkeypatch.setattr(pins, "CONSTRAINTS", path)
    assert pins.check({"a": "1", "b": "2.1", "c": "4"}) == [
        "c==4 is installed and not pinned",
        "b: pinned 2, installed 2.1",
        "z is pinned and no longer needed",
    ]


def test_every_pin_is_one_version_and_names_no_place() -> None:
    lines = [line for line in workshop.CONSTRAINTS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    names = [line.partition("==")[0] for line in lines]
    assert names == sorted(set(names))
    assert all(line.count("==") == 1 and not set(line) & set("/@ :;") for line in lines)
