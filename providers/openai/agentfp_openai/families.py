"""How a family of models takes wishes: which reasoning efforts it has, and whether it samples; read from `families.json`."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from agentfp.model import ModelFeatureError, ModelSettings
from agentfp.plugin import nearest


@dataclass(frozen=True, slots=True)
class Family:
    """What is known of a family. One that nothing is known of takes everything.

    Args:
        efforts: reasoning efforts it takes; empty for none, None for unknown.
        default_effort: the one it takes by itself.
    """

    efforts: tuple[str, ...] | None = None
    default_effort: str | None = None


@cache
def _families() -> Mapping[str, Family]:
    text = importlib.resources.files("agentfp_openai").joinpath("families.json").read_text(encoding="utf-8")
    stated: dict[str, dict[str, Any]] = json.loads(text)["families"]
    return {name: Family(tuple(entry["efforts"]), entry.get("default_effort")) for name, entry in stated.items()}


def family_of(model: str) -> Family:
    """The family of a model: the one with the longest name that the model's begins with.

    Args:
        model: its name; fine-tuned ones (``ft:gpt-4.1:...``) belong to the model they were made of.
    """
    name = model.removeprefix("ft:")
    fitting = [key for key in _families() if name.startswith(key)]
    return _families()[max(fitting, key=len)] if fitting else Family()


def effort_of(model: str, family: Family, settings: ModelSettings, stated: str | None) -> str | None:
    """The reasoning effort to ask for; None leaves it to the model.

    OpenAI's models take an effort and no budget, so a budget becomes the effort that comes near: up to 2,048 tokens ``low``, up to
    16,384 ``medium``, above ``high``; 0 becomes ``none``, or ``minimal`` where that is the least.

    Args:
        model: the model's name, for the error.
        family: its family.
        settings: wishes of the request.
        stated: the effort that the model was made with.

    Raises:
        ModelFeatureError: the family has no such effort.
    """
    budget = settings.thinking_tokens
    effort = stated
    if budget is not None:
        effort = "none" if budget == 0 else "low" if budget <= 2_048 else "medium" if budget <= 16_384 else "high"
        if effort == "none" and family.efforts is not None:
            if not family.efforts:
                return None  # it never thinks
            effort = next((name for name in ("none", "minimal") if name in family.efforts), effort)
    if effort is None or family.efforts is None or effort in family.efforts:
        return effort
    if not family.efforts:
        raise ModelFeatureError(f"model {model!r} of 'openai' has no thinking; leave thinking_tokens and reasoning_effort out")
    if effort == "none":
        least = family.efforts[0]
        msg = f"model {model!r} of 'openai' cannot switch thinking off (thinking_tokens=0); its least effort is {least!r}"
        raise ModelFeatureError(msg)
    raise ModelFeatureError(f"model {model!r} of 'openai' has no reasoning effort {effort!r}; {nearest(effort, family.efforts)}")


def check_sampling(model: str, family: Family, settings: ModelSettings, effort: str | None) -> None:
    """Refuse wishes that a model has no use for while it reasons.

    Args:
        model: the model's name, for the error.
        family: its family.
        settings: wishes of the request.
        effort: the reasoning effort that is asked for.

    Raises:
        ModelFeatureError: names the wish.
    """
    if not family.efforts or (effort or family.default_effort) == "none":
        return
    wishes = {"temperature": settings.temperature, "top_p": settings.top_p, "stop": settings.stop or None}
    named = [name for name, value in wishes.items() if value is not None]
    if named:
        way = "; or switch thinking off (thinking_tokens=0)" if "none" in family.efforts else ""
        raise ModelFeatureError(f"model {model!r} of 'openai' takes no {' and no '.join(named)} while it reasons; leave it out{way}")
