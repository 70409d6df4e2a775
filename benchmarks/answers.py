"""What the answer and integrity plugins add to an iteration, over results that declare nothing, that declare limits, and armed tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agentfp import Agent, Limits, tool
from agentfp.model import Model, ModelFeatures, ModelRequest, ModelResponse, ToolCall
from agentfp.plugin import Plugin
from agentfp_answer import Answer, coverage
from agentfp_integrity import Integrity, declares
from benchmarks.harness import NS, machine, measure, options, pin_to_one_core, publish, slope_table, table

BUDGET_US = 50
NS_300 = (10, 40, 160, 300)


class CallingModel:
    """Calls `lookup` n times with a text that an earlier result holds, one call a reply; then answers "done"."""

    provider = "calling"
    name = "calling"
    features = ModelFeatures()

    def __init__(self, n: int) -> None:
        replies = [
            ModelResponse(tool_calls=(ToolCall.make("lookup", {"x": f"value-{max(x - 1, 0)}", "n": x}, id=f"c{x}"),)) for x in range(n)
        ]
        self._replies = (*replies, ModelResponse(text="done"))  # made before, for what a model does is not what is measured

    async def complete(self, request: ModelRequest) -> ModelResponse:
        return self._replies[(len(request.messages) - 1) // 2]

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelResponse]:
        yield await self.complete(request)


class AnswerTurn:
    """A turn as the harness measures it.

    Args:
        plugins: the plugins that are on.
        declares_limits: whether each result says what it covers.
        armed: whether the tool says where its arguments come from and what its columns hold.
    """

    def __init__(self, *plugins: Plugin, declares_limits: bool = False, armed: bool = False) -> None:
        self.calls = 0
        self._plugins = plugins
        self._limits = declares_limits
        self._armed = armed
        self._agents: dict[int, Agent[Any, Any]] = {}

    def agent(self, n: int) -> Agent[Any, Any]:
        """The agent that makes so many calls; built once."""

        async def lookup(x: str, n: int) -> Any:
            """Look up x."""
            self.calls += 1
            rows = [{"name": f"value-{n}", "n": n}]
            return coverage(rows, checked=["register"], not_checked=[{"what": "archive", "why": "closed"}]) if self._limits else rows

        found = self._agents.get(n)
        if found is None:
            model: Model = CallingModel(n)
            limits = Limits(iterations=n + 2, hard_cap=n + 2)
            declared = declares(arguments_from=["source"], result_columns={"name": "string", "n": "number"}) if self._armed else {}
            found = self._agents[n] = Agent(model, tools=[tool(lookup, metadata=declared)], plugins=self._plugins, limits=limits)
        return found

    async def run(self, n: int) -> str:
        return (await self.agent(n).run("Begin at value-0.")).text


def subjects() -> dict[str, AnswerTurn]:
    """What is measured, by name; each "off" before what is on over the same tool."""
    armed = Integrity(check_column_types="warn", notice_empty_lookups=True)
    return {
        "off": AnswerTurn(),
        "answer": AnswerTurn(Answer()),
        "integrity": AnswerTurn(Integrity()),
        "both": AnswerTurn(Answer(), Integrity()),
        "off, tools armed": AnswerTurn(armed=True),
        "both, tools armed": AnswerTurn(Answer(), armed, armed=True),
        "off, limits declared": AnswerTurn(declares_limits=True, armed=True),
        "both, limits declared and tools armed": AnswerTurn(Answer(), armed, declares_limits=True, armed=True),
    }


def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    ns = NS_300 if chosen.ns == NS else chosen.ns

    async def go() -> list[Any]:
        return [await measure(name, turn, ns, budget=chosen.budget) for name, turn in subjects().items()]

    found = asyncio.run(go())
    added: dict[str, dict[str, float]] = {}
    base = found[0]
    for measured in found:
        if measured.name.startswith("off"):
            base = measured
        else:
            added[measured.name] = {span: measured.slopes[span] - base.slopes[span] for span in measured.slopes}
    spans = list(base.slopes)
    rows = [[name, *(spent[span] for span in spans)] for name, spent in added.items()]
    data = {"machine": machine(core), "answers": [m.to_dict() for m in found], "added": added, "budget_us": BUDGET_US}
    text = "\n\n".join(
        [
            slope_table("An iteration of one call with the plugins that look at it", found),
            table(f"What they add (budget: {BUDGET_US} us, flat)", ["", *(f"us/iter {span}" for span in spans)], rows),
        ]
    )
    publish(chosen, data, text)


if __name__ == "__main__":
    main()
