"""The turn in pydantic-ai: one agent, a function model that counts the replies it has seen."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import UsageLimits

from benchmarks.peers.subject import report


def counting_model(n: int) -> FunctionModel:
    """Asks n times, then is done. A request and a reply make a pair of messages, so their number tells how far a run is."""

    def reply(messages: list[ModelMessage], _info: Any) -> ModelResponse:
        asked = len(messages) // 2
        part = ToolCallPart("lookup", {"x": asked}, tool_call_id=f"c{asked}") if asked < n else TextPart("done")
        return ModelResponse(parts=[part])

    return FunctionModel(reply)


class PydanticAiTurn:
    def __init__(self) -> None:
        self.calls = 0
        self.agent = Agent(counting_model(0), tools=[self.lookup])

    async def lookup(self, x: int) -> str:
        """Look up x."""
        self.calls += 1
        return f"value {x}"

    async def run(self, n: int) -> str:
        result = await self.agent.run("hi", model=counting_model(n), usage_limits=UsageLimits(request_limit=None))
        return str(result.output)


if __name__ == "__main__":
    report("pydantic-ai", PydanticAiTurn())
