"""The sinks that write to files and loggers pass the checks of sinks. A disk that is full or hangs is played by the call that writes."""

from __future__ import annotations

import errno
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentfp.plugin import Plugin
from agentfp.testing import Fault, SeenEvent, SinkBackend, SinkConformance, SinkCounts
from agentfp_audit import Audit
from agentfp_audit.log import AuditLog
from agentfp_console import EventFile, EventLog
from agentfp_console.event_file import LineFile
from agentfp_recording import Recording
from agentfp_recording.output import Output


class Disk:
    """A disk with a fault.

    Args:
        fault: which.
    """

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self._go_on = threading.Event()

    def use(self) -> None:
        """Before something is written."""
        if self.fault == "dead":
            raise OSError(errno.ENOSPC, "No space left on device")
        if self.fault == "stuck":
            self._go_on.wait(120)

    def heal(self) -> None:
        self.fault = "none"
        self._go_on.set()

    def under(self, patch: pytest.MonkeyPatch, kind: type, method: str) -> None:
        """Have a method use this disk."""
        real: Any = getattr(kind, method)

        def using(*arguments: Any, **named: Any) -> Any:
            self.use()
            return real(*arguments, **named)

        patch.setattr(kind, method, using)


class OnDisk(SinkConformance):
    """What sinks that write to a disk have in common."""

    __test__ = False
    faults = ("dead", "stuck")
    many = 20_000
    writer: tuple[type, str]

    def make(self, folder: Path) -> Any:
        raise NotImplementedError

    def seen(self, folder: Path) -> list[SeenEvent]:
        raise NotImplementedError

    @contextmanager
    def backend(self, fault: Fault, folder: Path) -> Iterator[SinkBackend]:
        disk = Disk(fault)
        with pytest.MonkeyPatch.context() as patch:
            disk.under(patch, *self.writer)
            yield SinkBackend(self.make(folder), partial(self.seen, folder), disk.heal)
            disk.heal()


async def until_written(sink: Any, seconds: float = 1.0) -> None:
    """The flush of sinks that are waited for at the end of a run only."""
    with anyio.move_on_after(seconds):
        while sink.stats.waiting:  # noqa: ASYNC110
            await anyio.sleep(0.01)


def written(sink: Any) -> SinkCounts:
    """The counts of a sink whose stats say what it wrote."""
    stats = sink.stats
    return SinkCounts(stats.accepted, stats.written, stats.dropped, stats.waiting)


class TestEventFile(OnDisk):
    __test__ = True
    writer = (LineFile, "write")

    def make(self, folder: Path) -> Any:
        return partial(EventFile, path=folder / "events", batch_seconds=0.01, flush_seconds=1.0)

    def seen(self, folder: Path) -> list[SeenEvent]:
        path = folder / "events"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        metas = [json.loads(line)["meta"] for line in lines]
        return [SeenEvent(line, meta.get("run_id"), meta.get("seq")) for line, meta in zip(lines, metas, strict=True)]


class TestAudit(OnDisk):
    __test__ = True
    writer = (AuditLog, "write")
    content = {"payload_mode": "verbatim"}  # noqa: RUF012

    def make(self, folder: Path) -> Any:
        return partial(Audit, path=folder / "audit.jsonl", wait_seconds=0.2)

    def seen(self, folder: Path) -> list[SeenEvent]:
        path = folder / "audit.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        metas = [json.loads(line).get("meta", {}) for line in lines]
        return [SeenEvent(line, meta.get("run_id"), meta.get("event_seq")) for line, meta in zip(lines, metas, strict=True)]

    async def flush(self, sink: Plugin) -> None:
        await until_written(sink)

    def counts(self, sink: Plugin) -> SinkCounts:
        return written(sink)


class TestRecording(OnDisk):
    """Its default is to record content, for a recording is private; checked is what it says of a lean one."""

    __test__ = True
    writer = (Output, "_append")
    content = {"detail": "full"}  # noqa: RUF012

    def make(self, folder: Path) -> Any:
        def made(**settings: Any) -> Plugin:
            return Recording(**{"folder": folder, "detail": "lean", "wait_seconds": 0.2, **settings})

        return made

    def seen(self, folder: Path) -> list[SeenEvent]:
        found = []
        for path in folder.glob("*.jsonl"):
            run_id = None
            for line in path.read_text(encoding="utf-8").splitlines():
                data = json.loads(line)
                run_id = data.get("segment", {}).get("run_id", run_id)
                found.append(SeenEvent(line, run_id, data.get("seq")))
        return found

    async def flush(self, sink: Plugin) -> None:
        await until_written(sink)

    def counts(self, sink: Plugin) -> SinkCounts:
        return written(sink)


class Kept(logging.Handler):
    """Keeps what is logged, unless its disk has a fault."""

    def __init__(self, disk: Disk) -> None:
        super().__init__()
        self.disk = disk
        self.seen: list[SeenEvent] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.disk.use()
        fields: dict[str, Any] = record.__dict__.get("fields", {})
        self.seen.append(SeenEvent(record.getMessage() + repr(fields), fields.get("run_id"), fields.get("seq")))


class TestEventLog(SinkConformance):
    faults = ("stuck",)  # a handler that fails is the logging system's own to tell
    many = 20_000

    @contextmanager
    def backend(self, fault: Fault, folder: Path) -> Iterator[SinkBackend]:
        disk = Disk(fault)
        logger = logging.Logger("tests.conformance", logging.DEBUG)  # noqa: LOG001 - of its own, under no other
        kept = Kept(disk)
        logger.addHandler(kept)
        yield SinkBackend(partial(EventLog, logger=logger, flush_seconds=1.0), lambda: kept.seen, disk.heal)
        disk.heal()
