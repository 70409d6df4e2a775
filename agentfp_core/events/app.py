"""Events of the application: any name outside ``agentfp.``, any JSON data."""

from __future__ import annotations

from typing import ClassVar

from agentfp_core.events.base import Kind, Payload


class AppEvent(Payload):
    """An event that a tool or the application emits under a name of its own."""

    __slots__ = ("data",)
    event_name: ClassVar[str] = "app"
    event_kind: ClassVar[Kind] = "diagnostic"

    def __init__(self, data: str) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AppEvent) and other.data == self.data

    __hash__ = None  # type: ignore[assignment]
