"""Settings of a plugin: secrets looked up, checked against the plugin's own model, with the place of each that does not fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pydantic

from agentfp_core.config.layers import Tree, literal_text, spell
from agentfp_core.config.origin import Origin, Problem
from agentfp_core.config.positions import Path
from agentfp_core.config.secret import SecretError, SecretRef, is_secret_name, masker
from agentfp_core.config.shapes import SECRETS, kinds_at, models_at, names_of, problems_of, take_raw_text, takes_table

ENABLED = "enabled"
"""The one key in a plugin's table that is the kernel's."""


@dataclass
class Lookup:
    """Looks secrets up and keeps count of them.

    Args:
        environ: the environment.
    """

    environ: Mapping[str, str]
    values: set[str] = field(default_factory=set)
    """What was found; to be masked."""
    missing: dict[Path, Problem] = field(default_factory=dict)
    """What was not, by the path that wanted it."""

    def get(self, ref: SecretRef, tree: Tree, path: Path) -> str | None:
        """The secret; None when it cannot be looked up, which is noted."""
        try:
            value = ref.resolve(self.environ)
        except SecretError as error:
            if ref.kind != "refused":
                self.missing[path] = Problem(tree.origin(path), f"{spell(path)}: {error}")
            return None
        self.values.add(value)
        return value

    def masked(self, text: str) -> str:
        """A text without the secrets that were found."""
        return masker(self.values)(text)


def is_plain_table(ref: SecretRef, kinds: Collection[Any], path: Path) -> bool:
    """Whether what looks like a reference is a table of the plugin's own: its field takes tables and no text."""
    return ref.kind != "refused" and takes_table(kinds) and not is_secret_name(path[-1]) and not {str, *SECRETS} & set(kinds)


def plain_values(tree: Tree, path: Path, lookup: Lookup) -> Any:
    """A value with all references in it looked up."""
    return _plain(tree.get(path), tree, path, lookup, None, path, [])


def plugin_values(tree: Tree, path: Path, model: type[pydantic.BaseModel], lookup: Lookup, problems: list[Problem]) -> dict[str, Any]:
    """The settings of a plugin, ready for its model."""
    take_raw_text(tree, model, path)
    table = tree.get(path)
    values = {key: value for key, value in table.items() if key != ENABLED} if isinstance(table, dict) else {}
    return {key: _plain(value, tree, (*path, key), lookup, model, path, problems) for key, value in values.items()}


def _plain(
    value: Any, tree: Tree, path: Path, lookup: Lookup, model: type[pydantic.BaseModel] | None, base: Path, problems: list[Problem]
) -> Any:
    kinds: Collection[Any] = () if model is None else kinds_at(model, path[len(base) :])
    if isinstance(value, SecretRef):
        if is_plain_table(value, kinds, path):
            return value.table
        return lookup.get(value, tree, path)
    if isinstance(value, dict):
        return {key: _plain(item, tree, (*path, key), lookup, model, base, problems) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, tree, (*path, index), lookup, model, base, problems) for index, item in enumerate(value)]
    if isinstance(value, (str, int)) and value != "" and any(kind in SECRETS for kind in kinds):
        if tree.origin(path).kind == "environment":
            lookup.values.add(str(value))
            return str(value)
        problems.append(Problem(tree.origin(path), literal_text(path)))
        lookup.values.add(str(value))
    return value


def check_settings(model: type[pydantic.BaseModel], values: Mapping[str, Any], tree: Tree, path: Path, lookup: Lookup) -> list[Problem]:
    """What the plugin's model says of its settings; of secrets that could not be looked up it is not asked."""

    def accepted(table: Path) -> Collection[str]:
        own = {name for found in models_at(model, table[len(path) :]) for name in names_of(found)}
        return own | {ENABLED} if table == path else own

    try:
        model.model_validate(dict(values))
    except pydantic.ValidationError as error:
        skip = [*lookup.missing, *(p for p, v in _all(tree.get(path), path) if isinstance(v, SecretRef) and v.kind == "refused")]
        return [Problem(p.origin, lookup.masked(p.text)) for p in problems_of(error, tree, path, accepted, skip)]
    except (Exception, SystemExit) as error:  # a validator of the plugin's may raise anything
        return [Problem(tree.origin(path), lookup.masked(f"{spell(path)} cannot be checked: {type(error).__name__}: {error}"))]
    return []


def _all(value: Any, path: Path) -> list[tuple[Path, Any]]:
    found = [(path, value)]
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += _all(item, (*path, key))
    return found


def at(origin: Origin, problems: list[Problem]) -> list[Problem]:
    """The problems, at a place that says more than their own."""
    return [Problem(origin, problem.text) for problem in problems]
