"""Tools that raise what is no exception, hand out what is no image and ask what is no question: one outcome a call all the same."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agentfp import Agent, AskField, DocumentPart, ImagePart, Pause, ToolContext, ToolReturn, tool
from agentfp.events import Event, RunEnded, ToolEnded
from tests.core.asking import made
from tests.core.running import ScriptedModel, call, check_record, outcomes, tool_texts

pytestmark = pytest.mark.anyio

BATCHES = [1, 3, 12]  # alone; side by side; more than run at once


@pytest.fixture(params=["async", "thread", "inline", "timed"])
def kind(request: pytest.FixtureRequest) -> str:
    """How a tool runs."""
    value: str = request.param
    return value


def raising(kind: str, error: type[BaseException]) -> Any:
    """A tool that raises."""

    async def fail_async() -> str:
        raise error

    def fail() -> str:
        raise error

    options: dict[str, dict[str, Any]] = {"inline": {"inline": True}, "timed": {"timeout": 5}}
    return tool(name="fail", **options.get(kind, {}))(fail_async if kind in ("async", "timed") else fail)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("size", BATCHES)
async def test_a_cancellation_that_nobody_asked_for_is_the_tools_failure(kind: str, size: int, anyio_backend: str) -> None:
    agent = made([call("fail") for _ in range(size)], "done", tools=[raising(kind, asyncio.CancelledError)])
    result = await agent.run("x")
    assert result.text == "done"
    assert list(outcomes(result.record).values()) == ["failure"] * size
    assert {ended.error_class for ended in result.record.of(ToolEnded)} == {"CancelledError"}
    check_record(result)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_tool_that_waits_for_a_cancelled_task_fails_alone(anyio_backend: str) -> None:
    @tool
    async def waits() -> str:
        """Wait for a task that somebody cancelled."""
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task
        return "never"

    @tool
    async def works() -> str:
        """Work."""
        await anyio.lowlevel.checkpoint()
        return "worked"

    result = await made([call("waits"), call("works")], "done", tools=[waits, works]).run("x")
    assert sorted(outcomes(result.record).values()) == ["failure", "success"]
    check_record(result)


class _OfItsOwn(BaseException):
    """No Exception."""


@pytest.mark.parametrize("size", BATCHES)
async def test_what_is_no_exception_ends_the_run_the_same_for_one_call_and_for_several(kind: str, size: int) -> None:
    ended: list[Event] = []
    agent = made([call("fail") for _ in range(size)], "done", tools=[raising(kind, _OfItsOwn)])
    with pytest.raises(_OfItsOwn):
        await agent.run("x", on_event=ended.append)
    assert sum(isinstance(event.payload, ToolEnded) for event in ended) == size
    assert isinstance(ended[-1].payload, RunEnded)


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        (ImagePart, {"media_type": None}),
        (ImagePart, {"media_type": "image/png", "data": "aGk="}),
        (ImagePart, {"media_type": "image/png", "url": 5}),
        (DocumentPart, {"media_type": 5}),
        (DocumentPart, {"media_type": "application/pdf", "data": b"x", "name": 5}),
    ],
)
async def test_what_is_no_image_and_no_document_is_refused_where_it_is_made(part: Any, fields: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=part.__name__):
        part(**fields)

    @tool
    def picture() -> Any:
        """Make one."""
        return ToolReturn("see", parts=(part(**fields),))

    result = await made(call("picture"), "done", tools=[picture]).run("x")
    assert list(outcomes(result.record).values()) == ["failure"]
    check_record(result)


async def test_a_name_that_no_encoding_holds_does_not_spoil_the_record() -> None:
    @tool
    def paper() -> Any:
        """Give a document."""
        return DocumentPart("text/plain", b"x", name="a\ud800b")

    result = await made(call("paper"), "done", tools=[paper]).run([DocumentPart("text/plain", b"x", name="\ud800"), "read"])
    assert result.text == "done"
    assert [part.name for message in result.history for part in message.parts if isinstance(part, DocumentPart)] == ["\ufffd", "a\ufffdb"]
    check_record(result)


ASKS: dict[str, dict[str, Any]] = {
    "no prompt": {"prompt": None},
    "a number": {"prompt": 5},
    "component": {"prompt": "x", "component": 5},
    "expiry as text": {"prompt": "x", "expires_in": "soon"},
    "expiry that is no number": {"prompt": "x", "expires_in": float("nan")},
    "endless expiry": {"prompt": "x", "expires_in": float("inf")},
    "expiry in the past": {"prompt": "x", "expires_in": -1},
}


@pytest.mark.parametrize("what", ASKS)
async def test_a_malformed_question_is_the_tools_failure(what: str) -> None:
    @tool
    def asks(ctx: ToolContext) -> str:
        """Ask."""
        ctx.ask_human(**ASKS[what])

    result = await made(call("asks"), "done", tools=[asks]).run("x")
    assert list(outcomes(result.record).values()) == ["failure"]
    check_record(result)


@pytest.mark.parametrize("field", [{"key": 5}, {"prompt": None}, {"schema": 5}, {"pinned": 5}, {"required": "yes"}, {"call_id": 5}])
async def test_a_malformed_field_is_the_tools_failure(field: dict[str, Any]) -> None:
    @tool
    def asks(ctx: ToolContext) -> str:
        """Ask."""
        ctx.request_input([AskField(**{"key": "k", "prompt": "p", **field})])

    result = await made(call("asks"), "done", tools=[asks]).run("x")
    assert list(outcomes(result.record).values()) == ["failure"]
    check_record(result)


async def test_a_question_that_no_encoding_holds_can_be_stored_and_answered() -> None:
    @tool
    def asks(ctx: ToolContext) -> str:
        """Ask."""
        ctx.ask_human("which \ud800?", component="\ud800")

    agent = made(call("asks"), "done", tools=[asks])
    result = await agent.run("x")
    assert result.pause is not None
    result = await agent.resume(Pause.from_json(result.pause.to_json()), "this \ud800")
    assert tool_texts(result.history) == ["this \ufffd"]
    check_record(result)


async def test_a_context_that_is_kept_does_nothing_once_the_run_is_over() -> None:
    kept: list[ToolContext] = []

    @tool
    async def keep(ctx: ToolContext) -> str:
        """Keep it."""
        kept.append(ctx)
        return "kept"

    result = await made(call("keep"), "done", tools=[keep]).run("x")
    before = list(result.record)

    def use() -> None:
        kept[0].emit("app.late", {"a": 1})
        kept[0].progress("late")
        kept[0].on_teardown(lambda: None)

    use()
    await anyio.to_thread.run_sync(use)
    assert list(result.record) == before


async def test_an_agent_that_runs_itself_in_a_tool_keeps_its_runs_apart() -> None:
    agents: list[Agent[Any, Any]] = []

    @tool
    async def again(level: int) -> str:
        """Run the agent once more."""
        return (await agents[0].run(f"level {level}")).text

    def reply(request: Any) -> Any:
        first = request.messages[0].text
        if any(message.role == "tool" for message in request.messages):
            return f"after {first}"
        level = 0 if first == "go" else int(first.split()[1])
        return call("again", level=level + 1) if level < 4 else "bottom"

    agents.append(Agent(ScriptedModel(reply), tools=[again]))
    result = await agents[0].run("go")
    assert tool_texts(result.history) == ["after level 1"]
    check_record(result)
