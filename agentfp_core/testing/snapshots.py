"""What an object holds, as a flat mapping of path to text, so that two states of it can be compared and the difference named."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterator, Mapping
from typing import Any

MAX_DEPTH = 8
_ATOMS = (str, bytes, int, float, complex, bool, type(None))
_OPAQUE = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)


def snapshot(value: Any, *, without: Collection[str] = ()) -> dict[str, str]:
    """Everything that an object holds, down to what has no parts.

    Args:
        value: the object.
        without: attributes of it that are left out.
    """
    found: dict[str, str] = {}
    if not _has_attributes(value):
        _walk(value, "", 0, (), found)
        return found
    for name, held in sorted(_attributes(value).items()):
        if name not in without:
            _walk(held, name, 0, (id(value),), found)
    return found


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Where two snapshots differ, one line a path."""
    paths = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    return [f"{path or 'its value'}: {_shown(before.get(path))} became {_shown(after.get(path))}" for path in paths]


def _shown(text: str | None) -> str:
    if text is None:
        return "nothing"
    return text if len(text) <= 80 else f"{text[:80]}…"


def _has_attributes(value: Any) -> bool:
    return not isinstance(value, (*_ATOMS, *_OPAQUE, Mapping, list, tuple, set, frozenset, types.MethodType))


def _attributes(value: Any) -> dict[str, Any]:
    held = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                held[name] = getattr(value, name)
    return held


def _walk(value: Any, path: str, depth: int, above: tuple[int, ...], found: dict[str, str]) -> None:
    if isinstance(value, _ATOMS):
        found[path] = repr(value)
        return
    if isinstance(value, (set, frozenset)):
        found[path] = f"{type(value).__name__} of {sorted(map(repr, value))}"
        return
    if isinstance(value, (*_OPAQUE, types.MethodType)) or depth >= MAX_DEPTH or id(value) in above:
        found[path] = f"{type(value).__name__} {getattr(value, '__qualname__', '')}"
        return
    parts = list(_parts(value, path))
    found[path] = f"{type(value).__name__} of {len(parts)}"
    for name, held in parts:
        _walk(held, name, depth + 1, (*above, id(value)), found)


def _parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"{path}[{key!r}]", held) for key, held in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((f"{path}[{index}]", held) for index, held in enumerate(value))
    else:
        yield from ((f"{path}.{name}", held) for name, held in _attributes(value).items())
