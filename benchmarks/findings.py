"""What the findings plugin adds to an iteration whose model judges each result as it goes, and what it takes off requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agentfp import Agent, Limits
from agentfp.model import Model, ModelFeatures, ModelRequest, ModelResponse, ToolCall
from agentfp.plugin import Plugin
from agentfp_findings import Findings
from benchmarks.harness import Measured, Options, machine, measure, options, pin_to_one_core, publish, slope_table, table

CYCLE = ("noise", "noise", "noise", "ruled-out", "noise", "noise", "ruled-out", "noise", "noise", "noise", "fact", "noise")
RESULTS, RESULT_CHARS = 30, 8_000


def declaration(x: int, standings: tuple[str, ...]) -> dict[str, Any]:
    """What the model declares on call x: its basis, and what the result of the call before is."""
    if x == 0:
        return {"basis": "exploratory", "proposition": "the value is in the register"}
    standing = standings[x % len(standings)]
    judged: dict[str, Any] = {"tool_call_id": f"c{x - 1}", "standing": standing}
    if standing == "fact":
        judged["assertions"] = [{"subject": {"kind": "entry", "id": f"e{x}"}, "predicate": "value", "value": x}]
    elif standing == "ruled-out":
        judged["line"] = "not in this part of the register"
    return {"basis": "direct", "previous": [judged]}


class JudgingModel:
    """Calls `lookup` n times, one call a reply, and judges the result before; then answers "done".

    It holds no state: how far a run is, the number of its messages tells.
    """

    provider = "judging"
    name = "judging"
    features = ModelFeatures()

    def __init__(self, n: int, standings: tuple[str, ...] | None) -> None:
        replies = [self._reply(x, standings) for x in range(n)]
        self._replies = (*replies, ModelResponse(text="done"))  # made before, for what a model does is not what is measured

    @staticmethod
    def _reply(x: int, standings: tuple[str, ...] | None) -> ModelResponse:
        declared = {} if standings is None else {"_findings": declaration(x, standings)}
        return ModelResponse(tool_calls=(ToolCall.make("lookup", {"x": x, **declared}, id=f"c{x}"),))

    async def complete(self, request: ModelRequest) -> ModelResponse:
        return self._replies[(len(request.messages) - 1) // 2]

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelResponse]:
        yield await self.complete(request)


class JudgingTurn:
    """A turn as the harness measures it.

    Args:
        on: the plugin is on.
        standings: what the model declares, in turn; None for nothing.
        chars: characters of a result.
        settings: of the plugin.
    """

    def __init__(self, *, on: bool = True, standings: tuple[str, ...] | None = CYCLE, chars: int = 0, **settings: Any) -> None:
        self.calls = 0
        self._plugins: list[Plugin] = [Findings(**settings)] if on else []
        self._standings = standings
        self._chars = chars
        self._agents: dict[int, Agent[Any, Any]] = {}

    def agent(self, n: int) -> Agent[Any, Any]:
        """The agent that makes so many calls; built once."""

        async def lookup(x: int) -> str:
            """Look up x."""
            self.calls += 1
            return f"value {x}" + "." * self._chars

        found = self._agents.get(n)
        if found is None:
            model: Model = JudgingModel(n, self._standings)
            limits = Limits(iterations=n + 2, hard_cap=n + 2)
            found = self._agents[n] = Agent(model, tools=[lookup], plugins=self._plugins, limits=limits)
        return found

    async def run(self, n: int) -> str:
        return (await self.agent(n).run("hi")).text


async def served_bytes(turn: JudgingTurn, n: int) -> int:
    """Bytes of all text in the last request of a run with n results."""
    record = (await turn.agent(n).run("hi")).record
    request = record.served_at(n + 1)
    texts = [request.system, *(message.text + "".join(call.arguments_json for call in message.tool_calls) for message in request.messages)]
    return sum(len(text.encode()) for text in [*texts, *(spec.parameters_json for spec in request.tools)])


async def measure_all(chosen: Options) -> tuple[list[Measured], dict[str, int]]:
    """Every subject with the collector off; and the bytes of the last request."""
    subjects = {
        "off": JudgingTurn(on=False, standings=None),
        "on, nothing declared": JudgingTurn(standings=None),
        "on, all noise": JudgingTurn(standings=("noise",)),
        "on, judged as it goes": JudgingTurn(),
        "on, all facts": JudgingTurn(standings=("fact",)),
    }
    found = [await measure(name, turn, chosen.ns, budget=chosen.budget) for name, turn in subjects.items()]
    sizes = {
        "off": await served_bytes(JudgingTurn(on=False, standings=None, chars=RESULT_CHARS), RESULTS),
        "on, judged as it goes": await served_bytes(JudgingTurn(chars=RESULT_CHARS), RESULTS),
    }
    return found, sizes


def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    found, sizes = asyncio.run(measure_all(chosen))
    off = found[0]
    added = {m.name: {span: m.slopes[span] - off.slopes[span] for span in m.slopes} for m in found[1:]}
    spans = list(off.slopes)
    rows = [[name, *(spent[span] for span in spans)] for name, spent in added.items()]
    share = sizes["on, judged as it goes"] / sizes["off"]
    data = {"machine": machine(core), "findings": [m.to_dict() for m in found], "added": added, "bytes": sizes, "share": share}
    text = "\n\n".join(
        [
            slope_table("An iteration of a model that judges each result", found),
            table("What the plugin adds (budget: 60 us, flat)", ["", *(f"us/iter {span}" for span in spans)], rows),
            f"Last of {RESULTS} results of {RESULT_CHARS} characters: {sizes} bytes, {share:.1%} (budget: 25 %)",
        ]
    )
    publish(chosen, data, text)


if __name__ == "__main__":
    main()
