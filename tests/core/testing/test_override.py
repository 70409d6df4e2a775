"""`override` puts other arguments into an agent for runs that start in a block, and only there."""

from __future__ import annotations

from decimal import Decimal

import anyio
import anyio.to_thread
import pytest

from agentfp import Agent, ConfigError, Limits, ToolContext, approve, tool
from agentfp.testing import AutoModel, ScriptedModel, assert_called, call, override


@tool
async def ping(host: str) -> str:
    """Ping a host."""
    return f"{host} answers"


@tool(approval=True)
async def reboot(host: str) -> str:
    """Reboot a host."""
    return f"{host} is up again"


def agent_of(*script: object) -> Agent:
    return Agent(ScriptedModel(script or ["as ever"]), tools=[ping])


@pytest.mark.anyio
async def test_a_run_in_the_block_goes_to_the_other_model_and_one_after_it_does_not() -> None:
    agent = agent_of()

    with override(agent, model=ScriptedModel(["another"])):
        assert (await agent.run("Hi")).text == "another"
    assert (await agent.run("Hi")).text == "as ever"


@pytest.mark.anyio
async def test_the_agent_comes_back_when_the_block_raises() -> None:
    agent = agent_of()

    with pytest.raises(KeyError), override(agent, model=ScriptedModel([])):
        raise KeyError
    assert (await agent.run("Hi")).text == "as ever"


@pytest.mark.anyio
async def test_blocks_nest_and_the_inner_one_keeps_what_it_does_not_change() -> None:
    agent = agent_of()

    with override(agent, model=ScriptedModel([call("ping", host="a"), call("ping", host="b"), "outer"])):
        with override(agent, limits=Limits(iterations=1, wrap_up=False)) as inner:
            assert inner is not agent
            result = await agent.run("Hi")
            assert result.status == "stopped_early"
        assert (await agent.run("Hi")).text == "outer"
        with override(agent, model=ScriptedModel(["inner"])):
            assert (await agent.run("Hi")).text == "inner"
    assert (await agent.run("Hi")).text == "as ever"


@pytest.mark.anyio
async def test_several_arguments_at_once() -> None:
    agent = agent_of()

    with override(agent, model=AutoModel("all called"), tools=[ping, ping.function], instructions="Be brief."):
        result = await agent.run("Hi")
    assert_called(result, "ping")
    assert result.record.served_at(1).system == "Be brief."


@pytest.mark.anyio
async def test_an_argument_that_no_agent_has_is_refused_before_anything_runs() -> None:
    agent = agent_of()

    with pytest.raises(ConfigError, match=r"an agent has no 'modle'; did you mean 'model'"), override(agent, modle="x"):
        pytest.fail("the block must not be entered")
    assert (await agent.run("Hi")).text == "as ever"


@pytest.mark.anyio
async def test_other_agents_and_other_tasks_are_as_they_were() -> None:
    agent, other = agent_of(), agent_of()
    opened, done = anyio.Event(), anyio.Event()
    seen: dict[str, str] = {}

    async def inside() -> None:
        with override(agent, model=ScriptedModel(["another"] * 2)):
            opened.set()
            await done.wait()
            seen["inside"] = (await agent.run("Hi")).text

    async def outside() -> None:
        await opened.wait()
        seen["outside"] = (await agent.run("Hi")).text
        done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(inside)
        tasks.start_soon(outside)
    with override(agent, model=ScriptedModel([])):
        assert (await other.run("Hi")).text == "as ever"
    assert seen == {"inside": "another", "outside": "as ever"}


@pytest.mark.anyio
async def test_tasks_and_threads_started_in_the_block_see_it() -> None:
    agent = agent_of()
    seen: list[str] = []

    async def task() -> None:
        seen.append((await agent.run("Hi")).text)

    with override(agent, model=ScriptedModel(["in a task", "in a thread"])):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(task)
        seen.append(await anyio.to_thread.run_sync(lambda: agent.run_sync("Hi").text))
    assert seen == ["in a task", "in a thread"]


def test_it_holds_for_sync_runs() -> None:
    agent = agent_of()

    with override(agent, model=ScriptedModel(["another"])):
        assert agent.run_sync("Hi").text == "another"
    assert agent.run_sync("Hi").text == "as ever"


@pytest.mark.anyio
async def test_it_holds_for_streams_conversations_and_resumes() -> None:
    agent = Agent(ScriptedModel([]), tools=[reboot])
    chat = agent.conversation()

    with override(agent, model=ScriptedModel(["streamed", "sent", call("reboot", host="a"), "rebooted"])):
        async with agent.stream("Hi") as run:
            assert "".join([text async for text in run.text()]) == "streamed"
        assert (await chat.send("Hi")).text == "sent"
        paused = await chat.send("Reboot a")
        assert paused.pause is not None
        assert (await agent.resume(paused.pause, approve())).text == "rebooted"


@pytest.mark.anyio
async def test_it_holds_for_an_agent_that_another_one_uses_as_a_tool() -> None:
    inner = agent_of()
    outer = Agent(ScriptedModel([call("ask", request="Hi"), "Done."]), tools=[inner.as_tool("ask", "Asks.")])

    with override(inner, model=ScriptedModel(["from the stand-in"])):
        result = await outer.run("Hi")
    assert [m.text for m in result.history if m.role == "tool"] == ["from the stand-in"]


@pytest.fixture
async def stood_in() -> object:
    agent = agent_of()
    with override(agent, model=ScriptedModel(["from the fixture"])):
        yield agent


@pytest.mark.anyio
async def test_an_async_fixture_may_hold_the_block_open(stood_in: Agent) -> None:
    assert (await stood_in.run("Hi")).text == "from the fixture"


@tool
async def run_other(ctx: ToolContext[Agent]) -> str:
    """Runs the agent of the deps."""
    return (await ctx.deps.run("Hi")).text


@pytest.mark.anyio
async def test_a_tool_of_a_run_sees_the_block_that_the_run_was_started_in() -> None:
    used = agent_of()
    agent = Agent(ScriptedModel([call("run_other"), "Done."]), deps_type=Agent[None, str], tools=[run_other])

    with override(used, model=ScriptedModel(["seen from a tool"])):
        result = await agent.run("Hi", deps=used)
    assert [m.text for m in result.history if m.role == "tool"] == ["seen from a tool"]


@pytest.mark.anyio
async def test_a_limit_in_dollars_goes_with_a_stand_in_that_states_no_prices() -> None:
    agent = Agent("openai:gpt-x", limits=Limits(usd=1))
    with override(agent, model=ScriptedModel(["free"])):
        result = await agent.run("go")
    assert result.text == "free"
    assert result.cost_usd == Decimal(0)
