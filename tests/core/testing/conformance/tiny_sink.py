"""A sink of a few lines and its backend in memory, which can have every fault: what the checks of sinks are tried on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import pydantic

from agentfp.plugin import BackgroundWorker, ExportedEvent, Plugin, WorkerStats, hookimpl
from agentfp.testing import Fault, SeenEvent, SinkBackend


class TooFast(Exception):
    """Try again."""


class Store:
    """A backend in memory."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.kept: list[SeenEvent] = []
        self._go_on = threading.Event()
        self._tries = 0

    def put(self, events: list[SeenEvent]) -> int:
        """Take events; gives how many of them it took."""
        if self.fault == "dead":
            raise ConnectionError("nobody listens")
        if self.fault == "stuck":
            self._go_on.wait(120)
        if self.fault == "throttling":
            self._tries += 1
            if self._tries % 3:
                raise TooFast
        if self.fault == "lying":
            self.kept += events[1:]
            return len(events) - 1
        self.kept += events
        return len(events)

    def heal(self) -> None:
        self.fault = "none"
        self._go_on.set()


class TinySink(Plugin):
    """Writes events to a store."""

    name = "tiny"

    class Settings(Plugin.Settings):
        store: Store
        content: bool = False
        max_queue: int = pydantic.Field(default=10_000, gt=0)
        flush_seconds: float = 0.5

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        self.worker = BackgroundWorker(self.deliver, self.name, capacity=self.settings.max_queue, batch=100, seconds=0.01)

    @property
    def stats(self) -> WorkerStats:
        return self.worker.stats

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        self.worker.put(event)

    async def flush(self) -> bool:
        return await anyio.to_thread.run_sync(self.worker.flush, self.settings.flush_seconds, abandon_on_cancel=True)

    @hookimpl
    async def close(self) -> None:
        await anyio.to_thread.run_sync(self.worker.close, self.settings.flush_seconds, abandon_on_cancel=True)

    def deliver(self, events: list[ExportedEvent], dropped: int) -> int:
        seen = [SeenEvent(repr((event.name, event.data)), event.header.run_id, event.seq) for event in events]
        return len(seen) - self.put(seen)

    def put(self, seen: list[SeenEvent]) -> int:
        for _ in range(3):
            try:
                took: int = self.settings.store.put(seen)
                return took
            except TooFast:
                continue
        raise TooFast


@contextmanager
def tiny(fault: Fault, folder: Path, kind: type[TinySink] = TinySink) -> Iterator[SinkBackend]:
    store = Store(fault)
    yield SinkBackend(lambda **settings: kind(store=store, **settings), lambda: store.kept, store.heal)
    store.heal()
