"""Limits: what can be one, when each fires, and what then becomes of the turn."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from agentfp import ConfigError, Limits, LimitsError, Prices, StoppedEarlyError
from agentfp.events import BudgetExhausted, CostTick, CostUnpriced, LimitHit
from agentfp.model import ModelFeatures, Usage
from agentfp.plugin import CallView, Plugin, Registry, RequestDraft, Run, hookimpl
from agentfp_core.clock import StepClock
from tests.core.running import ScriptedModel, answering, call, check_record, names, routes, says

pytestmark = pytest.mark.anyio

DOLLAR = {"script": Prices(Decimal("0.1"), Decimal("0.2"))}


def look() -> str:
    """Look."""
    return "seen"


def spending(dollars: str, *, calls: bool = False, text: str = "done") -> Any:
    """A reply that costs so many dollars under ``DOLLAR``."""
    tokens = int(Decimal(dollars) / Decimal("0.1"))
    return says(text, *([call("look")] if calls else []), usage=Usage(tokens, 0))


# --- what can be a limit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        {"iterations": 0},
        {"iterations": -1},
        {"iterations": True},
        {"iterations": 2.0},
        {"iterations": "5"},
        {"hard_cap": 0},
        {"tokens": 0},
        {"tokens": 1.5},
        {"tool_result_chars": 0},
        {"tool_result_chars": True},
        {"tool_results_total_chars": -4},
        {"usd": 0},
        {"usd": -1},
        {"usd": math.nan},
        {"usd": math.inf},
        {"usd": True},
        {"usd": "1"},
        {"seconds": 0},
        {"seconds": math.inf},
        {"on_usd": "stop"},
    ],
)
def test_what_cannot_be_a_limit_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(LimitsError, match=f"Limits.{next(iter(values))} "):
        Limits(**values)


def test_iterations_above_the_cap_are_refused_and_not_clamped() -> None:
    with pytest.raises(LimitsError, match="hard_cap=51"):
        Limits(iterations=51)
    assert Limits(iterations=50).iterations == 50
    assert Limits(iterations=51, hard_cap=51).iterations == 51
    with pytest.raises(LimitsError, match="above the cap of 60"):
        Limits(iterations=61, hard_cap=60)


def test_all_problems_of_limits_come_at_once() -> None:
    wrong: Any = {"iterations": 0, "usd": -1, "tokens": 0, "on_usd": "x"}
    with pytest.raises(LimitsError) as caught:
        Limits(**wrong)
    assert len(caught.value.problems) == 4
    assert isinstance(caught.value, ValueError)


def test_a_budget_without_prices_is_refused_while_building() -> None:
    with pytest.raises(ConfigError, match="prices"):
        answering("hi", limits=Limits(usd=1))


async def test_a_budget_of_one_run_without_prices_is_refused_before_anything_runs() -> None:
    agent = answering("hi")
    with pytest.raises(ConfigError, match="prices"):
        await agent.run("go", limits=Limits(usd=1))
    model: Any = agent.model
    assert model.requests == []


# --- iterations ------------------------------------------------------------------------------------------------------------


async def test_iterations_end_the_turn_and_say_so_once() -> None:
    agent = answering(
        says("one moment", call("look")),
        says("Let me look", call("look"), call("look")),
        tools=[look],
        limits=Limits(iterations=2, wrap_up=False),
    )
    result = await agent.run("go")
    record = check_record(result)
    assert (result.status, result.text) == ("stopped_early", "Let me look")
    stopped = result.stopped_early
    assert stopped is not None
    assert (stopped.reason, stopped.iteration, stopped.pending_tool_calls) == ("max-iterations", 2, 2)
    assert (stopped.answer_was_empty, stopped.wrapped_up) == (False, False)
    assert record.of(BudgetExhausted) == [BudgetExhausted("max-iterations", 2, "cut-short", 2)]
    assert record.of(LimitHit) == [LimitHit("max_iterations", 2, 2, "abort")]
    with pytest.raises(StoppedEarlyError) as caught:
        result.raise_for_status()
    assert caught.value.stopped == stopped


async def test_an_answer_in_the_last_iteration_is_an_answer() -> None:
    result = await answering(call("look"), "done", tools=[look], limits=Limits(iterations=2)).run("go")
    assert (result.status, result.stopped_early, result.record.of(LimitHit)) == ("answered", None, [])


async def test_the_limits_of_a_run_go_before_those_of_the_agent() -> None:
    agent = answering(call("look"), "done", tools=[look], limits=Limits(iterations=1, wrap_up=False))
    assert (await agent.run("go", limits=Limits(iterations=2))).status == "answered"


# --- money -----------------------------------------------------------------------------------------------------------------


async def test_a_crossed_budget_halts_before_the_next_call() -> None:
    agent = answering(
        spending("0.6", calls=True, text="Let me look"), "never", tools=[look], prices=DOLLAR, limits=Limits(usd=0.5, iterations=5)
    )
    result = await agent.run("go")
    record = check_record(result)
    assert (result.status, result.text, result.cost_usd) == ("stopped_early", "Let me look", Decimal("0.6"))
    assert result.stopped_early is not None
    assert (result.stopped_early.reason, result.stopped_early.wrapped_up) == ("cost-budget", False)
    assert record.of(LimitHit) == [LimitHit("max_cost", 0.5, 0.6, "abort")]
    assert record.of(BudgetExhausted) == [BudgetExhausted("cost-budget", 1, "cut-short", None)]
    assert "tool.started" not in names(record)
    model: Any = agent.model
    assert len(model.requests) == 1


async def test_a_budget_that_is_met_exactly_is_not_crossed() -> None:
    script = [spending("0.6", calls=True), says("done", usage=Usage(0, 0))]
    result = await answering(*script, tools=[look], prices=DOLLAR, limits=Limits(usd=Decimal("0.6"))).run("go")
    assert (result.status, result.record.of(LimitHit), result.cost_usd) == ("answered", [], Decimal("0.6"))


@pytest.mark.parametrize("budget", [0.3, Decimal("0.3")])
async def test_money_is_added_up_exactly(budget: Any) -> None:
    """0.1 + 0.2 is not above 0.3, whatever floats say."""
    script = [spending("0.1", calls=True), spending("0.2", calls=True), says("done", usage=Usage(0, 0))]
    result = await answering(*script, tools=[look], prices=DOLLAR, limits=Limits(usd=budget)).run("go")
    assert (result.status, result.cost_usd) == ("answered", Decimal("0.3"))
    assert [tick.cumulative_usd for tick in result.record.of(CostTick)] == ["0.1", "0.3", "0.3"]


async def test_a_budget_may_only_warn() -> None:
    script = [spending("0.6", calls=True), spending("0.6", calls=True), spending("0.6")]
    result = await answering(*script, tools=[look], prices=DOLLAR, limits=Limits(usd=0.5, on_usd="warn")).run("go")
    assert (result.status, result.cost_usd) == ("answered", Decimal("1.8"))
    assert result.record.of(LimitHit) == [LimitHit("max_cost", 0.5, 0.6, "warn")]


async def test_iterations_are_named_before_money() -> None:
    agent = answering(spending("0.6", calls=True, text="x"), tools=[look], prices=DOLLAR, limits=Limits(usd=0.5, iterations=1))
    result = await agent.run("go")
    assert result.stopped_early is not None
    assert (result.stopped_early.reason, result.stopped_early.wrapped_up) == ("max-iterations", False)
    assert {hit.kind for hit in check_record(result).of(LimitHit)} == {"max_cost", "max_iterations"}


async def test_each_turn_has_its_budget() -> None:
    chat = answering(spending("0.5"), spending("0.5"), prices=DOLLAR, limits=Limits(usd=0.6)).conversation()
    first, second = await chat.send("one"), await chat.send("two")
    assert (first.cost_usd, second.cost_usd) == (Decimal("0.5"), Decimal("0.5"))
    assert second.status == "answered"


async def test_cached_tokens_have_their_price() -> None:
    prices = {"script": Prices(Decimal(1), Decimal(2), cache_read=Decimal("0.1"), cache_write=Decimal(3))}
    result = await answering(says("x", usage=Usage(10, 1, cache_read=5, cache_write=2)), prices=prices).run("go")
    assert result.cost_usd == Decimal(3) + Decimal("0.5") + Decimal(6) + Decimal(2)


async def test_prices_may_be_plain_numbers() -> None:
    prices = {"script": Prices(0.1, 1)}  # type: ignore[arg-type]
    result = await answering(says("x", usage=Usage(3, 1)), prices=prices, limits=Limits(usd=1)).run("go")
    assert (result.cost_usd, [hit.actual for hit in result.record.of(LimitHit)]) == (Decimal("1.3"), [1.3])


async def test_prices_may_come_from_the_provider_or_a_function() -> None:
    features = ModelFeatures(prices=Prices(Decimal(1), Decimal(1)))
    assert (await answering(says("x", usage=Usage(1, 1)), features=features).run("go")).cost_usd == 2
    asked: list[str] = []

    def table(name: str) -> Prices:
        asked.append(name)
        return Prices(Decimal(3), Decimal(3))

    agent = answering(says("x", usage=Usage(1, 1), model="script-2030"), features=features, prices=table)
    assert ((await agent.run("go")).cost_usd, asked) == (Decimal(6), ["script-2030"])


class Cheap(Plugin):
    """States prices for one provider's model, and for all others of one name."""

    name = "cheap"

    @hookimpl
    def configure(self, agent: Registry) -> None:
        agent.add_prices({"scripted:script": Prices(1, 1), "script": Prices(9, 9), "mine": Prices(9, 9)})  # type: ignore[arg-type]


