"""Traces at a real receiver; backends that are down, slow, or make no sense delay no run and break none, and losses are counted."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from agentfp import Agent, ConfigError, DeliveryOptions, ToolContext, tool
from agentfp.testing import ScriptedModel, call
from agentfp_otel import Otel
from agentfp_otel.providers import CountedExport
from tests.observability.otel.receiver import receiver
from tests.observability.otel.tracing import Backend, attributes, check_whole, look

pytestmark = pytest.mark.anyio

SCRIPT: list[Any] = [call("look", x=1), call("look", x=2), "done"]


def traced(otel: Otel, script: list[Any] | None = None) -> Agent[Any, Any]:
    return Agent(ScriptedModel(SCRIPT if script is None else script), tools=[look], plugins=[otel])


async def test_twenty_runs_are_twenty_traces_at_a_receiver() -> None:
    with receiver() as received:
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{received.url}/v1/traces", compression=Compression.Gzip)))
        otel = Otel(tracer_provider=provider)
        agents = [traced(otel, [[call("look", x=n) for n in range(3)], "done"]) for _ in range(20)]
        async with anyio.create_task_group() as tasks:
            for made in agents:
                tasks.start_soon(made.run, "go")
        assert await otel.flush()
        await anyio.to_thread.run_sync(provider.shutdown)
        assert any(headers.get("Content-Encoding") == "gzip" for _, headers, _ in received.requests)
        by_trace: dict[bytes, list[Any]] = {}
        for span in received.spans():
            by_trace.setdefault(span.trace_id, []).append(span)
        assert len(by_trace) == 20
        for spans in by_trace.values():
            by_id = {span.span_id: span for span in spans}
            parents = {span.name: by_id[span.parent_span_id].name for span in spans if span.parent_span_id}
            assert [span.name for span in spans if not span.parent_span_id] == ["invoke_agent agent"]
            assert len(spans) == 8
            assert parents == {
                "iteration 1": "invoke_agent agent",
                "iteration 2": "invoke_agent agent",
                "chat script": "iteration 2",
                "execute_tool look": "iteration 1",
            }
            assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)


async def test_an_endpoint_is_all_that_is_needed() -> None:
    with receiver() as received:
        otel = Otel(
            endpoint=received.url,
            service_name="desk",
            resource={"deployment.environment.name": "test"},
            headers={"authorization": "Bearer k3y"},
            logs=True,
        )
        made = traced(otel)
        await made.run("go")
        await made.shutdown()
        assert otel.stats.exported == 9
        await otel.stop()
        assert {span.name for span in received.spans()} >= {"invoke_agent agent", "chat script", "execute_tool look"}
        assert "gen_ai.client.inference.duration" in received.metric_names()
        assert "agentfp.agent.route_decided" in received.log_names()
        assert {headers["authorization"] for _, headers, _ in received.requests} == {"Bearer k3y"}
        (_, _, request), *_ = [found for found in received.requests if found[0] == "/v1/traces"]
        resource = {pair.key: pair.value.string_value for pair in request.resource_spans[0].resource.attributes}
        assert resource["service.name"] == "desk"
        assert resource["deployment.environment.name"] == "test"
        assert otel.stats.open == otel.stats.failed == 0
        assert otel.stats.exported == otel.stats.ended == 9
    assert "k3y" not in repr(otel.settings)


def test_an_endpoint_without_the_sdk_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "agentfp_otel.providers", None)
    with pytest.raises(ConfigError, match=r"agentfp-otel\[otlp\]"):
        Otel(endpoint="http://localhost:4318")


class Slow(SpanExporter):
    """Takes its time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.released = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.released.wait(self.seconds)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.released.set()


class Raising(SpanExporter):
    """Raises."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise OSError("the backend is away")

    def shutdown(self) -> None:
        pass


class Nonsense(SpanExporter):
    """Answers something that is no answer."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return "yes"  # type: ignore[return-value]

    def shutdown(self) -> None:
        pass


async def test_a_slow_backend_holds_no_run_up_and_flush_gives_up_in_time() -> None:
    slow = Slow(30)
    counted = CountedExport(slow, schedule_delay_millis=10, max_export_batch_size=2)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(counted)
    otel = Otel(tracer_provider=provider, flush_seconds=0.1)
    result = await traced(otel).run("go")
    assert result.text == "done"
    assert not result.plugin_failures
    assert counted.stats.exported == 0
    with anyio.fail_after(10):
        assert not await otel.flush()
    slow.released.set()
    await anyio.to_thread.run_sync(provider.shutdown)
    assert counted.stats.exported == 9


async def test_spans_beyond_the_queue_are_dropped_and_counted() -> None:
    slow = Slow(30)
    counted = CountedExport(slow, schedule_delay_millis=10, max_queue_size=4, max_export_batch_size=2)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(counted)
    for _ in range(3):
        await traced(Otel(tracer_provider=provider)).run("go")
    slow.released.set()
    await anyio.to_thread.run_sync(provider.shutdown)
    counts = counted.stats
    assert (counts.ended, counts.failed, counts.open) == (27, 0, 0)
    assert 0 < counts.exported < 7  # two in the exporter's hands, four that waited
    assert counts.exported + counts.dropped == 27


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
async def test_a_size_in_the_environment_that_is_none_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", value)
    with pytest.raises(ConfigError, match=f"OTEL_BSP_MAX_QUEUE_SIZE='{value}'; it must be a whole number above 0"):
        CountedExport(Nonsense())


async def test_sizes_come_from_the_environment_as_those_of_the_sdk_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    slow = Slow(30)
    counted = CountedExport(slow)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(counted)
    await traced(Otel(tracer_provider=provider)).run("go")
    slow.released.set()
    await anyio.to_thread.run_sync(provider.shutdown)
    assert counted.stats.dropped >= 3


