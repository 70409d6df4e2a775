"""CloudWatch Logs passes the checks of sinks, against a real server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentfp.testing import Fault, SeenEvent, SinkBackend, SinkConformance
from agentfp_cloudwatch import CloudWatch, retries
from tests.observability.cloudwatch.logs_backend import Group, Watched, refusal


class Faulty(Watched):
    """A client whose service has a fault."""

    def __init__(self, group: Group, fault: Fault) -> None:
        super().__init__(group.client)
        self.fault = fault
        self.go_on = threading.Event()
        self.tries = 0

    def put_log_events(self, **arguments: Any) -> Any:
        if self.fault == "dead":
            raise ConnectionRefusedError
        if self.fault == "stuck":
            self.go_on.wait(120)
        if self.fault == "throttling":
            self.tries += 1
            if self.tries % 3:
                raise refusal("ThrottlingException")
        if self.fault == "lying":
            refused = len(arguments["logEvents"]) // 2 + 1
            return {"rejectedLogEventsInfo": {"tooOldLogEventEndIndex": refused}}
        return super().put_log_events(**arguments)

    def heal(self) -> None:
        self.fault = "none"
        self.go_on.set()


class TestCloudWatch(SinkConformance):
    @pytest.fixture(autouse=True)
    def server(self, aws: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retries, "DELAYS", (0.001, 0.001, 0.001))
        self.url = aws

    @contextmanager
    def backend(self, fault: Fault, folder: Path) -> Iterator[SinkBackend]:
        group = Group(self.url)
        client = Faulty(group, fault)
        make = partial(CloudWatch, log_group=group.name, client=client, batch_seconds=0.01, flush_seconds=3.0)
        yield SinkBackend(make, partial(seen, group), client.heal)
        client.heal()


def seen(group: Group) -> list[SeenEvent]:
    """What is in a group."""
    found = []
    for event in group.raw():
        meta = json.loads(event["message"])["meta"]
        found.append(SeenEvent(event["message"], meta.get("run_id"), meta.get("seq")))
    return found
