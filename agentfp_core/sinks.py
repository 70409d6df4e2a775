"""The sinks of a run: their ``export_event`` hooks, what waits for them, and how an event is handed to one."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from agentfp_core.exported import ExportedEvent

if TYPE_CHECKING:
    from agentfp_core.events.base import Event
    from agentfp_core.plugins import Impl, Plugin
    from agentfp_core.redaction import Funnel
    from agentfp_core.segments import SegmentHeader


class Sink:
    """One ``export_event`` hook in one run.

    Args:
        impl: the hook.
        plugin: whose it is.
        state: what it keeps over the run.
    """

    __slots__ = ("call", "content", "exports", "is_async", "plugin", "state", "transient")

    def __init__(self, impl: Impl, plugin: Plugin, state: dict[Any, Any]) -> None:
        self.call = impl.call
        self.is_async = impl.is_async
        self.plugin = impl.plugin
        self.content = plugin.sees_content
        self.transient = plugin.transient
        self.exports = plugin.exports
        self.state = state


Sinks = tuple[Sink, ...]
Item = tuple["Event", "SegmentHeader", "Funnel", Sinks]
"""An event that waits, with the header and the funnel of its run, and the sinks that get it."""


class Views:
    """An event as sinks get it. It goes through the funnel once, when this is made.

    Args:
        item: what waited.

    Raises:
        Exception: it cannot be masked, and so is not handed out.
    """

    __slots__ = ("_event", "_full", "_header", "_lean", "_mask")

    def __init__(self, item: Item) -> None:
        event, self._header, self._mask, _ = item
        self._event = self._mask(event)
        self._lean: ExportedEvent | None = None
        self._full: ExportedEvent | None = None

    def of(self, sink: Sink) -> ExportedEvent:
        """The event as a sink gets it."""
        view = self._full if sink.content else self._lean
        if view is None:
            view = ExportedEvent(self._event, self._mask.header(self._header, lean=not sink.content), full=sink.content)
            if sink.content:
                self._full = view
            else:
                self._lean = view
        return view


def tell_the_end(item: Item, sinks: Sinks) -> list[tuple[Sink, Exception]]:
    """Hand the last event of a run, for which there was no time, to the sinks that need no waiting for: what they hold open, they close.

    Args:
        item: the last event.
        sinks: that have not got it.

    Returns:
        Those that raised, and what.
    """
    failed: list[tuple[Sink, Exception]] = []
    for sink in sinks:
        if sink.is_async:
            continue
        try:
            answer = sink.call(Views(item).of(sink), sink.state)
            if isinstance(answer, Coroutine):
                answer.close()
        except Exception as error:  # a sink only watches
            failed.append((sink, error))
    return failed
