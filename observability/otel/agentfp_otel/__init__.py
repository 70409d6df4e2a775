"""Traces, metrics and logs of agents over OpenTelemetry."""

from agentfp_otel.plugin import Otel

__all__ = ["Otel"]
