"""Tools that are known only while a run goes on: when they are asked for, what changes under way, how a session ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from agentfp import Agent, ConfigError, Pause, PauseToolMissingError, ToolNameError, approve, raw_tool, tool
from agentfp.model import ModelRequest
from agentfp.plugin import Run, Tool, ToolSession, ToolSource
from agentfp.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


def made(name: str, answer: str = "", **options: Any) -> Tool[..., Any]:
    async def handler(_ctx: Any, _arguments: dict[str, Any]) -> str:
        return answer or f"{name} ran"

    return raw_tool(name, f"{name}.", None, handler, **options)


class Shelf(ToolSource):
    """A source whose tools a test changes, and that writes down what happens to it."""

    def __init__(self, *tools: Tool[..., Any], name: str = "shelf") -> None:
        self.name = name
        self.now: Sequence[Tool[..., Any]] = tools
        self.log: list[str] = []

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[ToolSession]:
        self.log.append("opened")
        async with anyio.create_task_group():  # as a client of a server has one: it must be left where it was entered
            try:
                yield self
            finally:
                self.log.append("closed")

    def open(self, run: Run[Any]) -> Any:
        return self._session()

    async def tools(self) -> Sequence[Tool[..., Any]]:
        self.log.append("asked")
        return self.now


def changing(change: Callable[[], None], then: Any) -> Callable[[ModelRequest], Any]:
    def step(_request: ModelRequest) -> Any:
        change()
        return then

    return step


async def test_tools_of_a_source_are_served_called_and_let_go() -> None:
    shelf = Shelf(made("lend"))
    model = ScriptedModel([call("lend"), "Done."])
    result = await Agent(model, tools=[made("own"), shelf]).run("Go")
    assert result.history[2].text == "lend ran"
    assert [spec.name for spec in model.requests[0].tools] == ["own", "lend"]
    assert shelf.log == ["opened", "asked", "asked", "closed"]
    assert result.record.served_at(1).tools == model.requests[0].tools


async def test_a_source_may_change_its_tools_between_requests() -> None:
    shelf = Shelf(made("old"))

    def change() -> None:
        shelf.now = (made("new"),)

    model = ScriptedModel([changing(change, call("old")), call("old"), call("new"), "Done."])
    result = await Agent(model, tools=[shelf]).run("Go")
    assert [[spec.name for spec in request.tools] for request in model.requests] == [["old"], ["new"], ["new"], ["new"]]
    texts = [message.text for message in result.history if message.role == "tool"]
    assert texts[0] == "old ran"
    assert "old" in texts[1]
    assert "The tools are: new" in texts[1]
    assert texts[2] == "new ran"
    for number, request in enumerate(model.requests, 1):
        assert result.record.served_at(number).tools == request.tools


async def test_two_tools_of_one_name_are_refused_before_a_request_goes_out() -> None:
    model = ScriptedModel(["unused"])
    with pytest.raises(ToolNameError, match=r"'lend' \(of the agent and of 'shelf'\)"):
        await Agent(model, tools=[made("lend"), Shelf(made("lend"))]).run("Go")
    assert not model.requests


async def test_a_name_that_comes_up_twice_under_way_stays_with_the_first() -> None:
    first, second = Shelf(made("a", "of first"), name="first"), Shelf(made("b"), name="second")

    def change() -> None:
        first.now, second.now = (made("b", "of first"), made("a", "of first")), (made("b", "of second"),)

    model = ScriptedModel([changing(change, call("a")), call("b"), "Done."])
    result = await Agent(model, tools=[first, second]).run("Go")
    assert result.history[4].text == "of second"


@pytest.mark.parametrize("end", ["error", "pause", "cancel"])
async def test_a_session_ends_with_the_leg_whatever_ends_it(end: str) -> None:
    shelf = Shelf(made("lend", approval=True))

    async def slow(_request: ModelRequest) -> Any:
        await anyio.sleep_forever()

    scripts: dict[str, list[Any]] = {"error": [ValueError("broken")], "pause": [call("lend")], "cancel": [slow]}
    script = scripts[end]
    agent = Agent(ScriptedModel(script), tools=[shelf])
    if end == "pause":
        assert (await agent.run("Go")).paused
    elif end == "error":
        with pytest.raises(Exception, match="broken"):
            await agent.run("Go")
    else:
        with anyio.move_on_after(0.05) as scope:
            await agent.run("Go")
        assert scope.cancelled_caught
    assert shelf.log[-1] == "closed"


async def test_a_pause_is_taken_up_with_the_tools_of_a_new_session() -> None:
    shelf = Shelf(made("lend", approval=True))
    agent = Agent(ScriptedModel([call("lend"), "Done."]), tools=[shelf])
    paused = await agent.run("Go")
    assert paused.pause is not None
    again = await agent.resume(Pause.from_json(paused.pause.to_json()), approve(by="ann"))
    assert again.history[2].text == "lend ran"
    assert shelf.log.count("opened") == shelf.log.count("closed") == 2


async def test_a_pause_on_a_tool_that_is_gone_is_kept() -> None:
    shelf = Shelf(made("lend", approval=True))
    agent = Agent(ScriptedModel([call("lend"), "Done."]), tools=[shelf])
    paused = await agent.run("Go")
    assert paused.pause is not None
    shelf.now = ()
    with pytest.raises(PauseToolMissingError, match="lend"):
        await agent.resume(paused.pause, approve(by="ann"))
    shelf.now = (made("lend", approval=True),)
    assert (await agent.resume(paused.pause, approve(by="ann"))).text == "Done."


async def test_an_agent_without_sources_opens_none() -> None:
    @tool
    def own() -> str:
        """Own."""
        return "x"

    assert Agent(ScriptedModel(["Done."]), tools=[own]).tool_sources == ()


def test_a_source_without_a_name_is_refused_while_building() -> None:
    class Nameless(ToolSource):
        def open(self, run: Run[Any]) -> Any: ...

    with pytest.raises(ConfigError, match="tool source Nameless needs a name"):
        Agent(ScriptedModel(["Hi."]), tools=[Nameless()])
