"""The SDK's provider for subjects that trace over OpenTelemetry: batches in the background, to an exporter that only counts."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult


class Counting(SpanExporter):
    """Counts spans and throws them away."""

    def __init__(self) -> None:
        self.spans = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += len(spans)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


def provider() -> tuple[TracerProvider, Counting]:
    """A provider, and what counts its spans. The queue is long enough for a whole measurement, so that nothing is dropped unsent."""
    exporter = Counting()
    made = TracerProvider()
    made.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=100_000))
    return made, exporter
