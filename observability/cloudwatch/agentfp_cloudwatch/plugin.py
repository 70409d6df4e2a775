"""The plugin: hands events to a thread that sends them, and waits for it no longer than it is told."""

from __future__ import annotations

import importlib.util
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

import anyio.to_thread

from agentfp.plugin import BackgroundWorker, ExportedEvent, Plugin, Registry, WorkerStats, hookimpl
from agentfp_cloudwatch.lines import dropped_line, line_of
from agentfp_cloudwatch.settings import CloudWatchSettings
from agentfp_cloudwatch.stream import LogStream

CONNECT_SECONDS = 3
READ_SECONDS = 10


class CloudWatch(Plugin):
    """Sends the events of runs to CloudWatch Logs, in the background. A service that is away delays no run and breaks none."""

    name = "cloudwatch"
    version = "0.1.0"
    exports_in_thread = True

    class Settings(CloudWatchSettings):
        """See :class:`CloudWatchSettings`."""

    def __init__(self, settings: CloudWatchSettings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        chosen: CloudWatchSettings = self.settings
        self._worker = BackgroundWorker(
            self._work,
            self.name,
            capacity=chosen.max_queue,
            batch=chosen.max_batch_events,
            seconds=chosen.batch_seconds,
            on_error=chosen.on_error,
        )
        self._untold = 0
        self._stream = LogStream(
            self._client,
            chosen.log_group,
            chosen.log_stream or default_stream,
            max_events=chosen.max_batch_events,
            max_bytes=chosen.max_batch_bytes,
            failed=lambda error, count: self._worker.report(error, count, str(error)),
        )

    @property
    def log_stream(self) -> str:
        """The stream that this process writes."""
        return self._stream.name

    @property
    def stats(self) -> WorkerStats:
        """What became of the events."""
        return self._worker.stats

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """See that there is what it needs."""
        for problem in self.problems():
            agent.problem(problem)

    def problems(self) -> list[str]:
        """What is missing, in words; nothing is sent for it."""
        settings = self.settings
        if settings.client is not None:
            return []
        if importlib.util.find_spec("boto3") is None:
            return ["it needs boto3, or a client of your own; pip install agentfp-cloudwatch"]
        problem = _region_problem() if settings.region is None else None
        return [] if problem is None else [problem]

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        """Hand an event over."""
        self._worker.put((event, {}))

    def put(self, event: ExportedEvent, more: Mapping[str, Any]) -> None:
        """Hand an event over, for a plugin that sends its events through this one.

        Args:
            event: the event.
            more: further fields of ``meta``: names, numbers and ids, no content.
        """
        self._worker.put((event, more))

    async def flush(self) -> bool:
        """Wait until what waits is sent, for ``flush_seconds`` at most; gives whether it is, or is counted as lost."""
        return await anyio.to_thread.run_sync(self._worker.flush, self.settings.flush_seconds, abandon_on_cancel=True)

    @hookimpl
    async def close(self) -> None:
        """Send what waits."""
        await anyio.to_thread.run_sync(self._worker.close, self.settings.flush_seconds, abandon_on_cancel=True)

    # --- on the thread -----------------------------------------------------------------------------------------------------------

    def _work(self, items: list[tuple[ExportedEvent, Mapping[str, Any]]], dropped: int) -> int:
        settings = self.settings
        lines = [line_of(event, more, content=settings.content, max_bytes=settings.max_event_bytes) for event, more in items]
        self._untold += dropped
        lost = self._stream.put(lines)
        if self._untold and lost < len(lines) and self._stream.note(dropped_line(self._untold, items[0][0].ts_ns)):
            self._untold = 0
        return lost

    def _client(self) -> Any:
        settings = self.settings
        if settings.client is not None:
            return settings.client
        import boto3  # type: ignore[import-untyped]
        from botocore.config import Config

        config = Config(connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries={"total_max_attempts": 1})
        return boto3.session.Session().client("logs", region_name=settings.region, endpoint_url=settings.endpoint_url, config=config)


def default_stream() -> str:
    """A stream of this process's own, so that two processes do not write into one."""
    host = socket.gethostname().replace(":", "-").replace("*", "-")
    return f"agentfp/{host}/{os.getpid()}-{time.time_ns() // 1_000_000}"


def _region_problem() -> str | None:
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    try:
        found = Session().get_config_variable("region")
    except BotoCoreError as error:  # a profile that is not there, a file of settings that cannot be read
        return f"boto3's own settings cannot be used ({type(error).__name__}); see to AWS_PROFILE and the files in ~/.aws, or set `region`"
    return None if found else "it knows no AWS region; set `region`, or AWS_DEFAULT_REGION in the environment"
