"""What the tests of tracing share: providers that keep what they get, and questions about trees of spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from agentfp import Agent, tool
from agentfp.testing import ScriptedModel, call
from agentfp_otel import Otel


class Kept(SpanExporter):
    """Keeps spans, and knows their order."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans.extend(spans)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


class Backend:
    """The SDK's providers in memory, and a plugin that writes to them.

    Args:
        **settings: of the plugin.
    """

    def __init__(self, **settings: Any) -> None:
        self.kept = Kept()
        self.tracing = TracerProvider(shutdown_on_exit=False)
        self.tracing.add_span_processor(SimpleSpanProcessor(self.kept))
        self.reader = InMemoryMetricReader()
        self.metering = MeterProvider([self.reader], shutdown_on_exit=False)
        self.log_exporter: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        self.logging = LoggerProvider(shutdown_on_exit=False)
        self.logging.add_log_record_processor(SimpleLogRecordProcessor(self.log_exporter))
        self.otel = Otel(tracer_provider=self.tracing, meter_provider=self.metering, logger_provider=self.logging, **settings)

    @property
    def spans(self) -> list[ReadableSpan]:
        """All spans that ended, by when they began."""
        return sorted(self.kept.spans, key=lambda span: (span.start_time or 0, span.end_time or 0))

    def named(self, prefix: str) -> list[ReadableSpan]:
        """The spans whose names begin so."""
        return [span for span in self.spans if span.name.startswith(prefix)]

    def one(self, prefix: str) -> ReadableSpan:
        """The one span whose name begins so."""
        (found,) = self.named(prefix)
        return found

    def metrics(self) -> dict[str, list[Any]]:
        """The data points of each metric."""
        data = self.reader.get_metrics_data()
        points: dict[str, list[Any]] = {}
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    points.setdefault(metric.name, []).extend(metric.data.data_points)
        return points

    def logs(self) -> list[Any]:
        """The log records."""
        return [data.log_record for data in self.log_exporter.get_finished_logs()]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """The attributes of a span."""
    return dict(span.attributes or {})


def events(span: ReadableSpan) -> dict[str, dict[str, Any]]:
    """The span events of a span, the last of each name."""
    return {event.name: dict(event.attributes or {}) for event in span.events}


def span_id(span: ReadableSpan) -> int:
    """The id of a span."""
    assert span.context is not None
    return int(span.context.span_id)


def trace_id(span: ReadableSpan) -> int:
    """The id of a span's trace."""
    assert span.context is not None
    return int(span.context.trace_id)


def tree(spans: Sequence[ReadableSpan]) -> list[Any]:
    """Spans as nested lists of names: ``[name, child, child, ...]``, by when they began; one for each root."""
    by_id = {span_id(span): span for span in spans}
    below: dict[int | None, list[ReadableSpan]] = {}
    for span in sorted(spans, key=lambda s: (s.start_time or 0, -(s.end_time or 0))):
        parent = span.parent.span_id if span.parent is not None and span.parent.span_id in by_id else None
        below.setdefault(parent, []).append(span)

    def made(span: ReadableSpan) -> list[Any]:
        return [span.name, *[made(child) for child in below.get(span_id(span), [])]]

    return [made(root) for root in below.get(None, [])]


def check_whole(spans: Sequence[ReadableSpan]) -> None:
    """Every span has ended, after it began and within its parent, which is there."""
    by_id = {span_id(span): span for span in spans}
    for span in spans:
        assert span.end_time is not None
        assert span.start_time is not None
        assert span.start_time <= span.end_time, span.name
        if span.parent is not None and not span.parent.is_remote and span.parent.span_id in by_id:
            parent = by_id[span.parent.span_id]
            assert trace_id(parent) == trace_id(span)
            assert (parent.start_time or 0) <= span.start_time, span.name
            assert span.end_time <= (parent.end_time or 0), span.name


@tool
async def look(x: int) -> str:
    """Look at x."""
    return f"seen {x}"


def agent(backend: Backend, *script: Any, tools: Any = (look,), **settings: Any) -> Agent[Any, Any]:
    """An agent on a script, traced to a backend."""
    plugins = [*settings.pop("plugins", ()), backend.otel]
    return Agent(ScriptedModel(list(script)), tools=list(tools), plugins=plugins, **settings)


def texts(value: Any) -> Iterator[str]:
    """All texts in nested data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(key)
            yield from texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts(item)


__all__ = ["Backend", "Kept", "agent", "attributes", "call", "check_whole", "events", "look", "span_id", "texts", "trace_id", "tree"]
