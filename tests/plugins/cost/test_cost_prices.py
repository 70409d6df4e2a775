"""Files of prices: such as change from a day on, dearer ones of long requests, and every way in which a file can be wrong."""

from __future__ import annotations

import contextlib
import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp import Agent
from agentfp.model import Prices, Usage
from agentfp.testing import StepClock
from agentfp_cost import Cost, PriceFile, PriceFileError
from tests.plugins.cost.spending import model, says

pytestmark = pytest.mark.anyio

FILE = """
date = 2026-11-30
per = "token"

[[models.small]]
input = 1
output = 10

[[models.small]]
from = 2026-01-01
input = 2
output = 20
reasoning = 40
cache_read = 0.5

[[models.small.tiers]]
above = 1_000
input = 4
output = 30

[[models.small.tiers]]
above = 10_000
input = 8

[[models."late:one"]]
from = "2026-06-01"
input = 3
output = 3

[models.vectors]
embedding = 0.25
"""
OLD, NEW = datetime.date(2025, 12, 31), datetime.date(2026, 1, 1)


@pytest.fixture
def prices(tmp_path: Path) -> PriceFile:
    path = tmp_path / "prices.toml"
    path.write_text(FILE)
    return PriceFile.load(path)


def price(prices: PriceFile, usage: Usage, day: datetime.date | None, model: str = "small", provider: str | None = "p") -> Decimal | None:
    found = prices.find(provider, model, day)
    return None if found is None else found.amount(usage)


def test_the_price_is_that_of_the_day(prices: PriceFile) -> None:
    usage = Usage(100, 1)
    assert [price(prices, usage, day) for day in (OLD, NEW, None)] == [110, 220, 220]
    assert price(prices, usage, OLD, "small-2026-01-31") == 110
    assert prices["small"] == prices.find(None, "small")
    before, after = datetime.date(2026, 5, 31), datetime.date(2026, 6, 1)
    assert [price(prices, usage, day, "one", "late") for day in (before, after)] == [None, 303]


def test_a_long_request_is_dearer_as_a_whole(prices: PriceFile) -> None:
    assert price(prices, Usage(1000, 1), NEW) == 2020
    assert price(prices, Usage(1001, 1), NEW) == 4034
    assert price(prices, Usage(1001, 2, cache_read=1, thinking=1), NEW) == 4000 + Decimal("0.5") + 30 + 40
    assert price(prices, Usage(10_001, 1), NEW) == 80_028
    assert price(prices, Usage(10_001, 1), OLD) == 10_011


@pytest.mark.parametrize(("day", "usd"), [(OLD, 110), (NEW, 220)])
async def test_a_run_and_its_recording_are_priced_by_the_day_of_the_call(
    prices: PriceFile, day: datetime.date, usd: int, tmp_path: Path
) -> None:
    clock = StepClock(datetime.datetime.combine(day, datetime.time(12), datetime.UTC))
    result = await Agent(model(says("Done.", (100, 1))), clock=clock, plugins=[Cost(prices=prices)]).run("x")
    result.record.save(tmp_path / "r.jsonl")
    assert result.cost_usd == usd
    assert Cost.report(tmp_path / "r.jsonl", prices=prices).total_usd == usd
    doubled = PriceFile({"small": [(None, Prices(Decimal(1))), (NEW, Prices(Decimal(4), Decimal(40)))]})
    report = Cost.report(tmp_path / "r.jsonl", prices=doubled)
    assert report.total_usd == (440 if day == NEW else None)


async def test_a_call_over_midnight_costs_what_it_cost_when_it_began_live_and_priced_anew(prices: PriceFile) -> None:
    over = 0
    for start in range(0, 1000, 20):
        begin = datetime.datetime(2025, 12, 31, 23, 59, 59, 1000 * start, datetime.UTC)
        agent = Agent(model(says("Done.", (100, 1))), clock=StepClock(begin, step_ns=40_000_000), plugins=[Cost(prices=prices)])
        result = await agent.run("x")
        (ended,) = result.record.events("agentfp.stream.llm_end")
        (call,) = Cost.report(result).calls
        over += call.day == OLD and ended.ts_ns >= datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).timestamp() * 10**9
        assert Cost.report(result, prices=prices).total_usd == result.cost_usd == (110 if call.day == OLD else 220)
    assert over


