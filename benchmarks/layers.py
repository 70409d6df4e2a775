"""What the plugins inputs and results add to an iteration: beside a plain tool, and beside one that declares and is filled in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from agentfp import Agent, Limits, tool
from agentfp.model import Model, ModelFeatures, ModelRequest, ModelResponse, ToolCall
from agentfp.plugin import Plugin
from agentfp_answer import coverage
from agentfp_inputs import Assume, FromPerson, Inputs
from agentfp_results import Period, Results
from benchmarks.harness import Measured, Options, machine, measure, options, pin_to_one_core, publish, slope_table, table

ITERATIONS = (10, 40, 160, 300)
PERIOD = {"queried": {"from": "2027-03-04T06:00:00Z", "to": "2027-03-04T07:00:00Z"}, "held": "unknown"}

MESSAGE = "Look it up over 1h, please."
SOURCES = [{"argument": "span", "source": "user", "quote": "over 1h"}]


class CallingModel:
    """Calls `lookup` n times, one call a reply, then answers "done". It holds no state."""

    provider = "calling"
    name = "calling"
    features = ModelFeatures()

    def __init__(self, n: int, arguments: dict[str, Any]) -> None:
        calls = [ModelResponse(tool_calls=(ToolCall.make("lookup", {"x": x, **arguments}, id=f"c{x}"),)) for x in range(n)]
        self._replies = (*calls, ModelResponse(text="done"))

    async def complete(self, request: ModelRequest) -> ModelResponse:
        return self._replies[(len(request.messages) - 1) // 2]  # a line of a plugin at the end changes nothing here

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelResponse]:
        yield await self.complete(request)


class LayeredTurn:
    """A turn as the harness measures it.

    Args:
        plugins: those that are on.
        arguments: what the model sends besides.
        ruled: the tool has rules and a period.
        declares: its results declare a period.
    """

    def __init__(self, *plugins: Plugin, arguments: dict[str, Any] | None = None, ruled: bool = False, declares: bool = False) -> None:
        self.calls = 0
        self._plugins = plugins
        self._arguments = arguments or {}
        self._agents: dict[int, Agent[Any, Any]] = {}
        self._tool = self._ruled() if ruled else self._plain()
        self._declares = declares

    def _give(self, x: int) -> Any:
        self.calls += 1
        return coverage({"value": x}, period=PERIOD) if self._declares else {"value": x}

    def _plain(self) -> Any:
        async def lookup(x: int, span: str = "1h", top: int = 20) -> Any:
            """Look up x."""
            return self._give(x)

        return tool(lookup)

    def _ruled(self) -> Any:
        async def lookup(x: int, span: Annotated[str, FromPerson("How far?"), Period("lookback")], top: Annotated[int, Assume(20)]) -> Any:
            """Look up x."""
            return self._give(x)

        return tool(lookup)

    def agent(self, n: int) -> Agent[Any, Any]:
        """The agent that makes so many calls; built once."""
        found = self._agents.get(n)
        if found is None:
            model: Model = CallingModel(n, self._arguments)
            limits = Limits(iterations=n + 2, hard_cap=n + 2)
            found = self._agents[n] = Agent(model, tools=[self._tool], plugins=self._plugins, limits=limits)
        return found

    async def run(self, n: int) -> str:
        return (await self.agent(n).run(MESSAGE)).text


def subjects() -> dict[str, LayeredTurn]:
    """What is measured."""
    sent = {"span": "1h"}
    return {
        "off": LayeredTurn(arguments=sent),
        "both on, a plain tool": LayeredTurn(Inputs(), Results(), arguments=sent),
        "both on, rules and a period": LayeredTurn(Inputs(), Results(), arguments=sent, ruled=True),
        "the same, with sources": LayeredTurn(
            Inputs(argument_sources=True), Results(), arguments={**sent, "_sources": SOURCES}, ruled=True
        ),
        "the same, its results declare": LayeredTurn(Inputs(), Results(), arguments=sent, ruled=True, declares=True),
    }


async def measure_all(chosen: Options) -> list[Measured]:
    """Every subject with the collector off."""
    ns = ITERATIONS[:3] if chosen.quick else ITERATIONS
    return [await measure(name, turn, ns, budget=chosen.budget) for name, turn in subjects().items()]


def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    found = asyncio.run(measure_all(chosen))
    off = found[0]
    added = {m.name: {span: m.slopes[span] - off.slopes[span] for span in m.slopes} for m in found[1:]}
    rows = [[name, *spent.values()] for name, spent in added.items()]
    data = {"machine": machine(core), "layers": [m.to_dict() for m in found], "added": added}
    title = "What the plugins add (budget: 50 us beside a plain tool, flat)"
    text = "\n\n".join([slope_table("An iteration", found), table(title, ["", *(f"us/iter {span}" for span in off.slopes)], rows)])
    publish(chosen, data, text)


if __name__ == "__main__":
    main()
