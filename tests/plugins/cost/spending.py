"""Models that say what they used, at prices that are easy to add up."""

from __future__ import annotations

from typing import Any

from agentfp.model import ModelResponse, Usage
from agentfp.testing import ScriptedModel, call

PRICES = {"per": "million", "models": {"small": {"input": 3, "output": 15}, "other:cheap": {"input": 1, "output": 2}}}
"""Dollars per million tokens."""


def says(text: str, tokens: tuple[int, int] = (1000, 200), **more: Any) -> ModelResponse:
    return ModelResponse(text=text, usage=Usage(*tokens), **more)


def calls(name: str, tokens: tuple[int, int] = (1000, 200), **arguments: Any) -> ModelResponse:
    return ModelResponse(tool_calls=(call(name, **arguments),), usage=Usage(*tokens))


def model(*script: Any, name: str = "small", **more: Any) -> ScriptedModel:
    return ScriptedModel(script, name=name, **more)
