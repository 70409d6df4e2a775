"""The plugin that writes events to a file, one JSON object a line, and puts full files aside."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import anyio.to_thread
import pydantic

from agentfp.plugin import BackgroundWorker, ConfigError, ExportedEvent, Payload, Plugin, Registry, WorkerStats, event_meta, hookimpl
from agentfp_console.shapes import Chosen, check

DROPPED = "agentfp.console.dropped"


class EventFile(Plugin):
    """Writes the events of runs to a file of JSON lines, in the background."""

    name = "event_file"
    version = "0.1.0"
    exports_in_thread = True

    class Settings(Chosen):
        """Settings of the file.

        Args:
            path: the file; folders on the way are made.
            max_bytes: a file that would grow beyond is put aside as ``.1``, ``.2``, ...; None for one file.
            keep: how many files are put aside.
            batch: as many events are written at once.
            batch_chars: as many characters of content make a batch too.
            batch_seconds: how long the first event of a batch waits for others.
            max_queue: events that may wait; beyond it the oldest is dropped and counted.
            fsync: whether a batch is on the disk before the next one.
            flush_seconds: the most that ``flush`` and ``close`` wait.
            on_error: is handed a failure and the number of events it cost, on the thread that writes.
        """

        path: Path
        max_bytes: int | None = pydantic.Field(default=None, gt=0)
        keep: int = pydantic.Field(default=1, gt=0)
        batch: int = pydantic.Field(default=100, gt=0)
        batch_chars: int = pydantic.Field(default=65_536, gt=0)
        batch_seconds: float = pydantic.Field(default=1.0, ge=0)
        max_queue: int = pydantic.Field(default=10_000, gt=0)
        fsync: Literal["never", "batch"] = "never"
        flush_seconds: float = pydantic.Field(default=5.0, gt=0)
        on_error: Callable[[Exception, int], None] | None = None

        @pydantic.field_validator("path", mode="before")
        @classmethod
        def _named(cls, value: Any) -> Any:
            if not str(value).strip():
                raise ValueError("the path of the file is empty")
            return value

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        chosen = self.settings
        self._file = LineFile(chosen.path.expanduser(), chosen.max_bytes, chosen.keep, fsync=chosen.fsync == "batch")
        self._worker: BackgroundWorker[ExportedEvent] = BackgroundWorker(
            self._work,
            self.name,
            capacity=chosen.max_queue,
            batch=chosen.batch,
            weight=chosen.batch_chars,
            seconds=chosen.batch_seconds,
            on_error=chosen.on_error,
        )

    @property
    def stats(self) -> WorkerStats:
        """What became of the events."""
        return self._worker.stats

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """See that what was chosen is there."""
        check(self.settings, agent, self.name, [kind.event_name for plugin in agent.plugins.values() for kind in plugin.events])

    def exports(self, name: str) -> bool:
        """Whether events of a name are written."""
        return bool(self.settings.wants(name))

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        """Hand an event over."""
        if self.settings.takes(event):
            self._worker.put(event, _weight(event.payload))

    async def flush(self) -> bool:
        """Wait until what waits is written, for ``flush_seconds`` at most; gives whether it is."""
        return await anyio.to_thread.run_sync(self._worker.flush, self.settings.flush_seconds, abandon_on_cancel=True)

    @hookimpl
    async def close(self) -> None:
        """Write what waits."""
        await anyio.to_thread.run_sync(self._worker.close, self.settings.flush_seconds, abandon_on_cancel=True)

    def _work(self, events: list[ExportedEvent], dropped: int) -> None:
        lines = [self._line(event) for event in events]
        if dropped:
            lines.insert(0, json.dumps({"type": DROPPED, "payload": {"count": dropped}, "meta": {"ts_ns": events[0].ts_ns}}))
        self._file.write(lines)

    def _line(self, event: ExportedEvent) -> str:
        meta = event_meta(event)
        if event.name == "agentfp.agent.run_configured":
            meta["content"] = self.settings.content
        try:
            return _json({"type": event.name, "payload": dict(event.data), "meta": meta})
        except (TypeError, ValueError):  # one field of one event must not cost the others
            return _json({"type": event.name, "payload": {"unserialisable": True}, "meta": meta})


def _weight(payload: Payload | None) -> int:
    """How much text an event holds; nothing where no content is seen."""
    if payload is None:
        return 0
    names = [field.name for field in dataclasses.fields(payload)] if dataclasses.is_dataclass(payload) else ["data"]
    texts: list[Any] = [getattr(payload, name, None) for name in names]
    return sum([len(text) for text in texts if isinstance(text, str)])


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace").decode()


class LineFile:
    """A file of lines that is appended to, and put aside when it is full.

    Args:
        path: the file.
        max_bytes: when it is full; None for never.
        keep: how many full ones stay.
        fsync: whether each write is on the disk before it returns.

    Raises:
        ConfigError: the file cannot be written.
    """

    def __init__(self, path: Path, max_bytes: int | None = None, keep: int = 1, *, fsync: bool = False) -> None:
        self.path = path
        self._max = max_bytes
        self._keep = keep
        self._fsync = fsync
        self._failed = False
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                torn = file.tell() > 0 and not self._ends_a_line()
                if torn:  # left by a process that was killed
                    file.write(b"\n")
        except OSError as error:
            raise ConfigError(f"plugin 'event_file': {str(path)!r} cannot be written ({error.strerror}); name a file that can") from error

    def _ends_a_line(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def write(self, lines: list[str]) -> None:
        """Append lines.

        Raises:
            OSError: they cannot be written.
        """
        body = ("\n".join(lines) + "\n").encode()
        with self._lock:
            self._make_room(len(body))
            if self._failed and self.path.exists() and self.path.stat().st_size and not self._ends_a_line():
                body = b"\n" + body  # a full disk, say, took a part of a line, which would spoil the next one
            self._failed = True
            with self.path.open("ab") as file:
                file.write(body)
                if self._fsync:
                    file.flush()
                    os.fsync(file.fileno())
            self._failed = False

    def _make_room(self, coming: int) -> None:
        if self._max is None or not self.path.exists():
            return
        size = self.path.stat().st_size
        if size == 0 or size + coming <= self._max:
            return
        for number in range(self._keep, 0, -1):
            aside = self._aside(number - 1)
            if aside.exists():
                aside.replace(self._aside(number))

    def _aside(self, number: int) -> Path:
        return self.path if number == 0 else self.path.with_name(f"{self.path.name}.{number}")
