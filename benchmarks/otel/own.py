"""agentfp: no tracing, a sink that does nothing, the least that the SDK costs, and its own tracing with two and three spans."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import SpanKind, Tracer, set_span_in_context

from agentfp import Agent, Limits
from agentfp.plugin import ExportedEvent, Plugin, hookimpl
from agentfp_otel import Otel
from benchmarks.otel.exporting import provider
from benchmarks.otel.subject import report
from benchmarks.turns import CountingModel, OwnTurn

CHAT = (
    "chat counting",
    SpanKind.CLIENT,
    {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "counting",
        "gen_ai.request.model": "counting",
        "gen_ai.response.finish_reasons": ("tool_call",),
    },
)
TOOL = (
    "execute_tool lookup",
    SpanKind.INTERNAL,
    {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "lookup",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "agentfp.tool.status": "success",
    },
)


class Nothing(Plugin):
    """A sink that does nothing: what it costs that events are delivered at all."""

    name = "nothing"

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        return None


class SdkAlone(Plugin):
    """Asks the SDK for the same two spans and does nothing else: what no tracing over it can be below."""

    name = "sdk_alone"

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self._tracer = tracer
        self._parent = set_span_in_context(tracer.start_span("invoke_agent agent"))

    def exports(self, name: str) -> bool:
        return name in ("agentfp.stream.llm_end", "agentfp.tool.ended")

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        name, kind, attributes = CHAT if event.name == "agentfp.stream.llm_end" else TOOL
        self._tracer.start_span(name, self._parent, kind, attributes, (), event.ts_ns).end(event.ts_ns)


class TracedTurn(OwnTurn):
    """The turn on an agent with these plugins."""

    def __init__(self, *on: Plugin) -> None:
        super().__init__()
        self._on = on

    def agent(self, iterations: int) -> Agent[Any, Any]:
        found = self._agents.get(iterations)
        if found is None:
            limits = Limits(iterations=iterations + 2, hard_cap=iterations + 2)
            found = self._agents[iterations] = Agent(CountingModel(iterations), tools=[self._tool], plugins=list(self._on), limits=limits)
        return found


if __name__ == "__main__":
    tracing, exporter = provider()
    report(
        "agentfp",
        {
            "off": TracedTurn(),
            "a sink that does nothing": TracedTurn(Nothing()),
            "two spans of the SDK alone": TracedTurn(SdkAlone(tracing.get_tracer("floor"))),
            "two spans": TracedTurn(Otel(tracer_provider=tracing, iteration_spans=False, explainability=False, metrics=False)),
            "two spans with events": TracedTurn(Otel(tracer_provider=tracing, iteration_spans=False, metrics=False)),
            "three spans with events": TracedTurn(Otel(tracer_provider=tracing)),
        },
        lambda: exporter.spans,
    )
