"""The plugin: makes segments of events, hands them to a thread that sends them, and waits for it no longer than it is told."""

from __future__ import annotations

import importlib.util
import threading
import weakref
from typing import Any

import anyio.to_thread

from agentfp.plugin import BackgroundWorker, ExportedEvent, Plugin, Registry, WorkerStats, hookimpl
from agentfp_xray.sending import Sender
from agentfp_xray.settings import XRaySettings
from agentfp_xray.turn import WANTED, Item, Turn

CONNECT_SECONDS = 3
READ_SECONDS = 10


class XRay(Plugin):
    """Traces turns to AWS X-Ray, in the background. A service that is away delays no run and breaks none.

    Nothing that people, models and tools wrote is ever in a segment.
    """

    name = "xray"
    version = "0.1.0"
    exports_in_thread = True

    class Settings(XRaySettings):
        """See :class:`XRaySettings`."""

    def __init__(self, settings: XRaySettings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        chosen: XRaySettings = self.settings
        self._worker: BackgroundWorker[Item] = BackgroundWorker(
            lambda items, _: self._sender.put([item if isinstance(item, str) else item[0].document(item[1]) for item in items]),
            self.name,
            capacity=chosen.max_queue,
            batch=chosen.max_batch,
            seconds=chosen.batch_seconds,
            on_error=chosen.on_error,
        )
        self._sender = Sender(self._client, lambda error, count: self._worker.report(error, count, str(error)))
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[Turn] = weakref.WeakSet()

    @property
    def stats(self) -> WorkerStats:
        """What became of the segment documents."""
        return self._worker.stats

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """See that there is what it needs."""
        settings = self.settings
        if settings.client is not None:
            return
        if importlib.util.find_spec("boto3") is None:
            agent.problem("it needs boto3, or a client of your own; pip install agentfp-xray")
        elif settings.region is None and (problem := _region_problem()) is not None:
            agent.problem(problem)

    def exports(self, name: str) -> bool:
        """Whether events of a name say something of a trace."""
        return name in WANTED

    @hookimpl
    def export_event(self, event: ExportedEvent, state: dict[Any, Any]) -> None:
        """Take an event into the trace of its turn."""
        turn: Turn | None = state.get("turn")
        if turn is None:
            turn = state["turn"] = Turn(self.settings.service_name, self.settings.sample_rate, self._worker.put)
            with self._lock:
                self._open.add(turn)
        if turn.handle(event):
            del state["turn"]
            with self._lock:
                self._open.discard(turn)

    async def flush(self) -> bool:
        """Wait until the closed turns are sent, for ``flush_seconds`` at most; gives whether they are, or are counted as lost."""
        return await anyio.to_thread.run_sync(self._worker.flush, self.settings.flush_seconds, abandon_on_cancel=True)

    @hookimpl
    async def close(self) -> None:
        """Send what waits, and of turns that go on what there is of them, marked as in progress."""
        with self._lock:
            turns = list(self._open)
        for turn in turns:
            for item in turn.unfinished():
                self._worker.put(item)
        await anyio.to_thread.run_sync(self._worker.close, self.settings.flush_seconds, abandon_on_cancel=True)

    def _client(self) -> Any:
        settings = self.settings
        if settings.client is not None:
            return settings.client
        import boto3  # type: ignore[import-untyped]
        from botocore.config import Config

        config = Config(connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries={"total_max_attempts": 1})
        return boto3.session.Session().client("xray", region_name=settings.region, endpoint_url=settings.endpoint_url, config=config)


def _region_problem() -> str | None:
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    try:
        found = Session().get_config_variable("region")
    except BotoCoreError as error:  # a profile that is not there, a file of settings that cannot be read
        return f"boto3's own settings cannot be used ({type(error).__name__}); see to AWS_PROFILE and the files in ~/.aws, or set `region`"
    return None if found else "it knows no AWS region; set `region`, or AWS_DEFAULT_REGION in the environment"
