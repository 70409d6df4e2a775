"""Options of one run: the caller's own ids, another model, deps; what can never come; a resume that is watched; tracebacks."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import Agent, ConfigError, Record, UnknownEventError, UsageError, ask_human, tool
from agentfp.events import Payload, event
from agentfp.plugin import Name, Plugin, Run, hookimpl
from agentfp.testing import ScriptedModel
from tests.core.running import answering, call

pytestmark = pytest.mark.anyio


async def test_the_callers_ids_stand_in_the_header_and_are_not_inherited() -> None:
    agent = answering("one", "two")
    first = await agent.run("go", correlation_id="order 7", trace_id="4bf92f")
    second = await agent.run("again", history=first.history)
    headers = Record.from_lines(second.record.to_lines()).headers
    assert [(header.correlation_id, header.trace_id) for header in headers] == [("order 7", "4bf92f"), (None, None)]


async def test_a_run_may_have_another_model() -> None:
    agent = answering("mine")
    other = ScriptedModel(["the other's"], name="other")
    result = await agent.run("go", model=other)
    assert result.text == "the other's"
    assert result.record.served_at(1).model == "other"
    assert (await agent.run("go")).text == "mine"


@pytest.mark.parametrize("option", ["correlation_id", "trace_id"])
async def test_ids_are_texts(option: str) -> None:
    call: Any = {option: 7}
    with pytest.raises(TypeError, match=option):
        await answering("x").run("go", **call)


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [("agentfp.tol.*", "'tool'"), ("agentfp.tool.endet", "'agentfp.tool.ended'"), ("agentfp.tool.end", "'agentfp.tool.ended'")],
)
def test_a_misspelt_pattern_is_refused_with_what_was_meant(pattern: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean {meant}"):
        Agent(ScriptedModel([]), listeners={pattern: print})


@pytest.mark.parametrize("pattern", ["*", "agentfp.*", "agentfp.tool.*", "agentfp.tool.ended", "app.orders.*", "app.x"])
def test_other_patterns_are_taken(pattern: str) -> None:
    Agent(ScriptedModel([]), listeners={pattern: print})


@event("acme.orders.counted")
class Counted(Payload):
    """A count."""

    what: Name[str]


class Undeclared(Plugin):
    """Emits a type that it does not declare."""

    name = "undeclared"

    @hookimpl
    def admit_input(self, run: Run[Any]) -> None:
        run.emit(Counted("x"))


class Declared(Undeclared):
    """Emits a type that it declares."""

    events = (Counted,)


class Reads(Plugin):
    """Has a memo over an event that is misspelt, and over one of a plugin that may not be there."""

    name = "reads"
    memo_events = ("agentfp.tool.endet", "agentfp.elsewhere.said")


def test_a_misspelt_event_of_a_memo_is_refused_and_one_of_another_plugin_is_not() -> None:
    with pytest.raises(ConfigError) as caught:
        answering("x", plugins=[Reads()])
    assert len(caught.value.problems) == 1
    assert "'agentfp.tool.endet'" in caught.value.problems[0]


async def test_in_development_an_undeclared_event_type_is_refused() -> None:
    refused = await answering("x", plugins=[Undeclared()], dev=True).run("go")
    assert refused.status == "refused"
    cause = refused.error and refused.error.__cause__
    assert isinstance(cause, UnknownEventError)
    assert "add Counted to its `events`" in str(cause)
    assert (await answering("x", plugins=[Declared()], dev=True).run("go")).status == "answered"
    assert (await answering("x", plugins=[Undeclared()]).run("go")).status == "answered"


class Desk:
    """What the tools need."""


@pytest.mark.parametrize("deps_type", [Desk, str])
async def test_missing_deps_are_noticed_before_anything_runs(deps_type: Any) -> None:
    agent = answering("x", deps_type=deps_type)
    with pytest.raises(UsageError, match=f"deps_type is {deps_type.__name__}, and deps is None"):
        await agent.run("go")
    assert agent.model.requests == []  # type: ignore[attr-defined]
    assert (await agent.run("go", deps=deps_type())).text == "x"


@pytest.mark.parametrize("deps_type", [None, type(None), object, Desk | None])
async def test_deps_that_may_be_none_may_be_left_out(deps_type: Any) -> None:
    assert (await answering("x", deps_type=deps_type).run("go")).text == "x"


async def test_a_resume_can_be_watched() -> None:
    @tool
    def who() -> str:
        """Ask."""
        ask_human("Who?")

    agent = answering(call("who"), "It is Ann.", tools=[who])
    paused = await agent.run("go")
    assert paused.pause is not None
    assert "1 questions: who" in repr(paused.pause)
    async with agent.stream_resume(paused.pause, "Ann") as run:
        assert "".join([text async for text in run.text()]) == "It is Ann."
    assert run.result.status == "answered"


async def test_in_development_the_traceback_of_a_tools_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> str:
        """Fail."""
        raise ValueError("the cause")

    await answering(call("broken"), "x", tools=[broken], dev=True).run("go")
    (record,) = caplog.records
    assert (record.name, record.getMessage()) == ("agentfp.tool", "tool 'broken' raised")
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "the cause"
    caplog.clear()
    await answering(call("broken"), "x", tools=[broken]).run("go")
    assert caplog.records == []
