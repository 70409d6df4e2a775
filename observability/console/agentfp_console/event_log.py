"""The plugin that writes events to a logger: of the standard library, or of structlog."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from typing import Any

import anyio.to_thread
import pydantic

from agentfp.plugin import BackgroundWorker, ExportedEvent, Plugin, Registry, WorkerStats, event_meta, hookimpl
from agentfp_console.shapes import Chosen, check, domain_of

LEVELS: Mapping[str, int] = {
    "agentfp.error.fatal": logging.ERROR,
    "agentfp.plugin.failed": logging.ERROR,
    "agentfp.error.retried": logging.WARNING,
    "agentfp.run.cancelled": logging.WARNING,
    "agentfp.answer.refused": logging.WARNING,
    "agentfp.answer.not_assessed": logging.WARNING,
    "agentfp.agent.budget_exhausted": logging.WARNING,
    "agentfp.cost.limit_hit": logging.WARNING,
    "agentfp.model.call_failed": logging.WARNING,
    "agentfp.validation.args_invalid": logging.WARNING,
    "agentfp.context.blob": logging.DEBUG,
    "agentfp.message.added": logging.DEBUG,
    "agentfp.tool.dispatched": logging.DEBUG,
    "agentfp.agent.iteration_start": logging.DEBUG,
    "agentfp.agent.iteration_end": logging.DEBUG,
}
"""Of events that are not told at INFO."""
DROPPED = "agentfp.console.dropped"
METHODS: Mapping[int, str] = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warning",
    logging.ERROR: "error",
    logging.CRITICAL: "critical",
}
"""Of a logger of structlog; not all of its wrappers have a ``log`` that takes a level."""


class EventLog(Plugin):
    """Writes the events of runs to a logger, in the background."""

    name = "event_log"
    version = "0.1.0"
    exports_in_thread = True

    class Settings(Chosen):
        """Settings of the log.

        Args:
            logger: the name of a logger of the standard library, a logger, or a logger of structlog.
            levels: of events, by name or domain, over the default ones; ``logging``'s words or numbers.
            max_queue: events that may wait; beyond it the oldest is dropped and counted.
            flush_seconds: the most that ``flush`` and ``close`` wait.
        """

        logger: Any = "agentfp.events"
        levels: dict[str, int | str] = pydantic.Field(default_factory=dict)
        max_queue: int = pydantic.Field(default=10_000, gt=0)
        flush_seconds: float = pydantic.Field(default=5.0, gt=0)

        @pydantic.field_validator("logger")
        @classmethod
        def _a_logger(cls, value: Any) -> Any:
            if not isinstance(value, str) and not callable(getattr(value, "info", None)):
                raise ValueError("it is no logger; name one of the standard library, or pass one of it or of structlog")
            return value

        @pydantic.field_validator("levels")
        @classmethod
        def _known(cls, value: dict[str, int | str]) -> dict[str, int | str]:
            known = logging.getLevelNamesMapping()
            wrong = [level for level in value.values() if isinstance(level, str) and level.upper() not in known]
            if wrong:
                raise ValueError(f"there is no level {wrong[0]!r}; one of {', '.join(known)}")
            return {key: known[level.upper()] if isinstance(level, str) else level for key, level in value.items()}

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        logger = self.settings.logger
        self._logger = logging.getLogger(logger) if isinstance(logger, str) else logger
        self._write = self._stdlib if isinstance(self._logger, (logging.Logger, logging.LoggerAdapter)) else self._structlog
        self._untold = 0
        self._worker: BackgroundWorker[ExportedEvent] = BackgroundWorker(self._work, self.name, capacity=self.settings.max_queue)

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
            self._worker.put(event)

    async def flush(self) -> bool:
        """Wait until what waits is written, for ``flush_seconds`` at most; gives whether it is."""
        return await anyio.to_thread.run_sync(self._worker.flush, self.settings.flush_seconds, abandon_on_cancel=True)

    @hookimpl
    async def close(self) -> None:
        """Write what waits."""
        await anyio.to_thread.run_sync(self._worker.close, self.settings.flush_seconds, abandon_on_cancel=True)

    # --- on the thread -----------------------------------------------------------------------------------------------------------

    def _work(self, events: list[ExportedEvent], dropped: int) -> int:
        failures: list[BaseException] = []
        self._untold += dropped
        if self._untold:
            with contextlib.suppress(Exception):  # it is told with the next batch then
                self._write(logging.WARNING, DROPPED, {"count": self._untold}, None)
                self._untold = 0
        for event in events:
            fields = {**event.data, **event_meta(event)}
            if event.name == "agentfp.agent.run_configured":
                fields["content"] = self.settings.content
            try:
                self._write(self._level(event.name), event.name, fields, event.ts_ns)
            except BaseException as error:  # a handler's own; the next line may do better
                failures.append(error)
        if failures:
            self._worker.report(failures[0], len(failures))
        return len(failures)

    def _level(self, name: str) -> int:
        levels = self.settings.levels
        level: int = levels.get(name) or levels.get(domain_of(name)) or LEVELS.get(name, logging.INFO)
        return level

    def _stdlib(self, level: int, name: str, fields: dict[str, Any], ts_ns: int | None) -> None:
        logger = self._logger
        if not logger.isEnabledFor(level):
            return
        words = " ".join([f"{key}={_word(value)}" for key, value in fields.items() if key not in QUIET])
        if isinstance(logger, logging.LoggerAdapter):
            logger.log(level, "%s %s", name, words, extra={"event": name, "fields": fields})
            return
        extra = {"event": name, "fields": fields}
        record = logger.makeRecord(logger.name, level, "(agentfp)", 0, "%s %s", (name, words), None, None, extra)
        if ts_ns is not None:
            record.created, record.msecs = ts_ns / 1e9, float(ts_ns // 1_000_000 % 1000)
        logger.handle(record)

    def _structlog(self, level: int, name: str, fields: dict[str, Any], ts_ns: int | None) -> None:
        named = {f"{key}_" if key in ("level", "event") else key: value for key, value in fields.items()}
        method = METHODS.get(level)
        if method is None:
            self._logger.log(level, name, **named)
        else:
            getattr(self._logger, method)(name, **named)


QUIET = frozenset({"ts_ns", "offset_ns", "record_id", "seq", "source", "turn"})
"""Fields that stand in the record's ``fields`` and not in its words."""


def _word(value: Any) -> str:
    """A value in a line: a list of more than plain words by its length alone, for it stands in the fields."""
    if isinstance(value, (list, tuple)) and not all(isinstance(item, str) for item in value):
        return f"[{len(value)}]"
    text = ",".join(value) if isinstance(value, (list, tuple)) else str(value)
    return repr(text) if not text or any(c.isspace() or not c.isprintable() or c in "=\"'" for c in text) else text
