"""What a ledger of spending promises, one promise a test: the amounts, the sums, the limits, and what happens at the edges."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp import Agent, ConfigError, Fallback, Limits, LLMCall, tool
from agentfp.events import CostTick, CostUnpriced
from agentfp.model import ModelOverloadedError, Prices, Usage
from agentfp.testing import ScriptedModel, override
from agentfp_cost import BudgetBlind, BudgetCrossed, BudgetProjected, Cost, MemorySpend
from tests.plugins.cost.spending import PRICES, calls, model, says

pytestmark = pytest.mark.anyio


@tool
def look(where: str) -> str:
    """Look somewhere."""
    return f"nothing at {where}"


def agent(*script: Any, **own: Any) -> Agent[Any, Any]:
    return Agent(model(*script), tools=[look], plugins=[Cost(**{"prices": PRICES, **own})])


SCRIPT = (calls("look", where="a"), calls("look", (2000, 100), where="b"), says("Nothing."))


async def test_a_tick_follows_each_reply_at_once_and_the_sum_never_falls() -> None:
    record = (await agent(*SCRIPT).run("x")).record
    ticks = record.of(CostTick)
    assert [(tick.usd, tick.cumulative_usd) for tick in ticks][:2] == [("0.006000", "0.006000"), ("0.007500", "0.013500")]
    sums = [Decimal(tick.cumulative_usd) for tick in ticks]
    assert sums == sorted(sums)
    names = [event.name for event in record]
    ends = [at for at, name in enumerate(names) if name == "agentfp.stream.llm_end"]
    assert [names[at + 1] for at in ends] == ["agentfp.cost.tick"] * 3


async def test_ticks_hold_no_text_of_anybody() -> None:
    result = await agent(says("the answer is secret"), usd="0.001").run("the question is secret")
    for event in result.record:
        if event.name.startswith("agentfp.cost."):
            assert "secret" not in str(event.payload)


async def test_without_prices_there_is_no_tick_and_tokens_are_counted() -> None:
    result = await Agent(model(*SCRIPT), tools=[look], plugins=[Cost()]).run("x")
    assert (result.record.of(CostTick), result.record.of(CostUnpriced)) == ([], [])
    assert Cost.report(result).usage == Usage(4000, 500)


async def test_two_runs_of_one_agent_begin_at_nothing() -> None:
    subject = agent(says("One."), says("Two."))
    sums = [(await subject.run("x")).record.of(CostTick)[0].cumulative_usd for _ in range(2)]
    assert sums == ["0.006000", "0.006000"]


async def test_an_unknown_price_in_the_middle_leaves_later_sums_as_they_are() -> None:
    script = [SCRIPT[0], dataclasses.replace(calls("look", where="b"), model="strange"), says("Done.")]
    result = await agent(*script, usd=1).run("x")
    assert [Decimal(tick.cumulative_usd) for tick in result.record.of(CostTick)] == [Decimal("0.006"), Decimal("0.012")]
    assert (result.cost_usd, Cost.report(result).unpriced_calls) == (Decimal("0.012"), 1)
    assert [(blind.calls, blind.model) for blind in result.record.of(BudgetBlind)] == [(1, "scripted:strange")]


async def test_a_limit_is_crossed_at_the_call_that_crosses_it_before_its_tools_run() -> None:
    record = (await agent(*SCRIPT, usd="0.01").run("x")).record
    names = [event.name for event in record]
    at = names.index("agentfp.cost.budget_crossed")
    assert names[at - 1] == "agentfp.cost.tick"
    assert names[:at].count("agentfp.tool.started") == 1
    assert names.count("agentfp.cost.budget_crossed") == 1


async def test_a_halted_turn_calls_no_wrap_up() -> None:
    subject = agent(*SCRIPT, says("never"), usd="0.001", on_exceed="halt")
    result = await subject.run("x")
    assert (result.status, len(result.record.of(CostTick))) == ("stopped_early", 1)


async def test_what_a_fallback_served_is_billed_as_its_own_model() -> None:
    first = model(ModelOverloadedError("busy", provider="scripted", model="small", usage=Usage(100, 0)))
    second = model(says("Done."), name="cheap", provider="other")
    report = Cost.report(await Agent(Fallback(first, second), plugins=[Cost(prices=PRICES)]).run("x"))
    assert [(call.provider, call.model, call.purpose, call.usd) for call in report.calls] == [
        ("scripted", "small", "failed", Decimal("0.0003")),
        ("other", "cheap", "main", Decimal("0.0014")),
    ]


# --- thinking -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reasoning", "usd"), [(None, "0.006"), (15, "0.006"), (30, "0.0075")])
async def test_thinking_costs_what_output_costs_unless_it_has_a_price(reasoning: int | None, usd: str) -> None:
    own = {"small": {"input": 3, "output": 15, **({} if reasoning is None else {"reasoning": reasoning})}}
    reply = dataclasses.replace(says("Done."), usage=Usage(1000, 200, thinking=100))
    result = await agent(reply, prices={"models": own}).run("x")
    assert result.cost_usd == Decimal(usd)
    assert Cost.report(result, prices={"small": Prices(Decimal(0), Decimal(1), reasoning=Decimal(2))}).total_usd == 300


# --- the next call ------------------------------------------------------------------------------------------------------------------


async def test_the_next_call_is_told_to_cross_the_budget_before_it_does() -> None:
    """The second call is taken to read what the first one read and wrote: (1000 + 200) * 3 and 200 * 15 in millionths of a dollar."""
    result = await agent(*SCRIPT, usd="0.0125", project=True).run("x")
    record = result.record
    (projected,) = record.of(BudgetProjected)
    assert projected == BudgetProjected("run", "0.0125", "0.006", "0.0126")
    names = [event.name for event in record]
    at = names.index("agentfp.cost.budget_projected")
    assert at < names.index("agentfp.cost.budget_crossed")
    assert names[:at].count("agentfp.stream.llm_end") == 1
    assert result.status == "answered"


async def test_a_budget_is_projected_to_be_crossed_once_though_every_call_might() -> None:
    """Each next call is taken to be as large as the last one, and is not."""
    large = calls("look", (100_000, 0), where="a")
    smaller = [calls("look", (tokens, 0), where=str(tokens)) for tokens in (99_000, 5_000, 1_000)]
    result = await agent(large, *smaller, says("Done.", (1, 1)), usd="0.62", project=True).run("x")
    assert len(result.record.of(BudgetProjected)) == 1
    assert not result.record.of(BudgetCrossed)


@pytest.mark.parametrize(("usd", "told"), [("0.0126", 0), ("0.006", 1), ("0.0059", 0)])
async def test_nothing_is_projected_that_fits_or_has_happened(usd: str, told: int) -> None:
    script = [calls("look", where="a"), says("Done.", (1, 1))]
    result = await agent(*script, usd=usd, project=True).run("x")
    assert len(result.record.of(BudgetProjected)) == told
    assert not (await agent(*script, usd=usd).run("x")).record.of(BudgetProjected)


async def test_a_session_is_warned_before_the_first_call_of_its_next_turn() -> None:
    kept = MemorySpend()
    chat = agent(says("One."), says("Two."), usd="0.01", scope="session", store=kept, project=True).conversation(session_id="s")
    first = await chat.send("a")
    assert not first.record.of(BudgetProjected)
    second = await chat.send("b")
    assert second.record.of(BudgetProjected) == [BudgetProjected("session", "0.01", "0.006", "0.0126")]


async def test_nothing_is_projected_where_no_price_is_known() -> None:
    script = [dataclasses.replace(calls("look", where="a"), usage=Usage(None, 5)), says("Done.")]
    assert not (await agent(*script, usd="0.0001", project=True).run("x")).record.of(BudgetProjected)


# --- refused when the agent is built ------------------------------------------------------------------------------------------------------


def test_a_budget_that_could_never_fire_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"the budget of \$0\.5 could never work.*'scripted:small'.*state what it costs"):
        Agent(model("x"), plugins=[Cost(usd="0.5")])
    with pytest.raises(ConfigError, match=r"'scripted:smal'.*did you mean 'small'"):
        Agent(model("x", name="smal"), plugins=[Cost(prices=PRICES, usd=1)])
    both = Fallback(model("x", name="one"), model("x", name="two"))
    with pytest.raises(ConfigError, match=r"'scripted:one', 'scripted:two'"):
        Agent(both, plugins=[Cost(prices=PRICES, usd=1)])


def test_a_price_from_anywhere_is_enough() -> None:
    Agent(model("x"), plugins=[Cost(usd=1)], prices={"small": Prices(Decimal(1), Decimal(1))})
    Agent(Fallback(model("x", name="one"), model("x")), plugins=[Cost(prices=PRICES, usd=1)])
    Agent(model("x", name="one"), plugins=[Cost(prices={"models": {"one-2026-01-31": {"input": 0, "output": 0}}}, usd=1)])
    Agent(model("x", name="unknown"), plugins=[Cost(prices=PRICES)])  # without a budget nothing is wrong


@pytest.mark.usefixtures("allow_any_model")
async def test_a_model_given_by_name_is_checked_at_its_first_use() -> None:
    with pytest.raises(ConfigError, match="'ollama:nobody-knows'"):
        await Agent("ollama:nobody-knows", plugins=[Cost(usd=1)]).run("x")


async def test_tests_of_an_agent_with_a_budget_need_no_prices() -> None:
    subject = Agent("openai:gpt-x", plugins=[Cost(prices={"models": {"gpt-x": {"input": 1, "output": 2}}}, usd=1, on_exceed="halt")])
    with override(subject, model=ScriptedModel(["Done."])):
        assert (await subject.run("x")).text == "Done."


@pytest.mark.parametrize("usd", [0, -1, "-0.5", "nan", float("nan"), "inf", "much", True, [], "1e999999999"])
def test_what_is_no_budget_is_refused_with_its_value(usd: Any) -> None:
    with pytest.raises(ConfigError, match="usd") as caught:
        Cost(prices=PRICES, usd=usd)
    assert str(usd) in str(caught.value) or repr(usd) in str(caught.value)


def test_an_unknown_word_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"on_exceed.*'warn', 'ask' or 'halt'; did you mean 'halt'"):
        Cost(prices=PRICES, usd=1, on_exceed="hlat")
    with pytest.raises(ConfigError, match="did you mean 'on_exceed'"):
        Cost(prices=PRICES, usd=1, on_excede="halt")


@pytest.mark.parametrize("on_exceed", ["halt", "ask"])
async def test_one_call_alone_has_nothing_to_halt(on_exceed: str) -> None:
    with pytest.raises(ConfigError, match="nothing to act on"):
        LLMCall(model("x"), plugins=[Cost(prices=PRICES, usd=1, on_exceed=on_exceed)])
    with pytest.raises(ConfigError, match="nothing to act on"):
        Agent(model("x"), limits=Limits(iterations=1, wrap_up=False), plugins=[Cost(prices=PRICES, usd=1, on_exceed=on_exceed)])
    result = await LLMCall(model(says("Done.")), plugins=[Cost(prices=PRICES, usd="0.001")]).run("x")
    assert (result.text, len(result.record.of(BudgetCrossed))) == ("Done.", 1)


def test_warning_of_a_budget_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="project"):
        Cost(prices=PRICES, project=True)


# --- in general ---------------------------------------------------------------------------------------------------------------------

tokens = st.one_of(st.none(), st.integers(0, 10**6))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(tokens, tokens, st.sampled_from(["small", "strange"])), min_size=1, max_size=5), st.decimals("0.001", 5, places=3)
)
def test_reports_ticks_and_budget_agree_whatever_was_used(used: list[tuple[Any, Any, str]], usd: Decimal) -> None:
    script = [dataclasses.replace(calls("look", where="a"), usage=Usage(come, go), model=name) for come, go, name in used]
    subject = Agent(model(*script, says("Done.")), tools=[look], plugins=[Cost(prices=PRICES, usd=usd)], limits=Limits(iterations=10))
    result = subject.run_sync("x")
    report = Cost.report(result)
    expected = [
        Decimal(come) * 3 / 10**6 + Decimal(go) * 15 / 10**6
        for come, go, name in [*used, (1000, 200, "small")]
        if name == "small" and come is not None and go is not None
    ]
    assert report.total_usd == result.cost_usd == sum(expected)
    assert report.unpriced_calls == len(used) + 1 - len(expected)
    assert len(result.record.of(BudgetCrossed)) == (sum(expected) > usd)
    assert len(result.record.of(BudgetBlind)) == (report.unpriced_calls > 0)
