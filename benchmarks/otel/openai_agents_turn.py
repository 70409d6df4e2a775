"""openai-agents with its own tracing: its batches in the background, to an exporter that only counts."""

from __future__ import annotations

from typing import Any

from agents import set_trace_processors, set_tracing_disabled
from agents.tracing.processors import BatchTraceProcessor

from benchmarks.otel.subject import report
from benchmarks.peers.openai_agents_turn import OpenAiAgentsTurn


class Counting:
    """Counts traces and spans and throws them away."""

    def __init__(self) -> None:
        self.spans = 0

    def export(self, items: list[Any]) -> None:
        self.spans += len(items)


class Switched(OpenAiAgentsTurn):
    """The turn with tracing on or off."""

    def __init__(self, on: bool) -> None:
        super().__init__()
        self._on = on

    async def run(self, n: int) -> str:
        set_tracing_disabled(not self._on)
        return await super().run(n)


if __name__ == "__main__":
    exporter: Any = Counting()
    processor: Any = BatchTraceProcessor(exporter, max_queue_size=100_000)
    set_trace_processors([processor])
    report("openai-agents", {"off": Switched(False), "as it comes": Switched(True)}, lambda: exporter.spans)
