"""The plugin: spans by `agentfp-otel`, log events by `agentfp-cloudwatch`, each log event with the ids of its span."""

from __future__ import annotations

import logging
import os
from typing import Any

import anyio

from agentfp.plugin import ExportedEvent, Plugin, Registry, WorkerStats, hookimpl
from agentfp_agentcore.environment import missing
from agentfp_agentcore.settings import AgentCoreSettings
from agentfp_cloudwatch import CloudWatch
from agentfp_otel import Otel

LOGGER = logging.getLogger("agentfp.agentcore")
ENDS = frozenset({"agentfp.agent.iteration_end", "agentfp.run.ended", "agentfp.stream.llm_end", "agentfp.tool.ended"})
"""Events that end a span, and belong to it."""


class AgentCore(Plugin):
    """What Amazon Bedrock AgentCore shows: OTLP spans, grouped by session, and the events of each in the runtime's log group."""

    name = "agentcore"
    version = "0.1.0"
    exports_in_thread = True

    class Settings(AgentCoreSettings):
        """See :class:`AgentCoreSettings`."""

    def __init__(self, settings: AgentCoreSettings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        chosen: AgentCoreSettings = self.settings
        self._otel = Otel(
            content=chosen.content,
            profiles=("agentcore",),
            endpoint=chosen.endpoint,
            service_name=chosen.service_name,
            tracer_provider=chosen.tracer_provider,
            flush_seconds=chosen.flush_seconds,
        )
        self._logs = CloudWatch(
            log_group=chosen.group,
            log_stream=chosen.log_stream,
            region=chosen.region,
            endpoint_url=chosen.endpoint_url,
            content=chosen.content,
            max_queue=chosen.max_queue,
            flush_seconds=chosen.flush_seconds,
            client=chosen.client,
        )

    @property
    def stats(self) -> WorkerStats:
        """What became of the log events."""
        return self._logs.stats

    @property
    def spans(self) -> Any:
        """What became of the spans that went to ``endpoint``; see ``Otel.stats``."""
        return self._otel.stats

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """See that there is what AgentCore needs."""
        settings = self.settings
        exports = settings.endpoint is not None or settings.tracer_provider is not None
        for problem in missing(os.environ, exports=exports):
            if settings.strict:
                agent.problem(f"{problem}; `strict = false` goes on without")
            else:
                LOGGER.warning("AgentCore may show nothing: %s", problem)
        for problem in self._logs.problems():
            agent.problem(problem)

    @hookimpl
    def export_event(self, event: ExportedEvent, state: dict[Any, Any]) -> None:
        """Make spans of an event, and send it with the ids of its own."""
        otel = self._otel
        context = otel.span_context(event, state) if event.name in ENDS else None
        if otel.exports(event.name):
            otel.export_event(event, state)
        if context is None:
            context = otel.span_context(event, state)
        ids = {} if context is None else {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
        self._logs.put(event, ids)

    async def flush(self) -> bool:
        """Send what waits, for ``flush_seconds`` at most; gives whether all of it went out, or is counted as lost."""
        return all(await _both(self._otel.flush, self._logs.flush))

    @hookimpl
    async def close(self) -> None:
        """Send what waits."""
        await _both(self._otel.close, self._logs.close)


async def _both(*calls: Any) -> list[Any]:
    """Do both at once; one that fails does not cut the other short."""
    answers: list[Any] = []
    errors: list[Exception] = []

    async def one(call: Any) -> None:
        try:
            answers.append(await call())
        except Exception as error:
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        for call in calls:
            tasks.start_soon(one, call)
    if errors:
        raise errors[0]
    return answers
