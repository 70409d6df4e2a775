"""What a type checker knows of a user's program. `make lint` reads this file too, and an ignore that is not needed fails it."""

from __future__ import annotations

import dataclasses
from typing import Any, assert_type

import pytest

from agentfp import Agent, LLMCall, RunResult, ToolContext, UnknownOptionError, tool
from agentfp.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@dataclasses.dataclass
class Ports:
    down: dict[str, list[int]]


@dataclasses.dataclass
class Report:
    switch: str
    down: list[int]


@tool
async def port_status(ctx: ToolContext[Ports], switch: str) -> list[int]:
    """Ports of a switch that are down."""
    assert_type(ctx.deps, Ports)
    return ctx.deps.down[switch]


@tool(mutating=True)
def shut_port(switch: str, port: int) -> str:
    """Shut a port."""
    return f"{switch}/{port} is shut"


ANSWER = '{"switch": "A", "down": [3]}'


async def test_deps_and_the_output_type_are_known_where_they_are_used() -> None:
    agent = Agent(ScriptedModel([call("port_status", switch="A"), ANSWER]), deps_type=Ports, output_type=Report, tools=[port_status])
    assert_type(agent, Agent[Ports, Report])
    result = await agent.run("What is down?", deps=Ports({"A": [3]}))
    assert_type(result, RunResult[Report])
    assert_type(result.output, Report)
    assert result.output == Report("A", [3])


async def test_deps_of_another_type_and_options_that_there_are_not_are_seen_before_anything_runs() -> None:
    agent = Agent(ScriptedModel([ANSWER]), deps_type=Ports, output_type=Report)
    chat = agent.conversation()
    await chat.send("What is down?", deps="no ports")  # type: ignore[arg-type]
    with pytest.raises(UnknownOptionError, match="did you mean 'deps'"):
        await agent.run("What is down?", dep=Ports({}))  # type: ignore[call-arg]


def test_without_types_an_agent_takes_no_deps_and_answers_text() -> None:
    agent = Agent(ScriptedModel(["Nothing."]))
    assert_type(agent, Agent[None, str])
    assert_type(agent.run_sync("What is down?").output, str)


def test_an_output_type_may_be_any_type() -> None:
    assert_type(Agent(ScriptedModel(["[1, 2]"]), output_type=list[int]).run_sync("Which?").output, list[int])
    either = Agent(ScriptedModel(["7"]), output_type=int | None)
    assert_type(either, Agent[None, int | None])
    assert either.run_sync("Which?").output == 7


def test_a_tool_keeps_the_signature_of_its_function() -> None:
    assert_type(shut_port("A", 3), str)
    with pytest.raises(TypeError):
        shut_port("A", number=3)  # type: ignore[call-arg]


def test_a_single_call_knows_its_output_type() -> None:
    summed = LLMCall(ScriptedModel([ANSWER]), output_type=Report)
    assert_type(summed, LLMCall[Report])
    assert summed.run_sync("Sum it up").output.down == [3]


async def test_a_stream_and_a_pause_lead_to_the_same_types() -> None:
    agent = Agent(ScriptedModel([ANSWER]), deps_type=Ports, output_type=Report)
    async with agent.stream("What is down?", deps=Ports({})) as run:
        seen: list[Any] = [event async for event in run]
    assert_type(run.result, RunResult[Report])
    assert seen
