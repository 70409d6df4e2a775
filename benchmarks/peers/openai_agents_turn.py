"""The turn in openai-agents: tracing off, a model that counts down, one clone of the agent a run to carry it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from benchmarks.peers.subject import report


class CountdownModel(Model):
    def __init__(self, n: int) -> None:
        self.n = n
        self.asked = 0

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        if self.asked >= self.n:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            answer = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            return ModelResponse(output=[answer], usage=Usage(), response_id=None)
        x, self.asked = self.asked, self.asked + 1
        call = ResponseFunctionToolCall(type="function_call", id=f"f{x}", call_id=f"c{x}", name="lookup", arguments=f'{{"x": {x}}}')
        return ModelResponse(output=[call], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("the turn that is measured does not stream; the base class only wants the method to be there")


class OpenAiAgentsTurn:
    def __init__(self) -> None:
        self.calls = 0

        @function_tool
        async def lookup(x: int) -> str:
            """Look up x."""
            self.calls += 1
            return f"value {x}"

        self.agent = Agent(name="bench", tools=[lookup])

    async def run(self, n: int) -> str:
        result = await Runner.run(self.agent.clone(model=CountdownModel(n)), "hi", max_turns=n + 2)
        return str(result.final_output)


if __name__ == "__main__":
    set_tracing_disabled(True)
    report("openai-agents", OpenAiAgentsTurn())
