"""Rules and a period for tools of a real MCP server, which knows of neither: a server made with the SDK, over stdio."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent
from agentfp.testing import ScriptedModel, call
from agentfp_inputs import Inputs
from agentfp_mcp import mcp
from agentfp_results import Results
from tests.plugins.inputs.meters import prompts, results, sources, stored

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).resolve().parents[1] / "mcp" / "peers" / "modern.py"


def agent(script: Any, log: Path, **metadata: Any) -> tuple[Agent[Any, str], ScriptedModel]:
    server = mcp(command=sys.executable, args=[str(SERVER), "-", str(log)], name="sums", options={"add": {"metadata": metadata}})
    model = ScriptedModel(script)
    return Agent(model, tools=[server], plugins=[Inputs(), Results(clock=False)]), model


async def test_a_tool_of_a_server_is_asked_for_and_assumed(tmp_path: Path) -> None:
    rules = {"a": {"ask": "Which number?"}, "b": {"assume": 2}}
    asking, model = agent([call("add"), "Done."], tmp_path / "log", inputs=rules)
    result = await asking.run("Add.")
    assert prompts(result) == ["Which number?"]
    shown = next(spec.parameters for spec in model.requests[0].tools if spec.name == "add")
    assert not shown.get("required")
    assert "filled with 2" in shown["properties"]["b"]["description"]
    result = await asking.resume(stored(result), 40)
    assert "42" in results(result)[0]
    assert (sources(result, "a"), sources(result, "b")) == (["asked:missing", "answered"], ["default"])


async def test_a_rule_for_an_argument_that_the_server_does_not_have_refuses_the_call(tmp_path: Path) -> None:
    asking, _ = agent([call("add", a=1, b=2), "Done."], tmp_path / "log", inputs={"c": {"assume": 2}})
    result = await asking.run("Add.")
    assert results(result)[0].startswith("The rules for this tool's arguments cannot be read")
