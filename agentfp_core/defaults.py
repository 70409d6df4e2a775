"""Process-wide defaults: the index that agents share, and what the application sets: plugins, and development mode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentfp_core.conversations import MemoryIndex

if TYPE_CHECKING:
    from agentfp_core.plugins import Plugin


@dataclass(frozen=True, slots=True)
class Defaults:
    """What :func:`configure` set.

    Args:
        plugins: plugins that come before an agent's own.
        dev: check every event as it is filed.
    """

    plugins: tuple[Plugin, ...] = ()
    dev: bool = False


class _Holder:
    __slots__ = ("index", "value")

    def __init__(self) -> None:
        self.value = Defaults()
        self.index = MemoryIndex()


_holder = _Holder()


def configure(*, plugins: Iterable[Plugin] = (), dev: bool = False) -> Defaults:
    """Set the defaults of the process. Agents that are built already are not changed.

    Args:
        plugins: plugins that come before an agent's own.
        dev: check every event as it is filed.

    Returns:
        The defaults that were in force before, to be put back.
    """
    before = _holder.value
    _holder.value = Defaults(tuple(plugins), dev)
    return before


def index() -> MemoryIndex:
    """The index that all agents of the process share which were given none, so that no pause is answered twice in it.

    An agent that is made anew for each web request would otherwise not know what the one before it has done.
    """
    return _holder.index


def current() -> Defaults:
    """The defaults in force."""
    return _holder.value
