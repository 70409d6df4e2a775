"""The plugin: hands each event of a run to the run's tree of spans, and waits for backends no longer than it is told."""

from __future__ import annotations

import logging
import threading
from typing import Any

import anyio
import anyio.to_thread
from opentelemetry import metrics, trace
from opentelemetry._logs import get_logger, get_logger_provider
from opentelemetry.context import get_current
from opentelemetry.trace import SpanContext

from agentfp.plugin import ConfigError, ExportedEvent, MemoSource, Plugin, Record, SegmentHeader, hookimpl, record_of
from agentfp_otel.kit import Kit, Pauses
from agentfp_otel.logs import Logs
from agentfp_otel.meters import Meters
from agentfp_otel.names import SpanNames, conventions
from agentfp_otel.notes import wanted
from agentfp_otel.profiles import Profiles
from agentfp_otel.settings import OtelSettings
from agentfp_otel.tree import Tree

SCOPE = "agentfp"
LOGGER = logging.getLogger("agentfp.otel")


class Otel(Plugin):
    """Traces, metrics and logs over OpenTelemetry, under its conventions for generative AI."""

    name = "otel"
    version = "0.1.0"
    exports_in_thread = True

    class Settings(OtelSettings):
        """Settings of the OpenTelemetry plugin."""

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        self._lock = threading.Lock()
        self._made: Kit | None = None
        self._own = _providers(self.settings) if self.settings.endpoint is not None else None
        self._pauses = Pauses()

    @property
    def stats(self) -> Any:
        """What became of the spans that went to ``endpoint``; None without one. See :class:`agentfp_otel.providers.SpanCounts`."""
        return None if self._own is None else self._own.spans.stats

    # --- events -------------------------------------------------------------------------------------------------------------

    def exports(self, name: str) -> bool:
        """Whether anything comes of events of a name."""
        settings = self.settings
        noted = settings.explainability or settings.logs
        return wanted(name, noted=noted, content=settings.content, iterations=settings.iteration_spans)

    @hookimpl
    def export_event(self, event: ExportedEvent, state: dict[Any, Any]) -> None:
        """Take an event into the tree of its run. Here, in the run's own delivery, the caller's span is still the current one."""
        handle = state.get("handle")
        if handle is None:
            tree = state["tree"] = Tree(self._kit, get_current())
            handle = state["handle"] = tree.handle
        handle(event)

    def span_context(self, event: ExportedEvent, state: dict[Any, Any]) -> SpanContext | None:
        """The span that an event belongs to, for a plugin that writes events elsewhere, with the ids of their spans.

        Args:
            event: the event; one that ends a span belongs to it before ``export_event`` is called with it, any other one after.
            state: what ``export_event`` is called with.

        Returns:
            Its context; None where its run has no open span.
        """
        tree: Tree | None = state.get("tree")
        return None if tree is None else tree.span_context(event)

    def replay(self, source: MemoSource) -> int:
        """Trace a run that was recorded: the same spans, at the times when it happened.

        Args:
            source: a result, a record, or the path of a saved one.

        Returns:
            The number of events that were traced.
        """
        tree = Tree(self._kit, get_current())
        return self._replay(tree, record_of(source))

    def _replay(self, tree: Tree, record: Record, outer: str | None = None) -> int:
        done = 0
        for header in record.headers:
            if outer is None or header.parent_run == outer:
                done += self._replay_leg(tree, record, header)
        return done

    def _replay_leg(self, tree: Tree, record: Record, header: SegmentHeader) -> int:
        done = 0
        children = dict(record.children)
        for event in record.events(run_id=header.run_id):
            if event.name in ("agentfp.tool.ended", "agentfp.pause.request"):
                over = [event.call_id] if event.name == "agentfp.tool.ended" else list(children)
                done += sum(self._replay(tree, children.pop(call_id), header.run_id) for call_id in over if call_id in children)
            tree.handle(ExportedEvent(event, header, full=self.sees_content))
            done += 1
        return done

    # --- the end ---------------------------------------------------------------------------------------------------------------

    async def flush(self) -> bool:
        """Have the providers send what waits, for ``flush_seconds`` at most.

        Returns:
            Whether all of them were done in time.
        """
        return await self._all(_flush, tuple([made for made in self._providers() if made is not None]))

    @hookimpl
    async def close(self) -> None:
        """Send what waits. The providers go on: other agents may share them, and the process stops them when it ends."""
        await self.flush()
        counts = self.stats
        if counts is not None and counts.exported < counts.ended:
            told = (counts.ended, counts.failed, counts.dropped, counts.open)
            LOGGER.warning("of %d spans, %d failed, %d were dropped and %d have not reached the endpoint", *told)

    async def stop(self) -> None:
        """Send what waits, and stop the providers that are the plugin's own: no span reaches ``endpoint`` any more."""
        await self.flush()
        if self._own is not None:
            await self._all(lambda stop, _: stop() is None, self._own.stops)

    async def _all(self, do: Any, providers: tuple[Any, ...]) -> bool:
        seconds = self.settings.flush_seconds
        done: list[bool] = []

        async def one(provider: Any) -> None:
            try:
                done.append(bool(await anyio.to_thread.run_sync(do, provider, seconds, abandon_on_cancel=True)))
            except Exception:  # a backend that cannot be reached must not keep anybody from closing
                done.append(False)

        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                for provider in providers:
                    tasks.start_soon(one, provider)
        return len(done) == len(providers) and all(done)

    # --- what spans are made with --------------------------------------------------------------------------------------------------

    def _providers(self) -> tuple[Any, ...]:
        settings, own = self.settings, self._own
        tracing = settings.tracer_provider or (own and own.tracer_provider) or trace.get_tracer_provider()
        metering = settings.meter_provider or (own and own.meter_provider) or metrics.get_meter_provider()
        logs = settings.logger_provider or (own and own.logger_provider) or get_logger_provider()
        return (tracing, metering if settings.metrics else None, logs if settings.logs else None)

    @property
    def _kit(self) -> Kit:
        with self._lock:
            if self._made is None:
                self._made = self._make_kit()
            return self._made

    def _make_kit(self) -> Kit:
        settings = self.settings
        tracing, metering, logs = self._providers()
        named = conventions(settings.semconv)
        return Kit(
            tracer=tracing.get_tracer(SCOPE, self.version),
            conventions=named,
            names=SpanNames(settings.span_names == "legacy"),
            profiles=Profiles(settings.profiles),
            meters=None if metering is None else Meters(metering.get_meter(SCOPE, self.version), named),
            logs=None if logs is None else Logs(get_logger(SCOPE, self.version, logs)),
            pauses=self._pauses,
            content=settings.content,
            explain=settings.explainability,
            iterations=settings.iteration_spans,
            usage=named.usage(),
        )


def _flush(provider: Any, seconds: float) -> bool:
    """Have a provider send what waits; one that cannot be asked to has nothing that waits."""
    flush = getattr(provider, "force_flush", None)
    return True if flush is None else bool(flush(int(seconds * 1000)))


def _providers(settings: OtelSettings) -> Any:
    try:
        from agentfp_otel.providers import Providers
    except ImportError as error:
        msg = "plugin 'otel': the setting 'endpoint' needs the OpenTelemetry SDK; pip install 'agentfp-otel[otlp]'"
        raise ConfigError(msg) from error
    return Providers(settings)
