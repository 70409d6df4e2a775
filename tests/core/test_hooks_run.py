"""What a hook can do with the run: call a model, read its options, and see the run to its end."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import anyio
import pydantic
import pytest

from agentfp import AnswerRefusedError, ConfigError, Limits, Prices, RunTimeoutError, ToolContext, UnknownOptionError, tool
from agentfp.events import CostTick, HelperReplied, LimitHit, PluginSlow
from agentfp.model import ModelError, ModelRequest, ModelResponse, Usage
from agentfp.plugin import AnswerDraft, Message, Plugin, Refuse, Registry, Run, hookimpl
from agentfp_core import calling
from tests.core.running import ScriptedModel, answering, call, check_record, last_request, names, says, tool_texts

pytestmark = pytest.mark.anyio

DOLLAR = {"script": Prices(Decimal(1), Decimal(1)), "small": Prices(Decimal("0.1"), Decimal("0.1"))}
QUESTION = ModelRequest(system="Is it true?", messages=[Message("m1", "user", "x")])


def look() -> str:
    """Look."""
    return "seen"


# --- calling a model -------------------------------------------------------------------------------------------------------------


class Helper(Plugin):
    """Asks a model at each answer; keeps what came of it."""

    name = "helper"

    class Settings(Plugin.Settings):
        got: Any
        model: Any = None
        times: int = 1

    @hookimpl(phase="claims")
    async def assess_answer(self, draft: AnswerDraft, run: Run[Any]) -> None:
        for _ in range(self.settings.times):
            try:
                response: ModelResponse = await run.call_model(QUESTION, purpose="check", model=self.settings.model)
                self.settings.got.append(response.text)
            except Exception as error:
                self.settings.got.append(error)


@pytest.mark.parametrize("own", [False, True])
async def test_a_plugins_own_call_is_billed_and_recorded(own: bool) -> None:
    got: list[Any] = []
    small = ScriptedModel([says("yes", usage=Usage(20, 10))], name="small", provider="acme")
    script = [says("answer", usage=Usage(2, 1)), says("yes", usage=Usage(4, 1))]
    agent = answering(*script, plugins=[Helper(got=got, model=small if own else None)], prices=DOLLAR)
    result = await agent.run("go")
    record = check_record(result)
    assert (result.text, got) == ("answer", ["yes"])
    (helped,) = record.of(HelperReplied)
    assert (helped.plugin, helped.purpose, helped.model) == ("helper", "check", "small" if own else "script")
    assert result.usage == (Usage(22, 11) if own else Usage(6, 2))
    assert result.cost_usd == (Decimal("6.0") if own else Decimal(8))
    assert [tick.purpose for tick in record.of(CostTick)] == [None, "check"]
    assert record.events("agentfp.model.helper_replied")[0].source == "helper"
    assert names(record).count("context.served") == 1


async def test_a_plugins_own_call_counts_against_the_limits_and_stops_at_them() -> None:
    got: list[Any] = []
    model = ScriptedModel([says("yes", usage=Usage(50, 50))] * 3, name="small")
    agent = answering(says("answer", usage=Usage(1, 1)), plugins=[Helper(got=got, model=model, times=3)], limits=Limits(tokens=100))
    result = await agent.run("go")
    assert got[0] == "yes"
    assert [type(error).__name__ for error in got[1:]] == ["UsageError", "UsageError"]
    assert "token-budget" in str(got[1])
    assert len(model.requests) == 1
    assert (result.status, check_record(result).of(LimitHit)) == ("answered", [LimitHit("max_tokens", 100, 102, "abort")])


async def test_a_plugins_own_call_that_fails_is_the_plugins_to_handle() -> None:
    got: list[Any] = []
    result = await answering("answer", plugins=[Helper(got=got, model=ScriptedModel([ModelError("away")]))]).run("go")
    assert (result.text, result.plugin_failures, str(got[0])) == ("answer", {}, "away")
    assert result.record.of(HelperReplied) == []


# --- options of a run ---------------------------------------------------------------------------------------------------------------


class Tuned(Plugin):
    name = "tuned"

    class Settings(Plugin.Settings):
        got: Any

    class RunOptions(Plugin.RunOptions):
        strict: bool = False
        level: int = pydantic.Field(default=1, ge=0)

    @hookimpl(phase="stand")
    def assess_answer(self, run: Run[Any]) -> None:
        self.settings.got.append(run.options(self))
        assert run.options("tuned") is run.options(self)
        assert run.options("nobody") is None


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (None, (False, 1)),
        ({}, (False, 1)),
        ({"tuned": {}}, (False, 1)),
        ({"tuned": {"strict": True}}, (True, 1)),
        ({"tuned": Tuned.RunOptions(level=3)}, (False, 3)),
    ],
)
async def test_options_come_typed_with_their_defaults(options: Any, values: tuple[bool, int]) -> None:
    got: list[Any] = []
    await answering("x", plugins=[Tuned(got=got)]).run("go", options=options)
    assert [(option.strict, option.level) for option in got] == [values]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tuend": {}}, UnknownOptionError, "options has 'tuend', but no plugin of that name is on; did you mean 'tuned'"),
        ({"tuned": {"strikt": True}}, ConfigError, "options of plugin 'tuned' has no setting 'strikt'; did you mean 'strict'"),
        ({"tuned": {"level": -1, "strict": "SECRET"}}, ConfigError, "2 problems"),
    ],
)
async def test_options_that_nobody_knows_are_refused_before_anything_runs(options: Any, error: type[Exception], words: str) -> None:
    agent = answering("never", plugins=[Tuned(got=[])])
    with pytest.raises(error, match=words) as caught:
        await agent.run("go", options=options)
    assert "SECRET" not in str(caught.value)
    model: Any = agent.model
    assert model.requests == []


# --- seeing a run to its end -------------------------------------------------------------------------------------------------------


class Watches(Plugin):
    name = "watches"

    class Settings(Plugin.Settings):
        ends: Any

    @hookimpl
    async def finish_run(self, run: Run[Any], outcome: str) -> None:
        await anyio.lowlevel.checkpoint()
        self.settings.ends.append((outcome, run.turn))
        run.emit_app("test.watches.end", outcome)


async def forever(request: ModelRequest) -> str:
    await anyio.sleep_forever()
    return "never"


@pytest.mark.parametrize(
    ("script", "options", "outcome"),
    [
        (["x"], {}, "answered"),
        ([call("look"), "x"], {"limits": Limits(iterations=1)}, "stopped_early"),
        ([ModelError("away")], {}, "failed"),
        ([forever], {"timeout": 0.02}, "cancelled"),
        ([call("pays")], {}, "paused"),
    ],
)
async def test_every_leg_comes_to_its_end_once(script: Any, options: Any, outcome: str) -> None:
    @tool(approval=True)
    def pays() -> str:
        """Pay."""
        return "paid"

    ends: list[Any] = []
    seen: list[Any] = []
    agent = answering(*script, tools=[look, pays], plugins=[Watches(ends=ends)])
    try:
        result = await agent.run("go", on_event=seen.append, **options)
        assert result.status == outcome
    except (ModelError, RunTimeoutError):
        assert outcome in ("failed", "cancelled")
    assert ends == [(outcome, 1)]
    assert [event.name for event in seen][-2:] == ["test.watches.end", "agentfp.run.ended"]
    assert seen[-1].payload.status == outcome


async def test_a_refused_run_comes_to_its_end_too() -> None:
    class Refuses(Plugin):
        name = "refuses"

        @hookimpl(phase="claims")
        def assess_answer(self) -> Refuse:
            return Refuse(AnswerRefusedError("no"))

    ends: list[Any] = []
    await answering("x", plugins=[Refuses(), Watches(ends=ends)]).run("go")
    assert ends == [("refused", 1)]


async def test_a_sync_hook_that_holds_up_the_loop_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Holds(Plugin):
        name = "holds"

        @hookimpl(phase="authorize")
        def before_tool(self) -> None:
            return None

        @hookimpl(phase="stand")
        async def assess_answer(self) -> None:
            return None

    monkeypatch.setattr(calling, "SLOW_SYNC_SECONDS", 0)
    result = await answering([call("look"), call("look")], call("look"), "x", tools=[look], plugins=[Holds()]).run("go")
    assert [(slow.plugin, slow.moment) for slow in check_record(result).of(PluginSlow)] == [("holds", "before_tool")]


# --- contributing ---------------------------------------------------------------------------------------------------------------------


class Brings(Plugin):
    name = "brings"

    @hookimpl
    def configure(self, agent: Registry) -> None:
        def extra(n: int) -> str:
            """Extra."""
            return f"extra {n}"

        assert (set(agent.tools), agent.owner_of("look"), set(agent.plugins)) == ({"look"}, "app", {"brings"})
        agent.add_tool(extra)
        agent.add_capability("lamp", lambda ctx: f"lamp of {ctx.tool_name}")
        assert agent.owner_of("extra") == "brings"


async def test_a_plugin_brings_tools_and_capabilities() -> None:
    @tool(name="look")
    def lit(ctx: ToolContext[Any]) -> str:
        """Look."""
        lamp: str = ctx.lamp
        return lamp

    agent = answering([call("look"), call("extra", n=1)], "x", tools=[lit], plugins=[Brings()])
    result = await agent.run("go")
    assert [m.content for m in result.history if m.role == "tool"] == ["lamp of look", "extra 1"]
    assert [tool.name for tool in last_request(agent).tools] == ["look", "extra"]


class Lends(Plugin):
    name = "lends"

    class Settings(Plugin.Settings):
        names: tuple[str, ...]

    @hookimpl
    def configure(self, agent: Registry) -> None:
        for name in self.settings.names:
            agent.add_capability(name, lambda ctx: [ctx.call_id])


async def test_a_capability_is_made_once_a_call() -> None:
    @tool(name="look")
    def lit(ctx: ToolContext[Any]) -> str:
        """Look."""
        return f"{ctx.lamp} {ctx.lamp is ctx.lamp}"

    agent = answering([call("look", id="c1"), call("look", id="c2")], "x", tools=[lit], plugins=[Lends(names=("lamp",))])
    assert tool_texts((await agent.run("go")).history) == ["['c1'] True", "['c2'] True"]


@pytest.mark.parametrize("name", ["deps", "progress", "isolation_key", "_run", "two words"])
def test_a_capability_cannot_take_the_name_of_what_the_context_has(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"plugin 'lends': ctx\.{name} cannot be provided"):
        answering("x", plugins=[Lends(names=(name,))])


@pytest.mark.parametrize(("output", "seen"), [({}, None), ({"output_type": int}, int)])
def test_configure_knows_what_answers_must_be(output: dict[str, Any], seen: Any) -> None:
    found = []

    class Looks(Plugin):
        """Looks."""

        name = "looks"

        @hookimpl
        def configure(self, agent: Registry) -> None:
            found.append(agent.output_type)

    answering("1", plugins=[Looks()], **output)
    assert found == [seen]
