"""The trust-boundary recorder passes the checks of sinks. It delivers to its own memory; the fault is that no event makes a fact."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentfp.plugin import Plugin
from agentfp.testing import Fault, SeenEvent, SinkBackend, SinkConformance, SinkCounts
from agentfp_trust import Trust, recorder
from agentfp_trust.facts import UnfitError


class TestTrust(SinkConformance):
    faults = ("dead",)
    by_event = False  # of an event, its fact
    content = None
    bound = "max_facts"

    @contextmanager
    def backend(self, fault: Fault, folder: Path) -> Iterator[SinkBackend]:
        made: list[Trust] = []

        def make(**settings: Any) -> Plugin:
            made.append(Trust(**settings))
            return made[-1]

        with pytest.MonkeyPatch.context() as patch:
            if fault == "dead":
                patch.setattr(recorder, "fact_of", unfit)
            yield SinkBackend(make, lambda: [seen for sink in made for seen in facts_of(sink)], patch.undo)

    async def flush(self, sink: Plugin) -> None:
        """There is nothing that waits."""

    def counts(self, sink: Any) -> SinkCounts:
        counters = sink.counters
        lost = counters.evicted + counters.invalid + counters.oversized
        return SinkCounts(counters.observed, counters.retained, lost, counters.pending)


def unfit(*_: Any) -> Any:
    """No event makes a fact."""
    raise UnfitError("invalid")


def facts_of(sink: Trust) -> list[SeenEvent]:
    """What it keeps."""
    return [SeenEvent(json.dumps(fact), fact["origin"]["run_id"]) for fact in sink.snapshot()["data"]["facts"]]
