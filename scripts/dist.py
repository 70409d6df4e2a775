"""Builds and checks what is released: `python -m scripts.dist [--out DIR] [--no-install] [--json]`.

A source distribution and a wheel of each distribution of the checkout, the wheel built from the source distribution. Then each wheel is
looked at (metadata, licence, changelog, no stray files), and installed alone, with what it needs, into an empty environment, where it
must import and its entry points must load.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

from rich.progress import track

from scripts.workshop import CONSTRAINTS, ROOT, distributions, pyproject

EPOCH = "1767225600"
"""The time that files in an archive bear, so that one tree makes one archive byte for byte: 2026-01-01."""
DATA = frozenset({".css", ".gz", ".html", ".js", ".json", ".md", ".py", ".svg", ".toml", ".txt", ".typed"})
"""What a package holds: code, and data that it reads."""

TRY_IT = """
import importlib, importlib.metadata, sys
name = sys.argv[1]
mine = importlib.metadata.distribution(name)
for module in sys.argv[2:]:
    importlib.import_module(module)
for entry in mine.entry_points:
    if entry.group != "pytest11":
        entry.load()
print(mine.version)
"""


@dataclass
class Built:
    """One distribution that was built.

    Args:
        name: as on the index.
        version: of the release.
        folder: where its source is.
        modules: what it imports as.
        wheel: the file.
        sdist: the file.
        problems: what is wrong with it, in words.
    """

    name: str
    version: str
    folder: Path
    modules: tuple[str, ...]
    wheel: Path
    sdist: Path
    problems: list[str] = field(default_factory=list)


def uv() -> str:
    """The uv that builds."""
    found = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if found is None:
        sys.exit("dist: uv is needed: pip install uv")
    return found


def call(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command; its words are kept for the report."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHONPATH", "VIRTUAL_ENV", "PYTEST_"))}
    environ["SOURCE_DATE_EPOCH"] = EPOCH
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, env=environ, cwd=ROOT)


def build(folder: Path, out: Path) -> Built:
    """The source distribution, and the wheel that it makes."""
    project = pyproject(folder)
    name, version = project["project"]["name"], project["project"]["version"]
    stem = f"{name.replace('-', '_')}-{version}"
    modules = project["tool"]["uv"]["build-backend"]["module-name"]
    names = (modules,) if isinstance(modules, str) else tuple(modules)
    built = Built(name, version, folder, names, out / f"{stem}-py3-none-any.whl", out / f"{stem}.tar.gz")
    done = call(uv(), "build", "--quiet", "--out-dir", out, folder)
    if done.returncode:
        built.problems.append(f"it cannot be built: {done.stderr.strip()}")
    return built


def check_metadata(built: Built) -> None:
    """What an index and a person read of a wheel."""
    project = pyproject(built.folder)["project"]
    with ZipFile(built.wheel) as wheel:
        names = wheel.namelist()
        info = f"{built.wheel.name.partition('-py3')[0]}.dist-info"
        meta = HeaderParser().parsestr(wheel.read(f"{info}/METADATA").decode("utf-8"))
    for key in ("Summary", "License-Expression", "Requires-Python", "Author", "Description-Content-Type"):
        if not meta[key]:
            built.problems.append(f"its metadata lack {key}")
    if not meta.get_payload():
        built.problems.append("its metadata lack a description")
    if "MIT" not in (meta["License-Expression"] or ""):
        built.problems.append(f"its licence is {meta['License-Expression']!r}")
    if meta["Version"] != pyproject(ROOT)["project"]["version"]:
        built.problems.append(f"its version {meta['Version']!r} is not that of agentfp")
    built.problems += [f"its wheel lacks {path}" for path in project["license-files"] if f"{info}/licenses/{path}" not in names]


def check_files(built: Built) -> None:
    """A wheel holds its packages and their data, and nothing else."""
    with ZipFile(built.wheel) as wheel:
        names = [PurePosixPath(name) for name in wheel.namelist() if not name.endswith("/")]
    inside = [path for path in names if not path.parts[0].endswith(".dist-info")]
    for path in inside:
        if path.parts[0] not in built.modules or path.suffix not in DATA or {"tests", "__pycache__"} & set(path.parts):
            built.problems.append(f"its wheel holds {path}")
    built.problems += [f"its wheel lacks {m}/py.typed" for m in built.modules if PurePosixPath(m, "py.typed") not in inside]
    with tarfile.open(built.sdist) as sdist:
        packed = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in sdist.getnames()}
    wanted = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
    built.problems += [f"its source distribution lacks {name}" for name in wanted if name not in packed]
    changes = built.folder / "CHANGELOG.md"
    if not changes.exists() or f"## {built.version}" not in changes.read_text(encoding="utf-8"):
        built.problems.append(f"its changelog does not speak of {built.version}")
    here = {path.relative_to(built.folder).as_posix() for module in built.modules for path in (built.folder / module).rglob("*.py")}
    built.problems += [f"its wheel lacks {missing}" for missing in sorted(here - {str(path) for path in inside})]


def install_alone(built: Built, out: Path, scratch: Path) -> None:
    """Install a wheel with what it needs into an empty environment, and use it there."""
    venv = scratch / built.name
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    steps: tuple[tuple[str | Path, ...], ...] = (
        (uv(), "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, venv),
        (uv(), "pip", "install", "--quiet", "--python", python, "--find-links", out, "--constraint", CONSTRAINTS, built.wheel),
        (python, "-I", "-W", "error", "-c", TRY_IT, built.name, *built.modules),
        (venv / python.parent.name / "agentfp", "--help"),
    )
    for step in steps:
        done = call(*step)
        if done.returncode:
            built.problems.append(f"alone in an empty environment it fails: {done.stderr.strip()[-600:]}")
            break
    shutil.rmtree(venv, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.dist", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the files go; emptied first")
    parser.add_argument("--no-install", action="store_true", help="build and look, without the empty environments")
    parser.add_argument("--json", action="store_true", help="print what was built as JSON")
    given = parser.parse_args()
    shutil.rmtree(given.out, ignore_errors=True)
    given.out.mkdir(parents=True)
    quiet = not sys.stderr.isatty()
    folders = distributions()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        steps = pool.map(lambda folder: build(folder, given.out), folders)
        everything = list(track(steps, "building", total=len(folders), disable=quiet))
        whole = [built for built in everything if not built.problems]
        for built in whole:
            check_metadata(built)
            check_files(built)
        if not given.no_install and len(whole) == len(everything):
            with tempfile.TemporaryDirectory(prefix="agentfp-dist-") as scratch:
                tries = pool.map(lambda built: install_alone(built, given.out, Path(scratch)), whole)
                list(track(tries, "installing each alone", total=len(whole), disable=quiet))
    (given.out / ".gitignore").unlink(missing_ok=True)
    report(everything, as_json=given.json, installed=not given.no_install)


def report(everything: list[Built], *, as_json: bool, installed: bool) -> None:
    """Say what was built and what is wrong; a problem makes the exit code 1."""
    wrong = [f"{built.name}: {problem}" for built in everything for problem in built.problems]
    if as_json:
        print(json.dumps([asdict(built) for built in everything], indent=1, default=str))
    else:
        print("\n".join(wrong) or f"{len(everything)} distributions, each with a source distribution and a wheel")
        if installed and not wrong:
            print("each installs alone in an empty environment, imports, and loads its entry points")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
