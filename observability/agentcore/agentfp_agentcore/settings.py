"""The settings of the plugin."""

from __future__ import annotations

from typing import Any

import pydantic

from agentfp.plugin import Plugin


class AgentCoreSettings(Plugin.Settings):
    """Where spans and log events go.

    Args:
        agent_id: of the runtime; with ``endpoint_name`` it names the log group of the runtime.
        endpoint_name: of the runtime's endpoint.
        log_group: in place of the runtime's own.
        log_stream: made when it is missing; one for each process when left out.
        region: of AWS; boto3's own when left out.
        content: whether what people, models and tools wrote is sent too. Off by default.
        strict: whether an agent is refused where the environment lacks what AgentCore needs; else it is logged.
        endpoint: base URL of an OTLP/HTTP receiver, where the process has no exporter of its own.
        service_name: name of the service at ``endpoint``.
        max_queue: events that may wait for CloudWatch; beyond it the oldest is dropped and counted.
        flush_seconds: the most that ``flush`` and ``close`` wait.
        endpoint_url: of CloudWatch Logs, where it is not AWS's own.
        client: a boto3 client of ``logs`` of your own.
        tracer_provider: in place of the process's own.
    """

    agent_id: str | None = pydantic.Field(default=None, min_length=1)
    endpoint_name: str = pydantic.Field(default="DEFAULT", min_length=1)
    log_group: str | None = None
    log_stream: str | None = None
    region: str | None = None
    content: bool = False
    strict: bool = True
    endpoint: str | None = None
    service_name: str = "agentfp"
    max_queue: int = pydantic.Field(default=10_000, ge=1)
    flush_seconds: float = pydantic.Field(default=5.0, gt=0, allow_inf_nan=False)
    endpoint_url: str | None = None
    client: Any = None
    tracer_provider: Any = None

    @pydantic.model_validator(mode="after")
    def _somewhere(self) -> AgentCoreSettings:
        if self.agent_id is None and self.log_group is None:
            raise ValueError("the log group is not known: set `agent_id`, the id of the runtime, or `log_group`")
        return self

    @property
    def group(self) -> str:
        """The log group."""
        return self.log_group or f"/aws/bedrock-agentcore/runtimes/{self.agent_id}-{self.endpoint_name}"
