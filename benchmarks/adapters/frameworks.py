"""One run in each framework, with the gate or without: a history, some tool calls, an answer, by a model that costs nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

Run = Callable[[], Awaitable[Any]]
ANSWER = "host-3 has 41,203 IOPS."


def rows_of(number: int) -> str:
    """What a tool says: some two kilobytes."""
    return json.dumps([{"host": f"host-{n}", "iops": 41_200 + n, "seen": f"2026-04-{number % 28 + 1:02}T08:15:00Z"} for n in range(30)])


def lookup(number: int) -> str:
    """Rows of the register."""
    return rows_of(number)


def history_of(messages: int) -> list[dict[str, Any]]:
    """A conversation in OpenAI's form: questions, calls, results, answers."""
    found: list[dict[str, Any]] = []
    for n in range(messages // 4):
        call = {"id": f"h{n}", "type": "function", "function": {"name": "lookup", "arguments": json.dumps({"number": n})}}
        found += [
            {"role": "user", "content": f"What of host-{n}?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"h{n}", "content": rows_of(n)},
            {"role": "assistant", "content": f"host-{n} has {41_200 + n} IOPS."},
        ]
    return found


def pydantic_ai_run(calls: int, wish: Any) -> Run:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from agentfp_adapters.pydantic_ai import EvidenceGate

    history: list[Any] = []
    for n in range(5):
        history += [
            ModelRequest(parts=[UserPromptPart(f"What of host-{n}?")]),
            ModelResponse(parts=[ToolCallPart("lookup", {"number": n}, tool_call_id=f"h{n}")]),
            ModelRequest(parts=[ToolReturnPart("lookup", rows_of(n), tool_call_id=f"h{n}")]),
            ModelResponse(parts=[TextPart(f"host-{n} has {41_200 + n} IOPS.")]),
        ]

    def reply(messages: list[Any], info: AgentInfo) -> ModelResponse:
        done = (len(messages) - len(history) - 1) // 2
        return ModelResponse(
            parts=[ToolCallPart("lookup", {"number": done}, tool_call_id=f"c{done}") if done < calls else TextPart(ANSWER)]
        )

    agent = Agent(FunctionModel(reply), tools=[lookup], capabilities=[] if wish is None else [EvidenceGate(wish)])
    return lambda: agent.run("And host-3?", message_history=history)


def openai_agents_run(calls: int, wish: Any) -> Run:
    from agents import Agent, ModelResponse, RunConfig, Runner, function_tool
    from agents.models.interface import Model
    from agents.testing import assistant_message, function_call
    from agents.usage import Usage

    from agentfp_adapters.openai_agents import with_evidence

    history: list[Any] = []
    for n in range(5):
        history += [
            {"role": "user", "content": f"What of host-{n}?"},
            {"type": "function_call", "call_id": f"h{n}", "name": "lookup", "arguments": json.dumps({"number": n})},
            {"type": "function_call_output", "call_id": f"h{n}", "output": rows_of(n)},
            {"role": "assistant", "content": f"host-{n} has {41_200 + n} IOPS."},
        ]

    class Free(Model):
        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **rest: Any) -> ModelResponse:
            done = (len(input) - len(history) - 1) // 2
            item = function_call("lookup", {"number": done}, call_id=f"c{done}") if done < calls else assistant_message(ANSWER)
            return ModelResponse(output=[item], usage=Usage(requests=1), response_id=None)

        def stream_response(self, *args: Any, **rest: Any) -> AsyncIterator[Any]:
            raise NotImplementedError

    agent = Agent(name="desk", model=Free(), tools=[function_tool(lookup)])
    agent = agent if wish is None else with_evidence(agent, wish)
    config = RunConfig(tracing_disabled=True)
    return lambda: Runner.run(agent, [*history, {"role": "user", "content": "And host-3?"}], max_turns=calls + 2, run_config=config)


def langchain_run(calls: int, wish: Any) -> Run:
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool

    from agentfp_adapters.langchain import EvidenceMiddleware

    history: list[Any] = []
    for n in range(5):
        history += [
            HumanMessage(f"What of host-{n}?"),
            AIMessage("", tool_calls=[ToolCall(name="lookup", args={"number": n}, id=f"h{n}")]),
            ToolMessage(rows_of(n), tool_call_id=f"h{n}", name="lookup"),
            AIMessage(f"host-{n} has {41_200 + n} IOPS."),
        ]

    class Free(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "free"

        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            done = (len(messages) - len(history) - 1) // 2
            call = ToolCall(name="lookup", args={"number": done}, id=f"c{done}")
            message = AIMessage("", tool_calls=[call]) if done < calls else AIMessage(ANSWER)
            return ChatResult(generations=[ChatGeneration(message=message)])

    agent: Any = create_agent(Free(), tools=[tool(lookup)], middleware=[] if wish is None else [EvidenceMiddleware(wish)])
    return lambda: agent.ainvoke({"messages": [*history, HumanMessage("And host-3?")]}, {"recursion_limit": 200})


FRAMEWORKS: dict[str, Callable[[int, Any], Run]] = {
    "pydantic-ai": pydantic_ai_run,
    "openai-agents": openai_agents_run,
    "langchain": langchain_run,
}
