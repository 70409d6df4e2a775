"""What a report says: of each billed call once, live and saved, and at other prices."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, Retry, RetryPolicy, tool
from agentfp.model import ModelOverloadedError, ModelRequest, Prices, Usage
from agentfp.plugin import Message, Plugin, hookimpl
from agentfp_cost import Cost, PriceFile, PriceFileError
from tests.plugins.cost.spending import PRICES, calls, model, says

pytestmark = pytest.mark.anyio


@tool
def look(where: str) -> str:
    """Look somewhere."""
    return f"nothing at {where}"


class Helper(Plugin):
    """Asks a model of its own before each request."""

    name = "helper"

    def __init__(self, other: Any = None) -> None:
        super().__init__()
        self.other = other

    @hookimpl(phase="compose")
    async def serve_context(self, draft: Any, run: Any) -> None:
        request = ModelRequest(system="", messages=[Message("m_1", "user", "Sum it up.")])
        await run.call_model(request, purpose="compact", model=self.other)


async def test_each_call_is_priced_and_added_up() -> None:
    agent = Agent(model(calls("look", where="a"), says("Nothing.", (2000, 100))), tools=[look], plugins=[Cost(prices=PRICES)])
    result = await agent.run("x")
    report = Cost.report(result)
    assert [call.usd for call in report.calls] == [Decimal("0.006"), Decimal("0.0075")]
    assert (report.total_usd, report.unpriced_calls, report.usage.total) == (Decimal("0.0135"), 0, 3300)
    assert result.cost_usd == report.total_usd


async def test_calls_of_plugins_stand_under_their_own_model_and_purpose() -> None:
    cheap = model(says("Sum.", (1000, 1000)), name="cheap", provider="other")
    result = await Agent(model(says("Done.")), plugins=[Helper(cheap), Cost(prices=PRICES)]).run("x")
    report = Cost.report(result)
    assert {line.name: line.usd for line in report.by("model")} == {"scripted:small": Decimal("0.006"), "other:cheap": Decimal("0.003")}
    assert {line.name: line.calls for line in report.by("purpose")} == {"main": 1, "compact": 1}
    assert [line.name for line in report.by("provider")] == ["scripted", "other"]


async def test_an_unknown_price_takes_no_part_in_the_sum() -> None:
    strange = model(says("Sum."), name="strange", provider="other")
    result = await Agent(model(says("Done.")), plugins=[Helper(strange), Cost(prices=PRICES)]).run("x")
    report = Cost.report(result)
    assert (report.total_usd, report.unpriced_calls) == (Decimal("0.006"), 1)
    assert "not in the sum: 1 call without a known price" in str(report)


async def test_without_prices_the_tokens_are_told() -> None:
    result = await Agent(model(says("Done.")), plugins=[Cost()]).run("x")
    report = Cost.report(result)
    assert (report.total_usd, report.usage, report.unpriced_calls) == (None, Usage(1000, 200), 1)
    assert report.by("model")[0].name == "scripted:small"


async def test_a_failed_call_with_usage_is_billed() -> None:
    failure = ModelOverloadedError("busy", provider="scripted", model="small")
    failure.usage = Usage(100, 0)
    agent = Agent(Retry(model(failure, says("Done.")), RetryPolicy(initial=0.001)), plugins=[Cost(prices=PRICES)])
    report = Cost.report(await agent.run("x"))
    assert {line.name: (line.calls, line.usd) for line in report.by("purpose")} == {
        "main": (1, Decimal("0.006")),
        "failed": (1, Decimal("0.0003")),
    }


async def test_a_nested_agent_is_told_call_by_call_and_counted_once(tmp_path: Path) -> None:
    inner = Agent(model(calls("look", where="b"), says("It says b."), name="cheap", provider="other"), tools=[look], name="inner")
    outer = Agent(model(calls("ask", request="b?"), says("b.")), tools=[inner.as_tool("ask", "Asks.")], plugins=[Cost(prices=PRICES)])
    result = await outer.run("x")
    result.record.save(tmp_path / "r.jsonl")
    for source in (result, tmp_path / "r.jsonl"):
        report = Cost.report(source)
        assert {line.name: line.calls for line in report.by("model")} == {"scripted:small": 2, "other:cheap": 2}
        assert {line.name: line.calls for line in report.by("turn")} == {"1": 4}
        assert [len(call.path) for call in report.calls] == [0, 0, 1, 1]


async def test_one_turn_of_a_conversation() -> None:
    chat = Agent(model(says("One."), says("Two.", (2000, 100))), plugins=[Cost(prices=PRICES)]).conversation()
    await chat.send("a")
    result = await chat.send("b")
    assert Cost.report(result).total_usd == Decimal("0.0135")
    assert Cost.report(result, turn=2).total_usd == Decimal("0.0075") == result.cost_usd


async def test_a_recording_is_priced_anew(tmp_path: Path) -> None:
    result = await Agent(model(says("Done.")), plugins=[Cost(prices=PRICES)]).run("x")
    result.record.save(tmp_path / "r.jsonl")
    dear = PriceFile.of({"date": "2027-01-01", "models": {"small": {"input": 30, "output": 150}}})
    report = Cost.report(tmp_path / "r.jsonl", prices=dear)
    assert report.total_usd == Decimal("0.06")
    assert report.to_json()["prices"] == {"source": "prices", "date": "2027-01-01"}
    unknown = Cost.report(result, prices={"else": Prices(input=Decimal(1), output=Decimal(1))})
    assert (unknown.total_usd, unknown.unpriced_calls) == (None, 1)


def test_cached_tokens_have_prices_of_their_own() -> None:
    prices = PriceFile.of({"per": "token", "models": {"m": {"input": 10, "output": 100, "cache_read": 1, "cache_write": 12}}})["m"]
    assert prices.amount(Usage(10, 1, cache_read=4, cache_write=2, thinking=1)) == 4 * 10 + 4 * 1 + 2 * 12 + 100


# --- files of prices -----------------------------------------------------------------------------------------------------------------


def test_a_file_of_prices(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('date = 2026-11-30\nper = "thousand"\n[models.m]\ninput = 0.1\noutput = "0.2"\n[models."p:m"]\ninput = 1\noutput = 2\n')
    prices = PriceFile.load(path)
    assert str(prices.date) == "2026-11-30"
    assert (
        prices["m"] == prices["m-2026-01-31"] == prices["m-latest"] == prices["m@20260131"] == Prices(Decimal("0.0001"), Decimal("0.0002"))
    )
    assert prices.find("p", "m") == Prices(Decimal("0.001"), Decimal("0.002"))
    assert prices.find("q", "m") == prices["m"]
    assert prices.find(None, "n") is None


def test_all_that_is_wrong_with_a_file_of_prices(tmp_path: Path) -> None:
    data = {
        "dat": 1, "per": "dozen", "date": "soon",
        "models": {"a": 1, "b": {"inptu": 1}, "c": {"input": -1, "output": float("nan")}, "d": {"input": True, "output": "x"}},
    }  # fmt: skip
    with pytest.raises(PriceFileError) as caught:
        PriceFile.of(data)
    problems = "\n".join(caught.value.problems)
    for words in ("has no 'dat'", "per must be", "date must be", "models.'a' must be a table", "did you mean 'input'", "lacks output"):
        assert words in problems
    assert problems.count("must be a number of dollars") == 4
    for text in ("models = 1", "[[", "x" * 10):
        path = tmp_path / "p.toml"
        path.write_text(text)
        with pytest.raises(PriceFileError, match=r"p\.toml"):
            PriceFile.load(path)
    with pytest.raises(PriceFileError, match="cannot be read"):
        PriceFile.load(tmp_path / "none.toml")
