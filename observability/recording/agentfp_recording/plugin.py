"""The plugin: each run is recorded to a file while it goes on."""

from __future__ import annotations

import weakref
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import anyio.to_thread
import pydantic

from agentfp.plugin import ExportedEvent, Plugin, hookimpl
from agentfp_recording.envelope import Detail
from agentfp_recording.errors import RecordingError
from agentfp_recording.naming import check_pattern, path_of
from agentfp_recording.output import ENDED, Output
from agentfp_recording.retention import expire
from agentfp_recording.writer import RecordingStats, Writer


class RecordingSettings(Plugin.Settings):
    """Settings of the plugin."""

    folder: Path = Path("recordings")
    """Where the files are; made when the first one is."""
    name: str = "{conversation}.jsonl"
    """File of a run in it. Fields: ``{conversation}``, ``{run}``, ``{date}`` (the day, in UTC, on which the leg began)."""
    detail: Detail = "full"
    """``lean`` records names, numbers and digests, and a placeholder for what a person, a model or a tool wrote."""
    keep: int | None = pydantic.Field(None, ge=1, strict=True)
    """How many recordings are kept; the oldest are removed when a new one begins. Not set: all."""
    keep_days: float | None = pydantic.Field(None, gt=0, allow_inf_nan=False)
    """Days for which they are kept. Not set: for ever."""
    keep_bytes: int | None = pydantic.Field(None, ge=1, strict=True)
    """Bytes that they may have in all. Not set: any number."""
    max_queue: int = pydantic.Field(10_000, ge=1, strict=True)
    """Events that may wait for the disk; more are dropped and counted."""
    gather_seconds: float = pydantic.Field(0.05, ge=0, le=10, allow_inf_nan=False)
    """For how long events are gathered for one write: so much a killed process may lose."""
    wait_seconds: float = pydantic.Field(1.0, ge=0, le=5, allow_inf_nan=False)
    """For how long the end of a run waits for the disk."""
    fsync: bool = False
    """Wait for the disk after each write: a power cut loses no more than a killed process then."""

    @pydantic.field_validator("name")
    @classmethod
    def _a_pattern(cls, value: str) -> str:
        return check_pattern(value)

    @pydantic.field_validator("folder")
    @classmethod
    def _a_folder(cls, value: Path) -> Path:
        if value.exists() and not value.is_dir():
            raise ValueError("there is a file of this name; name a folder")
        return value


class Recording(Plugin):
    """Records each run to a file while it goes on: masked as its policy says, readable after a crash, sealed with a checksum.

    A disk that is slow, full or gone delays no run but by ``wait_seconds`` at its end, and breaks none. What is not recorded is counted:
    in :attr:`stats`, in the file, and with ``result.plugin_failures``.
    """

    name = "recording"
    version = "0.1.0"
    exports_in_thread = True

    class Settings(RecordingSettings):
        """See :class:`RecordingSettings`."""

    def __init__(self, settings: RecordingSettings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        chosen: RecordingSettings = self.settings
        folder = chosen.folder.absolute()  # a program that changes its folder goes on in the same files
        limits = {"keep": chosen.keep, "days": chosen.keep_days, "total_bytes": chosen.keep_bytes}
        limited = any(limit is not None for limit in limits.values())
        self._writer = Writer(
            lambda header: path_of(folder, chosen.name, header),
            lambda path, owner: Output(path, owner, chosen.detail, fsync=chosen.fsync),
            max_queue=chosen.max_queue,
            gather_seconds=chosen.gather_seconds,
            made=lambda: expire(folder, **limits) if limited else [],  # type: ignore[arg-type]
        )
        weakref.finalize(self, self._writer.stop)

    @property
    def sees_content(self) -> bool:
        """Whether content is recorded: with ``detail = "full"``."""
        return bool(self.settings.detail == "full")

    @hookimpl
    def export_event(self, event: ExportedEvent) -> Coroutine[Any, Any, None] | None:
        """Hand the event to the writer; at the end of a run, see to it that its file is whole."""
        number = self._writer.put(event)
        return self._ended(event, number) if event.name == ENDED else None

    async def _ended(self, event: ExportedEvent, number: int) -> None:
        seconds = self.settings.wait_seconds
        in_time = await anyio.to_thread.run_sync(self._writer.wait, number, seconds, abandon_on_cancel=True)
        lost = self._writer.lost(event.header.run_id)
        if lost is not None:
            raise RecordingError(f"{lost.count} events of the run {event.header.run_id!r} are not recorded: {lost.why}")
        if not in_time:
            raise RecordingError(f"the recording of the run {event.header.run_id!r} is not written yet after {seconds} s")

    @hookimpl
    def close(self) -> None:
        """Write what waits."""
        self._writer.stop()

    @property
    def stats(self) -> RecordingStats:
        """What became of the events of all runs up to now."""
        return self._writer.stats()
