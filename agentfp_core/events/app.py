"""Events of the application: any name outside ``agentfp.``, any JSON data."""

from __future__ import annotations

from typing import ClassVar

from agentfp_core.events.base import Kind, RawPayload


class AppEvent(RawPayload):
    """An event that a tool or the application emits under a name of its own."""

    __slots__ = ()
    event_name: ClassVar[str] = "app"
    event_kind: ClassVar[Kind] = "diagnostic"

    def __str__(self) -> str:
        return self.data