async def test_tiers_count_when_a_recording_is_priced_anew(prices: PriceFile) -> None:
    result = await Agent(model(says("Done.", (1001, 1))), plugins=[Cost(prices=prices)]).run("x")
    assert Cost.report(result, prices=prices).total_usd == result.cost_usd == 4034


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ([], "must be a table with input and output, or an array"),
        ([1], "must be a table with input and output, or an array"),
        ({"input": 1, "output": 1, "from": "soon"}, "from must be a day such as 2026-11-30; got 'soon'"),
        ({"input": 1, "output": 1, "from": datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)}, "from must be a day"),
        ({"input": 1, "output": 1, "form": "2026-01-01"}, "did you mean 'from'"),
        ([{"input": 1, "output": 1}, {"input": 2, "output": 2}], "several tables without `from`"),
        ([{"input": 1, "output": 1, "from": "2026-01-01"}] * 2, "several tables with from = 2026-01-01"),
        ([{"input": 1, "output": 1}, {"input": 2, "from": "2026-01-01"}], r"models.'m'\[1\] lacks output"),
        ({"input": 1}, "lacks output .a model of embeddings"),
        ({"input": 1, "output": 1, "tiers": 5}, "tiers must be an array"),
        ({"input": 1, "output": 1, "tiers": [5]}, "tiers must be an array"),
        ({"input": 1, "output": 1, "tiers": [{"input": 1}]}, r"tiers\[0\]: above must be a whole number"),
        ({"input": 1, "output": 1, "tiers": [{"above": True, "input": 1}]}, "above must be a whole number"),
        ({"input": 1, "output": 1, "tiers": [{"above": 1}]}, "states no price"),
        ({"input": 1, "output": 1, "tiers": [{"above": 1, "input": -1}]}, r"tiers\[0\]: input must be a number of dollars"),
        ({"input": 1, "output": 1, "tiers": [{"abov": 1, "input": 1}]}, "did you mean 'above'"),
        ({"input": 1, "output": 1, "tiers": [{"above": 5, "input": 1}, {"above": 5, "input": 2}]}, "the same number of tokens"),
        ({"input": "1e999999999", "output": 1}, "input must be a number of dollars"),
        ({"input": 10**5000, "output": 1}, "a number of many digits"),
        ({"input": "9" * 5000, "output": 1}, "input must be a number of dollars"),
    ],
)
def test_what_is_wrong_with_an_entry(entry: Any, words: str) -> None:
    with pytest.raises(PriceFileError, match=words):
        PriceFile.of({"models": {"m": entry}})


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"x = 1e99999999999999999999",
        b"x = " + b"[" * 5000,
        b"",
        b"models = {}",
        b"[models.'']\ninput=1\noutput=1",
        b"per = [1]",
    ],
)
def test_no_file_gets_by(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes(content)
    with pytest.raises(PriceFileError, match=r"prices\.toml"):
        PriceFile.load(path)


def test_a_file_that_does_not_end_is_no_file_of_prices() -> None:
    with pytest.raises(PriceFileError, match="larger than 5 MB"):
        PriceFile.load("/dev/zero")
    with pytest.raises(PriceFileError, match="cannot be read"):
        PriceFile.load("/")


leaf = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.decimals(), st.dates())
words = st.sampled_from(["input", "output", "from", "tiers", "above", "embedding", "models", "per", "date", "m", "million"])
trees = st.recursive(leaf | words, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4), max_leaves=12)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(words, trees, max_size=4), trees)
def test_any_data_are_prices_or_a_report(data: dict[str, Any], entry: Any) -> None:
    for given_data in (data, {"models": {"m": entry}}):
        with contextlib.suppress(PriceFileError):
            found = PriceFile.of(given_data)
            for name in found:
                amount = found[name].amount(Usage(10, 10), "embed")
                assert amount is None or amount >= 0
