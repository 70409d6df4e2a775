"""Events of the other plugins of this checkout have words, and the commentary's templates are those of events that there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentfp import Agent, RecordFile, tool
from agentfp.events import words_of
from agentfp.testing import ScriptedModel, call
from agentfp_evidence import Evidence
from agentfp_permissions import Permissions
from agentfp_recording import narrate


@tool
def stock(item: str) -> str:
    """How much of an item is there."""
    return f"12 of {item}"


def plugins() -> Iterator[Any]:
    yield pytest.param(Evidence(), "the answer is flagged: 0 values supported, 0 unverifiable, 1 unsupported", id="evidence")
    yield pytest.param(Permissions(roles={"clerk": ["stock"]}, active_role="clerk"), "tool_call of stock: allow", id="permissions")


@pytest.mark.parametrize(("plugin", "said"), list(plugins()))
def test_steps_say_what_a_plugin_did(tmp_path: Any, plugin: Any, said: str) -> None:
    model = ScriptedModel([call("stock", item="chairs"), "There are 4711 chairs."])
    result = Agent(model, tools=[stock], plugins=[plugin]).run_sync("How many chairs are there?")
    assert any((words_of(event.payload) or "").startswith(said) for event in result.record if event.source == plugin.name)
    result.record.save(tmp_path / "r.jsonl")
    told = [e["text"] for step in RecordFile(tmp_path / "r.jsonl").steps() for e in step.get("events", ())]
    assert any(text.startswith(said) for text in told)


def test_the_commentary_tells_what_evidence_found() -> None:
    model = ScriptedModel([call("stock", item="chairs"), "There are 4711 chairs."])
    result = Agent(model, tools=[stock], plugins=[Evidence()]).run_sync("How many chairs are there?")
    assert "Some values of the answer could not be found in any result, and were marked." in list(narrate(result))
