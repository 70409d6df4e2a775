"""Which events of a run are span events, where they stand, and what may be seen of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT = 256
ITEMS = 20
ON_ROOT = frozenset(
    {
        "agentfp.pause.resume",
        "agentfp.pause.answered",
        "agentfp.answer.refused",
        "agentfp.agent.budget_exhausted",
        "agentfp.cost.limit_hit",
        "agentfp.findings.contingent",
        "agentfp.run.stop_requested",
    }
)
ON_CHAT = ("agentfp.error.", "agentfp.reliability.", "agentfp.fallback.", "agentfp.agent.thinking_omitted")
SILENT = frozenset(
    {
        "agentfp.message.repaired",
        "agentfp.stream.thinking_end",
        "agentfp.stream.draft_discarded",
        "agentfp.cost.unpriced",
        "agentfp.tools.session_reused",
    }
)
"""Events that say nothing that the spans do not."""


STRUCTURE = frozenset(
    {
        "agentfp.agent.run_configured",
        "agentfp.agent.turn_start",
        "agentfp.agent.turn_end",
        "agentfp.answer.assessed",
        "agentfp.approval.decided",
        "agentfp.context.served",
        "agentfp.cost.tick",
        "agentfp.error.fatal",
        "agentfp.evidence.checked",
        "agentfp.model.call_failed",
        "agentfp.model.helper_replied",
        "agentfp.pause.request",
        "agentfp.run.cancelled",
        "agentfp.run.ended",
        "agentfp.stream.llm_end",
        "agentfp.tool.dispatched",
        "agentfp.tool.ended",
        "agentfp.tool.started",
    }
)
"""Events that spans are made of, also where nothing is noted."""


def wanted(name: str, *, noted: bool, content: bool, iterations: bool) -> bool:
    """Whether anything comes of events of a name.

    Args:
        name: of the event.
        noted: whether decisions stand on spans or in logs.
        content: whether texts stand on spans.
        iterations: whether iterations have spans.
    """
    if name in ("agentfp.context.blob", "agentfp.message.added"):
        return content
    if name in ("agentfp.agent.iteration_start", "agentfp.agent.iteration_end"):
        return iterations
    return name in STRUCTURE or (noted and name not in SILENT)


def attributes_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """What may be seen of an event, as attributes: texts in short, lists cut, parts under a name each.

    Args:
        data: the fields that a sink is shown.
    """
    made: dict[str, Any] = {}
    _flatten(data, "", made)
    return made


def _flatten(data: Mapping[str, Any], prefix: str, made: dict[str, Any]) -> None:
    for key, value in data.items():
        name = prefix + key
        if isinstance(value, str):
            made[name] = _short(value)
        elif isinstance(value, (bool, int, float)):
            made[name] = value
        elif isinstance(value, Mapping):
            _flatten(value, f"{name}.", made)
        elif isinstance(value, (list, tuple)) and value:
            if all(isinstance(item, Mapping) for item in value):
                made[f"{name}.count"] = len(value)
                for field in {key: None for item in value[:ITEMS] for key in item}:
                    column = [item.get(field) for item in value[:ITEMS]]
                    if all(isinstance(cell, str) or cell is None for cell in column):
                        made[f"{name}.{field}"] = tuple([_short(cell or "") for cell in column])
            else:
                made[name] = tuple([_short(str(item)) for item in value[:ITEMS]])


def _short(text: str) -> str:
    return text if len(text) <= TEXT else text[: TEXT - 1] + "…"
