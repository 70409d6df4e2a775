"""Domains ``hook`` and ``plugin``: what plugins decided, and where they failed."""

from __future__ import annotations

from typing import Literal

from agentfp_core.events.base import Content, Name, Number, Payload, event


@event("agentfp.hook.verdict")
class VerdictFiled(Payload):
    """A hook answered something else than "no opinion"."""

    moment: Name[str]
    phase: Name[str]
    plugin: Name[str]
    verdict: Name[str]
    arguments: Content[str | None] = None
    text: Content[str | None] = None
    reason: Content[str | None] = None
    rule: Name[str | None] = None
    origin: Name[Literal["person", "app"] | None] = None


@event("agentfp.plugin.failed")
class PluginFailed(Payload):
    """A hook raised, or did not end in time, and the policy of its phase was applied."""

    plugin: Name[str]
    moment: Name[str]
    phase: Name[str]
    policy: Name[Literal["run-failed", "edits-dropped", "call-refused", "result-withheld", "skipped", "answer-refused", "counted"]]
    error_class: Name[str]
    error: Content[str | None] = None


@event("agentfp.plugin.slow", kind="diagnostic")
class PluginSlow(Payload):
    """A synchronous hook held up the event loop; reported once a run and hook."""

    plugin: Name[str]
    moment: Name[str]
    duration_ms: Number[int]

    def __str__(self) -> str:
        return f"plugin {self.plugin} held the run up for {self.duration_ms} ms in {self.moment}"
