"""The layers of a configuration, merged: file, overlay, environment variables; and for each value where it came from."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agentfp_core.config.document import Document, deep
from agentfp_core.config.origin import DEFAULT, Origin, Problem
from agentfp_core.config.positions import Path
from agentfp_core.config.secret import SecretRef, is_reference, is_secret_name

VARIABLE = "AGENTFP__"
"""Prefix of environment variables with single values: ``AGENTFP__AGENT__MODEL``."""
FIXED = ("version", "env")
"""What no overlay can change."""
_PLAIN = re.compile(r"[\w*${}:-]+")
"""Names that need no quotes to be told apart."""
_NAME = re.compile(r"\$?\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class Tree:
    """Nested tables, and the origin of each table, key and item. Tables merge; anything else is replaced whole."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[Path, Origin] = {}
        self.tainted: set[Path] = set()
        """Values that hold something of a variable whose name is a secret's."""
        self.secrets: set[str] = set()
        """What those variables hold; to be masked."""
        self.raw: dict[Path, str] = {}
        """The text of values that came from environment variables, before it was read as TOML."""

    def get(self, path: Path) -> Any:
        """The value at a path; None when there is none."""
        value: Any = self.values
        for part in path:
            inside = part in value if isinstance(value, dict) else isinstance(value, list) and isinstance(part, int) and part < len(value)
            if not inside:
                return None
            value = value[part]
        return value

    def origin(self, path: Path) -> Origin:
        """Where a value came from; of one that is not there, where its table did."""
        while path and path not in self.origins:
            path = path[:-1]
        return self.origins.get(path, DEFAULT)

    def put(self, path: Path, value: Any, origin_of: Callable[[Path], Origin]) -> None:
        """Merge a value in.

        Args:
            path: where.
            value: what.
            origin_of: where the value at a path came from.
        """
        here = self.get(path)
        if not isinstance(value, dict):
            self._set(path, value, origin_of)
            return
        if not isinstance(here, dict) or (is_reference(here) and is_reference(value)):
            self._set(path, {}, origin_of)
        for key, item in value.items():
            self.put((*path, key), item, origin_of)

    def _set(self, path: Path, value: Any, origin_of: Callable[[Path], Origin]) -> None:
        for known in _below(self.get(path), path):
            self.origins.pop(known, None)
        self.raw.pop(path, None)
        target: Any = self.values
        for index, part in enumerate(path[:-1]):
            if not isinstance(target.get(part), dict):
                target[part] = {}
                self.origins[path[: index + 1]] = origin_of(path[: index + 1])
            target = target[part]
        target[path[-1]] = _copy(value)
        self.origins[path] = origin_of(path)
        for below in _below(value, path):
            self.origins[below] = origin_of(below)

    def replace(self, path: Path, value: Any) -> None:
        """Put another value in the place of one that is there; it comes from where that came from."""
        parent = self.get(path[:-1])
        parent[path[-1]] = value

    def leaves(self, path: Path = ()) -> Iterator[tuple[Path, Any]]:
        """All values that are no tables, with their paths; an array is one value."""
        value = self.get(path) if path else self.values
        if isinstance(value, dict):
            for key in value:
                yield from self.leaves((*path, key))
        else:
            yield path, value


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _below(value: Any, path: Path) -> Iterator[Path]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _below(item, (*path, key))


def merged(document: Document, overlay: str | None) -> Tree:
    """The file's own tables, and one overlay over them."""
    tree = Tree()
    tree.origins[()] = document.origin(())
    for key, value in document.data.items():
        if key != "env":
            tree.put((key,), value, document.origin)
    tables = document.data.get("env")
    over = tables.get(overlay) if isinstance(tables, dict) and overlay is not None else None
    if isinstance(over, dict):
        for key, value in ((k, v) for k, v in over.items() if k not in FIXED):
            tree.put((key,), value, lambda path: document.origin(("env", overlay, *path), overlay))  # type: ignore[arg-type]
    return tree


# --- single values from the environment ---------------------------------------------------------------------------------


def apply_environment(tree: Tree, environ: Mapping[str, str], problems: list[Problem]) -> None:
    """Take single values from environment variables; the name is the path, its parts joined by two underscores."""
    for name in sorted(n for n in environ if n.upper().startswith(VARIABLE)):
        origin = Origin("environment", name=name)
        parts = name[len(VARIABLE) :].split("__")
        if len(parts) < 2 or not all(parts):
            problems.append(Problem(origin, f"it names no value; write {VARIABLE}SECTION__KEY, such as {VARIABLE}AGENT__MODEL"))
            continue
        if parts[0].lower() == "env":
            problems.append(Problem(origin, "overlays are chosen, not set, from the environment; leave ENV__NAME out of the name"))
            continue
        path = _known_path(tree, parts)
        if path is None:
            problems.append(Problem(origin, f"{'.'.join(parts[:-1]).lower()!r} is no table, so nothing can be set in it"))
            continue
        text = environ[name]
        tree.put(path, _value(path, text, name), lambda _, origin=origin: origin)  # type: ignore[misc]
        tree.raw[path] = text


