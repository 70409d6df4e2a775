"""Patterns of event names: exact, ``agentfp.<domain>.*`` or ``*``."""

from __future__ import annotations

from collections.abc import Callable


def matcher(pattern: str) -> Callable[[str], bool]:
    """A test of event names: exact, ``prefix.*`` or ``*``."""
    if pattern == "*":
        return lambda _: True
    if pattern.endswith(".*"):
        prefix = pattern[:-1]
        return lambda name: name.startswith(prefix)
    return lambda name: name == pattern
