"""What is released: every distribution builds, alone it installs and imports, and what is wrong with one is found."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from scripts import dist
from scripts.workshop import ROOT, distributions, pyproject


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that is released."""
    return tmp_path_factory.mktemp("dist")


@pytest.fixture(scope="module")
def report(out: Path) -> list[dict[str, Any]]:
    """What the command says of it, as JSON."""
    command = [sys.executable, "-m", "scripts.dist", "--out", str(out), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert [problem for built in found for problem in built["problems"]] == []
    assert done.returncode == 0, done.stderr
    return found


def test_every_distribution_is_built_and_each_works_alone(report: list[dict[str, Any]], out: Path) -> None:
    assert {built["name"] for built in report} == {pyproject(folder)["project"]["name"] for folder in distributions()}
    assert len(list(out.iterdir())) == 2 * len(report)
    assert all(Path(built["wheel"]).stat().st_size and Path(built["sdist"]).stat().st_size for built in report)


@pytest.mark.usefixtures("report")
@pytest.mark.parametrize("folder", ["plugins/evidence", "observability/viewer"])
def test_one_tree_makes_one_archive_byte_for_byte(folder: str, out: Path, tmp_path: Path) -> None:
    again = dist.build(ROOT / folder, tmp_path)
    assert again.wheel.read_bytes() == (out / again.wheel.name).read_bytes()
    assert again.sdist.read_bytes() == (out / again.sdist.name).read_bytes()


def _built(folder: str, report: list[dict[str, Any]], tmp_path: Path) -> dist.Built:
    found = next(built for built in report if built["folder"] == str(ROOT / folder))
    wheel = tmp_path / Path(found["wheel"]).name
    wheel.write_bytes(Path(found["wheel"]).read_bytes())
    return dist.Built(found["name"], found["version"], ROOT / folder, tuple(found["modules"]), wheel, Path(found["sdist"]))


@pytest.mark.parametrize("stray", ["tests/test_it.py", "agentfp_trust/tests/test_it.py", "agentfp_trust/notes.sqlite3", "conftest.py"])
def test_a_stray_file_in_a_wheel_is_found(stray: str, report: list[dict[str, Any]], tmp_path: Path) -> None:
    built = _built("observability/trust", report, tmp_path)
    dist.check_files(built)
    assert built.problems == []
    with ZipFile(built.wheel, "a") as wheel:
        wheel.writestr(stray, "")
    dist.check_files(built)
    assert built.problems == [f"its wheel holds {stray}"]


def test_a_wheel_that_lacks_code_or_its_licence_is_found(report: list[dict[str, Any]], tmp_path: Path) -> None:
    built = _built("observability/trust", report, tmp_path)
    with ZipFile(built.wheel) as wheel:
        kept = {name: wheel.read(name) for name in wheel.namelist() if not name.endswith(("plugin.py", "py.typed", "LICENSE"))}
    with ZipFile(built.wheel, "w") as wheel:
        for name, body in kept.items():
            wheel.writestr(name, body)
    dist.check_files(built)
    dist.check_metadata(built)
    lacking = ["agentfp_trust/py.typed", "agentfp_trust/plugin.py", "LICENSE"]
    assert built.problems == [f"its wheel lacks {name}" for name in lacking]


@pytest.mark.usefixtures("report")
def test_a_distribution_that_does_not_import_alone_is_found(out: Path, report: list[dict[str, Any]], tmp_path: Path) -> None:
    built = _built("observability/trust", report, tmp_path)
    with ZipFile(built.wheel) as wheel:
        kept = {name: wheel.read(name) for name in wheel.namelist()}
    with ZipFile(built.wheel, "w") as wheel:  # anew: of two files of one name an installer may take either
        for name, body in (kept | {"agentfp_trust/__init__.py": b"import something_that_nobody_has"}).items():
            wheel.writestr(name, body)
    dist.install_alone(built, out, tmp_path)
    assert len(built.problems) == 1
    assert "something_that_nobody_has" in built.problems[0]


def test_versions_and_licences_are_in_step() -> None:
    version = pyproject(ROOT)["project"]["version"]
    major, minor, _patch = version.split(".")
    compatible = f">={version},<{major}.{int(minor) + 1}"
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    for folder in distributions():
        project = pyproject(folder)["project"]
        assert project["version"] == version, folder
        assert (folder / "LICENSE").read_text(encoding="utf-8") == licence, folder
        if folder != ROOT:
            ours = [line for line in project["dependencies"] if re.match(r"agentfp\b", line)]
            assert ours, folder
            assert all(line.endswith(compatible) for line in ours), (folder, ours)
