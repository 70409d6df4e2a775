"""OpenTelemetry passes the checks of sinks, with an exporter that can fail and hang."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from agentfp.plugin import Plugin
from agentfp.testing import Fault, SeenEvent, SinkBackend, SinkConformance, SinkCounts
from agentfp_otel import Otel
from agentfp_otel.providers import CountedExport


class Exporter(SpanExporter):
    """Keeps spans, unless it has a fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.seen: list[SeenEvent] = []
        self._go_on = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.fault == "dead":
            raise ConnectionRefusedError
        if self.fault == "stuck":
            self._go_on.wait(120)
        for span in spans:
            run_id: Any = (span.attributes or {}).get("agentfp.run.id")
            self.seen.append(SeenEvent(span.to_json(), run_id))
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Nothing is open."""

    def heal(self) -> None:
        self.fault = "none"
        self._go_on.set()


class TestOtel(SinkConformance):
    faults = ("dead", "stuck")
    by_event = False
    bound = None  # that of the SDK's processor
    many = 5_000

    @contextmanager
    def backend(self, fault: Fault, folder: Path) -> Iterator[SinkBackend]:
        exporter = Exporter(fault)
        self.export = CountedExport(exporter, schedule_delay_millis=10)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(self.export)
        yield SinkBackend(partial(Otel, tracer_provider=provider, metrics=False, flush_seconds=1.0), lambda: exporter.seen, exporter.heal)
        exporter.heal()
        provider.shutdown()

    def counts(self, sink: Plugin) -> SinkCounts:
        counts = self.export.stats
        return SinkCounts(counts.ended, counts.exported, counts.failed + counts.dropped, counts.open)
