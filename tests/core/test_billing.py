"""Work of models that plugins and tools have done: billed under its own name, limited, and refused where it makes no sense."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from typing import Any

import pytest

from agentfp import Agent, CircuitBreaker, ConfigError, Fallback, Limits, Prices, Reliability, Retry, RetryPolicy, ToolContext, UsageError
from agentfp.events import CallFailed, CostTick, CostUnpriced, HelperReplied, LimitHit
from agentfp.model import ModelOverloadedError, ModelRequest, Usage
from agentfp.plugin import Message, Plugin, Registry, Run, hookimpl
from agentfp.testing import check_plugin, override
from tests.core.running import PLAIN, ScriptedModel, answering, call, check_record, says

pytestmark = pytest.mark.anyio

VECTORS: dict[str, Any] = {"provider": "acme", "model": "vectors", "purpose": "embed"}
PRICES = {"script": Prices(Decimal(1), Decimal(1)), "acme:vectors": Prices(embedding=Decimal("0.5"))}


class Embeds(Plugin):
    """Bills embeddings before each request."""

    name = "embeds"

    class Settings(Plugin.Settings):
        got: Any
        what: Any = VECTORS

    @hookimpl(phase="compose")
    def serve_context(self, draft: Any, run: Run[Any]) -> None:
        try:
            self.settings.got.append(run.bill(Usage(input=4), **self.settings.what))
        except UsageError as error:
            self.settings.got.append(error)


async def test_a_plugin_bills_embeddings_under_their_own_name() -> None:
    got: list[Any] = []
    result = await answering(says("x", usage=Usage(3, 1)), plugins=[Embeds(got=got)], prices=PRICES).run("go")
    record = check_record(result)
    assert (got, result.cost_usd, result.usage) == ([Decimal(2)], Decimal(6), Usage(7, 1))
    (helped,) = record.of(HelperReplied)
    assert (helped.plugin, helped.purpose, helped.provider, helped.model, helped.input_tokens) == ("embeds", "embed", "acme", "vectors", 4)
    first, second = record.of(CostTick)
    assert (first.provider, first.model, first.usd, first.purpose, second.purpose) == ("acme", "vectors", "2.0", "embed", None)
    assert {event.source for event in record.events("agentfp.model.helper_replied")} == {"embeds"}


@pytest.mark.parametrize("thread", [True, False])
async def test_a_tool_bills_from_wherever_it_runs(thread: bool) -> None:
    def embed(ctx: ToolContext[Any]) -> str:
        ctx.bill(Usage(input=4), duration_ms=7, **VECTORS)
        return "near"

    async def embed_on_the_loop(ctx: ToolContext[Any]) -> str:
        return embed(ctx)

    tool = embed if thread else embed_on_the_loop
    script = [says("", call(tool.__name__, id="c1")), says("x")]
    result = await answering(*script, tools=[tool], prices=PRICES, limits=Limits(usd=100)).run("go")
    record = check_record(result)
    (event,) = record.events("agentfp.model.helper_replied")
    assert (event.call_id, event.source) == ("c1", "tool")
    (helped,) = record.of(HelperReplied)
    assert (helped.plugin, helped.duration_ms) == (tool.__name__, 7)
    assert str(helped).startswith(f"{tool.__name__} asked acme:vectors (embed)")
    assert [tick.usd for tick in record.of(CostTick)] == ["15", "2.0", "15"]


async def test_what_a_tool_bills_counts_against_the_limits() -> None:
    async def embed(ctx: ToolContext[Any]) -> str:
        ctx.bill(Usage(input=400), **VECTORS)
        return "near"

    script = [says("", call("embed")), says("never")]
    result = await answering(*script, tools=[embed], prices=PRICES, limits=Limits(usd=100)).run("go")
    assert result.status == "stopped_early"
    assert [(hit.kind, hit.actual) for hit in result.record.of(LimitHit)] == [("max_cost", 215.0)]


async def test_the_prices_of_the_bill_serve_where_no_table_knows_the_model() -> None:
    got: list[Any] = []
    for model, dollars in (("unheard-of", 8), ("vectors", 2)):
        what = {**VECTORS, "model": model, "prices": Prices(Decimal(2))}
        await answering("x", plugins=[Embeds(got=got, what=what)], prices=PRICES).run("go")
        assert got.pop() == dollars
    result = await answering("x", plugins=[Embeds(got=got, what={**VECTORS, "model": "unheard-of"})], prices=PRICES).run("go")
    assert got == [None]
    assert result.record.of(CostUnpriced)[0] == CostUnpriced("acme", "unheard-of", "no-price")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"provider": ""}, "provider must be a text"),
        ({"model": None}, "model must be a text, got None"),
        ({"purpose": "nested"}, "kernel's own word"),
        ({"purpose": 5}, "purpose must be a word"),
        ({"usage": {"input": 5}}, "usage must be a Usage"),
        ({"usage": Usage(-5)}, "whole number from 0"),
        ({"usage": Usage(1.5)}, "whole number from 0"),  # type: ignore[arg-type]
        ({"prices": 5}, "prices must be Prices"),
        ({"duration_ms": -1}, "duration_ms must be"),
        ({"provider": 1, "model": 2}, "provider must be a text.*model must be a text"),
    ],
)
async def test_what_cannot_be_billed(wrong: dict[str, Any], words: str) -> None:
    caught: list[UsageError] = []

    async def embed(ctx: ToolContext[Any]) -> str:
        with pytest.raises(UsageError, match=words) as error:
            ctx.bill(**{"usage": Usage(1), **VECTORS, **wrong})
        caught.append(error.value)
        return "x"

    result = await answering(call("embed"), "x", tools=[embed], prices=PRICES).run("go")
    assert len(caught) == 1
    assert not result.record.of(HelperReplied)


async def test_names_of_models_that_are_no_text_of_unicode_do_not_break_the_record() -> None:
    got: list[Any] = []
    result = await answering("x", plugins=[Embeds(got=got, what={**VECTORS, "model": "a\ud800"})], prices=PRICES).run("go")
    assert len(result.record.of(HelperReplied)) == 1
    result.history.to_json()


class Asks(Plugin):
    """Calls a model of its own."""

    name = "asks"

    class Settings(Plugin.Settings):
        model: Any
        purpose: str = "judge"

    @hookimpl(phase="compose")
    async def serve_context(self, draft: Any, run: Run[Any]) -> None:
        request = ModelRequest(system="", messages=[Message("m", "user", "x")])
        with contextlib.suppress(ModelOverloadedError, UsageError):
            await run.call_model(request, purpose=self.settings.purpose, model=self.settings.model)


async def test_a_helpers_failed_call_is_priced_as_the_helper() -> None:
    """The run's own model states other prices, which are not taken for it."""
    own = PLAIN.__class__(prices=Prices(Decimal(100), Decimal(100)))
    failing = ScriptedModel([ModelOverloadedError("busy", usage=Usage(3, 0))], name="small", provider="acme", features=PLAIN)
    result = await Agent(ScriptedModel([says("x")], features=own), plugins=[Asks(model=failing)]).run("go")
    (failed,) = result.record.of(CallFailed)
    assert (failed.provider, failed.model) == ("acme", "small")
    assert [tick.provider for tick in result.record.of(CostTick)] == ["scripted"]
    assert not [unpriced for unpriced in result.record.of(CostUnpriced) if unpriced.provider != "acme"]


