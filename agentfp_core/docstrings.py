"""Reads docstrings in Google, NumPy and Sphinx style: what they say of a function and of each of its parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping

_GOOGLE = re.compile(r"^(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters)\s*:\s*$")
_NUMPY = re.compile(r"^(?:Parameters|Other Parameters|Keyword Arguments)\s*$")
_SPHINX = re.compile(r"^:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_GOOGLE_ENTRY = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?:\(.*?\))?\s*:\s*(.*)$")
_NUMPY_ENTRY = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


def split_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into what it says of the function and of each parameter.

    Args:
        doc: a cleaned docstring in Google, NumPy or Sphinx style.

    Returns:
        The text before the parameter section, and the parameters' texts by name.
    """
    lines = doc.splitlines()
    for index, line in enumerate(lines):
        before = "\n".join(lines[:index]).strip()
        if _GOOGLE.match(line):
            return before, _google(lines[index + 1 :])
        if _NUMPY.match(line) and index + 1 < len(lines) and re.fullmatch(r"-{3,}\s*", lines[index + 1]):
            return before, _numpy(lines[index + 2 :])
        if _SPHINX.match(line):
            return before, _sphinx(lines[index:])
    return doc.strip(), {}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(texts: Mapping[str, list[str]]) -> dict[str, str]:
    return {name: text for name, parts in texts.items() if (text := " ".join(part for part in parts if part))}


def _google(lines: list[str]) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    base, current = 0, list[list[str]]()
    for line in lines:
        if not line.strip():
            continue
        depth = _indent(line)
        if depth == 0:
            break
        base = base or depth
        entry = _GOOGLE_ENTRY.match(line.strip()) if depth <= base else None
        if entry:
            current = _shared(entry[1], texts)
        for text in current:
            text.append(entry[2].strip() if entry else line.strip())
    return _joined(texts)


def _shared(names: str, texts: dict[str, list[str]]) -> list[list[str]]:
    """The texts of names that share an entry: ``x, y: coordinates``."""
    return [texts.setdefault(name.strip().lstrip("*"), []) for name in names.split(",")]


def _numpy(lines: list[str]) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    current: list[list[str]] = []
    for index, line in enumerate(lines):
        if not line.strip():
            continue
        if _indent(line) == 0:
            if index + 1 < len(lines) and re.fullmatch(r"-{3,}\s*", lines[index + 1]):
                break
            entry = _NUMPY_ENTRY.match(line)
            current = _shared(entry[1], texts) if entry else []
        else:
            for text in current:
                text.append(line.strip())
    return _joined(texts)


def _sphinx(lines: list[str]) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines:
        entry = _SPHINX.match(line)
        if entry:
            current = texts.setdefault(entry[1], [])
            current.append(entry[2].strip())
        elif not line.strip() or _indent(line) == 0:
            current = None
        elif current is not None:
            current.append(line.strip())
    return _joined(texts)
