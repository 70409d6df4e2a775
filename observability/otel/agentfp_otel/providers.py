"""Providers of the plugin's own, for an endpoint: they send over OTLP in the background, and count what becomes of the spans."""

from __future__ import annotations

import atexit
import contextlib
import os
from dataclasses import dataclass
from typing import Any

from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, attach, detach, set_value
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from agentfp.plugin import BackgroundWorker, ConfigError
from agentfp_otel.settings import OtelSettings


@dataclass(frozen=True)
class SpanCounts:
    """What became of spans: ``ended`` is the sum of the others and of ``open``, at every moment.

    Args:
        ended: spans that were handed over.
        exported: that the backend took.
        failed: of which it, or the way there, said no.
        dropped: given up because too many waited.
    """

    ended: int
    exported: int
    failed: int
    dropped: int = 0

    @property
    def open(self) -> int:
        """Spans that wait."""
        return self.ended - self.exported - self.failed - self.dropped


class CountedExport(SpanProcessor):
    """A processor that exports in batches in the background, and counts each span. For any exporter.

    It stands in the place of the SDK's ``BatchSpanProcessor``, which does not say how many spans it dropped. A size that is not given is as
    the same variable of the environment says: ``OTEL_BSP_MAX_QUEUE_SIZE``, ``OTEL_BSP_MAX_EXPORT_BATCH_SIZE``, ``OTEL_BSP_SCHEDULE_DELAY``.

    Args:
        exporter: sends the spans.
        max_queue_size: spans that may wait (2,048); beyond it the oldest is dropped and counted.
        max_export_batch_size: the most spans of one export (512).
        schedule_delay_millis: how long the first span of a batch waits for others, in milliseconds (5,000).

    Raises:
        ConfigError: a variable of the environment is no whole number above 0.
    """

    def __init__(
        self,
        exporter: SpanExporter,
        *,
        max_queue_size: int | None = None,
        max_export_batch_size: int | None = None,
        schedule_delay_millis: int | None = None,
    ) -> None:
        self._exporter = exporter
        self._worker: BackgroundWorker[ReadableSpan] = BackgroundWorker(
            self._export,
            "otel",
            capacity=max_queue_size or _from_environment("OTEL_BSP_MAX_QUEUE_SIZE", 2048),
            batch=max_export_batch_size or _from_environment("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
            seconds=(schedule_delay_millis or _from_environment("OTEL_BSP_SCHEDULE_DELAY", 5000)) / 1000,
        )
        self._stopped = False

    @property
    def stats(self) -> SpanCounts:
        """The counts so far."""
        stats = self._worker.stats
        return SpanCounts(stats.accepted, stats.done, stats.failed, stats.dropped)

    def on_end(self, span: ReadableSpan) -> None:
        """A span ended."""
        if span.context is not None and span.context.trace_flags.sampled and not self._stopped:
            self._worker.put(span)

    def shutdown(self) -> None:
        """Send what waits, for half a minute at most, and stop."""
        self._stopped = True
        self._worker.close(30)
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Send what waits, for so long at most; gives whether all of it is settled."""
        return self._worker.flush(timeout_millis / 1000)

    def _export(self, spans: list[ReadableSpan], _: int) -> int:
        """On the worker's thread; gives how many were refused."""
        token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))  # the request that sends spans is to make none itself
        try:
            return 0 if self._exporter.export(spans) is SpanExportResult.SUCCESS else len(spans)
        finally:
            detach(token)


def _from_environment(name: str, default: int) -> int:
    given = os.environ.get(name, "").strip()
    if given and not (given.isdecimal() and int(given)):
        raise ConfigError(f"the environment has {name}={given!r}; it must be a whole number above 0")
    return int(given or default)


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
