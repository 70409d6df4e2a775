"""The plugin: facts of the runs of an agent, live; and of a saved record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pydantic

from agentfp.plugin import ExportedEvent, MemoSource, Plugin, Record, Registry, hookimpl, record_of
from agentfp_trust.facts import KEPT
from agentfp_trust.recorder import Counters, Recorder

DECIDERS = ("permissions", "credentials", "artifacts")
"""Plugins of which facts are kept, besides the verdicts of all."""


class Trust(Plugin):
    """Keeps a list of who decided what at the security boundaries: verdicts, permissions, credentials, approvals.

    It is bounded, holds nothing that a person, a model or a tool wrote, and counts what it lost. It only looks.
    """

    name = "trust"
    version = "0.1.0"
    exports_in_thread = True

    class Settings(Plugin.Settings):
        """Settings of the recorder."""

        max_facts: int = pydantic.Field(1000, ge=1, le=10_000, strict=True)
        """How many facts are kept; older ones make room, and are counted."""
        id: str | None = pydantic.Field(None, min_length=1, max_length=512)
        """Id of the capture; made when left out."""

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        self._recorder = Recorder(self.settings.max_facts, self.settings.id)
        self._deciders: dict[str, None] = {}

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """Note which plugins decide, so that an empty list can be read."""
        self._deciders.update(dict.fromkeys(name for name in DECIDERS if name in agent.plugins))

    def exports(self, name: str) -> bool:
        """Whether events of a name make facts."""
        return name in KEPT

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        """Look at an event."""
        self._recorder.observe(event.name, event.data, _origin(event, event.header.run_id, event.header.root_id, event.header.path))

    @property
    def counters(self) -> Counters:
        """What became of what was seen up to now."""
        return self._recorder.counters

    def snapshot(self) -> dict[str, Any]:
        """All facts and counters, as JSON data."""
        return self._recorder.snapshot(bridged=tuple(self._deciders))

    def reset(self) -> None:
        """Begin a new capture."""
        self._recorder.reset()

    @staticmethod
    def of(source: MemoSource, *, max_facts: int = 10_000) -> dict[str, Any]:
        """The facts of a record, nested runs with it, as a live recorder would have seen them; ids of the capture apart.

        Args:
            source: a result, a record, or the path of a saved one.
            max_facts: how many are kept.
        """
        recorder = Recorder(max_facts)
        _observe(recorder, record_of(source))
        return recorder.snapshot()


def _observe(recorder: Recorder, record: Record) -> None:
    for header in record.headers:
        for event in record.of_run(header.run_id):
            if event.name in KEPT:
                data = ExportedEvent(event, header, full=True).data
                if set(data) == {"data"} and isinstance(data["data"], dict):  # of a plugin that is not installed here
                    data = data["data"]
                recorder.observe(event.name, data, _origin(event, header.run_id, header.root_id, header.path))
    for child in record.children.values():
        _observe(recorder, child)


def _origin(event: Any, run_id: str, root_id: str, path: tuple[str, ...]) -> Mapping[str, Any]:
    return {
        "run_id": run_id,
        "root_id": root_id,
        "ts_ns": event.ts_ns,
        "seq": event.seq,
        "turn": event.turn,
        "iteration": event.iteration,
        "call_id": event.call_id,
        "path": path,
    }