async def test_prices_come_from_the_agent_then_a_plugin_then_the_provider() -> None:
    features = ModelFeatures(prices=Prices(Decimal(5), Decimal(5)))
    used = Usage(1, 1)
    mine = {"mine": Prices(Decimal(2), Decimal(2))}
    for name, dollars in (("script", 2), ("mine", 4), ("unheard-of", 10)):
        agent = answering(says("x", usage=used, model=name), features=features, plugins=[Cheap()], prices=mine)
        assert (await agent.run("go")).cost_usd == dollars


def _raising(name: str) -> Prices:
    raise RuntimeError("the table is away")


@pytest.mark.parametrize(
    ("prices", "usage", "reason"),
    [
        ({"script": Prices(Decimal("NaN"), Decimal(1))}, Usage(1, 1), "bad-price"),
        ({"script": Prices(Decimal(-1), Decimal(0))}, Usage(1, 1), "bad-price"),
        (_raising, Usage(1, 1), "bad-price"),
        ({"other": Prices(Decimal(1), Decimal(1))}, Usage(1, 1), "no-price"),
        ({"script": Prices(None, Decimal(1))}, Usage(1, 1), "no-price"),
        ({"script": Prices(Decimal(1), Decimal(1))}, Usage(None, 1), "no-usage"),
    ],
)
async def test_what_cannot_be_priced_is_unknown_and_not_free(prices: Any, usage: Usage, reason: str) -> None:
    result = await answering(says("x", usage=usage), prices=prices, limits=Limits(usd=1)).run("go")
    assert (result.status, result.cost_usd) == ("answered", None)
    assert result.record.of(CostUnpriced) == [CostUnpriced("scripted", "script", reason)]  # type: ignore[arg-type]
    assert result.record.of(CostTick) == []


