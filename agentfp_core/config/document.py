"""The file itself: found, read, parsed, with the place of everything in it."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentfp_core.config.origin import Origin, Problem
from agentfp_core.config.positions import Path as TomlPath
from agentfp_core.config.positions import Place, positions
from agentfp_core.errors import ConfigError

FILE_NAME = "agentfp.toml"
PYPROJECT = "pyproject.toml"
TABLE: TomlPath = ("tool", "agentfp")
DEPTH = 64
_PLACE = re.compile(r"\s*\(at line (\d+), column (\d+)\)$")


@dataclass(frozen=True)
class Document:
    """A parsed file.

    Args:
        path: of the file.
        data: its content; of ``pyproject.toml`` the table ``[tool.agentfp]``.
        places: where its tables, keys and items stand.
        root: the path of ``data`` in the file.
    """

    path: Path
    data: Mapping[str, Any]
    places: Mapping[TomlPath, Place]
    root: TomlPath = ()

    def origin(self, path: TomlPath, overlay: str | None = None) -> Origin:
        """Where a value stands; the next table above it when it is not there."""
        full = (*self.root, *path)
        while full and full not in self.places:
            full = full[:-1]
        line, column = self.places.get(full, Place(1, 1))
        return Origin("file" if overlay is None else "overlay", str(self.path), line, column, overlay)


def read(path: str | os.PathLike[str]) -> Document:
    """Read a file.

    Args:
        path: of an ``agentfp.toml``, or of a ``pyproject.toml`` with a table ``[tool.agentfp]``.

    Raises:
        ConfigError: it cannot be read, is no TOML, or has no such table.
    """
    where = Path(path)
    text = _text(where)
    try:
        data: Any = tomllib.loads(text)
        places = positions(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_syntax(where, text, error)) from error
    except RecursionError:
        raise ConfigError(f"{where}: its tables and arrays are nested too deep; {DEPTH} levels are read") from None
    except ValueError as error:  # a number with thousands of digits
        raise ConfigError(f"{where}: a value in it cannot be read: {error}") from error
    if deep(data):
        raise ConfigError(f"{where}: its tables and arrays are nested too deep; {DEPTH} levels are read")
    if where.name != PYPROJECT:
        return Document(where, data, places)
    for name in TABLE:
        data = data.get(name) if isinstance(data, dict) else None
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: there is no table [tool.agentfp] in it; write one, or name another file")
    return Document(where, data, places, TABLE)


def deep(value: Any) -> bool:
    """Whether tables and arrays are nested deeper than what walks over them can go."""
    level = [value]
    for _ in range(DEPTH + 1):
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        level = [item for item in level if isinstance(item, (dict, list))]
        if not level:
            return False
    return True


def _text(where: Path) -> str:
    try:
        return where.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError as error:
        raise ConfigError(f"{where}: there is no such file; `agentfp init` writes one") from error
    except IsADirectoryError as error:
        raise ConfigError(f"{where}: it is a folder; name the file in it, such as {where / FILE_NAME}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where}: it is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{where}: it cannot be read: {error.strerror}") from error
    except ValueError as error:  # a name that no file can have
        raise ConfigError(f"{str(where)!r}: it cannot be read: {error}") from error


def _syntax(where: Path, text: str, error: tomllib.TOMLDecodeError) -> str:
    said = str(error)
    match = _PLACE.search(said)
    lines = text.rstrip("\n").split("\n")
    line, column = (int(match[1]), int(match[2])) if match else (len(lines), len(lines[-1]) + 1)
    reason = re.sub(r"\s*\(at (?:line|end).*\)$", "", said)
    twice = re.fullmatch(r"Cannot declare \((.*?),?\) twice", reason)
    if twice is not None:
        table = ".".join(re.findall(r"'([^']*)'", twice[1]))
        reason = f"the table [{table}] is there twice; write its keys under one header"
    problem = Problem(Origin("file", str(where), line, column), f"the file is not valid TOML: {reason[:1].lower()}{reason[1:]}")
    return str(problem)


def find_config(start: str | os.PathLike[str] | None = None) -> Path | None:
    """Look for a file in a folder and those above it. The command line does this; the library never looks for a file itself.

    Args:
        start: the folder; the current one when None.

    Returns:
        The next ``agentfp.toml``, or ``pyproject.toml`` with a table ``[tool.agentfp]``; None when there is none.
    """
    folder = Path(start or ".").absolute()
    for at in (folder, *folder.parents):
        if (at / FILE_NAME).is_file():
            return at / FILE_NAME
        if (at / PYPROJECT).is_file() and _has_table(at / PYPROJECT):
            return at / PYPROJECT
    return None


def _has_table(path: Path) -> bool:
    try:
        data: Any = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(data.get("tool"), dict) and "agentfp" in data["tool"]
