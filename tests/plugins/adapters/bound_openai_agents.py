"""The scenarios on the OpenAI Agents SDK, with a model that answers by a script and streams as the SDK's own test model does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, ModelResponse, Runner, function_tool
from agents.models.interface import Model
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.usage import Usage

from agentfp_adapters.openai_agents import evidence_of, with_evidence
from agentfp_adapters.openai_items import messages_of
from tests.plugins.adapters.binding import IN, OUT, Binding, Data, Outcome, Peak, Script, lookup


def seen_of(items: Any) -> list[tuple[str, str]]:
    if isinstance(items, str):
        return [("user", items)]
    return [(message.role, message.content) for item in items for message in messages_of(item)]


def usage() -> Usage:
    return Usage(requests=1, input_tokens=IN, output_tokens=OUT, total_tokens=IN + OUT)


class FakeModel(Model):
    """Answers by a script."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def _items(self, items: Any) -> list[Any]:
        said = self.script(seen_of(items))
        if isinstance(said, str):
            return [assistant_message(said)]
        if isinstance(said, Data):
            return [assistant_message(json.dumps(said.values))]
        return [function_call(call.tool, call.arguments, call_id=call.id) for call in (said if isinstance(said, list) else [said])]

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **rest: Any) -> ModelResponse:
        await asyncio.sleep(0)
        return ModelResponse(output=self._items(input), usage=usage(), response_id=None)

    async def stream_response(self, system_instructions: Any, input: Any, *args: Any, **rest: Any) -> AsyncIterator[Any]:
        scripted = ScriptedModel([self._items(input)], default_usage=usage())
        async for event in scripted.stream_response(system_instructions, input, *args, **rest):
            yield event


class OpenAIAgents(Binding):
    """The OpenAI Agents SDK."""

    name = "openai-agents"

    def agent(self, script: Script, wish: Any, *, typed: bool = False, inner: Any = None, name: str = "desk", **settings: Any) -> Any:
        tools: list[Any] = [function_tool(lookup)]
        if inner is not None:
            tools.append(inner.as_tool("expert", "Ask the expert."))
        agent = Agent(
            name=name,
            instructions="You look after switches.",
            model=FakeModel(script),
            tools=tools,
            output_type=Peak if typed else None,
        )
        return with_evidence(agent, wish, **settings)

    async def run(self, agent: Any, prompt: str, before: Outcome | None = None) -> Outcome:
        given = prompt if before is None else [*before.native.to_input_list(), {"role": "user", "content": prompt}]
        return self._outcome(await Runner.run(agent, given), [])

    async def stream(self, agent: Any, prompt: str) -> Outcome:
        result = Runner.run_streamed(agent, prompt)
        chunks = [
            event.data.delta
            async for event in result.stream_events()
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
        ]
        return self._outcome(result, chunks)

    def _outcome(self, result: Any, chunks: list[str]) -> Outcome:
        output = result.final_output
        text = output if isinstance(output, str) else output.model_dump_json()
        spent = result.context_wrapper.usage
        tokens = (spent.input_tokens, spent.output_tokens)
        return Outcome(text, output, tokens, seen_of(result.to_input_list()), evidence_of(result), result, chunks)


BINDING = OpenAIAgents()
