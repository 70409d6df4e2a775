"""Plugins' memos: what a plugin computes of the record, live and on anything that holds a record."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from agentfp_core.checkpoint import Checkpoint
from agentfp_core.errors import PluginError, RecordFormatError
from agentfp_core.events.base import Event, Payload
from agentfp_core.patterns import matcher
from agentfp_core.record import Record
from agentfp_core.segments import upgrade

if TYPE_CHECKING:
    from agentfp_core.plugins import Plugin


@runtime_checkable
class HasRecord(Protocol):
    """Anything with a record: a result, a pause, a conversation."""

    @property
    def record(self) -> Record:
        """The record."""


MemoSource: TypeAlias = HasRecord | Record | Checkpoint | str | Path


class Memo:
    """The memo of one plugin in one run, kept up to date event by event.

    A fold that raises does not break the run, which did nothing wrong: from then on the memo cannot be read, so that the
    plugin's own hooks fail as their phases say, here and wherever the record is folded anew.

    Attributes:
        of: the plugin.
        plugin: its name.
        state: what the fold made.
        error: what it raised.
    """

    __slots__ = ("_fits", "_fold", "_types", "error", "of", "plugin", "state")

    def __init__(self, plugin: Plugin) -> None:
        self.of = plugin
        self.plugin = plugin.name
        self.state: Any = None
        self.error: Exception | None = None
        try:
            self.state = plugin.initial()
        except Exception as error:
            self.error = error
        self._fold = plugin.fold
        self._fits = _fits(plugin.memo_events)
        self._types: dict[str, type[Payload]] = {kind.event_name: kind for kind in plugin.events}

    def reads(self, name: str) -> bool:
        """Whether the memo depends on events of this name."""
        return self._fits(name)

    def apply(self, event: Event, payload: Payload | None = None) -> None:
        """Fold one event in."""
        if self.error is not None:
            return
        kind = self._types.get(event.name)
        try:
            if kind is not None and type(event.payload) is not kind:
                with contextlib.suppress(RecordFormatError):  # what is damaged stays unknown, and the fold passes over it or not
                    event = upgrade(event, kind)
            self.state = self._fold(self.state, event)
        except Exception as error:
            self.error = error

    def read(self) -> Any:
        """The memo.

        Raises:
            PluginError: its fold has raised.
        """
        if self.error is not None:
            msg = f"the memo of plugin {self.plugin!r} is not known, for its fold raised a {type(self.error).__name__}"
            raise PluginError(msg, plugin=self.plugin, moment="fold") from self.error
        return self.state


def _fits(patterns: Iterable[str]) -> Callable[[str], bool]:
    tests = [matcher(pattern) for pattern in patterns]
    return lambda name: any(test(name) for test in tests)


def record_of(source: MemoSource) -> Record:
    """The record in a result, a checkpoint, a record or a file.

    Args:
        source: any of these; a path is loaded.
    """
    if isinstance(source, Record):
        return source
    if isinstance(source, (str, Path)):
        return Record.load(source)
    return source.record


def memo_of(plugin: Plugin | type[Plugin], source: MemoSource) -> Any:
    """Compute a plugin's memo over a record, as a live run would have.

    Args:
        plugin: the plugin, or its class (then with default settings).
        source: what holds the record.

    Raises:
        PluginError: the plugin's fold raises.
    """
    memo = Memo(plugin() if isinstance(plugin, type) else plugin)
    for event in record_of(source):
        if memo.reads(event.name):
            memo.apply(event)
    return memo.read()
