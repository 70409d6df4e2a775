"""Embeddings are billed like every other call, whoever makes it: in reports, budgets, nested runs, and when they are priced anew."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from agentfp import Agent, ToolContext, Usage, tool
from agentfp.events import HelperReplied
from agentfp.plugin import Plugin, RequestDraft, Run, hookimpl
from agentfp_cost import BudgetCrossed, Cost, MemorySpend, PriceFile
from tests.plugins.cost.embedding_server import embedding_server
from tests.plugins.cost.spending import PRICES, calls, model, says

pytestmark = pytest.mark.anyio

VECTORS = "text-embedding-3-small"
WITH_VECTORS = {**PRICES, "models": {**PRICES["models"], f"openai:{VECTORS}": {"embedding": 500}}}  # type: ignore[dict-item]
"""A token of an embedding costs 0.0005."""
SHELF = ("ports and switches", "bread and butter", "the deep blue sea")


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with embedding_server() as url:
        yield url


@tool
def look_up(ctx: ToolContext[str], question: str) -> str:
    """Find the text on the shelf that is nearest to a question."""
    with openai.OpenAI(base_url=ctx.deps, api_key="none", max_retries=0) as client:
        reply = client.embeddings.create(model=VECTORS, input=[question, *SHELF])
    ctx.bill(Usage(input=reply.usage.prompt_tokens), provider="openai", model=reply.model, purpose="embed")
    wanted, *found = (item.embedding for item in reply.data)
    return max(zip(SHELF, found, strict=True), key=lambda pair: sum(a * b for a, b in zip(wanted, pair[1], strict=True)))[0]


class Shelf(Plugin):
    """Turns the question into a vector before each request."""

    name = "shelf"

    @hookimpl(phase="compose")
    async def serve_context(self, draft: RequestDraft, run: Run[str]) -> None:
        async with httpx.AsyncClient(base_url=run.deps) as client:
            reply = await client.post("/embeddings", json={"model": VECTORS, "input": "four words of text"})
        told = reply.raise_for_status().json()
        run.bill(Usage(input=told["usage"]["prompt_tokens"]), provider="openai", model=told["model"], purpose="embed")


async def test_a_tool_bills_what_the_server_counted(base_url: str, tmp_path: Path) -> None:
    script = [calls("look_up", question="which ports"), says("Ports.")]
    agent: Agent[Any, Any] = Agent(model(*script), tools=[look_up], plugins=[Cost(prices=WITH_VECTORS)])
    result = await agent.run("x", deps=base_url)
    assert [message.text for message in result.history if message.role == "tool"] == ["ports and switches"]
    result.record.save(tmp_path / "r.jsonl")
    for source in (result, tmp_path / "r.jsonl"):
        report = Cost.report(source)
        (embedded,) = [call for call in report.calls if call.purpose == "embed"]
        assert (embedded.provider, embedded.model, embedded.usage) == ("openai", VECTORS, Usage(12))
        assert (embedded.usd, report.total_usd) == (Decimal("0.006"), Decimal("0.018"))
        assert {line.name: line.usd for line in report.by("purpose")} == {"main": Decimal("0.012"), "embed": Decimal("0.006")}
        assert {line.name for line in report.by("provider")} == {"scripted", "openai"}
        assert report.unpriced_calls == 0
    assert result.cost_usd == Decimal("0.018")


async def test_a_plugin_bills_before_each_request(base_url: str) -> None:
    agent: Agent[Any, Any] = Agent(model(says("Done.")), plugins=[Shelf(), Cost(prices=WITH_VECTORS)])
    report = Cost.report(await agent.run("x", deps=base_url))
    assert [(call.purpose, call.usd) for call in report.calls] == [("embed", Decimal("0.002")), ("main", Decimal("0.006"))]


async def test_a_recording_is_priced_anew_with_its_embeddings(base_url: str, tmp_path: Path) -> None:
    agent: Agent[Any, Any] = Agent(model(says("Done.")), plugins=[Shelf(), Cost(prices=PRICES)])
    result = await agent.run("x", deps=base_url)
    assert (Cost.report(result).unpriced_calls, Cost.report(result).total_usd) == (1, Decimal("0.006"))
    result.record.save(tmp_path / "r.jsonl")
    assert Cost.report(tmp_path / "r.jsonl", prices=PriceFile.of(WITH_VECTORS)).total_usd == Decimal("0.008")
    as_input = PriceFile.of({"per": "token", "models": {VECTORS: {"input": 1, "output": 0}, "small": {"input": 0, "output": 0}}})
    assert Cost.report(result, prices=as_input).total_usd == 4


async def test_a_budget_that_embeddings_cross_ends_the_turn_before_the_next_call(base_url: str) -> None:
    script = [calls("look_up", question="which ports"), says("never")]
    kept = MemorySpend()
    plugin = Cost(prices=WITH_VECTORS, usd="0.01", on_exceed="halt", scope="session", store=kept)
    agent: Agent[Any, Any] = Agent(model(*script), tools=[look_up], plugins=[plugin])
    result = await agent.run("x", deps=base_url, session_id="s")
    assert result.stopped_early is not None
    assert result.stopped_early.reason == "cost-budget"
    assert [crossed.actual for crossed in result.record.of(BudgetCrossed)] == ["0.012"]
    assert await kept.total("session:s") == Decimal("0.012")


async def test_embeddings_of_a_nested_agent_are_told_with_their_path(base_url: str) -> None:
    inner = Agent(model(calls("look_up", question="which ports"), says("Ports.")), tools=[look_up], name="inner")
    outer: Agent[Any, Any] = Agent(
        model(calls("ask", request="b?"), says("b.")), tools=[inner.as_tool("ask", "Asks.")], plugins=[Cost(prices=WITH_VECTORS)]
    )
    result = await outer.run("x", deps=base_url)
    report = Cost.report(result)
    assert [(call.purpose, len(call.path)) for call in report.calls] == [("main", 0), ("main", 0), ("main", 1), ("embed", 1), ("main", 1)]
    assert report.total_usd == result.cost_usd == Decimal("0.03")


async def test_what_fails_is_not_billed(base_url: str) -> None:
    @tool
    async def broken(ctx: ToolContext[str]) -> str:
        """Ask for no vector."""
        async with httpx.AsyncClient(base_url=ctx.deps) as client:
            (await client.post("/embeddings", json={"model": VECTORS, "input": []})).raise_for_status()
        ctx.bill(Usage(input=1), provider="openai", model=VECTORS, purpose="embed")
        return "never"

    agent: Agent[Any, Any] = Agent(model(calls("broken"), says("Sorry.")), tools=[broken], plugins=[Cost(prices=WITH_VECTORS)])
    result = await agent.run("x", deps=base_url)
    assert (result.text, result.record.of(HelperReplied)) == ("Sorry.", [])
