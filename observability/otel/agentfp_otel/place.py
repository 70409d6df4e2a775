"""Where things of a run hang: its root, the iteration it is in, and the notes that events leave on spans."""

from __future__ import annotations

from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import Link

from agentfp.plugin import ExportedEvent
from agentfp_otel.kit import Kit
from agentfp_otel.notes import attributes_of
from agentfp_otel.spans import Maker, OpenSpan


class Place:
    """The root and the iteration of one leg.

    Args:
        kit: what spans are made with.
        maker: makes them.
        parent: what the root hangs from.
        name: of the root.
        start_ns: when the leg began.
        attributes: that the root begins with.
        links: other spans that the root has to do with.
    """

    def __init__(
        self,
        kit: Kit,
        maker: Maker,
        parent: OpenSpan | Context,
        name: str,
        start_ns: int,
        attributes: dict[str, Any],
        links: tuple[Link, ...],
    ) -> None:
        self.kit = kit
        self._maker = maker
        self.root = OpenSpan(maker, parent, "agent", name, start_ns, attributes, links=links)
        self._iteration: OpenSpan | None = None
        self._ended_ns = 0
        self._newest = 0
        self.over = False

    def open(
        self, event: ExportedEvent, kind: str, name: str, start_ns: int, attributes: dict[str, Any], *, client: bool = False
    ) -> OpenSpan:
        """A span where an event belongs."""
        parent = self.of(event)
        begun_ns = max(start_ns, parent.start_ns)  # one that is reckoned back from a duration, in milliseconds, may be too early
        return OpenSpan(self._maker, parent, kind, name, begun_ns, attributes, client=client)

    def of(self, event: ExportedEvent) -> OpenSpan:
        """The iteration of an event, which a leg that goes on after a pause is in the middle of; else the root."""
        if self._iteration is None and event.iteration > self._newest and self.kit.iterations and not self.over:
            self.begin(event, resumed=True)
        return self._iteration or self.root

    @property
    def current(self) -> OpenSpan:
        """The iteration that goes on; else the root."""
        return self._iteration or self.root

    def begin(self, event: ExportedEvent, *, resumed: bool = False) -> None:
        """An iteration begins."""
        if self._iteration is not None:
            self._iteration.end(self._ended_ns or event.ts_ns)
        attributes: dict[str, Any] = {"agentfp.iteration.index": event.iteration}
        if resumed:
            attributes["agentfp.iteration.resumed"] = True
        name = self.kit.names.iteration(event.iteration)
        self._iteration = OpenSpan(self._maker, self.root, "iteration", name, event.ts_ns, attributes)
        self._ended_ns = 0
        self._newest = event.iteration

    def end(self, ts_ns: int, calls: int, *, settled: bool) -> None:
        """The iteration is over; one whose model call has not ended stays open until it is known how that went."""
        if self._iteration is None:
            return
        self._iteration.attributes["agentfp.tool_call.count"] = calls
        self._ended_ns = ts_ns
        if settled:
            self._iteration.end(ts_ns)
            self._iteration = None

    def break_off(self, ts_ns: int, error: str | None, *, cancelled: bool) -> int:
        """The leg ends in the middle of an iteration; gives when that ended."""
        ended_ns = self._ended_ns or ts_ns
        if self._iteration is not None:
            if cancelled:
                self._iteration.attributes["agentfp.cancelled"] = True
            self._iteration.end(ended_ns, error)
            self._iteration = None
        return ended_ns

    @property
    def broken_ns(self) -> int:
        """When an iteration ended that is still open; 0 for none."""
        return self._ended_ns if self._iteration is not None else 0

    def note(self, event: ExportedEvent, span: OpenSpan) -> None:
        """Leave an event on a span, and in the log."""
        kit = self.kit
        if not kit.explain and kit.logs is None:
            return
        attributes = attributes_of(event.data)
        if kit.explain:
            span.note(event.name, event.ts_ns, attributes)
        if kit.logs is not None:
            kit.logs.write(event.name, event.ts_ns, attributes, span.context)
