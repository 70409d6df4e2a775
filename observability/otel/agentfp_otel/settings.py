"""The settings of the plugin."""

from __future__ import annotations

from typing import Any, Literal

import pydantic

from agentfp.plugin import Plugin

Semconv = Literal["genai_latest", "core_1_41", "both_cache_keys"]
Profile = Literal["openinference", "langfuse", "langsmith", "agentcore"]


class OtelSettings(Plugin.Settings):
    """What is traced, under which names, and where it goes.

    Args:
        content: whether what people, models and tools wrote stands on spans. For development; off by default.
        semconv: which version of OpenTelemetry's conventions for generative AI names the attributes.
        profiles: attribute sets of backends that are set besides.
        explainability: whether decisions stand on the spans as span events.
        iteration_spans: whether each model call with its tool calls has a span of its own around it.
        span_names: ``legacy`` for ``{agent}``, ``llm``, ``tool:{tool}`` and ``iteration:{n}``.
        metrics: whether durations, tokens and costs are measured.
        logs: whether decisions are log records too.
        endpoint: base URL of an OTLP/HTTP receiver; providers of the plugin's own send there. Needs ``agentfp-otel[otlp]``.
        headers: HTTP headers for the endpoint, such as a key.
        service_name: name of the service at the endpoint.
        resource: further resource attributes at the endpoint.
        flush_seconds: the most that ``flush`` and ``close`` wait for a backend.
        tracer_provider, meter_provider, logger_provider: in place of the process's own.
    """

    content: bool = False
    semconv: Semconv = "genai_latest"
    profiles: tuple[Profile, ...] = ()
    explainability: bool = True
    iteration_spans: bool = True
    span_names: Literal["semconv", "legacy"] = "semconv"
    metrics: bool = True
    logs: bool = False
    endpoint: str | None = None
    headers: dict[str, pydantic.SecretStr] = pydantic.Field(default_factory=dict)
    service_name: str = "agentfp"
    resource: dict[str, str] = pydantic.Field(default_factory=dict)
    flush_seconds: float = pydantic.Field(default=5.0, gt=0)
    tracer_provider: Any = None
    meter_provider: Any = None
    logger_provider: Any = None

    @pydantic.field_validator("service_name")
    @classmethod
    def _named(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a service has a name; leave it out for 'agentfp'")
        return value

    @pydantic.field_validator("endpoint")
    @classmethod
    def _url(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("an endpoint begins with http:// or https://, such as http://localhost:4318")
        return value
