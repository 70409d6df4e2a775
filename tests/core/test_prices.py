"""What a call costs: of each kind of token once, dearer when it is long, unknown where anything is."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp import Limits, Prices, Usage
from agentfp.events import CostTick, CostUnpriced
from agentfp.model import ModelCatalog
from agentfp.testing import StepClock
from tests.core.running import answering, says

P = Prices(Decimal(3), Decimal(15), Decimal(1), Decimal(4))
counts = st.integers(0, 10**7)
dollars = st.decimals(0, 1000, places=6)


def test_each_kind_of_token_has_its_price() -> None:
    assert P.amount(Usage(10, 2)) == 10 * 3 + 2 * 15
    assert P.amount(Usage(10, 2, cache_read=4, cache_write=5)) == 1 * 3 + 4 * 1 + 5 * 4 + 2 * 15
    assert Prices(Decimal(3), Decimal(15)).amount(Usage(10, 2, cache_read=4, cache_write=5)) == 10 * 3 + 2 * 15


def test_thinking_is_output_unless_it_has_a_price_and_counts_once() -> None:
    assert P.amount(Usage(0, 10, thinking=4)) == 10 * 15
    dear = Prices(Decimal(3), Decimal(15), reasoning=Decimal(20))
    assert dear.amount(Usage(0, 10, thinking=4)) == 6 * 15 + 4 * 20
    assert dear.amount(Usage(0, 10)) == 10 * 15
    assert dear.amount(Usage(0, 3, thinking=9)) == 3 * 20  # no more than there are


def test_an_embedding_has_its_own_price() -> None:
    own = Prices(embedding=Decimal("0.5"))
    assert own.amount(Usage(10), "embed") == own.amount(Usage(10, 0), "embed") == 5
    assert Prices(Decimal(3), embedding=Decimal("0.5")).amount(Usage(10), "embed") == 5
    assert Prices(Decimal(3)).amount(Usage(10), "embed") == 30
    assert (P.amount(Usage(10)), P.amount(Usage(None), "embed"), Prices(None, Decimal(1)).amount(Usage(1), "embed")) == (None, None, None)
    assert P.amount(Usage(10, 2), "embed") == P.amount(Usage(10, 2))  # what gives tokens back is no embedding


def test_a_long_request_has_the_prices_of_its_tier_as_a_whole() -> None:
    tiers = [(1000, Prices(Decimal(9))), (100, Prices(Decimal(6), Decimal(30), Decimal(2)))]
    tiered = Prices(Decimal(3), Decimal(15), Decimal(1), tiers=tiers)
    assert tiered.amount(Usage(100, 1)) == 100 * 3 + 15
    assert tiered.amount(Usage(101, 1)) == 101 * 6 + 30
    assert tiered.amount(Usage(101, 1, cache_read=1)) == 100 * 6 + 2 + 30
    assert tiered.amount(Usage(1001, 1, cache_read=1)) == 1000 * 9 + 1 + 15  # what a tier leaves out costs as without it
    half = tiered.times(Decimal("0.5"))
    assert half.amount(Usage(101, 1)) == Decimal("0.5") * (101 * 6 + 30)
    assert hash(tiered) == hash(Prices(Decimal(3), Decimal(15), Decimal(1), tiers=tiers))


@pytest.mark.parametrize("odd", [Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal(-9)])
def test_what_is_no_price_makes_no_amount(odd: Decimal) -> None:
    assert Prices(odd, Decimal(1)).amount(Usage(10, 1)) is None
    assert Prices(Decimal(1), odd).amount(Usage(0, 1)) is None


@pytest.mark.parametrize("field", ["input", "output", "cache_read", "cache_write", "thinking"])
def test_negative_counts_make_no_amount(field: str) -> None:
    assert P.amount(Usage(**{"input": 5, "output": 5, field: -1})) is None


@settings(max_examples=50)
@given(counts, counts, counts, counts, counts, dollars, dollars)
def test_the_same_price_for_all_is_the_number_of_tokens_times_it(
    fresh: int, read: int, write: int, spoken: int, thought: int, come: Decimal, go: Decimal
) -> None:
    usage = Usage(fresh + read + write, spoken + thought, read, write, thought)
    assert usage.input is not None
    assert usage.output is not None
    exact = usage.input * come + usage.output * go
    assert Prices(come, go).amount(usage) == exact
    assert Prices(come, go, come, come, go).amount(usage) == exact
    assert Prices(go, come, tiers=[(usage.input - 1, Prices(come, go))]).amount(usage) == exact


class Book:
    """Prices that rise with the year."""

    def find(self, provider: str | None, model: str, day: datetime.date | None = None) -> Prices | None:
        assert day is not None
        return Prices(Decimal(day.year), Decimal(0)) if (provider, model) == ("scripted", "script") else None


@pytest.mark.anyio
@pytest.mark.parametrize(("month", "dollars"), [(12, 2029), (1, 2030)])
async def test_the_price_is_that_of_the_day_on_which_the_call_was_made(month: int, dollars: int) -> None:
    year = 2029 if month == 12 else 2030
    clock = StepClock(datetime.datetime(year, month, 31 if month == 12 else 1, 12, tzinfo=datetime.UTC))
    result = await answering(says("x", usage=Usage(1, 0)), prices=Book(), clock=clock).run("go")
    assert result.cost_usd == dollars


@pytest.mark.anyio
async def test_a_call_over_midnight_has_the_price_of_its_beginning() -> None:
    start = datetime.datetime(2029, 12, 31, 23, 59, 59, 900_000, tzinfo=datetime.UTC)
    clock = StepClock(start, step_ns=50_000_000)
    result = await answering(says("x", usage=Usage(1, 0)), says("y", usage=Usage(1, 0)), prices=Book(), clock=clock).run("go")
    (tick,) = result.record.events("agentfp.cost.tick")
    payload: Any = tick.payload
    (ended,) = result.record.events("agentfp.stream.llm_end")
    began = ended.ts_ns - ended.payload.duration_ms * 1_000_000  # type: ignore[attr-defined]
    year = datetime.datetime.fromtimestamp(began // 10**9, datetime.UTC).year
    assert payload.usd == str(year)


@pytest.mark.anyio
async def test_a_table_that_knows_another_model_only_leaves_it_unpriced() -> None:
    result = await answering(says("x", model="other"), prices=Book(), limits=Limits(usd=1)).run("go")
    assert (result.record.of(CostTick), len(result.record.of(CostUnpriced))) == ([], 1)


def test_data_of_models_may_state_all_prices() -> None:
    prices = {"input": "2", "output": "4", "reasoning": "8", "embedding": "1"}
    data: dict[str, Any] = {"source": "here", "date": "2026-01-01", "models": {"m": {"prices": prices}}}
    found = ModelCatalog(data)["m"].prices
    assert found is not None
    assert (found.reasoning, found.embedding) == (Decimal("0.000008"), Decimal("0.000001"))
    data["models"]["m"]["prices"]["tiers"] = "1"
    with pytest.raises(ValueError, match="no 'tiers'"):
        ModelCatalog(data)