@pytest.mark.parametrize("exporter", [Raising(), Nonsense()])
async def test_a_backend_that_fails_breaks_no_run_and_is_counted(exporter: SpanExporter) -> None:
    counted = CountedExport(exporter)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(counted)
    otel = Otel(tracer_provider=provider)
    result = await traced(otel).run("go")
    assert result.text == "done"
    assert not result.plugin_failures
    await otel.flush()
    assert (counted.stats.failed, counted.stats.exported) == (9, 0)
    await anyio.to_thread.run_sync(provider.shutdown)


@pytest.mark.parametrize("what", ["down", "refusing", "babbling"])
async def test_an_endpoint_that_is_no_help_breaks_no_run(what: str, caplog: pytest.LogCaptureFixture) -> None:
    with receiver() as received:
        received.status, received.body = {"down": (200, b""), "refusing": (400, b"no"), "babbling": (418, b"\xff\xfe{{{")}[what]
        url = received.url
        if what == "down":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                url = f"http://127.0.0.1:{free.getsockname()[1]}"
        otel = Otel(endpoint=url, flush_seconds=0.2, metrics=False)
        made = traced(otel)
        result = await made.run("go")
        assert result.text == "done"
        assert not result.plugin_failures
        with anyio.fail_after(10):
            await made.shutdown()
        assert otel.stats.exported == 0
        assert "of 9 spans" in caplog.text
        with anyio.fail_after(10):
            await otel.stop()
    assert otel.stats.failed + otel.stats.open == otel.stats.ended == 9


class Odd:
    """A tracer provider whose tracer raises."""

    def get_tracer(self, *_: Any, **__: Any) -> Any:
        return self

    def start_span(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no spans today")


async def test_a_tracer_that_raises_is_counted_on_the_result() -> None:
    result = await traced(Otel(tracer_provider=Odd(), metrics=False)).run("go")
    assert result.text == "done"
    assert result.plugin_failures["otel"] > 0


class Refusing(SpanProcessor):
    """A processor that raises on some spans."""

    def __init__(self, moment: str, name: str) -> None:
        self._moment = moment
        self._name = name

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        self._see("start", span.name)

    def on_end(self, span: ReadableSpan) -> None:
        self._see("end", span.name)

    def _see(self, moment: str, name: str) -> None:
        if moment == self._moment and name.startswith(self._name):
            raise RuntimeError("not this one")


@pytest.mark.parametrize("name", ["invoke_agent", "iteration", "chat", "execute_tool", ""])
@pytest.mark.parametrize("moment", ["start", "end"])
async def test_a_processor_that_raises_costs_no_other_span(moment: str, name: str, caplog: pytest.LogCaptureFixture) -> None:
    backend = Backend(metrics=False)
    backend.tracing.add_span_processor(Refusing(moment, name))
    result = await traced(backend.otel).run("go")
    assert result.text == "done"
    assert result.plugin_failures["otel"] > 0
    whole = ["chat script"] * 3 + ["execute_tool look"] * 2 + ["invoke_agent agent", "iteration 1", "iteration 2", "iteration 3"]
    there = whole if moment == "end" else [span for span in whole if not span.startswith(name)]
    assert sorted(span.name for span in backend.spans) == there
    assert "ended span" not in caplog.text
    ids = {span.context.span_id: span for span in backend.spans if span.context}
    if moment == "start" and name == "iteration":
        assert {ids[span.parent.span_id].name for span in backend.spans if span.parent} == {"invoke_agent agent"}


async def test_without_any_provider_nothing_happens() -> None:
    otel = Otel()
    result = await traced(otel).run("go")
    assert result.text == "done"
    assert not result.plugin_failures
    assert await otel.flush()
    assert otel.stats is None


async def test_agents_share_a_plugin_and_one_that_is_shut_down_leaves_the_others_alone() -> None:
    with receiver() as received:
        otel = Otel(endpoint=received.url, metrics=False)
        first, second = traced(otel), traced(otel)
        await first.run("go")
        await first.shutdown()
        await second.run("go")
        await first.run("go on", model=ScriptedModel(["still here"]))
        await second.shutdown()
        assert len({span.trace_id for span in received.spans()}) == 3
        await otel.stop()


async def test_a_burst_that_a_runs_queue_cannot_hold_is_counted_on_the_trace_and_leaves_no_span_open() -> None:
    @tool
    async def shout(ctx: ToolContext[Any]) -> str:
        """Shout."""
        for n in range(500):
            ctx.emit("acme.shouted.loud", n)
        return "done"

    backend = Backend()
    made = Agent(ScriptedModel([call("shout"), "done"]), tools=[shout], plugins=[backend.otel], delivery=DeliveryOptions(max_queue=50))
    result = await made.run("go")
    assert result.deliveries is not None
    assert result.deliveries.dropped >= 400
    root = attributes(backend.one("invoke_agent"))
    told = root["agentfp.export.dropped"]
    assert told in (result.deliveries.dropped, result.deliveries.dropped - 1)  # the last event may have pushed one more out
    assert backend.metrics()["agentfp.export.dropped"][0].value == told
    check_whole(backend.spans)


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)


async def test_a_process_that_goes_on_for_long_sends_without_being_asked() -> None:
    with receiver() as received:
        provider = TracerProvider(shutdown_on_exit=False)
        exporter = OTLPSpanExporter(f"{received.url}/v1/traces")
        provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=20))
        await traced(Otel(tracer_provider=provider)).run("go")
        await anyio.to_thread.run_sync(_wait_for, lambda: len(received.spans()) == 9)
        assert len(received.spans()) == 9
        await anyio.to_thread.run_sync(provider.shutdown)