def _known_path(tree: Tree, parts: list[str]) -> Path | None:
    """The path that is meant: names are compared without case, for some systems know no small letters."""
    path: Path = ()
    for part in parts:
        table = tree.get(path)
        if table is None:
            table = {}
        if not isinstance(table, dict):
            return None
        alike = [key for key in table if _fold(key) == _fold(part)]
        path = (*path, part if part in table else alike[0] if len(alike) == 1 else part.lower())
    return path


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")


def _value(path: Path, text: str, name: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # no TOML; or a number or a nest that is too much to be meant as such
        parsed = {}
    parsed = {} if deep(parsed) else parsed
    value = parsed["value"] if parsed.keys() == {"value"} else text
    if in_settings(path) and is_secret_name(path[-1]) and not isinstance(value, dict):
        return {"env": name}  # a variable is where a secret belongs
    return value


# --- text from the environment, and secrets ----------------------------------------------------------------------------


def in_settings(path: Path) -> bool:
    """Whether a path leads into what a plugin or a provider reads; the kernel's own tables hold no secrets."""
    if path[:1] in (("plugins",), ("models",)):
        return len(path) > 2
    inner = path[1:] if path[:1] == ("agent",) else path[2:] if path[:1] == ("agents",) else ()
    return inner[:2] == ("model_settings", "extra") and len(inner) > 2


def settle(tree: Tree, environ: Mapping[str, str], folder: Any, problems: list[Problem]) -> None:
    """Fill ``${NAME:-default}`` in, and make references of what stands for a secret.

    Args:
        tree: is changed in place.
        environ: the environment.
        folder: where relative file names begin.
        problems: what is wrong is added here.
    """
    _settle(tree, (), tree.values, environ, folder, problems)


def _settle(tree: Tree, path: Path, value: Any, environ: Mapping[str, str], folder: Any, problems: list[Problem]) -> None:
    if path and in_settings(path):
        if is_reference(value):
            tree.replace(path, SecretRef.of(value, folder))
            return
        if is_secret_name(path[-1]) and _refuse_literal(tree, path, value, problems):
            return
    if isinstance(value, (dict, list)):
        for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
            _settle(tree, (*path, key), item, environ, folder, problems)
    elif isinstance(value, str) and tree.origin(path).kind != "environment":
        filled = _fill(tree, path, value, environ, problems)
        if filled != value:
            tree.replace(path, filled)


def _refuse_literal(tree: Tree, path: Path, value: Any, problems: list[Problem]) -> bool:
    """Whether a value in a secret's place is none that may stand there."""
    items = value if isinstance(value, list) else [value]
    literal = any(isinstance(item, (str, int)) and not isinstance(item, bool) and item != "" for item in items)
    if not literal and not isinstance(value, dict):
        return False
    problems.append(Problem(tree.origin(path), literal_text(path)))
    tree.replace(path, SecretRef("refused", ""))
    return True


def literal_text(path: Path) -> str:
    """Words for something else than a reference in a secret's place."""
    name = re.sub(r"\W", "_", "_".join([part for part in path if isinstance(part, str)][-2:]).upper())
    return f'{spell(path)} is a secret and takes no literal; write {{ env = "{name}" }} or {{ file = "..." }} instead'


def _fill(tree: Tree, path: Path, text: str, environ: Mapping[str, str], problems: list[Problem]) -> str:
    def fill(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if match[0].startswith("$$"):
            return match[0][1:]
        if default is not None and "${" in default:
            said = f"{spell(path)}: the default of ${{{name}:-...}} holds another ${{...}}, which is not filled in; write it without"
            problems.append(Problem(tree.origin(path), said))
        if is_secret_name(name):
            tree.tainted.add(path)
        found = environ.get(name)
        if not found and default is not None:
            return default
        if found and is_secret_name(name):
            tree.secrets.add(found)
        if found is None:
            said = (
                f"{spell(path)}: environment variable {name!r} is not set; set it, write ${{{name}:-default}}, or $${{{name}}} for the text"
            )
            problems.append(Problem(tree.origin(path), said))
            return match[0]
        return found

    return _NAME.sub(fill, text)


def spell(path: Path) -> str:
    """A path in words: ``[agent] model``, ``[plugins.evidence] headers.x``."""
    depth = 1 if path[:1] == ("agent",) else 2 if path[:1] in (("agents",), ("plugins",), ("models",)) else 0
    depth = min(depth, len(path))
    rest = dotted(path[depth:])
    return f"[{dotted(path[:depth])}] {rest}".strip() if depth else repr(rest)


def dotted(path: Path) -> str:
    """A path as dotted text: ``agent.tools[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _PLAIN.fullmatch(part) else json.dumps(part, ensure_ascii=False)
            text += f".{name}" if text else name
    return text
