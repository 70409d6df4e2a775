"""The checks that every sink should pass: order, deadlines, backends that are away or lie, privacy, memory, counts."""
# ruff: noqa: D102  the names of checks say what they check

from __future__ import annotations

import gc
import logging
import threading
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from agentfp_core.plugins import Plugin
from agentfp_core.redaction import PLACEHOLDER, RedactionPolicy
from agentfp_core.testing.conformance.base import Checks
from agentfp_core.testing.conformance.sink_backends import Fault, SeenEvent, SinkBackend, SinkCounts, counts_of
from agentfp_core.testing.conformance.sink_runs import (
    ANSWER,
    CANARIES,
    MASKED_KEY,
    SECRET,
    EndlessRun,
    failing_run,
    fake_run,
    ids_of,
    secret_run,
)

PATIENCE = 60.0
MANY = 50_000
"""Events of the check that a slow backend costs neither memory nor counts."""


class SinkConformance(Checks):
    """The checks that every sink should pass.

    Subclass it in a test file, with a name that pytest collects, and define :meth:`backend`::

        class TestMySink(SinkConformance):
            @contextmanager
            def backend(self, fault, folder):
                with my_server(fault) as server:
                    yield SinkBackend(make=partial(MySink, url=server.url), seen=server.events, heal=server.heal)

    A sink that works with :class:`agentfp.plugin.BackgroundWorker` and gives its ``stats`` needs no more.
    """

    faults: ClassVar[tuple[Fault, ...]] = ("dead", "stuck", "throttling", "lying")
    """The faults that such a backend can have."""
    by_event: ClassVar[bool] = True
    """Whether each event arrives as one; spans and facts do not."""
    content: ClassVar[Mapping[str, Any] | None] = {"content": True}
    """Settings with which content is delivered; None for a sink that never does."""
    bound: ClassVar[str | None] = "max_queue"
    """The setting that bounds its queue; None for a sink that delivers at once and has no queue."""
    reopens: ClassVar[bool] = True
    """Whether it delivers again when there are events after ``close``."""
    many: ClassVar[int] = MANY
    """Events of the checks of bounds."""
    patience: ClassVar[float] = PATIENCE
    """Seconds after which a check gives up: generous, for it is no measure of speed."""

    def backend(self, fault: Fault, folder: Path) -> AbstractContextManager[SinkBackend]:
        """A backend with a fault, new and empty.

        Args:
            fault: what is wrong with it.
            folder: an empty folder.
        """
        raise NotImplementedError(f"{type(self).__name__} has to define backend(fault, folder)")

    async def flush(self, sink: Plugin) -> None:
        """Have it deliver what waits, within its own deadline. By default its ``flush`` method does."""
        await sink.flush()  # type: ignore[attr-defined]

    async def close(self, sink: Plugin) -> None:
        """Close it, as ``agent.shutdown()`` does."""
        from agentfp_core.plugins import PluginSet

        for impl in PluginSet([sink]).table["close"]:
            answer = impl.call()
            if answer is not None:
                await answer

    def counts(self, sink: Plugin) -> SinkCounts:
        """Its counts. By default those of its ``stats``."""
        stats: Any = sink.stats  # type: ignore[attr-defined]
        return counts_of(stats() if callable(stats) else stats)

    # --- fixtures ----------------------------------------------------------------------------------------------------------------

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """The faults of this sink's backends."""
        if "fault" in metafunc.fixturenames:
            metafunc.parametrize("fault", metafunc.cls.faults)

    # --- what arrives --------------------------------------------------------------------------------------------------------------

    async def test_what_happened_arrives_once_and_in_order(self, tmp_path: Path) -> None:
        with self.backend("none", tmp_path) as backend:
            sink = backend.make()
            with anyio.fail_after(self.patience):
                result = await fake_run(sink)
                await self.flush(sink)
            self._arrived(backend, sink, [result])
            await self._closed(sink)
        assert result.text == ANSWER
        assert result.plugin_failures == {}

    async def test_runs_side_by_side_keep_their_order(self, tmp_path: Path) -> None:
        results: list[Any] = []

        async def one(sink: Plugin) -> None:
            results.append(await fake_run(sink))

        with self.backend("none", tmp_path) as backend:
            sink = backend.make()
            with anyio.fail_after(self.patience):
                async with anyio.create_task_group() as tasks:
                    for _ in range(20):
                        tasks.start_soon(one, sink)
                await self.flush(sink)
            self._arrived(backend, sink, results)
            await self._closed(sink)

    async def test_close_delivers_what_waits_and_may_be_called_again(self, tmp_path: Path) -> None:
        with self.backend("none", tmp_path) as backend:
            sink = backend.make()
            await self._closed(sink)
            with anyio.fail_after(self.patience):
                results = [await fake_run(sink)] if self.reopens else []
                await self._closed(sink)
            self._arrived(backend, sink, results)
            if self.reopens:
                results.append(await fake_run(sink))
                await self._closed(sink)
                self._arrived(backend, sink, results)
            await self._closed(sink)

    async def test_a_sink_that_saw_nothing_delivers_nothing(self, tmp_path: Path) -> None:
        with self.backend("none", tmp_path) as backend:
            sink = backend.make()
            with anyio.fail_after(self.patience):
                await self.flush(sink)
            await self._closed(sink)
            assert [seen for seen in backend.seen() if seen.run_id is not None] == []
            assert self.counts(sink) == SinkCounts(0, 0, 0, 0)

    # --- privacy -------------------------------------------------------------------------------------------------------------------

    async def test_no_content_leaves_unless_asked_for(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        with self.backend("none", tmp_path) as backend:
            sink = backend.make()
            with anyio.fail_after(self.patience):
                await fake_run(sink)
                await failing_run(sink)
                await self.flush(sink)
            await self._closed(sink)
            text = "\n".join([seen.text for seen in backend.seen()])
        assert text, "nothing arrived, so that nothing was checked"
        found = [what for what, canary in CANARIES.items() if canary in text]
        assert not found, f"without a setting that asks for it, the backend holds {found}"
        told = [what for what, canary in CANARIES.items() if canary in caplog.text]
        assert not told, f"the log holds {told}"

    async def test_content_that_is_asked_for_went_through_the_redaction(self, tmp_path: Path) -> None:
        settings = {} if self.content is None else self.content
        with self.backend("none", tmp_path) as backend:
            sink = backend.make(**settings)
            with anyio.fail_after(self.patience):
                await secret_run(sink, RedactionPolicy(keys=[MASKED_KEY], patterns={"answer": CANARIES["answer"]}))
                await self.flush(sink)
            await self._closed(sink)
            text = "\n".join([seen.text for seen in backend.seen()])
        assert text, "nothing arrived, so that nothing was checked"
        for what in ("masked argument", "answer"):
            assert CANARIES[what] not in text, f"the {what} was masked by the policy of the run and arrived all the same"
        assert SECRET not in text, "a known secret arrived"
        if self.content is not None and self.by_event:
            assert CANARIES["prompt"] in text, f"content was asked for with {dict(self.content)!r} and did not arrive"
            assert PLACEHOLDER in text

    # --- backends with faults --------------------------------------------------------------------------------------------------------

    async def test_a_backend_with_a_fault_harms_no_run(self, fault: Fault, tmp_path: Path) -> None:
        with self.backend(fault, tmp_path) as backend:
            sink = backend.make()
            with self._no_longer_than(backend, "the run, or flush"):
                result = await fake_run(sink)
                await self.flush(sink)
            assert result.text == ANSWER
            self._add_up(sink)
            with self._no_longer_than(backend, "close"):
                await self.close(sink)
            backend.heal()
            await self._closed(sink)
            self._add_up(sink)

    async def test_what_a_backend_did_not_take_is_counted(self, fault: Fault, tmp_path: Path) -> None:
        with self.backend(fault, tmp_path) as backend:
            sink = backend.make()
            with self._no_longer_than(backend, "the run, or flush"):
                result = await fake_run(sink)
                if fault == "stuck":
                    backend.heal()
                await self._settled(sink)
            counts = self._add_up(sink)
            assert counts.accepted > 0
            if fault == "dead":
                assert (counts.delivered, counts.lost) == (0, counts.accepted)
            elif fault == "lying":
                assert counts.lost > 0, "the backend said that it refused some, or made no sense, and nothing is counted as lost"
            else:  # a wait is no loss
                assert (counts.lost, counts.waiting) == (0, 0)
                self._arrived(backend, sink, [result])
            backend.heal()
            await self._closed(sink)

    async def test_a_sink_outlives_the_fault_of_its_backend(self, fault: Fault, tmp_path: Path) -> None:
        with self.backend(fault, tmp_path) as backend:
            sink = backend.make()
            with self._no_longer_than(backend, "the run, or flush"):
                await fake_run(sink)
                await self.flush(sink)
            backend.heal()
            with anyio.fail_after(self.patience):
                later = await fake_run(sink)
                await self.flush(sink)
            self._add_up(sink)
            run_ids = [seen.run_id for seen in backend.seen()]
            assert later.record.headers[-1].run_id in run_ids, "after its backend had a fault, nothing arrived any more"
            await self._closed(sink)

    # --- bounds ----------------------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("anyio_backend", ["asyncio"])  # long, and what it checks is no matter of the loop
    async def test_a_slow_backend_costs_no_memory_and_each_loss_is_counted(self, tmp_path: Path) -> None:
        fault: Fault = "stuck" if "stuck" in self.faults else "none"
        with self.backend(fault, tmp_path) as backend:
            sink = backend.make(**({} if self.bound is None else {self.bound: 500}))
            run = await EndlessRun.to(sink)
            tracemalloc.start()
            try:
                with self._no_longer_than(backend, "handing events over", 3 * self.patience):
                    fed = await run.feed(self.many // 10)
                    before = _traced()
                    fed += await run.feed(self.many)
                    after = _traced()
            finally:
                tracemalloc.stop()
            counts = self._add_up(sink)
            backend.heal()
            if fault == "stuck" and self.bound is not None:
                assert after - before < 2_000_000, f"{after - before} bytes more after {self.many} more events that could not go out"
                assert counts.lost > 0
                assert counts.accepted == fed or not self.by_event, f"{fed} events were handed over, {counts.accepted} are counted"
            with anyio.fail_after(self.patience * 3):
                await self._settled(sink)
            counts = self._add_up(sink)
            assert counts.waiting == 0
            if self.by_event:
                numbers = [seen.seq for seen in backend.seen() if seen.seq is not None]
                assert len(numbers) == counts.delivered
                assert numbers == sorted(set(numbers)), "what is left is not in order, or came twice"
            await self._closed(sink)

    # --- helpers ---------------------------------------------------------------------------------------------------------------------

    @contextmanager
    def _no_longer_than(self, backend: SinkBackend, what: str, seconds: float = 0.0) -> Iterator[None]:
        """See that something ends although the backend has a fault, on a loop that a sink may have blocked."""
        over = threading.Event()

        def give_up() -> None:
            over.set()
            backend.heal()

        timer = threading.Timer(seconds or self.patience, give_up)
        timer.start()
        try:
            with anyio.fail_after(2 * (seconds or self.patience)):
                yield
        finally:
            timer.cancel()
        assert not over.is_set(), f"{what} waited for the backend: it went on only once the backend had no fault any more"

    async def _settled(self, sink: Plugin) -> None:
        """Flush until nothing waits: each flush has a deadline, and a backend with a fault may need several."""
        await self.flush(sink)
        while self.counts(sink).waiting:
            await self.flush(sink)

    async def _closed(self, sink: Plugin) -> None:
        with anyio.fail_after(self.patience):
            await self.close(sink)

    def _add_up(self, sink: Plugin) -> SinkCounts:
        counts = self.counts(sink)
        assert counts.accepted == counts.delivered + counts.lost + counts.waiting, f"the counts do not add up: {counts}"
        return counts

    def _arrived(self, backend: SinkBackend, sink: Plugin, results: list[Any]) -> None:
        by_run: dict[str | None, list[SeenEvent]] = {}
        for seen in backend.seen():
            by_run.setdefault(seen.run_id, []).append(seen)
        for result in results:
            run_id = result.record.headers[-1].run_id
            assert run_id in by_run, "a run did not arrive"
            if self.by_event:
                wanted = ids_of(result, sink)
                got = [seen.seq for seen in by_run[run_id] if seen.seq is not None]
                assert not [seq for seq, times in Counter(got).items() if times > 1], "events arrived twice"
                assert got == wanted, "events are missing, or in another order"
        counts = self._add_up(sink)
        assert (counts.lost, counts.waiting) == (0, 0)


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