async def test_a_call_that_failed_behind_a_wrapper_is_priced_as_the_model_that_failed() -> None:
    def stated(dollars: int) -> Any:
        return PLAIN.__class__(prices=Prices(Decimal(dollars), Decimal(dollars)))

    first = ScriptedModel(
        [ModelOverloadedError("busy", usage=Usage(1, 0), provider="a", model="one")], name="one", provider="a", features=stated(1)
    )
    second = ScriptedModel(
        [ModelOverloadedError("busy", usage=Usage(1, 0), provider="b", model="two"), says("x", usage=Usage(1, 0))],
        name="two", provider="b", features=stated(7),
    )  # fmt: skip
    result = await Agent(Fallback(first, Retry(second, RetryPolicy(initial=0.001)))).run("go")
    assert [(tick.provider, tick.model, tick.usd) for tick in result.record.of(CostTick)] == [
        ("a", "one", "1"),
        ("b", "two", "7"),
        ("b", "two", "7"),
    ]


async def test_a_plugin_may_not_take_the_kernels_words() -> None:
    model = ScriptedModel([says("never")], name="small")
    await answering("x", plugins=[Asks(model=model, purpose="nested")], prices=PRICES).run("go")
    assert not model.requests


# --- nested agents -----------------------------------------------------------------------------------------------------------------


