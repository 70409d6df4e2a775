"""What a budget does: warn, ask, halt; of a turn, a session, a principal; the same after a resume."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import multiprocessing
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentfp import Agent, ConfigError, Identity, Limits, Pause, RunCheckpointError, approve, reject, tool
from agentfp.testing import StepClock, check_plugin
from agentfp_cost import (
    BudgetAllowed,
    BudgetBlind,
    BudgetCrossed,
    BudgetSpentError,
    Charged,
    Cost,
    MemorySpend,
    SpenderUnknownError,
    SpendStoreError,
    SqliteSpend,
)
from tests.plugins.cost.spending import PRICES, calls, model, says

pytestmark = pytest.mark.anyio
ran: list[str] = []


@tool
def look(where: str) -> str:
    """Look somewhere."""
    ran.append(where)
    return f"nothing at {where}"


def agent(*script: Any, **settings: Any) -> Agent[Any, Any]:
    ran.clear()
    return Agent(model(*script), tools=[look], plugins=[Cost(prices=PRICES, **settings)])


async def test_a_warning_comes_once_and_the_run_goes_on() -> None:
    script = [calls("look", where="a"), calls("look", (2000, 100), where="b"), says("Nothing.")]
    result = await agent(*script, usd="0.01").run("x")
    (crossed,) = result.record.of(BudgetCrossed)
    assert (crossed.limit, crossed.actual, crossed.action) == ("0.01", "0.0135", "warn")
    assert (result.status, ran) == ("answered", ["a", "b"])


async def test_halt_makes_no_further_call() -> None:
    script = [calls("look", where="a"), calls("look", (2000, 100), where="b"), says("never")]
    result = await agent(*script, usd="0.01", on_exceed="halt").run("x")
    assert (result.status, ran) == ("stopped_early", ["a"])
    stopped = result.stopped_early
    assert stopped is not None
    assert (stopped.reason, stopped.iteration, stopped.pending_tool_calls, stopped.answer_was_empty, stopped.wrapped_up) == (
        "cost-budget", 2, 1, True, False,
    )  # fmt: skip
    assert [crossed.action for crossed in result.record.of(BudgetCrossed)] == ["halt"]
    assert len(Cost.report(result).calls) == 2


async def test_a_budget_crossed_by_the_answer_leaves_the_answer() -> None:
    result = await agent(says("Done."), usd="0.001", on_exceed="halt").run("x")
    assert (result.status, result.text) == ("answered", "Done.")
    assert [crossed.actual for crossed in result.record.of(BudgetCrossed)] == ["0.006"]


async def test_exactly_the_budget_is_not_over_it() -> None:
    result = await agent(says("Done."), usd="0.006").run("x")
    assert not result.record.of(BudgetCrossed)


async def test_each_turn_has_a_budget_of_its_own() -> None:
    chat = agent(says("One."), says("Two."), usd="0.01").conversation()
    await chat.send("a")
    assert not (await chat.send("b")).record.of(BudgetCrossed)


async def test_ask_pauses_before_the_tools_and_allows_as_much_again() -> None:
    script = [calls("look", where=where) for where in ("a", "b", "c")]
    subject = agent(*script, says("Done."), usd="0.005", on_exceed="ask")
    result = await subject.run("x")
    assert result.pause is not None
    (question,) = result.pause.questions
    assert question.context == {"scope": "run", "spent_usd": "0.006", "limit_usd": "0.005", "calls": ["look"]}
    assert ran == []
    for looked, limit in ((["a"], "0.011"), (["a", "b"], "0.017")):
        assert result.pause is not None
        result = await subject.resume(Pause.from_json(result.pause.to_json()), {result.pause.questions[0].id: approve()})
        assert (ran, result.record.of(BudgetAllowed)[-1].limit) == (looked, limit)
    assert result.pause is not None
    result = await subject.resume(result.pause, {result.pause.questions[0].id: approve()})
    assert (result.status, ran) == ("answered", ["a", "b", "c"])


async def test_after_a_no_the_model_answers_with_what_it_has() -> None:
    subject = agent(calls("look", where="a"), calls("look", where="b"), says("I could not look."), usd="0.005", on_exceed="ask")
    result = await subject.run("x")
    assert result.pause is not None
    result = await subject.resume(result.pause, {result.pause.questions[0].id: reject()})
    assert (result.status, result.text, ran) == ("answered", "I could not look.", [])
    assert [call.outcome for call in result.calls] == ["denied", "denied"]


# --- sessions and principals --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_principal_spends_over_many_runs(store: str, tmp_path: Path) -> None:
    kept = MemorySpend() if store == "memory" else SqliteSpend(tmp_path / "deep" / "spend.db")
    subject = agent(*[says("Done.")] * 4, usd="0.01", scope="principal", store=kept, on_exceed="halt")
    ada, bob = Identity(principal="ada"), Identity(principal="bob")
    first, second = await subject.run("x", identity=ada), await subject.run("x", identity=ada)
    assert [c.total for c in (*first.record.of(Charged), *second.record.of(Charged))] == ["0.006", "0.012"]
    assert [crossed.actual for crossed in second.record.of(BudgetCrossed)] == ["0.012"]
    refused = await subject.run("x", identity=ada)
    assert refused.status == "refused"
    with pytest.raises(BudgetSpentError, match=r"principal's budget of \$0\.01 is spent \(\$0\.012\)"):
        refused.raise_for_status()
    assert (await subject.run("x", identity=bob)).status == "answered"
    assert await kept.total("principal:ada") == Decimal("0.012")


async def test_a_budget_of_nobody_is_refused() -> None:
    for scope, hint in (("session", "session_id"), ("principal", "identity")):
        result = await agent(says("Done."), usd=1, scope=scope).run("x")
        with pytest.raises(SpenderUnknownError, match=hint):
            result.raise_for_status()
        assert not Cost.report(result).calls


class Clock(StepClock):
    def later(self, seconds: int) -> None:
        self._ns += seconds * 10**9


async def test_a_new_day_is_a_new_budget() -> None:
    clock = Clock(datetime.datetime(2026, 11, 30, 23, 30, tzinfo=datetime.UTC))
    plugin = Cost(prices=PRICES, usd="0.005", scope="session", period="day", on_exceed="halt")
    subject = Agent(model(*[says("Done.")] * 3), clock=clock, plugins=[plugin])
    assert (await subject.run("x", session_id="s")).status == "answered"
    assert (await subject.run("x", session_id="s")).status == "refused"
    clock.later(3600)
    assert (await subject.run("x", session_id="s")).status == "answered"


async def test_what_a_resume_costs_is_charged_once() -> None:
    kept = MemorySpend()
    subject = agent(
        calls("look", where="a"), says("Done."), usd="0.005", on_exceed="ask", scope="session", store=kept
    )  # fmt: skip
    paused = await subject.run("x", session_id="s")
    assert paused.pause is not None
    assert await kept.total("session:s") == Decimal("0.006")
    await subject.resume(Pause.from_json(paused.pause.to_json()), {paused.pause.questions[0].id: approve()})
    assert await kept.total("session:s") == Decimal("0.012")


async def test_a_failed_run_is_charged_too() -> None:
    kept = MemorySpend()
    with pytest.raises(RunCheckpointError):
        await agent(calls("look", where="a"), RuntimeError("gone"), usd=1, scope="session", store=kept).run("x", session_id="s")
    assert await kept.total("session:s") == Decimal("0.006")


async def test_a_nested_run_is_charged_to_its_parent_once() -> None:
    kept = MemorySpend()
    inner = Agent(model(says("b.")), name="inner", plugins=[Cost(prices=PRICES, usd=1, scope="session", store=kept)])
    outer = Agent(
        model(calls("ask", request="b?"), says("b.")),
        tools=[inner.as_tool("ask", "Asks.")],
        plugins=[Cost(prices=PRICES, usd=1, scope="session", store=kept)],
    )
    result = await outer.run("x", session_id="s")
    assert await kept.total("session:s") == result.cost_usd == Decimal("0.018")


async def test_a_reply_without_a_price_is_told_once() -> None:
    strange = dataclasses.replace(calls("look", where="a"), model="strange")
    subject = agent(strange, says("Done.", model="stranger"), usd=1)
    (blind,) = (await subject.run("x")).record.of(BudgetBlind)
    assert (blind.calls, blind.model) == (1, "scripted:strange")


def _spend(path: str, times: int) -> None:
    async def add() -> None:
        for _ in range(times):
            await SqliteSpend(path).add("k", Decimal("0.000001"))

    anyio.run(add)


def test_many_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "spend.db"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_spend, args=(str(path), 50)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert anyio.run(SqliteSpend(path).total, "k") == Decimal("0.0002")
    assert path.stat().st_mode & 0o777 == 0o600


# --- settings ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"usd": 0}, "usd"),
        ({"usd": float("nan")}, "usd"),
        ({"usd": "much"}, "usd"),
        ({"usd": 1, "on_exceed": "explode"}, "'warn', 'ask' or 'halt'"),
        ({"usd": 1, "period": "day"}, "period is for the budget of a session"),
        ({"store": "redis:x"}, "store must be"),
        ({"store": 5}, "got a int"),
        ({"prices": "/no/such/file.toml"}, "cannot be read"),
        ({"prices": {"models": {}}}, r"\[models\."),
    ],
)
def test_wrong_settings(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Cost(**settings)


async def test_prices_of_the_plugin_serve_the_limits_of_the_kernel() -> None:
    subject = Agent(model(calls("look", where="a"), says("never")), tools=[look], plugins=[Cost(prices=PRICES)], limits=Limits(usd=0.001))
    assert (await subject.run("x")).status == "stopped_early"


async def test_two_plugins_with_prices_are_refused() -> None:
    class Other(Cost):
        name = "other"
        events = ()  # type: ignore[assignment]

    with pytest.raises(ConfigError, match="another plugin states prices already"):
        Agent(model(says("x")), plugins=[Cost(prices=PRICES), Other(prices=PRICES)])


def test_the_plugin_keeps_the_rules_of_plugins() -> None:
    prices = {"models": {"script": {"input": 3, "output": 15}}}
    for on_exceed in ("warn", "ask", "halt"):
        check_plugin(Cost(prices=prices, usd="0.000001", on_exceed=on_exceed, project=True))


@pytest.mark.parametrize("held", ["much", "", None, b"\x00"])
def test_a_damaged_sum_is_said_and_not_taken_for_nothing(held: Any, tmp_path: Path) -> None:
    path = tmp_path / "spend.db"
    store = SqliteSpend(path)
    anyio.run(store.add, "ann", Decimal("0.5"))
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE copy (key TEXT PRIMARY KEY, usd)")
        database.execute("INSERT INTO copy VALUES ('ann', ?)", (held,))
        database.execute("DROP TABLE spend")
        database.execute("ALTER TABLE copy RENAME TO spend")
    with pytest.raises(SpendStoreError, match="no amount for 'ann'"):
        anyio.run(store.total, "ann")
    with pytest.raises(SpendStoreError):
        anyio.run(store.add, "ann", Decimal(1))
