"""X-Ray passes the checks of sinks. Its backend here is a client that keeps documents, each checked against botocore's model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from agentfp.testing import Fault, SeenEvent, SinkBackend, SinkConformance
from agentfp_xray import XRay, retries
from tests.observability.xray.segments_backend import Watched


class Faulty(Watched):
    """A client whose service has a fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(None)
        self.fault = fault
        self.go_on = threading.Event()
        self.tries = 0

    def put_trace_segments(self, **arguments: Any) -> Any:
        if self.fault == "dead":
            raise ConnectionRefusedError
        if self.fault == "stuck":
            self.go_on.wait(120)
        if self.fault == "throttling":
            self.tries += 1
            if self.tries % 3:
                raise ClientError({"Error": {"Code": "ThrottledException", "Message": ""}}, "PutTraceSegments")
        if self.fault == "lying":
            return {"UnprocessedTraceSegments": [{"Id": json.loads(arguments["TraceSegmentDocuments"][0])["id"]}]}
        return super().put_trace_segments(**arguments)

    def heal(self) -> None:
        self.fault = "none"
        self.go_on.set()


class TestXRay(SinkConformance):
    by_event = False
    content = None

    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retries, "DELAYS", (0.001, 0.001, 0.001))

    @contextmanager
    def backend(self, fault: Fault, folder: Path) -> Iterator[SinkBackend]:
        client = Faulty(fault)
        yield SinkBackend(partial(XRay, client=client, batch_seconds=0.01, flush_seconds=1.0), partial(seen, client), client.heal)
        client.heal()


def seen(client: Watched) -> list[SeenEvent]:
    """What was sent; the root of a trace says of which run it is."""
    return [SeenEvent(json.dumps(document), document.get("annotations", {}).get("run_id")) for document in client.documents]
