"""What pydantic says is wrong, in words with the place in the file; and what a field of a settings model may hold."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import pydantic
from pydantic.fields import FieldInfo
from typing_extensions import TypeAliasType

from agentfp_core.config.layers import Tree, dotted, spell
from agentfp_core.config.origin import Problem
from agentfp_core.config.positions import Path
from agentfp_core.config.secret import SecretRef
from agentfp_core.errors import likely, nearest

SECRETS = (pydantic.SecretStr, pydantic.SecretBytes)


# --- fields --------------------------------------------------------------------------------------------------------------


def kinds_at(model: Any, path: Path) -> set[Any]:
    """The plain types that a value at a path below a model may have; empty when the path leads nowhere."""
    kinds = set(_unfold(model))
    for part in path:
        kinds = {found for kind in kinds for inner in _step(kind, part) for found in _unfold(inner)}
    return kinds


def models_at(model: Any, path: Path) -> list[type[pydantic.BaseModel]]:
    """The models that a table at a path below a model may be."""
    return [kind for kind in kinds_at(model, path) if _is_model(kind)]


def names_of(model: type[pydantic.BaseModel]) -> set[str]:
    """The names that a table of a model accepts."""
    return set(fields_of(model))


def fields_of(model: type[pydantic.BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the names under which a file gives them."""
    found = {}
    for name, field in model.model_fields.items():
        alias = field.validation_alias if isinstance(field.validation_alias, str) else field.alias
        found[alias or name] = field
    return found


def takes_table(kinds: Collection[Any]) -> bool:
    """Whether a value of these types may be a table."""
    return any(_is_model(kind) or _is_mapping(kind) for kind in kinds)


def _is_mapping(kind: Any) -> bool:
    origin = typing.get_origin(kind) or kind
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def _unfold(kind: Any) -> Iterator[Any]:
    """The arms of unions, optional and annotated types."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        for arm in typing.get_args(kind):
            yield from _unfold(arm)
    elif origin is typing.Annotated:
        yield from _unfold(typing.get_args(kind)[0])
    elif isinstance(kind, TypeAliasType):
        yield from _unfold(kind.__value__)
    else:
        yield kind


def _step(kind: Any, part: str | int) -> Iterator[Any]:
    """The types of what stands under a name, or at a place, in a value of a type."""
    if _is_model(kind):
        for name, field in kind.model_fields.items():
            if part in (name, field.alias, field.validation_alias):
                yield field.annotation
        return
    arguments = typing.get_args(kind)
    if not arguments:
        return
    if _is_mapping(kind) and isinstance(part, str):
        yield arguments[-1]
    elif isinstance(part, int):
        yield from (a for a in arguments if a is not Ellipsis)


_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "an array",
    "tuple_type": "an array",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
"""The types that pydantic misses, in TOML's words."""


def take_raw_text(tree: Tree, model: type[pydantic.BaseModel], base: Path) -> None:
    """Take environment variables as they are where a text is due: ``123`` may be a name.

    Args:
        tree: is changed in place.
        model: of the table at ``base``.
        base: where the table stands.
    """
    for path, text in tree.raw.items():
        value = tree.get(path)
        if path[: len(base)] == base and value is not None and not isinstance(value, (str, dict)):
            kinds = kinds_at(model, path[len(base) :])
            if str in kinds and not any(isinstance(kind, type) and isinstance(value, kind) for kind in kinds):
                tree.replace(path, text)


# --- problems ------------------------------------------------------------------------------------------------------------


def problems_of(
    error: pydantic.ValidationError, tree: Tree, base: Path, accepted: Callable[[Path], Collection[str]], skip: Collection[Path] = ()
) -> list[Problem]:
    """One problem for each value at fault.

    Args:
        error: what pydantic says of the table at ``base``.
        tree: the values.
        base: where the table stands.
        accepted: the names that a table accepts.
        skip: values that are not judged now.
    """
    wanted: dict[Path, dict[str, None]] = {}
    said: dict[Path, list[str]] = {}
    branched: set[Path] = set()
    for issue in error.errors(include_input=False, include_url=False, include_context=False):
        path, tagged = _real_path(tree, base, issue["loc"])
        if issue["type"] == "missing":
            path, tagged = (*path, issue["loc"][-1]), False
        if any(path[: len(known)] == known for known in skip):
            continue
        if tagged:
            branched.add(path)
        if issue["type"] in _WANTED:
            wanted.setdefault(path, {})[_WANTED[issue["type"]]] = None
        else:
            said.setdefault(path, []).append(_words(issue, path, accepted, tree.get(path)))
    for path, types_ in wanted.items():
        said.setdefault(path, []).insert(0, f"{spell(path)} must be {' or '.join(types_)}, got {got_type(tree.get(path))}")
    return [
        Problem(tree.origin(path), "; ".join(dict.fromkeys(texts)))
        for path, texts in said.items()
        # where another arm of a union fits better, its fault lies deeper
        if not (path in branched and any(len(other) > len(path) and other[: len(path)] == path for other in said))
    ]


def _real_path(tree: Tree, base: Path, location: Sequence[str | int]) -> tuple[Path, bool]:
    """The path of a value in the file: a location without the names of union arms. And whether there were any."""
    path, tagged = base, False
    for part in location:
        value = tree.get(path)
        inside = (isinstance(value, dict) and part in value) or (isinstance(value, list) and isinstance(part, int) and part < len(value))
        if inside:
            path = (*path, part)
        else:
            tagged = True
    return path, tagged


def _words(issue: Mapping[str, Any], path: Path, accepted: Callable[[Path], Collection[str]], given: Any) -> str:
    if issue["type"] == "extra_forbidden":
        return f"{table_name(path[:-1])} has no {path[-1]!r}; {nearest(str(path[-1]), accepted(path[:-1]))}"
    if issue["type"] == "missing":
        return f"{table_name(path[:-1])} needs {path[-1]!r}; write it there"
    message = str(issue["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if message.startswith("Input should be "):
        meant = likely(given, message) if issue["type"] == "literal_error" else ""
        return f"{spell(path)} must be {message.removeprefix('Input should be ')}{meant}"
    return f"{spell(path)} is refused: {message[:1].lower()}{message[1:]}"


def table_name(path: Path) -> str:
    """A table as the file writes it."""
    return f"[{dotted(path)}]" if path else "the file"


def got_type(value: Any) -> str:
    """The type of a TOML value in words, never its content."""
    if isinstance(value, SecretRef):
        return "a secret"
    names = {bool: "a boolean", int: "a whole number", float: "a number", str: "a text", dict: "a table", list: "an array"}
    return names.get(type(value), f"a {type(value).__name__}")
