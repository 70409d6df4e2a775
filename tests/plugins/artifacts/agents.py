"""Agents and runs as the tests of the plugin need them."""

from __future__ import annotations

import json
from typing import Any

from agentfp import Agent
from agentfp.testing import ScriptedModel
from agentfp_artifacts import Artifacts

ROWS = [{"region": "north", "churn": 3}, {"region": "south", "churn": 5}]


def made(script: list[Any], tools: list[Any], plugin: Artifacts | None = None, **more: Any) -> Agent[Any, Any]:
    """An agent with the plugin on."""
    plugins = more.pop("plugins", [])
    return Agent(ScriptedModel(script), tools=tools, plugins=[plugin or Artifacts(), *plugins], **more)


def said(result: Any) -> list[str]:
    """What the model read of the results."""
    return [message.text for message in result.history if message.role == "tool"]


def filed(result: Any, name: str) -> list[Any]:
    """The payloads of the plugin's events of a name."""
    return [event.payload for event in result.record if event.name == f"agentfp.artifacts.{name}"]


def names(result: Any) -> list[str]:
    """The names of the plugin's events, in order."""
    return [event.name.removeprefix("agentfp.artifacts.") for event in result.record if event.name.startswith("agentfp.artifacts.")]


def outcomes(result: Any) -> list[str]:
    """How the calls ended."""
    return [event.payload.outcome for event in result.record if event.name == "agentfp.tool.ended"]


def ref_in(text: str) -> str:
    """The ref of a ticket."""
    ref: str = json.loads(text)["ref"]
    return ref
