"""Patterns of event names: exact, ``agentfp.<domain>.*`` or ``*``."""

from __future__ import annotations

from collections.abc import Callable, Collection

from agentfp_core.errors import nearest

SHARED = (["answer"], ["cost"])
"""Domains of the kernel in which plugins file events too."""


def matcher(pattern: str) -> Callable[[str], bool]:
    """A test of event names: exact, ``prefix.*`` or ``*``."""
    if pattern == "*":
        return lambda _: True
    if pattern.endswith(".*"):
        prefix = pattern[:-1]
        return lambda name: name.startswith(prefix)
    return lambda name: name == pattern


def misspelt(pattern: str, names: Collection[str], *, domains: bool) -> str | None:
    """What is wrong with a pattern for the library's own events.

    Args:
        pattern: the pattern.
        names: the names of all events that can come.
        domains: whether an unknown domain is wrong too; it may be that of a plugin which is not there.

    Returns:
        Words that name what was meant; None when nothing is wrong, or the pattern is for other events.
    """
    words = pattern.split(".")
    if words[0] != "agentfp" or len(words) < 2 or words[1] == "*":
        return None
    known = {name.split(".")[1] for name in names}
    if words[1] not in known:
        return f"there are no events {pattern!r}; {nearest(words[1], known)}" if domains else None
    if words[-1] == "*" or pattern in names:
        return None
    return f"there is no event {pattern!r}; {nearest(pattern, [name for name in names if name.split('.')[1] == words[1]])}"
