"""What a user's editor and type checker know of every public name: a type, and words to read."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from scripts.workshop import ROOT, distributions, pyproject

OWN = [f"agentfp.{path.stem}" for path in sorted((ROOT / "agentfp").glob("*.py")) if not path.stem.startswith("_")]
MODULES = ["agentfp", *OWN, *(pyproject(folder)["tool"]["uv"]["build-backend"]["module-name"] for folder in distributions()[1:])]
EXTRAS = ["agentfp_adapters.pydantic_ai", "agentfp_adapters.openai_agents", "agentfp_adapters.langchain"]
NAMES = [(module, name) for module in (*MODULES, *EXTRAS) for name in import_module(module).__all__]


@pytest.fixture(scope="module")
def revealed(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    """What mypy, as strict as it gets, says of each name in a program that uses all of them."""
    folder = tmp_path_factory.mktemp("user")
    used = [f"reveal_type({module}.{name})" for module, name in NAMES]
    lines = [*(f"import {module}" for module in sorted({module for module, _ in NAMES})), *used]
    program = folder / "program.py"
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ["--strict", "--no-pretty", "--config-file", "", "--cache-dir", str(folder / "cache")]
    done = subprocess.run([sys.executable, "-m", "mypy", *options, str(program)], cwd=folder, capture_output=True, text=True, check=False)
    notes = dict(re.findall(r'program\.py:(\d+): note: Revealed type is "(.*)"', done.stdout))
    assert not re.findall(r"program\.py:\d+: error: .*", done.stdout)
    first = len(lines) - len(used) + 1
    return {key: notes[str(first + index)] for index, key in enumerate(NAMES)}


def _is_code(module: str, name: str) -> bool:
    """Whether a name is a class or a function; aliases of types are read where they are used."""
    thing = getattr(import_module(module), name)
    return inspect.isclass(thing) or inspect.isroutine(thing)


def test_every_public_name_has_a_type(revealed: dict[tuple[str, str], str]) -> None:
    code = {f"{module}.{name}": told for (module, name), told in revealed.items() if _is_code(module, name)}
    unknown = [name for name, told in code.items() if not told.startswith(("def", "Overload", "functools._lru_cache_wrapper"))]
    assert not unknown


def test_no_public_function_gives_something_unknown(revealed: dict[tuple[str, str], str]) -> None:
    lost = re.compile(r"(Overload\()?def \(\*(args: )?Any")
    vague = [f"{module}.{name}: {told}" for (module, name), told in revealed.items() if lost.match(told)]
    assert not vague


def _members(thing: type) -> list[tuple[str, Any]]:
    own = [(name, member) for name, member in vars(thing).items() if not name.startswith(("_", "test_"))]
    kinds = (property, classmethod, staticmethod)
    return [(name, member) for name, member in own if inspect.isfunction(member) or isinstance(member, kinds)]


@pytest.mark.parametrize("module", [*MODULES, *EXTRAS])
def test_every_public_name_says_what_it_is(module: str) -> None:
    silent = []
    for name in import_module(module).__all__:
        thing = getattr(import_module(module), name)
        if not _is_code(module, name) or not getattr(thing, "__module__", "").startswith("agentfp"):
            continue
        members = _members(thing) if inspect.isclass(thing) else []
        silent += [name] * (not inspect.getdoc(thing))
        silent += [f"{name}.{member}" for member, value in members if not inspect.getdoc(getattr(value, "__func__", value))]
    assert not silent


@pytest.mark.parametrize("module", [*MODULES, *EXTRAS])
def test_public_names_are_listed_for_completion_once(module: str) -> None:
    listed = import_module(module).__all__
    assert set(listed) <= set(dir(import_module(module)))
    assert len(set(listed)) == len(listed)
