"""Entry points of installed distributions, found by their metadata without importing anything."""

from __future__ import annotations

import importlib_metadata
from importlib_metadata import EntryPoint


def find(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name; of two with one name the first found wins.

    Args:
        group: for example ``agentfp.models``.
    """
    found: dict[str, EntryPoint] = {}
    for entry in importlib_metadata.entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found
