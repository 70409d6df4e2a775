"""What AgentCore's runtime sets around an agent: the environment, and the session of a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import baggage
from opentelemetry.context import attach, detach

SESSION_HEADER = "x-amzn-bedrock-agentcore-runtime-session-id"
SESSION = "session.id"
ENABLED = "AGENT_OBSERVABILITY_ENABLED"
OTLP_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
DISTRO = ("OTEL_PYTHON_DISTRO", "aws_distro")
"""With it, the AWS distribution of OpenTelemetry configures the exporter."""


def missing(environ: Mapping[str, str], *, exports: bool) -> list[str]:
    """What the environment lacks for AgentCore to show anything, in words.

    Args:
        environ: the environment.
        exports: whether the plugin has an exporter by its own settings.
    """
    found = []
    if environ.get(ENABLED, "").lower() not in ("true", "1"):
        found.append(f"{ENABLED} is not `true` in the environment")
    distro, name = DISTRO
    if not exports and environ.get(distro) != name and not any(environ.get(endpoint) for endpoint in OTLP_ENDPOINTS):
        found.append(f"no OTLP exporter is configured: set {OTLP_ENDPOINTS[0]}, or {distro}={name}, or the setting `endpoint`")
    return found


@contextmanager
def session(headers: Mapping[str, str]) -> Iterator[str | None]:
    """The runtime session of a request, in OpenTelemetry's baggage too while the block runs.

    Args:
        headers: of the request, in whatever case.

    Yields:
        Its id, for ``agent.run(..., session_id=...)``; None where the request has none.
    """
    session_id = next((value for name, value in headers.items() if name.lower() == SESSION_HEADER and value), None)
    if session_id is None:
        yield None
        return
    token = attach(baggage.set_baggage(SESSION, session_id))
    try:
        yield session_id
    finally:
        detach(token)
