"""Reads LangChain's messages: our messages of them, what a structured response is given by, and tokens."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pydantic_core
from langchain.agents.structured_output import AutoStrategy, ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from agentfp.plugin import Message, ToolCall, Usage
from agentfp_adapters.unseen import placeholder

INTERNAL = frozenset({"summarization", "tool_emulation", "tool_selection"})
"""What LangChain's own middleware says of its model calls, which answer nobody."""


def messages_of(message: BaseMessage, output_tools: Collection[str] = ()) -> Iterator[Message]:
    """Our messages of one of theirs.

    Args:
        message: the message.
        output_tools: names of the tools by which the model gives a structured response: what it passes to them is what it says.
    """
    if isinstance(message, AIMessage):
        yield from _of_reply(message, output_tools)
    elif isinstance(message, ToolMessage):
        if message.name not in output_tools:
            yield Message(
                id=str(message.id or message.tool_call_id),
                role="tool",
                content=_text(message.content),
                author="tool",
                tool_call_id=message.tool_call_id,
                tool_name=message.name,
                failed=message.status == "error",
            )
    elif isinstance(message, SystemMessage):
        yield Message(id=str(message.id or "system"), role="system", content=_text(message.content), author="app")
    else:
        summary = message.additional_kwargs.get("lc_source") in INTERNAL  # written by a model, though it stands as the person's
        yield Message(id=str(message.id or "user"), role="user", content=_text(message.content), author="library" if summary else "person")


def _of_reply(reply: AIMessage, output_tools: Collection[str]) -> Iterator[Message]:
    given = [call for call in reply.tool_calls if call["name"] in output_tools]
    calls = tuple(
        ToolCall.make(call["name"], call["args"], id=str(call["id"])) for call in reply.tool_calls if call["name"] not in output_tools
    )
    blocks = reply.content if isinstance(reply.content, list) else ()
    for block in blocks:  # what a tool of the provider found stands before what is said of it
        if isinstance(block, dict) and str(block.get("type", "")).endswith("tool_result"):
            text = pydantic_core.to_json(block.get("output", block.get("content")), fallback=str).decode()
            yield Message(id="result", role="tool", content=text, author="tool")
    text = pydantic_core.to_json(given[0]["args"]).decode() if given else str(reply.text)
    yield Message(id=str(reply.id or "reply"), role="assistant", content=text, author="model", tool_calls=calls)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = [block if isinstance(block, str) else block.get("text") or placeholder(str(block.get("type", ""))) for block in content]
    found = [text for text in texts if isinstance(text, str)]
    return "\n".join(found) if found or not content else pydantic_core.to_json(content, fallback=str).decode()


def output_tools(response_format: Any) -> frozenset[str]:
    """Names of the tools by which a model gives a structured response."""
    if isinstance(response_format, AutoStrategy):
        response_format = ToolStrategy(response_format.schema)
    if isinstance(response_format, ToolStrategy):
        return frozenset(spec.name for spec in response_format.schema_specs)
    return frozenset()


def usage_of(reply: AIMessage) -> Usage:
    """The tokens of a reply."""
    usage = reply.usage_metadata
    if usage is None:
        return Usage()
    details = usage.get("input_token_details") or {}
    return Usage(usage["input_tokens"], usage["output_tokens"], details.get("cache_read"), details.get("cache_creation"))
