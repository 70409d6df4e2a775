"""What sinks cost the loop's own thread an iteration, and a million events through each queue against a backend that is slow.

`python -m benchmarks.sinks [--quick] [--json PATH]`. Backends are in this process: clients that only count, files in a temporary folder.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult

from agentfp.plugin import Plugin
from agentfp.testing import SinkCounts
from agentfp_agentcore import AgentCore
from agentfp_audit import Audit
from agentfp_audit.log import AuditLog
from agentfp_cloudwatch import CloudWatch
from agentfp_console import EventFile, EventLog
from agentfp_console.event_file import LineFile
from agentfp_core.testing.conformance.sink_backends import counts_of
from agentfp_core.testing.conformance.sink_runs import EndlessRun
from agentfp_otel import Otel
from agentfp_otel.providers import CountedExport
from agentfp_recording import Recording
from agentfp_recording.output import Output
from agentfp_trust import Trust
from agentfp_xray import XRay
from benchmarks.harness import machine, options, pin_to_one_core, publish, table
from benchmarks.otel.exporting import Counting
from benchmarks.recording import IdleSink
from benchmarks.turns import OwnTurn

ITERATIONS = 200
CALLS = 5
"""Iterations of a run, and runs of a measurement."""


class Client:
    """In the place of a client of boto3.

    Args:
        seconds: that each call takes.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.taken = 0

    def put_log_events(self, **arguments: Any) -> dict[str, Any]:
        time.sleep(self.seconds)
        self.taken += len(arguments["logEvents"])
        return {}

    def put_trace_segments(self, **arguments: Any) -> dict[str, Any]:
        time.sleep(self.seconds)
        self.taken += len(arguments["TraceSegmentDocuments"])
        return {}


class SlowHandler(logging.Handler):
    """Takes its time for each line."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def emit(self, record: logging.LogRecord) -> None:
        time.sleep(self.seconds)


def _logger(seconds: float) -> logging.Logger:
    logger = logging.Logger("benchmarks.sinks", logging.DEBUG)  # noqa: LOG001 - of its own, under no other
    logger.addHandler(SlowHandler(seconds) if seconds else logging.NullHandler())
    return logger


def _tracing() -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Counting(), max_queue_size=100_000))
    return provider


def makers(folder: Path) -> dict[str, Callable[[], Plugin]]:
    """Each sink, with a backend that takes everything at once."""
    return {
        "idle": IdleSink,
        "event_file": lambda: EventFile(path=folder / "events.jsonl"),
        "event_log": lambda: EventLog(logger=_logger(0)),
        "audit": lambda: Audit(path=folder / "audit.jsonl"),
        "recording": lambda: Recording(folder=folder / "recordings", detail="lean"),
        "trust": Trust,
        "otel": lambda: Otel(tracer_provider=_tracing(), metrics=False),
        "cloudwatch": lambda: CloudWatch(log_group="g", client=Client()),
        "xray": lambda: XRay(client=Client()),
        "agentcore": lambda: AgentCore(log_group="g", client=Client(), strict=False, tracer_provider=_tracing()),
    }


class WatchedTurn(OwnTurn):
    """A turn with sinks."""

    def __init__(self, *sinks: Plugin) -> None:
        super().__init__(plugins=0)
        self._sinks = sinks

    def agent(self, iterations: int) -> Any:
        from agentfp import Agent, Limits
        from benchmarks.turns import CountingModel

        if iterations not in self._agents:
            limits = Limits(iterations=iterations + 2, hard_cap=iterations + 2)
            model = CountingModel(iterations)
            self._agents[iterations] = Agent(model, tools=[self._tool], plugins=list(self._sinks), limits=limits)
        return self._agents[iterations]


async def loop_cost(*sinks: Plugin, passes: int) -> float:
    """Microseconds of the loop's own thread for an iteration: the median of the passes."""
    turn = WatchedTurn(*sinks)
    await turn.run(ITERATIONS)
    costs = []
    for _ in range(passes):
        begun = time.thread_time_ns()
        for _ in range(CALLS):
            await turn.run(ITERATIONS)
        costs.append((time.thread_time_ns() - begun) / 1000 / ITERATIONS / CALLS)
        await asyncio.sleep(0.2)  # for the threads of the sinks
    await turn.agent(ITERATIONS).shutdown()
    return statistics.median(costs)


async def loop_costs(passes: int) -> dict[str, float]:
    """The cost of each sink and of all at once, over a run without any."""
    with tempfile.TemporaryDirectory() as name:
        made = makers(Path(name))
        base = await loop_cost(passes=passes)
        found = {"none": base}
        for what, make in made.items():
            found[what] = await loop_cost(make(), passes=passes) - base
        together = [make() for what, make in made.items() if what not in ("idle", "agentcore")]
        found["all but agentcore"] = await loop_cost(*together, passes=passes) - base
    return found


Counts = Callable[[Any], SinkCounts]


