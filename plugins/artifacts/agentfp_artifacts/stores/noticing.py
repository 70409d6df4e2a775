"""Tells whoever reads of what turned out to have expired, which the verbs themselves do not: there it is like what never was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from agentfp.artifacts import Swept

_NOTICED: ContextVar[list[Swept] | None] = ContextVar("agentfp_artifacts_noticed", default=None)


@contextmanager
def noticing() -> Iterator[list[Swept]]:
    """A list that stores of this package add to what they find expired, while the block runs."""
    found: list[Swept] = []
    token = _NOTICED.set(found)
    try:
        yield found
    finally:
        _NOTICED.reset(token)


def notice(swept: Swept) -> None:
    """Say that something has expired."""
    found = _NOTICED.get()
    if found is not None:
        found.append(swept)
