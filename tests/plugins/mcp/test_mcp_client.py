"""Tools of a server in a run: both protocols, progress, cancellation, changes, questions, resources; and how a session ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentfp import Agent, Pause, RunCheckpointError, ToolNameError, UsageError, approve, tool
from agentfp.plugin import Plugin, Refuse, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_mcp import Elicitation, McpClosedError, McpServer
from tests.plugins.mcp.asking import ERAS, ask, children, errors, lives, outcomes, texts

pytestmark = pytest.mark.anyio
Make = Callable[..., McpServer]


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """Each of the two protocols."""
    chosen: str = request.param
    return chosen


async def test_a_tool_is_called_and_the_process_is_gone(modern: Make, era: str) -> None:
    before = children()
    result = await ask(modern(era=era), call("add", a=2, b=3))
    assert texts(result) == ["5"]
    assert outcomes(result) == ["success"]
    assert children() == before


async def test_what_a_model_is_told_of_the_tools(modern: Make) -> None:
    model = ScriptedModel(["Done."])
    await ask(modern(prefix="m_", filter=["a*", "steps"]), model=model)
    specs = {spec.name: spec for spec in model.requests[0].tools}
    assert list(specs) == ["m_add", "m_steps"]
    assert specs["m_add"].description == "Add two numbers."
    assert specs["m_add"].parameters["required"] == ["a", "b"]


async def test_wrong_arguments_do_not_reach_the_server(modern: Make) -> None:
    result = await ask(modern(), call("add", a="two", b=3))
    assert outcomes(result) == ["invalid"]


async def test_progress_is_passed_on(modern: Make, era: str) -> None:
    heard: list[Any] = []
    result = await ask(modern(era=era), call("steps"), on_event={"agentfp.tool.progress": lambda event: heard.append(event.payload.data)})
    assert texts(result) == ["done"]
    assert [text for text in heard if "step 2" in text] == ['{"message":"step 2","progress":2.0,"total":3.0}']


async def test_a_cancelled_run_cancels_the_tool_at_the_server(modern: Make, log: Path, era: str) -> None:
    begun = anyio.Event()
    before = children()
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            await ask(modern(era=era), call("slow"), on_event={"agentfp.tool.progress": lambda _: begun.set()})

        tasks.start_soon(run)
        with anyio.fail_after(20):
            await begun.wait()
        tasks.cancel_scope.cancel()
    assert log.read_text() == "cancelled"
    assert children() == before


async def test_the_older_protocol_is_told_of_a_cancellation_by_name(hostile: Make, log: Path) -> None:
    with anyio.move_on_after(1.5):
        await ask(hostile("hang", era="2025-11-25"), call("fine"))
    assert "notifications/cancelled" in log.read_text()


async def test_a_tool_that_takes_too_long_is_given_up(hostile: Make, log: Path) -> None:
    result = await ask(hostile("hang", timeout=0.3), call("fine"))
    assert texts(result) == ["fine of hostile did not answer within 0.3 s. It may still be running."]
    assert "notifications/cancelled" in log.read_text()


async def test_new_tools_are_there_at_the_next_request(modern: Make, era: str) -> None:
    model = ScriptedModel([call("grow"), call("grown"), "Done."])
    result = await ask(modern(era=era), model=model)
    assert texts(result) == ["grown", "grown ran"]
    offered = [[spec.name for spec in request.tools] for request in model.requests]
    assert "grown" not in offered[0]
    assert "grown" in offered[1]
    assert offered[1] == offered[2]


async def test_a_server_asks_a_person(modern: Make, era: str) -> None:
    asked: list[Elicitation] = []

    async def answer(question: Elicitation) -> dict[str, Any]:
        asked.append(question)
        return {"room": "blue"}

    result = await ask(modern(era=era, elicit=answer), call("book"))
    assert texts(result) == ["booked blue on floor 2"]
    assert (asked[0].server, asked[0].message) == ("modern", "Which room?")
    assert asked[0].schema is not None
    assert set(asked[0].schema["properties"]) == {"room", "floor"}


async def test_a_person_may_decline(modern: Make, era: str) -> None:
    result = await ask(modern(era=era, elicit=lambda _: None), call("book"))
    assert texts(result) == ["nothing booked"]


async def test_nobody_can_be_asked(modern: Make, era: str) -> None:
    result = await ask(modern(era=era), call("book"))
    assert outcomes(result) == ["failure"]
    assert texts(result)[0].startswith("book of modern failed: ")


async def test_resources_when_they_are_wanted(modern: Make, era: str) -> None:
    result = await ask(modern(era=era, resources=True, filter=[]), call("list_resources"), call("read_resource", uri="memo://today"))
    assert '"uri":"memo://today"' in texts(result)[0]
    assert texts(result)[1] == "[resource: memo://today]\nbuy milk"


async def test_an_approval_pauses_the_run_and_ends_the_process(modern: Make) -> None:
    before = children()
    agent = Agent(ScriptedModel([call("add", a=1, b=1), "Done."]), tools=[modern(options={"add": {"approval": True}})])
    paused = await agent.run("Go")
    assert paused.pause is not None
    assert children() == before
    result = await agent.resume(Pause.from_json(paused.pause.to_json()), approve(by="ann"))
    assert texts(result) == ["2"]
    assert children() == before


async def test_an_error_of_the_run_ends_the_process(modern: Make) -> None:
    before = children()
    with pytest.raises(RunCheckpointError):
        await ask(modern(), call("add", a=1, b=1), ValueError("the model broke"))
    assert children() == before


async def test_a_server_that_does_not_want_to_end_is_ended(hostile: Make) -> None:
    before = children()
    result = await ask(hostile("stays"), call("fine"))
    assert texts(result) == ["fine"]
    assert children() == before


async def test_what_the_server_started_ends_with_it(hostile: Make) -> None:
    result = await ask(hostile("family"), call("fine"))
    (pid,) = texts(result)
    with anyio.fail_after(10):  # it was killed; the system takes a moment to carry it out
        while lives(pid):  # noqa: ASYNC110 - nothing tells of it
            await anyio.sleep(0.01)


async def test_the_environment_is_not_handed_on(modern: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_API_KEY", "of-this-process")
    source = modern(env={"MODE": "given"})
    result = await ask(source, call("variable", name="OUR_API_KEY"), call("variable", name="MODE"))
    assert texts(result) == ["(not there)", "given"]


# --- names ----------------------------------------------------------------------------------------------------------------


async def test_a_name_of_the_agent_itself_is_refused(modern: Make) -> None:
    @tool
    def add() -> str:
        """Ours."""
        return "ours"

    with pytest.raises(ToolNameError, match=r"'add' \(of the agent and of 'modern'\).*prefix"):
        await Agent(ScriptedModel(["unused"]), tools=[add, modern()]).run("Go")


async def test_two_servers_with_one_name_are_told_apart(modern: Make) -> None:
    with pytest.raises(ToolNameError, match="'modern' and of 'other'"):
        await Agent(ScriptedModel(["unused"]), tools=[modern(filter=["add"]), modern(name="other", filter=["add"])]).run("Go")
    async with modern(prefix="a_", filter=["add"]) as one, modern(name="other", prefix="b_", filter=["add"]) as other:
        assert [(t.name, t.source) for t in [*await one.tools(), *await other.tools()]] == [("a_add", "modern"), ("b_add", "other")]
        assert (await one.tools())[0].metadata["mcp_tool"] == "add"


# --- shared over runs -----------------------------------------------------------------------------------------------------


async def test_one_process_for_many_runs(modern: Make) -> None:
    before = children()
    async with modern() as server:
        one = children() - before
        assert len(one) == 1
        agent = Agent(ScriptedModel([call("add", a=1, b=1), "Done."]), tools=[server])
        again = Agent(ScriptedModel([call("add", a=2, b=2), "Done."]), tools=[server])
        assert texts(await agent.run("Go")) == ["2"]
        assert texts(await again.run("Go")) == ["4"]
        assert children() - before == one
    assert children() == before


async def test_runs_side_by_side_share_a_server(modern: Make) -> None:
    found: list[str] = []
    async with modern() as server, anyio.create_task_group() as tasks:

        async def run(number: int) -> None:
            found.extend(texts(await Agent(ScriptedModel([call("add", a=number, b=0), "Done."]), tools=[server]).run("Go")))

        for number in range(20):
            tasks.start_soon(run, number)
    assert sorted(map(int, found)) == list(range(20))


async def test_a_closed_server_answers_nothing(modern: Make) -> None:
    server = modern()
    with pytest.raises(UsageError, match="not open"):
        await server.tools()
    async with server:
        add = (await server.tools())[0]
        assert await server.tools() is await server.tools()
        await server.close()
        await server.close()
        result = await Agent(ScriptedModel([call("add", a=1, b=1), "Done."]), tools=[add]).run("Go")
        assert texts(result) == ["The server modern has ended. Its tools are not available now."]
        with pytest.raises(McpClosedError):
            await server.refresh()
    with pytest.raises(UsageError, match="not open"):
        await server.tools()


async def test_a_shared_server_that_died_is_started_again_for_the_next_run(hostile: Make, log: Path) -> None:
    async with hostile("die") as server:
        for _ in range(2):
            result = await Agent(ScriptedModel([call("fine"), call("fine"), "Done."]), tools=[server]).run("Go")
            assert [text.split("\n")[0] for text in texts(result)] == ["The server hostile has ended. Its tools are not available now."] * 2
            assert "its process ended" in str(errors(result)[0])
    assert log.read_text().count('"initialize"') == 2


async def test_an_error_in_the_block_comes_out_as_it_is(modern: Make) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with modern():
            raise KeyError("mine")


async def test_it_is_opened_once_at_a_time(modern: Make) -> None:
    async with modern() as server:
        with pytest.raises(UsageError, match="open already"):
            await server.__aenter__()


async def test_a_run_that_is_refused_before_its_first_request_starts_nothing(hostile: Make, log: Path) -> None:
    class Closed(Plugin):
        name = "closed"

        @hookimpl
        def admit_input(self) -> Refuse:
            return Refuse(ValueError("not today"))

    agent = Agent(ScriptedModel(["unused"]), tools=[hostile("fine")], plugins=[Closed()])
    assert (await agent.run("Go")).status == "refused"
    assert not log.exists()
