"""pydantic-ai with its own instrumentation over the same SDK."""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings

from benchmarks.otel.exporting import provider
from benchmarks.otel.subject import report
from benchmarks.peers.pydantic_ai_turn import PydanticAiTurn, counting_model


class Traced(PydanticAiTurn):
    def __init__(self, settings: InstrumentationSettings) -> None:
        super().__init__()
        self.agent = Agent(counting_model(0), tools=[self.lookup], capabilities=[Instrumentation(settings)])


if __name__ == "__main__":
    tracing, exporter = provider()
    turns = {
        "off": PydanticAiTurn(),
        "without content": Traced(InstrumentationSettings(tracer_provider=tracing, include_content=False)),
        "as it comes": Traced(InstrumentationSettings(tracer_provider=tracing)),
    }
    report("pydantic-ai", turns, lambda: exporter.spans)