async def test_the_parents_prices_hold_where_a_nested_agent_knows_none() -> None:
    child = answering(says("b", usage=Usage(2, 0)))
    prices = {"script": Prices(Decimal(1), Decimal(1))}
    tools = [child.as_tool("sub", "Knows more.")]
    agent = answering(says("", call("sub", request="b?")), says("x"), tools=tools, prices=prices, limits=Limits(usd=100))
    result = await agent.run("go")
    assert (result.status, result.cost_usd) == ("answered", Decimal(32))
    own = answering(says("b", usage=Usage(2, 0)), prices={"script": Prices(Decimal(5), Decimal(5))})
    agent = answering(says("", call("sub", request="b?")), says("x"), tools=[own.as_tool("sub", "Knows more.")], prices=prices)
    assert (await agent.run("go")).cost_usd == Decimal(40)


async def test_what_is_left_of_the_parents_budget_holds_for_a_nested_agent_without_prices() -> None:
    child = answering(*[says("", call("look"), usage=Usage(20, 0))] * 5, "b", tools=[look])
    prices = {"script": Prices(Decimal(1), Decimal(1))}
    agent = answering(
        says("", call("sub", request="b?")), "x", tools=[child.as_tool("sub", "Knows.")], prices=prices, limits=Limits(usd=60)
    )
    result = await agent.run("go")
    (nested,) = result.record.children.values()
    assert [hit.kind for hit in nested.of(LimitHit)] == ["max_cost"]
    assert len(nested.of(CostTick)) < 5


async def test_a_parent_hears_that_a_nested_run_was_not_priced_as_a_whole() -> None:
    child = answering(says("", call("look"), model="strange"), says("b"), tools=[look], prices=PRICES)
    agent = answering(says("", call("sub", request="b?")), says("x"), tools=[child.as_tool("sub", "Knows.")], prices=PRICES)
    result = await agent.run("go")
    assert result.record.of(CostUnpriced) == [CostUnpriced("scripted", "script", "no-price")]
    assert [tick.purpose for tick in result.record.of(CostTick)] == [None, "nested", None]


def look() -> str:
    """Look."""
    return "seen"


# --- what needs prices -------------------------------------------------------------------------------------------------------------


class Budget(Plugin):
    """Works with dollars."""

    name = "budget"

    @hookimpl
    def configure(self, agent: Registry) -> None:
        agent.need_prices(f"a budget over {agent.limits.iterations} calls")


def test_an_agent_whose_models_nobody_knows_a_price_of_is_not_built() -> None:
    with pytest.raises(
        ConfigError, match=r"plugin 'budget': a budget over 10 calls .*no price is known of model 'scripted:script'.*0 where"
    ):
        answering("x", plugins=[Budget()])
    with pytest.raises(ConfigError, match=r"did you mean 'scripted:scripts'"):
        answering("x", plugins=[Budget()], prices={"scripted:scripts": Prices(Decimal(1), Decimal(1))})
    both = Fallback(ScriptedModel(["x"], name="one"), ScriptedModel(["x"], name="two"))
    with pytest.raises(ConfigError, match=r"the models 'scripted:one', 'scripted:two'"):
        Agent(both, plugins=[Budget()])
    Agent(both, plugins=[Budget()], prices={"two": Prices(Decimal(1), Decimal(1))})
    Agent(both, plugins=[Budget()], prices={"two-2026-01-31": Prices(Decimal(1), Decimal(1))})
    Agent(both, plugins=[Budget()], prices=lambda name: Prices(Decimal(1), Decimal(1)))


