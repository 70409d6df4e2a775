"""What is known of each model, from ``models.json``: its features, its prices, and what its requests may hold."""

from __future__ import annotations

import importlib.resources
import json
from dataclasses import dataclass
from typing import Any, Literal

from agentfp.model import ModelCatalog, ModelFeatures

_DATA: dict[str, Any] = json.loads(importlib.resources.files("agentfp_anthropic").joinpath("models.json").read_text(encoding="utf-8"))
CATALOG = ModelCatalog(_DATA)
USUAL = ModelFeatures(
    streaming=True,
    tools=True,
    parallel_tool_calls=True,
    forced_tool_choice=True,
    prompt_cache="breakpoints",
    thinking=True,
    images=True,
    documents=True,
)
"""Features of a model that the data file does not know."""


@dataclass(frozen=True, slots=True)
class RequestRules:
    """What a model's requests may hold.

    Args:
        max_output: tokens that a reply may have; ``max_tokens`` where a request states none, for the API demands it.
        thinking_budget: whether thinking may have a budget of tokens.
        thinking_off: how thinking is switched off; ``omit`` where it is off unless asked for, None where it is always on.
        sampling: whether ``temperature`` and ``top_p`` are taken.
        bound_thinking: whether thinking is refused when what stands before it has changed since.
    """

    max_output: int = 8_192
    thinking_budget: bool = True
    thinking_off: Literal["disabled", "between_tools", "omit"] | None = "disabled"
    sampling: bool = True
    bound_thinking: bool = False


def rules_of(name: str) -> RequestRules:
    """The rules of a model; those of the older models for one that nobody knows."""
    facts = CATALOG.find(name)
    return RequestRules() if facts is None else RequestRules(**_DATA["requests"].get(facts.name, {}))
