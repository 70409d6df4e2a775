"""From a path to a ``Config``: layers merged, every table checked against its model, all problems collected."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

import pydantic

from agentfp_core.config.agents import extends_problems
from agentfp_core.config.config import Config, distinct
from agentfp_core.config.document import Document, read
from agentfp_core.config.layers import FIXED, Tree, apply_environment, merged, settle
from agentfp_core.config.origin import Origin, Problem
from agentfp_core.config.positions import Path
from agentfp_core.config.secret import masker
from agentfp_core.config.shapes import models_at, problems_of, take_raw_text
from agentfp_core.config.tables import FileTable
from agentfp_core.errors import nearest

ENV = "AGENTFP_ENV"


def load_config(path: str | os.PathLike[str], *, env: str | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """Read a file, with what the environment says over it. Nothing is imported yet.

    Args:
        path: of an ``agentfp.toml``, or of a ``pyproject.toml`` with a table ``[tool.agentfp]``.
        env: the overlay; what ``AGENTFP_ENV`` names when None, no overlay when it is empty.
        environ: the environment; that of the process when None.

    Returns:
        The configuration. It may have ``problems``; whatever builds an agent of it raises them.

    Raises:
        ConfigError: the file cannot be read or is no TOML.
    """
    environ = os.environ if environ is None else environ
    document = read(path)
    problems: list[Problem] = []
    chosen = _overlay(document, env, environ, problems)
    tree = merged(document, chosen)
    apply_environment(tree, environ, problems)
    settle(tree, environ, document.path.parent, problems)
    problems += _check(tree)
    for name in _overlays(document):
        if name != chosen:
            problems += _check_overlay(document, name, environ)
    problems += extends_problems(tree)
    found = distinct(problem.masked(masker(tree.secrets)) for problem in problems)
    return Config(document.path, env=chosen, tree=tree, environ=environ, problems=found)


def _overlays(document: Document) -> Mapping[str, object]:
    tables = document.data.get("env")
    return tables if isinstance(tables, dict) else {}


def _overlay(document: Document, env: str | None, environ: Mapping[str, str], problems: list[Problem]) -> str | None:
    """The overlay that is in force, checked to be there: a typing error must not silently mean none."""
    tables = document.data.get("env", {})
    origin = document.origin(("env",))
    if not isinstance(tables, dict):
        problems.append(Problem(origin, "'env' must be a table of overlays: write [env.NAME]"))
        return None
    for name, table in tables.items():
        where = document.origin(("env", name))
        if not isinstance(table, dict):
            problems.append(Problem(where, f"[env] {name} must be a table; write [env.{name}.agent] and the like"))
            continue
        problems += [
            Problem(document.origin(("env", name, key)), f"[env.{name}] cannot change {key!r}; take it out")
            for key in FIXED
            if key in table
        ]
    name = environ.get(ENV, "") if env is None else env
    if not name:
        return None
    if name not in tables:
        asked = Origin("environment", name=ENV) if env is None else origin
        text = f"the file has no [env.{name}]; {nearest(name, tables)}. An empty table [env.{name}] will do when nothing changes"
        problems.append(Problem(asked, text))
        return None
    return name


def _check_overlay(document: Document, name: str, environ: Mapping[str, str]) -> list[Problem]:
    """Problems of an overlay that is not in force; variables that it reads need not be set."""
    tree = merged(document, name)
    ignored: list[Problem] = []
    settle(tree, _Anything(environ), document.path.parent, ignored)
    found = [*ignored, *_check(tree), *extends_problems(tree)]
    mask = masker(tree.secrets)
    return [problem.masked(mask) for problem in found if problem.origin.kind == "overlay"]


class _Anything(dict[str, str]):
    """An environment in which every variable is set."""

    def get(self, key: str, default: object = None) -> str:
        return super().get(key) or "x"


def _check(tree: Tree) -> list[Problem]:
    """Judge all tables."""
    take_raw_text(tree, FileTable, ())
    try:
        FileTable.model_validate(tree.values)
    except pydantic.ValidationError as error:
        found = problems_of(error, tree, (), accepted)
        return [_version(problem) if problem.text.startswith(("the file needs 'version'", "'version'")) else problem for problem in found]
    return []


def _version(problem: Problem) -> Problem:
    return Problem(problem.origin, "the file must say which format it has; write version = 1 at its top, the only one this library reads")


def accepted(path: Path) -> Collection[str]:
    """The names that a table of the file accepts."""
    return {name for model in models_at(FileTable, path) for name in model.model_fields}
