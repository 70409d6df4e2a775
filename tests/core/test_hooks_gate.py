"""``before_tool`` verdicts: how several plugins decide over one call, and over its arguments."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import PolicyHaltError, ToolContext
from agentfp.events import ArgsInvalid, VerdictFiled
from agentfp.plugin import Allow, Batch, CallView, Deny, Halt, Plugin, hookimpl
from tests.core.running import answering, call, check_record, outcomes, tool_texts

pytestmark = pytest.mark.anyio


def add(a: int, b: int = 0) -> int:
    """Add."""
    return a + b


class First(Plugin):
    """Answers as it is told, phase by phase."""

    name = "first"

    class Settings(Plugin.Settings):
        answers: Any
        seen: Any = None

    def at(self, phase: str, call: CallView) -> Any:
        if self.settings.seen is not None:
            self.settings.seen.append((self.name, phase, None if phase == "screen" else call.arguments))
        return self.settings.answers.get(phase)

    @hookimpl(moment="before_tool", phase="peel")
    def peel(self, call: CallView) -> Any:
        return self.at("peel", call)

    @hookimpl(moment="before_tool", phase="screen")
    def screen(self, call: CallView) -> Any:
        return self.at("screen", call)

    @hookimpl(moment="before_tool", phase="fill")
    def fill(self, call: CallView) -> Any:
        return self.at("fill", call)

    @hookimpl(moment="before_tool", phase="authorize")
    def authorize(self, call: CallView) -> Any:
        return self.at("authorize", call)

    @hookimpl(moment="before_tool", phase="resolve")
    def resolve(self, call: CallView) -> Any:
        return self.at("resolve", call)


class Second(First):
    name = "second"


async def test_each_sees_the_arguments_that_the_one_before_left() -> None:
    seen: list[Any] = []
    first = First(answers={"peel": Allow({"a": 1}), "authorize": Allow({"a": 2})}, seen=seen)
    second = Second(answers={"fill": Allow({"a": 1, "b": 5}), "resolve": Allow({"a": 7, "b": 8})}, seen=seen)
    result = await answering(call("add", a=0), "done", tools=[add], plugins=[first, second]).run("go")
    assert [item for item in seen if item[1] != "screen"] == [
        ("first", "peel", {"a": 0}),
        ("second", "peel", {"a": 1}),
        ("first", "fill", {"a": 1}),
        ("second", "fill", {"a": 1}),
        ("first", "authorize", {"a": 1, "b": 5}),
        ("second", "authorize", {"a": 2}),
        ("first", "resolve", {"a": 2}),
        ("second", "resolve", {"a": 2}),
    ]
    assert tool_texts(result.history) == ["15"]
    record = check_record(result)
    assert [(v.plugin, v.phase, v.arguments) for v in record.of(VerdictFiled)] == [
        ("first", "peel", '{"a":1}'),
        ("second", "fill", '{"a":1,"b":5}'),
        ("first", "authorize", '{"a":2}'),
        ("second", "resolve", '{"a":7,"b":8}'),
    ]
    assert result.history[1].tool_calls[0].arguments == {"a": 0}


async def test_who_chose_the_arguments_stands_with_the_verdict() -> None:
    plugins = [First(answers={"fill": Allow({"a": 1}, origin="app")}), Second(answers={"fill": Allow({"a": 2})})]
    result = await answering(call("add", a=0), "done", tools=[add], plugins=plugins).run("go")
    assert [v.origin for v in check_record(result).of(VerdictFiled)] == ["app", None]
    wrong = First(answers={"fill": Allow({"a": 1}, origin="model")})  # type: ignore[arg-type]
    refused = await answering(call("add", a=0), "done", tools=[add], plugins=[wrong]).run("go")
    assert refused.plugin_failures == {"first": 1}


@pytest.mark.parametrize(("verdict", "outcome"), [(Deny("no", rule="r1"), "denied"), (Halt("stop", rule="r2"), "halted")])
async def test_a_refused_call_meets_no_further_hook(verdict: Any, outcome: str) -> None:
    seen: list[Any] = []
    plugins = [First(answers={"authorize": verdict}), Second(answers={}, seen=seen)]
    result = await answering(call("add", a=1, id="c1"), "done", tools=[add], plugins=plugins).run("go")
    assert [phase for _, phase, _ in seen] == ["peel", "screen", "fill"]
    assert outcomes(check_record(result)) == {"c1": outcome}
    (filed,) = result.record.of(VerdictFiled)
    assert (filed.plugin, filed.verdict, filed.reason, filed.rule) == ("first", type(verdict).__name__, verdict.reason, verdict.rule)
    if isinstance(verdict, Halt):
        with pytest.raises(PolicyHaltError, match="stop") as caught:
            result.raise_for_status()
        assert (caught.value.plugin, caught.value.tool_call_id) == ("first", "c1")


async def test_a_denied_call_is_not_validated_and_an_invalid_one_goes_no_further() -> None:
    seen: list[Any] = []
    result = await answering(call("add", a="x"), "done", tools=[add], plugins=[First(answers={"authorize": Deny("no")})]).run("go")
    assert result.record.of(ArgsInvalid) == []
    result = await answering(call("add", a="x"), "done", tools=[add], plugins=[First(answers={}, seen=seen)]).run("go")
    assert len(result.record.of(ArgsInvalid)) == 1
    assert [phase for _, phase, _ in seen] == ["peel", "screen", "fill", "authorize"]


@pytest.mark.parametrize("phase", ["fill", "resolve"])
async def test_arguments_of_a_plugin_are_validated_like_those_of_a_model(phase: str) -> None:
    result = await answering(call("add", a=1), "done", tools=[add], plugins=[First(answers={phase: Allow({"a": "x"})})]).run("go")
    assert list(outcomes(check_record(result)).values()) == ["invalid"]
    assert "'a'" in tool_texts(result.history)[0]


async def test_a_screen_has_no_arguments_and_may_only_refuse() -> None:
    class Peeks(Plugin):
        name = "peeks"

        @hookimpl(phase="screen")
        def before_tool(self, call: CallView, batch: Batch) -> None:
            assert (call.name, call.mutating, len(batch)) == ("add", False, 1)
            call.arguments  # noqa: B018

    result = await answering(call("add", a=1), "done", tools=[add], plugins=[Peeks()]).run("go")
    assert (list(outcomes(result.record).values()), result.plugin_failures) == (["denied"], {"peeks": 1})
    ignored = await answering(call("add", a=1), "done", tools=[add], plugins=[First(answers={"screen": Allow({"a": 9})})]).run("go")
    assert tool_texts(ignored.history) == ["1"]
    refused = await answering(call("add", a=1), "done", tools=[add], plugins=[First(answers={"screen": Deny("no")})]).run("go")
    assert list(outcomes(refused.record).values()) == ["denied"]


async def test_unknown_tools_are_refused_when_calls_are_screened() -> None:
    seen: list[Any] = []
    result = await answering(call("sub", a=1), "done", tools=[add], plugins=[First(answers={}, seen=seen)]).run("go")
    assert [phase for _, phase, _ in seen] == ["peel"]
    assert tool_texts(result.history) == ["Unknown tool: sub. The tools are: add"]


async def test_a_call_of_a_tool_that_is_held_out_is_refused() -> None:
    class Holds(Plugin):
        name = "holds"

        @hookimpl(phase="activate")
        def serve_context(self, draft: Any) -> None:
            draft.hold_out_tool("add")

    agent = answering(call("add", a=1), "done", tools=[add], plugins=[Holds()])
    result = await agent.run("go")
    model: Any = agent.model
    assert model.requests[0].tools == ()
    assert (list(outcomes(check_record(result)).values()), tool_texts(result.history)) == (
        ["denied"],
        ["The tool add is not available now."],
    )


async def test_hooks_cannot_change_the_arguments_in_place() -> None:
    ran: list[int] = []

    class Sneaks(Plugin):
        name = "sneaks"

        @hookimpl(phase="authorize")
        def before_tool(self, call: CallView) -> None:
            call.arguments["a"] = 99

    def keep(a: int, ctx: ToolContext[Any]) -> str:
        """Keep."""
        ran.append(a)
        return "kept"

    await answering(call("keep", a=1), "done", tools=[keep], plugins=[Sneaks()]).run("go")
    assert ran == [1]


async def test_there_is_no_verdict_that_supplies_a_result() -> None:
    from agentfp.plugin import Replace

    result = await answering(call("add", a=1), "done", tools=[add], plugins=[First(answers={"authorize": Replace("42")})]).run("go")
    assert (list(outcomes(result.record).values()), result.plugin_failures) == (["denied"], {"first": 1})
