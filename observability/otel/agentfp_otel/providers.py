"""Providers of the plugin's own, for an endpoint: they send over OTLP in the background, and count what becomes of the spans."""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from agentfp_otel.settings import OtelSettings


@dataclass(frozen=True)
class SpanCounts:
    """What became of spans.

    Args:
        ended: spans that were handed over.
        exported: that the backend took.
        failed: of which it, or the way there, said no.
    """

    ended: int
    exported: int
    failed: int

    @property
    def open(self) -> int:
        """Spans that wait; after a flush, those that were dropped because too many waited."""
        return self.ended - self.exported - self.failed


class CountedExport(SpanProcessor):
    """A processor that exports in batches in the background, and counts. For any exporter.

    Args:
        exporter: sends the spans.
        **batching: arguments of ``BatchSpanProcessor``.
    """

    def __init__(self, exporter: SpanExporter, **batching: Any) -> None:
        self._lock = threading.Lock()
        self._ended = self._exported = self._failed = 0
        self._batches = BatchSpanProcessor(_Counting(exporter, self._count), **batching)

    @property
    def stats(self) -> SpanCounts:
        """The counts so far."""
        with self._lock:
            return SpanCounts(self._ended, self._exported, self._failed)

    def on_end(self, span: ReadableSpan) -> None:
        """A span ended."""
        if span.context is not None and span.context.trace_flags.sampled:
            with self._lock:
                self._ended += 1
        self._batches.on_end(span)

    def shutdown(self) -> None:
        """Send what waits, and stop."""
        self._batches.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Send what waits."""
        return self._batches.force_flush(timeout_millis)

    def _count(self, exported: int, failed: int) -> None:
        with self._lock:
            self._exported += exported
            self._failed += failed


class _Counting(SpanExporter):
    """Counts what an exporter says; one that raises or answers something else has failed."""

    def __init__(self, exporter: SpanExporter, count: Any) -> None:
        self._exporter = exporter
        self._count = count

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export(spans)
        except Exception:
            self._count(0, len(spans))
            raise
        done = result is SpanExportResult.SUCCESS
        self._count(len(spans) if done else 0, 0 if done else len(spans))
        return result if isinstance(result, SpanExportResult) else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


class Providers:
    """The providers for one endpoint.

    Args:
        settings: of the plugin.
    """

    def __init__(self, settings: OtelSettings) -> None:
        base = (settings.endpoint or "").rstrip("/").removesuffix("/v1/traces")
        headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
        resource = Resource.create({"service.name": settings.service_name, **settings.resource})
        seconds = self._seconds = settings.flush_seconds
        self.spans = CountedExport(OTLPSpanExporter(f"{base}/v1/traces", headers=headers, timeout=seconds))
        self.tracer_provider = TracerProvider(resource=resource, shutdown_on_exit=True)
        self.tracer_provider.add_span_processor(self.spans)
        self.meter_provider: MeterProvider | None = None
        if settings.metrics:
            exporter = OTLPMetricExporter(f"{base}/v1/metrics", headers=headers, timeout=seconds)
            # Its own way to end waits for an endpoint that is away for half a minute.
            self.meter_provider = MeterProvider([PeriodicExportingMetricReader(exporter)], resource, shutdown_on_exit=False)
            atexit.register(self.stop_metrics, seconds)
        self.logger_provider: Any = None
        if settings.logs:
            self.logger_provider = _logger_provider(f"{base}/v1/logs", headers, resource, seconds)

    def stop_metrics(self, seconds: float) -> None:
        """Send the metrics that wait, and no more after that.

        Args:
            seconds: how long it may take.
        """
        atexit.unregister(self.stop_metrics)
        if self.meter_provider is not None:
            with contextlib.suppress(Exception):  # told by the exporter's own log
                self.meter_provider.shutdown(timeout_millis=seconds * 1000)

    @property
    def stops(self) -> tuple[Any, ...]:
        """What stops each of them."""
        others = [made.shutdown for made in (self.tracer_provider, self.logger_provider) if made is not None]
        return (lambda: self.stop_metrics(self._seconds), *others)

    @property
    def all(self) -> tuple[Any, ...]:
        """Those that there are."""
        return tuple([made for made in (self.tracer_provider, self.meter_provider, self.logger_provider) if made is not None])


def _logger_provider(endpoint: str, headers: dict[str, str], resource: Resource, seconds: float) -> Any:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    provider = LoggerProvider(resource)
    provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(endpoint, headers=headers, timeout=seconds)))
    return provider
