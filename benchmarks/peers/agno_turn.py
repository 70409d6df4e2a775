"""The turn in agno: no database, telemetry off, and an agent a run, since an agno agent keeps its model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse

from benchmarks.peers.subject import report


class CountdownModel(Model):
    def __init__(self, n: int) -> None:
        super().__init__(id="counting")
        self.n = n
        self.asked = 0

    def reply(self) -> ModelResponse:
        if self.asked >= self.n:
            return ModelResponse(role="assistant", content="done")
        x, self.asked = self.asked, self.asked + 1
        function = {"name": "lookup", "arguments": f'{{"x": {x}}}'}
        return ModelResponse(role="assistant", tool_calls=[{"id": f"c{x}", "type": "function", "function": function}])

    def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return self.reply()

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return self.reply()

    def invoke_stream(self, *args: Any, **kwargs: Any) -> Iterator[ModelResponse]:
        yield self.reply()

    async def ainvoke_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ModelResponse]:
        yield self.reply()

    def _parse_provider_response(self, response: Any, **kwargs: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


class AgnoTurn:
    def __init__(self) -> None:
        self.calls = 0

        async def lookup(x: int) -> str:
            """Look up x."""
            self.calls += 1
            return f"value {x}"

        self.lookup = lookup

    async def run(self, n: int) -> str:
        result = await Agent(model=CountdownModel(n), tools=[self.lookup], telemetry=False).arun("hi")
        return str(result.content)


if __name__ == "__main__":
    report("agno", AgnoTurn())
