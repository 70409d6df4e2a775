"""The scenarios on LangChain's agents, with a chat model that answers and streams by a script."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool

from agentfp_adapters.langchain import EvidenceMiddleware, evidence_of, messages_of
from tests.plugins.adapters.binding import IN, OUT, Binding, Data, Outcome, Peak, Script, lookup


def seen_of(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for one in messages for message in messages_of(one, {"Peak"})]


class FakeChatModel(BaseChatModel):
    """Answers by a script."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _said(self, messages: list[BaseMessage]) -> tuple[str, list[ToolCall]]:
        said = self.script(seen_of(messages))
        if isinstance(said, str):
            return said, []
        if isinstance(said, Data):
            return "", [ToolCall(name="Peak", args=said.values, id="out")]
        return "", [ToolCall(name=call.tool, args=call.arguments, id=call.id) for call in (said if isinstance(said, list) else [said])]

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        text, calls = self._said(messages)
        usage = UsageMetadata(input_tokens=IN, output_tokens=OUT, total_tokens=IN + OUT)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text, tool_calls=calls, usage_metadata=usage))])

    def _stream(self, messages: list[BaseMessage], *_: Any, run_manager: Any = None, **__: Any) -> Iterator[ChatGenerationChunk]:
        text, calls = self._said(messages)
        usage = UsageMetadata(input_tokens=IN, output_tokens=OUT, total_tokens=IN + OUT)
        chunks = [AIMessageChunk(content=word if text.startswith(word) else f" {word}") for word in text.split(" ") if text]
        chunks += [
            AIMessageChunk(content="", tool_call_chunks=[{"name": c["name"], "args": json.dumps(c["args"]), "id": c["id"], "index": i}])
            for i, c in enumerate(calls)
        ]
        for message in [*chunks, AIMessageChunk(content="", usage_metadata=usage)]:
            chunk = ChatGenerationChunk(message=message)
            if run_manager is not None:
                run_manager.on_llm_new_token(str(message.text), chunk=chunk)
            yield chunk


def model_of(script: Script) -> FakeChatModel:
    return FakeChatModel(script=script)


class LangChain(Binding):
    """LangChain."""

    name = "langchain"

    def agent(self, script: Script, wish: Any, *, typed: bool = False, inner: Any = None, name: str = "desk", **settings: Any) -> Any:
        tools: list[Any] = [tool(lookup)]
        if inner is not None:

            @tool
            async def expert(question: str) -> str:
                """Ask the expert."""
                state = await inner.ainvoke({"messages": [("user", question)]})
                return str(state["messages"][-1].text)

            tools.append(expert)
        return create_agent(
            model_of(script),
            tools=tools,
            system_prompt="You look after switches.",
            middleware=[EvidenceMiddleware(wish, **settings)],
            response_format=ToolStrategy(Peak) if typed else None,
            name=name,
        )

    async def run(self, agent: Any, prompt: str, before: Outcome | None = None) -> Outcome:
        earlier = [] if before is None else before.native["messages"]
        return self._outcome(await agent.ainvoke({"messages": [*earlier, ("user", prompt)]}), [])

    async def stream(self, agent: Any, prompt: str) -> Outcome:
        chunks: list[str] = []
        state: Any = None
        async for mode, data in agent.astream({"messages": [("user", prompt)]}, stream_mode=["messages", "values"]):
            if mode == "values":
                state = data
            elif isinstance(data[0], (AIMessage, AIMessageChunk)) and data[0].text:
                chunks.append(str(data[0].text))
        return self._outcome(state, chunks)

    def _outcome(self, state: Any, chunks: list[str]) -> Outcome:
        messages = state["messages"]
        output = state.get("structured_response", str(messages[-1].text))
        text = output if isinstance(output, str) else output.model_dump_json()
        spent = [message.usage_metadata for message in messages if isinstance(message, AIMessage)]
        tokens = (sum(u["input_tokens"] for u in spent if u), sum(u["output_tokens"] for u in spent if u))
        return Outcome(text, output, tokens, seen_of(messages), evidence_of(state), state, chunks)


BINDING = LangChain()
