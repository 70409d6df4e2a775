"""Which events of a run are span events, where they stand, and what may be seen of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT = 256
ITEMS = 20
ON_ROOT = frozenset(
    {
        "agentfp.pause.request",
        "agentfp.pause.resume",
        "agentfp.pause.answered",
        "agentfp.answer.refused",
        "agentfp.answer.assessed",
        "agentfp.agent.budget_exhausted",
        "agentfp.cost.limit_hit",
        "agentfp.evidence.checked",
        "agentfp.findings.contingent",
        "agentfp.error.fatal",
        "agentfp.run.cancelled",
        "agentfp.run.stop_requested",
    }
)
ON_CHAT = ("agentfp.error.", "agentfp.reliability.", "agentfp.fallback.", "agentfp.model.call_failed", "agentfp.agent.thinking_omitted")
JUDGING = frozenset(
    {"agentfp.evidence.checked", "agentfp.answer.drafted", "agentfp.answer.not_assessed", "agentfp.answer.assessed", "agentfp.agent.output_attempt"}
)
"""What is filed while a would-be answer is judged."""
SILENT = frozenset(
    {
        "agentfp.context.blob",
        "agentfp.message.repaired",
        "agentfp.stream.thinking_end",
        "agentfp.stream.draft_discarded",
        "agentfp.cost.unpriced",
        "agentfp.tools.session_reused",
    }
)
"""Events that say nothing that the spans do not."""


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