def _slow(kind: type, method: str, seconds: float) -> None:
    """Have a method take its time, as on a disk that is slow."""
    real: Any = getattr(kind, method)

    def slow(*arguments: Any, **named: Any) -> Any:
        time.sleep(seconds)
        return real(*arguments, **named)

    setattr(kind, method, slow)


def _worker(sink: Any) -> SinkCounts:
    return counts_of(sink.stats)


def _written(sink: Any) -> SinkCounts:
    stats = sink.stats
    return SinkCounts(stats.accepted, stats.written, stats.dropped, stats.waiting)


def _kept(sink: Any) -> SinkCounts:
    counters = sink.counters
    return SinkCounts(counters.observed, counters.retained, counters.evicted + counters.invalid + counters.oversized, counters.pending)


def _traced() -> tuple[Plugin, Counts]:
    """Tracing to an exporter that takes its time for each batch, behind the SDK's own queue."""
    export = CountedExport(SlowExporter(0.05))
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(export)

    def counts(_: Any) -> SinkCounts:
        stats = export.stats
        return SinkCounts(stats.ended, stats.exported, stats.failed + stats.dropped, stats.open)

    return Otel(tracer_provider=provider, metrics=False, flush_seconds=0.1), counts


class SlowExporter(Counting):
    """Takes its time for each batch."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        time.sleep(self.seconds)
        return super().export(spans)


def slow_sinks(folder: Path) -> dict[str, Callable[[], tuple[Plugin, Counts]]]:
    """Sinks whose backends take their time, and what gives their counts."""
    agentcore: dict[str, Any] = {"log_group": "g", "strict": False, "flush_seconds": 0.1}
    return {
        "event_file": lambda: (EventFile(path=folder / "events.jsonl", batch_seconds=0.05, flush_seconds=0.1), _worker),
        "event_log": lambda: (EventLog(logger=_logger(0.001), flush_seconds=0.1), _worker),
        "audit": lambda: (Audit(path=folder / "audit.jsonl", wait_seconds=0.1), _written),
        "recording": lambda: (Recording(folder=folder / "recordings", wait_seconds=0.1), _written),
        "trust": lambda: (Trust(), _kept),
        "otel": _traced,
        "cloudwatch": lambda: (CloudWatch(log_group="g", client=Client(0.05), flush_seconds=0.1), _worker),
        "xray": lambda: (XRay(client=Client(0.05), flush_seconds=0.1), _worker),
        "agentcore": lambda: (AgentCore(**agentcore, client=Client(0.05), tracer_provider=TracerProvider()), _worker),
    }


async def flood(sink: Plugin, counts: Counts, events: int) -> dict[str, float]:
    """Hand events over without a pause, and see what that costs."""
    run = await EndlessRun.to(sink)
    await run.feed(events // 20)
    before, begun = _rss_mib(), time.thread_time_ns()
    lags: list[float] = []
    over = asyncio.Event()

    async def beat() -> None:
        while not over.is_set():
            at = time.perf_counter()
            await asyncio.sleep(0.001)
            lags.append(time.perf_counter() - at - 0.001)

    beating = asyncio.create_task(beat())
    fed = await run.feed(events)
    cost = (time.thread_time_ns() - begun) / 1000 / events
    grown = _rss_mib() - before
    over.set()
    await beating
    found = counts(sink)
    return {
        "fed": fed,
        "accepted": found.accepted,
        "delivered": found.delivered,
        "lost": found.lost,
        "waiting": found.waiting,
        "not_counted": found.accepted - found.delivered - found.lost - found.waiting,
        "us_per_event": cost,
        "grown_mib": grown,
        "median_lag_ms": statistics.median(lags) * 1000,
    }


def _rss_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


async def floods(events: int) -> dict[str, dict[str, float]]:
    """Each sink, one after the other, on a disk that is slow."""
    for kind, method in ((LineFile, "write"), (AuditLog, "write"), (Output, "_append")):
        _slow(kind, method, 0.05)
    found = {}
    with tempfile.TemporaryDirectory() as name:
        for what, make in slow_sinks(Path(name)).items():
            found[what] = await flood(*make(), events)
    return found


def main() -> None:
    chosen = options(__doc__ or "")
    core = pin_to_one_core()
    costs = asyncio.run(loop_costs(2 if chosen.quick else 7))
    flooded = asyncio.run(floods(20_000 if chosen.quick else 1_000_000))
    text = table(
        "An iteration with one tool call: microseconds of the loop's own thread",
        ["sink", "us/iteration"],
        [["none", costs["none"]], *[[f"+ {what}", cost] for what, cost in costs.items() if what != "none"]],
    )
    text += "\n" + table(
        "A slow backend",
        ["sink", *next(iter(flooded.values()))],
        [[what, *found.values()] for what, found in flooded.items()],
    )
    publish(chosen, {"machine": machine(core), "loop": costs, "slow": flooded, "threads": threading.active_count()}, text)


if __name__ == "__main__":
    main()
