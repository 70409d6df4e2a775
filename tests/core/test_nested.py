"""Agents as tools of others: their own records, what adds up, who hears them, and how they end with their parent."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pydantic
import pytest

from agentfp import Agent, Limits, Pause, Prices, Record, ToolContext
from agentfp.events import Event, HelperReplied, LlmEnd, RunCancelled, RunEnded, ToolEnded
from agentfp.plugin import Identity, Plugin, Refuse, hookimpl
from tests.core.asking import Counter, made, plugin
from tests.core.running import ScriptedModel, call, check_record, outcomes, tool_texts

pytestmark = pytest.mark.anyio


def over(child: Agent[Any, Any], *script: Any, **settings: Any) -> Agent[Any, Any]:
    """An agent that has another as its tool ``sub``."""
    tools = [child.as_tool("sub", "Knows more."), *settings.pop("tools", [])]
    return made(*script, tools=tools, **settings)


async def test_a_nested_run_has_its_own_record_under_the_parents() -> None:
    counter = Counter()
    child = made(call("note", id="n1", text="a"), "child says", tools=counter.tools())
    agent = over(child, call("sub", id="c1", request="look"), "done")
    result = await agent.run("go")
    assert tool_texts(result.history) == ["child says"]
    assert list(result.record.children) == ["c1"]
    inner = result.record.children["c1"]
    (header,) = inner.headers
    assert (header.root_id, header.path, header.parent_run) == (result.root_id, ("c1",), result.run_id)
    assert [event.seq for event in inner] == list(range(len(inner)))
    assert [message.text for message in inner.history if message.role == "user"] == ["look"]
    (ended,) = result.record.of(ToolEnded)
    assert ended.child_run == inner.run_id
    assert counter.done == ["a"]
    check_record(result)
    check_record(inner)


async def test_three_levels_deep() -> None:
    lowest = made("bottom")
    middle = over(lowest, call("sub", id="m1", request="down"), "middle")
    agent = over(middle, call("sub", id="c1", request="go down"), "top")
    result = await agent.run("go")
    inner = result.record.children["c1"].children["m1"]
    assert inner.headers[0].path == ("c1", "m1")
    assert inner.headers[0].root_id == result.root_id
    assert tool_texts(result.record.children["c1"].history) == ["bottom"]


async def test_deps_reach_the_nested_run() -> None:
    seen: list[Any] = []

    async def look(ctx: ToolContext[Any]) -> str:
        seen.append(ctx.deps)
        return "x"

    agent = over(made(call("look"), "x", tools=[look]), call("sub", request="look"), "done")
    deps = object()
    await agent.run("go", deps=deps)
    assert seen == [deps]


async def test_a_nested_run_is_for_whom_its_parent_is_for() -> None:
    seen: list[Any] = []

    async def look(ctx: ToolContext[Any]) -> str:
        seen.append((ctx.identity, ctx.session_id))
        if len(seen) == 2:
            ctx.ask_human("Sure?")
        return "x"

    lowest = made(call("look"), call("look"), "x", tools=[look])
    agent = over(over(lowest, call("sub", request="look"), "x"), call("sub", request="look"), "done")
    ann = Identity(tenant="acme", principal="ann")
    result = await agent.run("go", identity=ann, session_id="s")
    assert result.pause is not None
    result = await agent.resume(Pause.from_json(result.pause.to_json()), "yes")
    assert result.text == "done"
    assert seen == [(ann, "s")] * 2
    middle = result.record.children[next(iter(result.record.children))]
    assert {(header.identity, header.session_id) for header in middle.headers} == {(ann, "s")}


async def test_what_a_nested_tool_keeps_open_for_a_session_is_closed_with_it() -> None:
    closed: list[str] = []

    async def look(ctx: ToolContext[Any]) -> str:
        ctx.on_teardown(lambda: closed.append("closed"), scope="session")
        return "x"

    child = made(call("look"), "x", tools=[look])
    agent = made(call("a", request="look"), "done", tools=[child.as_tool("a", "A."), child.as_tool("b", "The same.")])
    await agent.run("go", identity=Identity(principal="ann"), session_id="s")
    assert closed == []
    assert await agent.close_tool_sessions("s", principal="ann") == 1
    assert closed == ["closed"]


async def test_one_agent_nested_twice_in_a_batch_keeps_its_runs_apart(tmp_path: Path) -> None:
    counter = Counter()

    def reply(request: Any) -> Any:
        asked = request.messages[0].text
        return f"answer {asked}" if any(m.role == "tool" for m in request.messages) else call("note", text=asked)

    async def note(text: str) -> str:
        await anyio.lowlevel.checkpoint()
        counter.done.append(text)
        return "noted"

    child = Agent(ScriptedModel(reply), tools=[note])
    agent = over(child, [call("sub", id=f"c{i}", request=f"r{i}") for i in range(4)], "done")
    result = await agent.run("go", journal=tmp_path / "run.jsonl")
    assert tool_texts(result.history) == [f"answer r{i}" for i in range(4)]
    assert sorted(counter.done) == ["r0", "r1", "r2", "r3"]
    result.record.save(tmp_path / "saved.jsonl")
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    assert sum('"switch"' in line for line in lines) > 4  # the children's events really stand between one another
    for path in ("run.jsonl", "saved.jsonl"):
        loaded = Record.load(tmp_path / path)
        assert list(loaded) == list(result.record)
        assert sorted(loaded.children) == [f"c{i}" for i in range(4)]
        for call_id, inner in loaded.children.items():
            assert list(inner) == list(result.record.children[call_id])
            check_record(inner)


async def test_usage_and_cost_add_up() -> None:
    prices = Prices(input=Decimal("0.01"), output=Decimal("0.02"))
    child = made(call("note", text="a"), "child says", tools=Counter().tools(), prices={"script": prices})
    agent = over(child, call("sub", id="c1", request="look"), "done", prices={"script": prices})
    result = await agent.run("go")
    inner = result.record.children["c1"]
    own, nested = ([(end.input_tokens or 0, end.output_tokens or 0) for end in record.of(LlmEnd)] for record in (result.record, inner))
    assert result.usage.input == sum(i for i, _ in own + nested)
    assert result.usage.output == sum(o for _, o in own + nested)
    assert result.cost_usd == sum(i * Decimal("0.01") + o * Decimal("0.02") for i, o in own + nested)
    (helper,) = result.record.of(HelperReplied)
    assert (helper.purpose, helper.input_tokens) == ("nested", sum(i for i, _ in nested))


async def test_the_parents_limits_hold_for_the_nested_run() -> None:
    counter = Counter()
    child = made(*[call("note", text="x" * 40) for _ in range(9)], "child says", tools=counter.tools())
    agent = over(child, call("sub", id="c1", request="look"), "done", limits=Limits(tokens=60))
    result = await agent.run("go")
    assert result.stopped_early is not None
    assert result.record.children["c1"].of(RunEnded)[0].status == "stopped_early"
    assert outcomes(result.record) == {"c1": "partial"}
    assert len(counter.done) < 6


async def test_a_failing_nested_run_is_the_tools_failure_and_what_it_used_counts() -> None:
    counter = Counter()
    child = made(call("note", text="a"), RuntimeError("secret words"), tools=counter.tools())
    agent = over(child, call("sub", id="c1", request="look"), "done")
    result = await agent.run("go")
    assert result.text == "done"
    assert outcomes(result.record) == {"c1": "failure"}
    assert "secret" not in tool_texts(result.history)[0]
    inner = result.record.children["c1"]
    assert inner.of(RunEnded)[0].status == "failed"
    assert sum(end.input_tokens or 0 for end in [*result.record.of(LlmEnd), *inner.of(LlmEnd)]) == result.usage.input
    check_record(result)
    check_record(inner)


async def test_a_nested_run_that_is_refused_is_the_tools_failure() -> None:
    def refuse(self: Plugin, draft: Any) -> Any:
        return Refuse(ValueError("never say this"))

    child = made("bad words", plugins=[plugin("judge", hook=hookimpl(moment="assess_answer", phase="claims")(refuse))])
    result = await over(child, call("sub", id="c1", request="look"), "done").run("go")
    assert outcomes(result.record) == {"c1": "failure"}
    assert "bad words" not in tool_texts(result.history)[0]


async def test_sinks_and_listeners_of_the_parent_hear_the_nested_run() -> None:
    exported: list[str] = []
    heard: list[Event] = []

    def export(self: Plugin, event: Any) -> None:
        exported.extend([event.header.run_id] if event.seq >= 0 else [])

    sink = plugin("sink", hook=hookimpl(moment="export_event")(export))
    child = made(call("note", id="n1", text="a"), "child says", tools=Counter().tools())
    agent = over(child, call("sub", id="c1", request="look"), "done", plugins=[sink])
    result = await agent.run("go", on_event=heard.append)
    inner = result.record.children["c1"]
    assert exported.count(result.run_id) == len(result.record)
    assert exported.count(inner.run_id) == len(inner)
    stored = [event for event in heard if event.seq >= 0]
    assert len(stored) == len(result.record) + len(inner)
    assert {event.call_id for event in heard if event.name == "agentfp.tool.ended"} == {"c1", "n1"}


async def test_cancelling_reaches_the_nested_run() -> None:
    async def wait() -> str:
        scope.cancel()
        await anyio.sleep_forever()
        return "never"

    heard: list[Event] = []
    child = made(call("wait", id="n1"), "never", tools=[wait])
    agent = over(child, call("sub", id="c1", request="look"), "never")
    with anyio.CancelScope() as scope:
        await agent.run("go", on_event=heard.append)
    assert scope.cancelled_caught
    ends = {event.call_id: event.payload.outcome for event in heard if isinstance(event.payload, ToolEnded)}
    assert ends == {"n1": "cancelled", "c1": "cancelled"}
    assert [event.payload.tool_name for event in heard if isinstance(event.payload, RunCancelled)] == ["wait", "sub"]
    assert [event.payload.status for event in heard if isinstance(event.payload, RunEnded)] == ["cancelled", "cancelled"]


async def test_the_answer_of_a_typed_nested_agent_is_json() -> None:
    class Row(pydantic.BaseModel):
        name: str
        size: int

    child = made(Row(name="a", size=3), output_type=Row)
    result = await over(child, call("sub", request="look"), "done").run("go")
    assert tool_texts(result.history) == ['{"name":"a","size":3}']


async def test_wrong_arguments_start_no_nested_run() -> None:
    result = await over(made("never"), call("sub", id="c1", question="look"), "done").run("go")
    assert outcomes(result.record) == {"c1": "invalid"}
    assert result.record.children == {}
