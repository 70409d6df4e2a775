"""The spans of the runs that one caller waits for: a run, and those nested in it."""

from __future__ import annotations

from opentelemetry.context import Context
from opentelemetry.trace import SpanContext

from agentfp.plugin import ExportedEvent
from agentfp_otel.kit import Kit
from agentfp_otel.run_spans import RunSpans
from agentfp_otel.spans import Maker, OpenSpan


class Tree:
    """The open spans of a run and of those nested in it.

    Args:
        kit: what spans are made with.
        caller: the context in which the run was called.
    """

    def __init__(self, kit: Kit, caller: Context) -> None:
        self._kit = kit
        self._maker = Maker(kit.tracer, kit.profiles)
        self._caller = caller
        self._runs: dict[str, RunSpans] = {}

    def handle(self, event: ExportedEvent) -> None:
        """Take an event in, in the order of the record.

        Raises:
            Exception: the tracer made or ended a span of it with an error; the others are as they should be.
        """
        run_id = event.header.run_id
        spans = self._runs.get(run_id)
        if spans is None:
            spans = self._runs[run_id] = RunSpans(self._kit, self._maker, self._parent(event), event, self._over)
        handler = spans.handlers.get(event.name)
        if handler is not None:
            handler(event)
        else:
            spans.note(event)
        failure = self._maker.failure
        if failure is not None:
            self._maker.failure = None
            raise failure

    def span_context(self, event: ExportedEvent) -> SpanContext | None:
        """The open span that an event belongs to."""
        spans = self._runs.get(event.header.run_id)
        return None if spans is None else spans.span_context(event)

    def _over(self, event: ExportedEvent) -> None:
        """A leg is over: those nested in it whose end never came are broken off."""
        path = event.header.path
        del self._runs[event.header.run_id]
        for nested in [other for other in self._runs.values() if other.header.path[: len(path)] == path]:
            nested.broken_off(event.ts_ns)

    def _parent(self, event: ExportedEvent) -> OpenSpan | Context:
        """By the record: the call that a nested run was made for."""
        header = event.header
        outer = self._runs.get(header.parent_run or "")
        if outer is None:
            return self._caller
        return outer.span_of_call(header.path[-1])
