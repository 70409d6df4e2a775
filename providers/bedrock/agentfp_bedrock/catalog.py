"""What is known of each model, from ``models.json``: its features, its prices, and what its requests may hold."""

from __future__ import annotations

import dataclasses
import importlib.resources
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from agentfp.model import ModelCatalog, ModelFeatures

_DATA: dict[str, Any] = json.loads(importlib.resources.files("agentfp_bedrock").joinpath("models.json").read_text(encoding="utf-8"))
CATALOG = ModelCatalog(_DATA)
USUAL = ModelFeatures(
    streaming=True, tools=True, parallel_tool_calls=True, forced_tool_choice=True, images=True, documents=True, prompt_cache="none"
)
"""Features of a model that nobody knows: all that Converse has, but thinking and a cache at marks, which few models have."""
CLAUDE = dataclasses.replace(USUAL, prompt_cache="breakpoints", thinking=True)
_REGION = re.compile(r"^(?:global|us-gov|[a-z]{2,4})\.(?=[a-z0-9-]+\.)")
_VERSION = re.compile(r"(?:-20\d{6})?(?:-v\d+(?::\d+)*)?\Z")
_REGIONAL = Decimal("1.1")


@dataclass(frozen=True, slots=True)
class RequestRules:
    """What a model's requests may hold.

    Args:
        claude: whether it is one of Anthropic's, whose thinking is wished for in their own words.
        thinking_budget: whether thinking may have a budget of tokens.
        thinking_off: how thinking is switched off; ``omit`` where it is off unless asked for, None where it is always on.
        sampling: whether ``temperature`` and ``topP`` are taken.
        tool_marks: whether tools may be marked for the cache.
        long_marks: whether the cache keeps anything for an hour.
    """

    claude: bool = False
    thinking_budget: bool = True
    thinking_off: Literal["disabled", "between_tools", "omit"] | None = "disabled"
    sampling: bool = True

    @property
    def tool_marks(self) -> bool:
        """Nova's cache takes none."""
        return self.claude

    @property
    def long_marks(self) -> bool:
        """Nova's cache keeps everything for five minutes."""
        return self.claude


def plain_name(model_id: str) -> str:
    """The name of a model without region, date and version: of an id, an inference profile's id, or an ARN that ends with one."""
    name = model_id.rpartition("/")[2] if model_id.startswith("arn:") else model_id
    return _VERSION.sub("", _REGION.sub("", name))


def features_of(model_id: str) -> ModelFeatures:
    """The features of a model, its prices those of where it runs."""
    name = plain_name(model_id)
    features = CATALOG.features(name, CLAUDE if _is_claude(name) else USUAL)
    if features.prices is None or not _is_claude(name) or "global." in model_id:
        return features
    return dataclasses.replace(features, prices=features.prices.times(_REGIONAL))


def rules_of(model_id: str) -> RequestRules:
    """The rules of a model; those of the older models for one that nobody knows."""
    name = plain_name(model_id)
    return RequestRules(_is_claude(name), **_DATA["requests"].get(name, {}))


def _is_claude(name: str) -> bool:
    return name.startswith("anthropic.")
