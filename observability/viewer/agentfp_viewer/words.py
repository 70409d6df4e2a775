"""Words for events in a row of the timeline: one short line each, made of names and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def _declared(data: Mapping[str, Any]) -> str:
    expected = f", expecting {data['expect']}" if data.get("expect") else ""
    return f"Why it calls {data.get('tool') or 'a tool'}: {data.get('basis')}{expected}"


_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "agentfp.findings.declared": _declared,
    "agentfp.findings.standing": lambda d: (
        f"To the model, {d.get('tool') or 'a result'} ({d.get('result') or d.get('named')}) is {d.get('standing')}"
    ),
    "agentfp.findings.judged": lambda d: f"A judge finds {d.get('tool')} to be {d.get('standing')}",
    "agentfp.findings.conflict": lambda d: f"Facts are at odds over {d.get('kind')} {d.get('id')}",
    "agentfp.permission.check": lambda d: f"Permission {d.get('result')}: {d.get('capability')} {d.get('target')}",
    "agentfp.permission.role": lambda d: f"The run goes in role {d.get('role')}",
    "agentfp.permission.halt": lambda d: f"Permission ends the run: {d.get('target')}",
    "agentfp.artifacts.minted": lambda d: f"Kept as an artifact: {d.get('kind')}, {d.get('bytes')} bytes",
    "agentfp.artifacts.placed": lambda d: f"A ticket in place of {d.get('chars')} characters of {d.get('tool')}",
    "agentfp.validation.args_invalid": lambda d: f"Arguments of {d.get('tool')} do not fit",
    "agentfp.tools.repeated_call": lambda d: f"{d.get('tool')} was called again for the same",
    "agentfp.error.retried": lambda d: f"Sent again: {d.get('reason')}, attempt {d.get('attempt')} of {d.get('max_attempts')}",
    "agentfp.agent.budget_exhausted": lambda d: f"Limit {d.get('reason')}: {d.get('action')}",
}
"""What the bundled plugins and the kernel say, in words; what nobody foresaw is told by its name and its fields."""


def label_of(name: str, data: Any) -> tuple[str, str | None]:
    """What a row says of an event, and its standing.

    Args:
        name: the event's name.
        data: its payload, as JSON data.
    """
    words = name.removeprefix("agentfp.").replace("_", " ").split(".")
    label = " · ".join(words)
    if isinstance(data, Mapping) and name in _SENTENCES:
        label = excerpt(_SENTENCES[name](data))
    elif isinstance(data, Mapping):
        told = [f"{key.replace('_', ' ')} {data[key]}" for key in _TOLD if isinstance(data.get(key), (str, bool, int))]
        if name in ("agentfp.error.fatal", "agentfp.plugin.failed", "agentfp.run.cancelled"):
            told = [str(data[key]) for key in ("plugin", "stage", "moment", "phase", "error_class", "cause") if data.get(key)]
        if told:
            label = f"{label}: {excerpt(', '.join(told[:4]), 100)}"
    if isinstance(data, Mapping) and data.get("result") in ("deny", "halt"):
        return label, "bad"
    last = words[-1].replace(" ", "_")
    if any(sign in last for sign in _BAD):
        return label, "bad"
    return label, "warn" if any(sign in last for sign in _WARN) else None
