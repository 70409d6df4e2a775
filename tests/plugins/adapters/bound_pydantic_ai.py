"""The scenarios on Pydantic AI, with its own function model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

from agentfp_adapters.pydantic_ai import EvidenceGate, evidence_of, messages_of
from tests.plugins.adapters.binding import IN, OUT, Binding, Data, Outcome, Peak, Script, lookup


def seen_of(messages: list[ModelMessage]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for one in messages for message in messages_of(one, {"final_result"})]


def model_of(script: Script) -> FunctionModel:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = script(seen_of(messages))
        if isinstance(said, str):
            parts: list[Any] = [TextPart(said)]
        elif isinstance(said, Data):
            parts = [ToolCallPart(info.output_tools[0].name, said.values, tool_call_id="out")]
        else:
            parts = [ToolCallPart(call.tool, call.arguments, tool_call_id=call.id) for call in (said if isinstance(said, list) else [said])]
        return ModelResponse(parts=parts, usage=RequestUsage(input_tokens=IN, output_tokens=OUT))

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        said = script(seen_of(messages))
        if isinstance(said, str):
            for word in said.split(" "):
                yield word if said.startswith(word) else f" {word}"
        elif isinstance(said, Data):
            yield {0: DeltaToolCall(info.output_tools[0].name, json.dumps(said.values), tool_call_id="out")}
        else:
            for index, call in enumerate(said if isinstance(said, list) else [said]):
                yield {index: DeltaToolCall(call.tool, json.dumps(call.arguments), tool_call_id=call.id)}

    return FunctionModel(reply, stream_function=stream)


class PydanticAI(Binding):
    """Pydantic AI."""

    name = "pydantic-ai"

    def agent(self, script: Script, wish: Any, *, typed: bool = False, inner: Any = None, name: str = "desk", **settings: Any) -> Any:
        agent: Agent[None, Any] = Agent(
            model_of(script),
            name=name,
            output_type=Peak if typed else str,
            instructions="You look after switches.",
            capabilities=[EvidenceGate(wish, **settings)],
        )
        agent.tool_plain(lookup)
        if inner is not None:

            @agent.tool_plain
            async def expert(question: str) -> str:
                """Ask the expert."""
                return str((await inner.run(question)).output)

        return agent

    async def run(self, agent: Any, prompt: str, before: Outcome | None = None) -> Outcome:
        result = await agent.run(prompt, message_history=None if before is None else before.native.all_messages())
        return self._outcome(result, result.output, [])

    async def stream(self, agent: Any, prompt: str) -> Outcome:
        chunks: list[str] = []
        async with agent.run_stream_events(prompt) as events:
            async for event in events:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    chunks.append(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    chunks.append(event.delta.content_delta)
                elif hasattr(event, "result"):
                    result = event.result
        return self._outcome(result, result.output, chunks)

    def _outcome(self, result: Any, output: Any, chunks: list[str]) -> Outcome:
        messages = result.all_messages()
        assert all(isinstance(message, (ModelRequest, ModelResponse)) for message in messages)
        text = output if isinstance(output, str) else output.model_dump_json()
        usage = result.usage
        tokens = (usage.input_tokens, usage.output_tokens)
        return Outcome(text, output, tokens, seen_of(messages), evidence_of(result), result, chunks)


BINDING = PydanticAI()
