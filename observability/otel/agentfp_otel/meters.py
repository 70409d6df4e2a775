"""The metrics: durations, tokens and costs, under the names of one version of the conventions. No id of anything is a label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.metrics import Meter

from agentfp_otel import names
from agentfp_otel.names import Conventions

SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
CALLS = (1, 2, 4, 8, 16, 32, 64, 128)


class Meters:
    """The instruments.

    Args:
        meter: makes them.
        conventions: name them.
    """

    def __init__(self, meter: Meter, conventions: Conventions) -> None:
        def seconds(name: str, what: str) -> Any:
            return meter.create_histogram(name, "s", what, explicit_bucket_boundaries_advisory=SECONDS)

        def tokens(name: str, what: str) -> Any:
            return meter.create_counter(name, "{token}", what)

        latest = self._latest = conventions.latest_metrics
        self._inference = seconds(f"gen_ai.client.{'inference' if latest else 'operation'}.duration", "Duration of a model call.")
        self._tool = seconds("gen_ai.execute_tool.duration", "Duration of a tool call.")
        self._agent = seconds("gen_ai.invoke_agent.duration", "Duration of a turn of an agent.")
        self._usage: Any = None
        if latest:
            usage = "gen_ai.client.inference.usage."
            self._counters = {
                "input_tokens": tokens(f"{usage}input_tokens", "Tokens of requests, cached ones included."),
                "output_tokens": tokens(f"{usage}output_tokens", "Tokens of replies, thinking included."),
                "cache_read_tokens": tokens(f"{usage}cache_read.input_tokens", "Of the input, read from the provider's cache."),
                "cache_write_tokens": tokens(f"{usage}cache_write.input_tokens", "Of the input, written to it."),
                "thinking_tokens": tokens(f"{usage}reasoning.output_tokens", "Of the output, spent on thinking."),
            }

            def calls(name: str, what: str) -> Any:
                return meter.create_histogram(name, "{call}", what, explicit_bucket_boundaries_advisory=CALLS)

            self._inference_calls = calls("gen_ai.invoke_agent.inference_calls", "Model calls of a turn.")
            self._tool_calls = calls("gen_ai.invoke_agent.tool_calls", "Tool calls of a turn.")
        else:
            self._usage = meter.create_histogram(
                "gen_ai.client.token.usage", "{token}", "Tokens of a model call.", explicit_bucket_boundaries_advisory=TOKENS
            )
        self._usd = meter.create_counter("agentfp.cost.usd", "USD", "What model calls cost.")
        self._checks = meter.create_counter("agentfp.evidence.checks", "{check}", "Answers judged by their evidence, by what was done.")
        self._standings = meter.create_counter("agentfp.answer.standing", "{answer}", "Answers, by how far they stand.")
        self._dropped = meter.create_counter("agentfp.export.dropped", "{event}", "Events that did not reach the sinks of a run.")

    def chat(self, labels: Mapping[str, Any], seconds: float, data: Mapping[str, Any]) -> None:
        """A model call ended; ``data`` holds its tokens."""
        self._inference.record(seconds, labels)
        self.tokens(labels, data)

    def tokens(self, labels: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Tokens were used."""
        if self._usage is not None:
            for key, kind in (("input_tokens", "input"), ("output_tokens", "output")):
                if data.get(key) is not None:
                    self._usage.record(data[key], {**labels, "gen_ai.token.type": kind})
            return
        for key, counter in self._counters.items():
            if data.get(key):
                counter.add(data[key], labels)

    def tool(self, tool: str | None, seconds: float, error: str | None) -> None:
        """A tool call ended."""
        labels = {names.OPERATION: "execute_tool", names.TOOL: tool or "unknown"}
        self._tool.record(seconds, labels if error is None else {**labels, names.ERROR_TYPE: error})

    def agent(self, agent: str, seconds: float, status: str, calls: tuple[int, int], error: str | None) -> None:
        """A leg of a turn ended, after so many model and tool calls."""
        labels = {names.OPERATION: "invoke_agent", names.AGENT: agent, "agentfp.run.status": status}
        if error is not None:
            labels[names.ERROR_TYPE] = error
        self._agent.record(seconds, labels)
        if self._latest:
            self._inference_calls.record(calls[0], {names.AGENT: agent})
            self._tool_calls.record(calls[1], {names.AGENT: agent})

    def usd(self, labels: Mapping[str, Any], usd: float) -> None:
        """A call was priced."""
        self._usd.add(usd, labels)

    def check(self, action: str) -> None:
        """An answer was judged by its evidence."""
        self._checks.add(1, {"agentfp.evidence.action": action})

    def standing(self, standing: str) -> None:
        """An answer was assessed."""
        self._standings.add(1, {"agentfp.answer.standing": standing})

    def dropped(self, count: int) -> None:
        """Events were given up."""
        self._dropped.add(count)
