"""Words for events in a row of the timeline: one short line each, made of names and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

QUIET = frozenset(
    {
        "agentfp.agent.turn_start",
        "agentfp.agent.iteration_start",
        "agentfp.agent.iteration_end",
        "agentfp.agent.route_decided",
        "agentfp.agent.output_attempt",
        "agentfp.stream.thinking_end",
        "agentfp.stream.draft_discarded",
        "agentfp.message.repaired",
        "agentfp.pause.answered",
        "agentfp.tools.session_started",
        "agentfp.tools.session_reused",
        "agentfp.tools.session_closed",
        "agentfp.plugin.slow",
        "agentfp.context.budget_pressure",
    }
)
"""Events that say nothing that another row does not; they stand among the raw events of their step."""
SIZE = 160
_BAD = ("failed", "fatal", "refused", "halt", "denied", "exhausted", "limit_hit", "unmet", "invalid", "fail_fast", "malformed", "conflict")
_WARN = ("retried", "retry", "repeated", "fallback", "contingent", "not_assessed", "abandoned", "skipped", "unsettled")
_TOLD = ("standing", "basis", "result", "checker", "tool", "capability", "action", "reason", "kind", "plugin", "state", "outcome", "label")


def excerpt(text: Any, size: int = SIZE) -> str:
    """The begin of a text in one line."""
    if not isinstance(text, str):
        return ""
    line = " ".join(text[: size * 4].split())
    return line if len(line) <= size else f"{line[: size - 1]}…"


def label_of(name: str, data: Any) -> tuple[str, str | None]:
    """What a row says of an event, and its standing.

    Args:
        name: the event's name.
        data: its payload, as JSON data.
    """
    words = name.removeprefix("agentfp.").replace("_", " ").split(".")
    label = " · ".join(words)
    if isinstance(data, Mapping):
        told = [f"{key.replace('_', ' ')} {data[key]}" for key in _TOLD if isinstance(data.get(key), (str, bool, int))]
        if name in ("agentfp.error.fatal", "agentfp.plugin.failed", "agentfp.run.cancelled"):
            told = [str(data[key]) for key in ("plugin", "stage", "moment", "phase", "error_class", "cause") if data.get(key)]
        if told:
            label = f"{label}: {excerpt(', '.join(told[:4]), 100)}"
        if data.get("result") in ("deny", "halt"):
            return label, "bad"
    last = words[-1].replace(" ", "_")
    if any(sign in last for sign in _BAD):
        return label, "bad"
    return label, "warn" if any(sign in last for sign in _WARN) else None