def test_the_models_of_an_agent_are_those_of_its_wrappers_and_nothing_that_only_looks_like_it() -> None:
    one, two = ScriptedModel(["x"], name="one"), ScriptedModel(["x"], name="two")
    prices = {"two": Prices(Decimal(1), Decimal(1))}
    Agent(Reliability(one, fallback=two), plugins=[Budget()], prices=prices)
    Agent(Retry(CircuitBreaker(Fallback(one, two))), plugins=[Budget()], prices=prices)

    class Lists(ScriptedModel):
        models = ("text-1", "text-2")
        inner = "text-3"

    with pytest.raises(ConfigError, match="of model 'scripted:one'"):
        Agent(Lists(["x"], name="one"), plugins=[Budget()], prices=prices)


def _away(name: str) -> Prices:
    raise RuntimeError("the table is away")


def test_a_table_that_cannot_be_asked_yet_is_no_reason_to_refuse() -> None:
    answering("x", plugins=[Budget()], prices=_away)


@pytest.mark.parametrize("prices", [None, {"openai:gpt-x": Prices(Decimal(1), Decimal(1))}])
async def test_a_stand_in_costs_nothing_where_prices_are_needed(prices: Any) -> None:
    agent = Agent("openai:gpt-x", plugins=[Budget()], prices=prices)
    with override(agent, model=ScriptedModel(["free"])):
        result = await agent.run("go")
    assert (result.text, result.cost_usd) == ("free", Decimal(0))


# --- watching costs ----------------------------------------------------------------------------------------------------------------


class Watcher(Plugin):
    """Ends the turn when it has cost too much."""

    name = "watcher"

    class Settings(Plugin.Settings):
        got: Any
        fail: bool = False

    @hookimpl
    def configure(self, agent: Registry) -> None:
        agent.watch_costs(self._watch)

    def _watch(self, run: Run[Any]) -> None:
        self.settings.got.append(run.cost_usd)
        if self.settings.fail:
            raise RuntimeError("no")
        if (run.cost_usd or 0) > 20:
            run.request_stop("too much", limit="cost-budget")


async def test_a_watcher_of_costs_is_called_after_each_call_and_before_its_tools_run() -> None:
    got: list[Any] = []
    script = [says("", call("look")), says("never", call("look"))]
    result = await answering(*script, tools=[look], plugins=[Watcher(got=got)], prices=PRICES).run("go")
    record = check_record(result)
    assert got == [Decimal(15), Decimal(30)]
    stopped = result.stopped_early
    assert stopped is not None
    assert (stopped.reason, stopped.iteration, stopped.pending_tool_calls) == ("cost-budget", 2, 1)
    assert {event.source for event in record.events("agentfp.run.stop_requested")} == {"watcher"}


async def test_a_watcher_is_called_where_nothing_is_priced_too() -> None:
    got: list[Any] = []
    await answering("x", plugins=[Watcher(got=got)]).run("go")
    assert got == [None]


async def test_a_watcher_that_raises_is_named_and_the_run_goes_on() -> None:
    got: list[Any] = []
    result = await answering("x", plugins=[Watcher(got=got, fail=True)], prices=PRICES).run("go")
    assert (result.text, result.plugin_failures) == ("x", {"watcher": 1})


def test_a_plugin_that_asks_for_the_end_of_turns_keeps_the_rules() -> None:
    class Stops(Plugin):
        name = "stops"

        @hookimpl(phase="annotate")
        def serve_context(self, draft: Any, run: Run[Any]) -> None:
            run.request_stop("enough")

    check_plugin(Stops())
