"""A sink with one fault fails the check that is made for it: each fault is planted into the reference sink, one at a time."""

from __future__ import annotations

import logging
from collections import deque
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest
from _pytest.outcomes import Failed

from agentfp.plugin import ExportedEvent, WorkerStats, hookimpl
from agentfp.testing import Fault, SeenEvent, SinkBackend, SinkConformance
from tests.core.testing.conformance.tiny_sink import TinySink, TooFast, tiny

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("allow_any_model")]
FAILS = (AssertionError, Failed, TimeoutError)
IN_ORDER = "what_happened_arrives_once_and_in_order"
COUNTED = "what_a_backend_did_not_take_is_counted"
UNHARMED = "a_backend_with_a_fault_harms_no_run"
OUTLIVES = "a_sink_outlives_the_fault_of_its_backend"
CLOSE = "close_delivers_what_waits_and_may_be_called_again"
LEAN = "no_content_leaves_unless_asked_for"
MASKED = "content_that_is_asked_for_went_through_the_redaction"
BOUNDED = "a_slow_backend_costs_no_memory_and_each_loss_is_counted"


class Reverses(TinySink):
    def put(self, seen: list[SeenEvent]) -> int:
        return super().put(seen[::-1])


class Repeats(TinySink):
    def put(self, seen: list[SeenEvent]) -> int:
        super().put(seen[:1])
        return super().put(seen)


class LosesOneUncounted(TinySink):
    def put(self, seen: list[SeenEvent]) -> int:
        return super().put(seen[1:]) + 1


class BelievesEverything(TinySink):
    def put(self, seen: list[SeenEvent]) -> int:
        super().put(seen)
        return len(seen)


class TakesFailureForSuccess(TinySink):
    def put(self, seen: list[SeenEvent]) -> int:
        try:
            return super().put(seen)
        except ConnectionError:
            return len(seen)


class GivesUpAtOnce(TinySink):
    def put(self, seen: list[SeenEvent]) -> int:
        try:
            return self.settings.store.put(seen)  # type: ignore[no-any-return]
        except TooFast:
            return 0


class GivesUpForEver(TinySink):
    def put(self, seen: list[SeenEvent]) -> int:
        if self.stats.failed:
            return 0
        return super().put(seen)


class DoesNotFlush(TinySink):
    async def flush(self) -> bool:
        return True


class FlushesForEver(TinySink):
    async def flush(self) -> bool:
        while self.stats.waiting:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        return True


class ClosesForEver(TinySink):
    @hookimpl
    async def close(self) -> None:
        await FlushesForEver.flush(self)  # type: ignore[arg-type]


class ForgetsAtClose(TinySink):
    @hookimpl
    async def close(self) -> None:
        """Let what waits wait."""


class BlocksTheLoop(TinySink):
    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        self.worker.put(event)
        self.worker.flush(100)


class AlwaysTakesContent(TinySink):
    @property
    def sees_content(self) -> bool:
        return True


class NeverTakesContent(TinySink):
    @property
    def sees_content(self) -> bool:
        return False


class LogsWhatItSees(TinySink):
    @property
    def sees_content(self) -> bool:
        return True

    def deliver(self, events: list[ExportedEvent], dropped: int) -> int:
        for event in events:
            logging.getLogger("tiny").debug("%s", event.data)
        return len(events) - self.put([SeenEvent(event.name, event.header.run_id, event.seq) for event in events])


class HasNoBound(TinySink):
    def __init__(self, settings: TinySink.Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        self.worker._capacity = 10**9


class DropsUncounted(TinySink):
    def __init__(self, settings: TinySink.Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        self.worker._queue = deque(maxlen=self.settings.max_queue - 1)

    @property
    def stats(self) -> WorkerStats:
        stats = self.worker.stats
        return WorkerStats(stats.done + stats.failed + stats.waiting, stats.done, stats.failed, 0, stats.waiting)


PLANTED: list[tuple[type[TinySink], str, Fault | None]] = [
    (Reverses, IN_ORDER, None),
    (Repeats, IN_ORDER, None),
    (LosesOneUncounted, IN_ORDER, None),
    (DoesNotFlush, IN_ORDER, None),
    (BelievesEverything, COUNTED, "lying"),
    (TakesFailureForSuccess, COUNTED, "dead"),
    (GivesUpAtOnce, COUNTED, "throttling"),
    (GivesUpForEver, OUTLIVES, "dead"),
    (FlushesForEver, UNHARMED, "stuck"),
    (ClosesForEver, UNHARMED, "stuck"),
    (BlocksTheLoop, UNHARMED, "stuck"),
    (ForgetsAtClose, CLOSE, None),
    (AlwaysTakesContent, LEAN, None),
    (LogsWhatItSees, LEAN, None),
    (NeverTakesContent, MASKED, None),
    (HasNoBound, BOUNDED, None),
    (DropsUncounted, BOUNDED, None),
]


class Checked(SinkConformance):
    __test__ = False
    patience = 2.0
    many = 10_000
    kind: type[TinySink] = TinySink

    def backend(self, fault: Fault, folder: Path) -> AbstractContextManager[SinkBackend]:
        return tiny(fault, folder, self.kind)


@pytest.mark.parametrize(("kind", "check", "fault"), PLANTED, ids=[kind.__name__ for kind, *_ in PLANTED])
async def test_a_planted_fault_is_found(
    kind: type[TinySink], check: str, fault: Fault | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    suite = Checked()
    suite.kind = kind
    given: dict[str, Any] = {"tmp_path": tmp_path}
    if fault is not None:
        given["fault"] = fault
    if check == LEAN:
        given["caplog"] = caplog
    with pytest.raises(FAILS):
        await getattr(suite, f"test_{check}")(**given)
