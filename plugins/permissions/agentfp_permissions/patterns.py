"""Names of tools and skills in a policy: exact, or the beginning of a name with a star at its end."""

from __future__ import annotations

from collections.abc import Iterable


def matches(pattern: str, name: str) -> bool:
    """Whether a name is meant.

    Args:
        pattern: a name, or ``prefix*``; ``*`` alone means every name.
        name: the name.
    """
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def matches_any(patterns: Iterable[str], name: str) -> bool:
    """Whether a name is meant by one of several patterns.

    Args:
        patterns: the patterns.
        name: the name.
    """
    return any(matches(pattern, name) for pattern in patterns)


def is_pattern(value: object) -> bool:
    """Whether a value can stand for names: a text that is not empty, with a star at its end only.

    Args:
        value: the value.
    """
    return isinstance(value, str) and bool(value.strip()) and "*" not in value[:-1]
