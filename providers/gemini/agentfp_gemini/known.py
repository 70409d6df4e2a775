"""What is known of Gemini models: features and prices by model, habits by family. All of it is data, in ``models.json``."""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import json
from dataclasses import dataclass
from typing import Any, Literal

from agentfp.model import ModelCatalog, ModelFeatures

Thinking = Literal["none", "budget", "always", "levels"]

USUAL = ModelFeatures(
    streaming=True,
    parallel_tool_calls=True,
    forced_tool_choice=True,
    json_schema=True,
    prompt_cache="automatic",
    thinking=True,
    images=True,
    documents=True,
)
"""What a model has unless the data says otherwise."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one model.

    Args:
        name: its name, without a folder such as ``models/``.
        features: what it can do.
        thinking: whether it takes a budget for thinking: no thinking at all, a budget that may be 0, a budget above 0, or levels only.
        signatures: it takes no calls without a thought's signature.
    """

    name: str
    features: ModelFeatures
    thinking: Thinking = "budget"
    signatures: bool = False


@functools.cache
def _data() -> tuple[ModelCatalog, dict[str, dict[str, Any]]]:
    data = json.loads(importlib.resources.files("agentfp_gemini").joinpath("models.json").read_text(encoding="utf-8"))
    return ModelCatalog(data), data["families"]


def catalog() -> ModelCatalog:
    """The models of the data file."""
    return _data()[0]


def known(model: str) -> Known:
    """What is known of a model; of one that is not in the data, what its family or else a usual model has.

    Args:
        model: its name, as it stands in the path of a request or without the folder.
    """
    models, families = _data()
    name = model.rpartition("/")[2]
    prefix = max((prefix for prefix in families if name.startswith(prefix)), key=len, default="")
    family = families.get(prefix, {})
    usual = dataclasses.replace(USUAL, **family.get("features", {}))
    return Known(name, models.features(name, usual), family.get("thinking", "budget"), family.get("signatures", False))
