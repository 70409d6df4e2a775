"""AgentCore passes the checks of sinks, as far as its log events go; its spans are those of agentfp-otel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from agentfp.testing import Fault, SinkBackend, SinkConformance
from agentfp_agentcore import AgentCore
from agentfp_cloudwatch import retries
from tests.observability.cloudwatch.logs_backend import Group
from tests.observability.conformance.test_cloudwatch_conforms import Faulty, seen


class TestAgentCore(SinkConformance):
    many = 10_000

    @pytest.fixture(autouse=True)
    def server(self, aws: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retries, "DELAYS", (0.001, 0.001, 0.001))
        self.url = aws

    @contextmanager
    def backend(self, fault: Fault, folder: Path) -> Iterator[SinkBackend]:
        group = Group(self.url)
        client = Faulty(group, fault)
        tracing = TracerProvider(shutdown_on_exit=False)
        common: dict[str, Any] = {"log_group": group.name, "client": client, "tracer_provider": tracing}
        make = partial(AgentCore, **common, strict=False, flush_seconds=3.0)
        yield SinkBackend(make, partial(seen, group), client.heal)
        client.heal()
        tracing.shutdown()
