"""Pauses of nested runs: asked by the parent, answered down the same path, over processes and levels."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentfp import (
    Agent,
    AskField,
    Checkpoint,
    Limits,
    PausePluginMissingError,
    PauseToolMissingError,
    Prices,
    Record,
    ToolContext,
    approve,
)
from agentfp.events import LlmEnd, PauseRequest, RunEnded
from agentfp.plugin import AskPerson, Deny, Plugin
from tests.core.asking import Counter, again, before, made, only, plugin
from tests.core.running import ScriptedModel, call, check_record, outcomes, tool_texts

pytestmark = pytest.mark.anyio


async def ask(ctx: ToolContext[Any], what: str) -> str:
    ctx.ask_human(f"Which {what}?", expires_in=3600)


def level(name: str, inner: Agent[Any, Any] | None, *script: Any, counter: Counter, **settings: Any) -> Agent[Any, Any]:
    """An agent with counting tools and, as tool ``sub``, another agent."""
    tools = [*counter.tools(), ask, *([] if inner is None else [inner.as_tool("sub", "Knows more.")])]
    return made(*script, tools=tools, name=name, **settings)


def one_level(counter: Counter, *, fresh: bool) -> Agent[Any, Any]:
    inner = [call("change", id="n1", text="inner before"), call("ask", id="n2", what="x"), call("change", id="n3", text="inner after")]
    outer = [call("change", id="c1", text="before"), call("sub", id="c2", request="look"), call("change", id="c3", text="after")]
    child = level("child", None, *(["child says"] if fresh else [inner, "child says"]), counter=counter)
    return level("top", child, *(["done"] if fresh else [outer, "done"]), counter=counter)


async def test_the_nested_question_is_the_parents_and_the_answer_goes_down() -> None:
    counter = Counter()
    result = await one_level(counter, fresh=False).run("go")
    assert counter.done == ["before", "inner before"]
    pause = again(result)
    (asked,) = pause.questions
    inner = result.record.children["c2"]
    assert (asked.path, asked.call_id, asked.tool, asked.prompt) == (("c2",), "c2", "ask", "Which x?")
    assert asked.arguments == {"what": "x"}
    assert asked.id == inner.of(PauseRequest)[0].questions[0].id
    assert pause.expires_at is not None
    result = await one_level(counter, fresh=True).resume(pause, {asked.id: "X"})
    assert result.text == "done"
    assert counter.done == ["before", "inner before", "inner after", "after"]
    inner = result.record.children["c2"]
    assert tool_texts(inner.history) == ["changed inner before", "X", "changed inner after"]
    assert tool_texts(result.history) == ["changed before", "child says", "changed after"]
    assert [header.path for header in inner.headers] == [("c2",), ("c2",)]
    check_record(result)
    check_record(inner)


async def test_two_levels_deep_over_processes(tmp_path: Path) -> None:
    counter = Counter()

    def agents(*, fresh: bool) -> Agent[Any, Any]:
        lowest = level("lowest", None, *([] if fresh else [call("ask", id="l1", what="x")]), "bottom", counter=counter)
        middle = level("middle", lowest, *([] if fresh else [call("sub", id="m1", request="down")]), "middle", counter=counter)
        return level("top", middle, *([] if fresh else [call("sub", id="c1", request="down")]), "top", counter=counter)

    journal = tmp_path / "run.jsonl"
    result = await agents(fresh=False).run("go", journal=journal)
    (asked,) = again(result).questions
    assert asked.path == ("c1", "m1")
    assert asked.arguments == {"what": "x"}
    result = await agents(fresh=True).resume(again(result), "X", journal=journal)
    assert result.text == "top"
    middle = result.record.children["c1"]
    lowest = middle.children["m1"]
    assert [tool_texts(record.history) for record in (result.record, middle, lowest)] == [["middle"], ["bottom"], ["X"]]
    loaded = Record.load(journal)
    assert list(loaded) == list(result.record)
    assert list(loaded.children["c1"]) == list(middle)
    assert list(loaded.children["c1"].children["m1"]) == list(lowest)


async def test_two_nested_runs_pause_in_one_batch() -> None:
    counter = Counter()

    def agents(*, fresh: bool) -> Agent[Any, Any]:
        def reply(request: Any) -> Any:
            texts = [m.text for m in request.messages]
            return f"{texts[0]} got {texts[-1]}" if any(m.role == "tool" for m in request.messages) else call("ask", what=texts[0])

        child = level("child", None, counter=counter).replace(model=ScriptedModel(reply))
        batch = [call("sub", id="c1", request="one"), call("note", id="c2", text="side"), call("sub", id="c3", request="two")]
        return level("top", child, *([] if fresh else [batch]), "done", counter=counter)

    result = await agents(fresh=False).run("go")
    assert counter.done == ["side"]
    by_call = {q.call_id: q for q in again(result).questions}
    assert {c: q.prompt for c, q in by_call.items()} == {"c1": "Which one?", "c3": "Which two?"}
    part = await agents(fresh=True).resume(again(result), {by_call["c3"].id: "2"})
    assert [q.id for q in again(part).questions] == [by_call["c1"].id]
    result = await agents(fresh=True).resume(again(part), {by_call["c1"].id: "1"})
    assert tool_texts(result.history) == ["one got 1", "noted side", "two got 2"]
    assert counter.done == ["side"]
    check_record(result)
    for inner in result.record.children.values():
        check_record(inner)


async def test_a_nested_run_may_pause_again_and_approvals_go_down() -> None:
    counter = Counter()

    def agents(inner: list[Any], outer: list[Any]) -> Agent[Any, Any]:
        tools = [*counter.tools(approval=True), ask]
        child = made(*inner, tools=tools)
        return made(*outer, tools=[child.as_tool("sub", "Knows more.")])

    first = [call("ask", id="n1", what="x")], [call("change", id="n2", text="a")], "child says"
    result = await agents(list(first), [call("sub", id="c1", request="look"), "done"]).run("go")
    result = await agents(list(first[1:]), []).resume(again(result), {only(result): "X"})
    (asked,) = again(result).questions
    assert (asked.kind, asked.tool, asked.arguments) == ("decision", "change", {"text": "a"})
    result = await agents(["child says"], ["done"]).resume(again(result), {asked.id: approve(args={"text": "b"})})
    assert counter.done == ["b"]
    assert [end.status for end in result.record.children["c1"].of(RunEnded)] == ["paused", "paused", "answered"]
    check_record(result)


async def test_usage_cost_and_limits_count_each_leg_once() -> None:
    prices = {"script": Prices(input=Decimal(1), output=Decimal(1))}
    counter = Counter()
    child = made(call("ask", what="y" * 400), call("ask", what="y" * 400), "child says", tools=[ask], prices=prices)
    agent = made(call("sub", id="c1", request="look"), "done", tools=[child.as_tool("sub", "x")], prices=prices, limits=Limits(tokens=230))
    result = await agent.run("go")
    while result.paused:
        result = await agent.resume(again(result), {only(result): "X"})
    inner = result.record.children["c1"]
    ends = [*result.record.of(LlmEnd), *inner.of(LlmEnd)]
    total = sum((end.input_tokens or 0) + (end.output_tokens or 0) for end in ends)
    assert result.usage.total == total
    assert result.cost_usd == total
    assert outcomes(result.record) == {"c1": "success"}  # each leg had what was left, not less by what the leg before used
    assert result.stopped_early is None
    assert result.text == "done"
    assert counter.done == []


async def test_a_nested_agent_that_lacks_something_is_refused_before_anything_changes() -> None:
    def needs(self: Plugin, call: Any) -> Any:
        return None if call.answers(self) else AskPerson([AskField("f", "Well?")])

    counter = Counter()
    asker = plugin("asker", hook=before("fill")(needs))

    def agents(*script: Any, tools: Any, plugins: Any, inner: Any = ("child says",)) -> Agent[Any, Any]:
        return made(*script, tools=[made(*inner, tools=tools, plugins=plugins).as_tool("sub", "x")])

    whole = agents(call("sub", id="c1", request="go"), tools=counter.tools(), plugins=[asker], inner=[call("note", id="n1", text="a")])
    result = await whole.run("go")
    with pytest.raises(PausePluginMissingError) as no_plugin:
        await agents("done", tools=counter.tools(), plugins=[]).resume(again(result), "x")
    assert no_plugin.value.plugin == "asker"
    with pytest.raises(PauseToolMissingError) as no_tool:
        await agents("done", tools=[ask], plugins=[asker]).resume(again(result), "x")
    assert no_tool.value.tool_name == "note"
    result = await agents("done", tools=counter.tools(), plugins=[asker]).resume(again(result), "x")
    assert counter.done == ["a"]
    assert result.text == "done"


async def test_dropping_the_question_settles_the_nested_calls_too() -> None:
    counter = Counter()
    result = await one_level(counter, fresh=False).run("go")
    chat = one_level(counter, fresh=True).conversation(checkpoint=Checkpoint.from_json(result.checkpoint().to_json()))
    assert chat.pending is not None
    chat.abandon()
    inner = chat.record.children["c2"]
    assert outcomes(chat.record) == {"c1": "success", "c2": "abandoned", "c3": "abandoned"}
    assert outcomes(inner) == {"n1": "success", "n2": "abandoned", "n3": "abandoned"}
    check_record(chat.record)
    check_record(inner)
    assert counter.done == ["before", "inner before"]
    assert (await chat.send("go on")).text == "done"


async def test_more_nested_questions_than_one_round_takes() -> None:
    counter = Counter()
    batch = [call("ask", id=f"n{i}", what=str(i)) for i in range(40)]
    child = made(batch, "child says", tools=[ask], tool_concurrency=3)
    agent = made(call("sub", id="c1", request="go"), "done", tools=[child.as_tool("sub", "x")])
    result = await agent.run("go")
    rounds = []
    while result.paused:
        rounds.append(len(again(result).questions))
        result = await agent.resume(again(result), {q.id: q.prompt for q in again(result).questions})
    assert rounds == [32, 8]
    assert tool_texts(result.record.children["c1"].history) == [f"Which {i}?" for i in range(40)]
    assert counter.done == []


async def test_a_nested_run_whose_call_is_refused_meanwhile_is_settled() -> None:
    closed = False

    def policy(self: Plugin, call: Any) -> Any:
        return Deny("closed") if closed else None

    counter = Counter()
    child = made([call("ask", id="n1", what="x"), call("change", id="n2", text="a")], tools=[ask, *counter.tools()])
    agent = made(
        call("sub", id="c1", request="go"),
        "done",
        tools=[child.as_tool("sub", "x")],
        plugins=[plugin("policy", hook=before("authorize")(policy))],
    )
    result = await agent.run("go")
    closed = True
    result = await agent.resume(again(result), "X")
    inner = result.record.children["c1"]
    assert outcomes(result.record) == {"c1": "denied"}
    assert outcomes(inner) == {"n1": "abandoned", "n2": "abandoned"}
    assert counter.done == []
    check_record(result)
    check_record(inner)