# --- tokens, time, wishes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "status"), [(15, "answered"), (14, "stopped_early")])
async def test_tokens(limit: int, status: str) -> None:
    agent = answering(says("", call("look")), says("done", usage=Usage(0, 0)), tools=[look], limits=Limits(tokens=limit))
    result = await agent.run("go")
    assert result.status == status
    hits = [LimitHit("max_tokens", 14, 15, "abort")] if status == "stopped_early" else []
    assert check_record(result).of(LimitHit) == hits


async def test_seconds_are_looked_at_between_calls() -> None:
    clock = StepClock(step_ns=1_000_000_000)
    agent = answering(call("look"), "never", tools=[look], limits=Limits(seconds=3), clock=clock)
    result = await agent.run("go")
    assert result.stopped_early is not None
    assert result.stopped_early.reason == "max-wallclock"
    hit = check_record(result).of(LimitHit)[0]
    assert (hit.kind, hit.limit, hit.action) == ("max_wallclock", 3, "abort")
    assert hit.actual > 3
    assert len(result.record.of(LimitHit)) == 1


class Stopper(Plugin):
    """Asks for the end at the moment it is told."""

    name = "stopper"

    class Settings(Plugin.Settings):
        at: str

    @hookimpl(phase="annotate")
    def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
        if self.settings.at == "serve":
            run.request_stop("enough")

    @hookimpl(phase="authorize")
    def before_tool(self, call: CallView, run: Run[Any]) -> None:
        if self.settings.at == "tool":
            run.request_stop("enough")


async def test_a_stop_wished_while_tools_run_ends_before_the_next_call() -> None:
    agent = answering(says("soon", call("look")), "never", tools=[look], plugins=[Stopper(at="tool")])
    result = await agent.run("go")
    record = check_record(result)
    assert (result.status, result.text) == ("stopped_early", "")
    assert result.stopped_early is not None
    assert (result.stopped_early.reason, result.stopped_early.answer_was_empty) == ("requested", True)
    assert routes(record) == ["tool-calls"]
    assert record.of(BudgetExhausted) == [BudgetExhausted("requested", 0, "cut-short", None)]


async def test_a_stop_wished_before_a_call_lets_that_call_answer() -> None:
    result = await answering("hello", plugins=[Stopper(at="serve")]).run("go")
    assert (result.status, result.text, result.stopped_early) == ("answered", "hello", None)


async def test_a_stop_wished_before_a_call_leaves_its_calls_unrun() -> None:
    result = await answering(says("soon", call("look")), tools=[look], plugins=[Stopper(at="serve")]).run("go")
    assert (result.status, result.text) == ("stopped_early", "soon")
    assert "tool.started" not in names(check_record(result))


async def test_models_of_other_names_are_billed_under_theirs() -> None:
    model = ScriptedModel([says("x", usage=Usage(1, 1))], name="other", provider="acme")
    agent = answering().replace(model=model, prices={"other": Prices(Decimal(1), Decimal(1))})
    assert (await agent.run("go")).record.of(CostTick) == [CostTick("acme", "other", "2", "2")]
