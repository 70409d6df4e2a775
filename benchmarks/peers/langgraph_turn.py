"""The turn in langgraph, through langchain's `create_agent`: one graph, no checkpointer, a chat model that counts messages."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from benchmarks.peers.subject import report


class CountingChatModel(BaseChatModel):
    """Asks as often as the person's message says, then is done; messages come in pairs after the first."""

    @property
    def _llm_type(self) -> str:
        return "counting"

    def bind_tools(self, tools: Any, **kwargs: Any) -> CountingChatModel:
        return self

    def _generate(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        n, asked = int(messages[0].content), (len(messages) - 1) // 2
        calls = [{"name": "lookup", "args": {"x": asked}, "id": f"c{asked}"}] if asked < n else []
        message = AIMessage(content="" if calls else "done", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return self._generate(messages)


class LangGraphTurn:
    def __init__(self) -> None:
        self.calls = 0

        @tool
        async def lookup(x: int) -> str:
            """Look up x."""
            self.calls += 1
            return f"value {x}"

        self.graph: Any = create_agent(CountingChatModel(), [lookup])

    async def run(self, n: int) -> str:
        # Two supersteps an iteration, and some for the ends.
        graph: Any = self.graph  # typed for messages only, and takes these too
        state = await graph.ainvoke({"messages": [("user", str(n))]}, {"recursion_limit": 2 * n + 20})
        return str(state["messages"][-1].content)


if __name__ == "__main__":
    report("langgraph", LangGraphTurn())
