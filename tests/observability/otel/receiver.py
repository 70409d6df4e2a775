"""A receiver of OTLP over HTTP on the loopback address: takes what any exporter sends, and answers as it is told."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

KINDS: dict[str, Any] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
}


@dataclass
class Received:
    """What came.

    Args:
        url: where the receiver listens.
        status: what it answers.
        delay: seconds before it does.
        body: with what.
    """

    url: str
    status: int = 200
    delay: float = 0.0
    body: bytes = b""
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)

    def spans(self) -> list[Any]:
        """The spans, decoded."""
        return [
            span
            for path, _, request in self.requests
            if path == "/v1/traces"
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def metric_names(self) -> set[str]:
        """The names of the metrics."""
        return {
            metric.name
            for path, _, request in self.requests
            if path == "/v1/metrics"
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def log_names(self) -> set[str]:
        """The event names of the log records."""
        return {
            record.event_name
            for path, _, request in self.requests
            if path == "/v1/logs"
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        }


@contextmanager
def receiver() -> Iterator[Received]:
    """Listen while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            time.sleep(received.delay)
            if received.status == 200:
                received.requests.append((self.path, dict(self.headers), KINDS[self.path].FromString(body)))
            try:
                self.send_response(received.status)
                self.send_header("Content-Length", str(len(received.body)))
                self.end_headers()
                self.wfile.write(received.body)
            except OSError:  # the exporter went away
                pass

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received = Received(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
