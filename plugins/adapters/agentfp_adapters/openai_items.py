"""Reads the items of OpenAI's Responses API, as inputs and as outputs: our messages of them, and the answer among them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentfp.model import ToolSpec
from agentfp.plugin import Message, ToolCall
from agentfp_adapters.session import tool_spec
from agentfp_adapters.unseen import placeholder

_FAILED = "An error occurred while running the tool."
_TEXTS = ("input_text", "output_text", "text", "refusal")


def messages_of(item: Any) -> Iterator[Message]:
    """Our messages of one item.

    Args:
        item: an input item, as a mapping; or an output item.
    """
    data: Mapping[str, Any] = item if isinstance(item, Mapping) else item.model_dump(exclude_unset=True)
    kind = data.get("type") or "message"
    if kind == "message":
        role = data.get("role")
        if role in ("system", "developer"):
            yield Message(id="system", role="system", content=_text(data.get("content")), author="app")
        elif role == "user":
            yield Message(id="user", role="user", content=_text(data.get("content")))
        else:
            yield Message(id="reply", role="assistant", content=_text(data.get("content")), author="model")
    elif kind == "function_call":
        call = ToolCall.make(str(data.get("name")), data.get("arguments"), id=str(data.get("call_id")))
        yield Message(id="reply", role="assistant", content="", author="model", tool_calls=(call,))
    elif kind.endswith("_output"):  # of functions, shells, patches, computers
        yield _result(data, data.get("output"), str(data.get("call_id")))
    elif kind == "mcp_call":
        call = ToolCall.make(str(data.get("name")), data.get("arguments"), id=str(data.get("id")))
        yield Message(id="reply", role="assistant", content="", author="model", tool_calls=(call,))
        failed = data.get("error") is not None
        yield _result(data, data.get("error") if failed else data.get("output"), str(data.get("id")), failed=failed)
    elif kind in ("file_search_call", "code_interpreter_call"):
        found = data.get("results") or data.get("outputs")
        if found:
            yield _result(data, found, None)
    elif kind.endswith("_call") and data.get("call_id") is not None:  # what the run itself carries out: shells, patches, computers
        asked = next((data[name] for name in ("input", "action", "operation") if data.get(name) is not None), None)
        call = ToolCall.make(str(data.get("name") or kind), asked if isinstance(asked, (str, Mapping)) else None, id=str(data["call_id"]))
        yield Message(id="reply", role="assistant", content="", author="model", tool_calls=(call,))


def _result(data: Mapping[str, Any], output: Any, call_id: str | None, *, failed: bool = False) -> Message:
    text = output if isinstance(output, str) else _text(output) or json.dumps(output, ensure_ascii=False, default=str)
    failed = failed or text.startswith(_FAILED)
    return Message(
        id=call_id or str(data.get("id")), role="tool", content=text, author="tool", tool_call_id=call_id, tool_name=data.get("name"),
        failed=failed,
    )  # fmt: skip


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    return "\n".join(text for part in content or () if isinstance(part, Mapping) and (text := _part_text(part)))


def _part_text(part: Mapping[str, Any]) -> str | None:
    kind = str(part.get("type", "text"))
    return str(part.get("text", part.get("refusal", ""))) if kind in _TEXTS else placeholder(kind)


def reply_of(output: Sequence[Any]) -> Message:
    """One message of all items of a reply: what it says, and what it calls.

    Args:
        output: the output items.
    """
    read = [message for item in output for message in messages_of(item) if message.role == "assistant"]
    texts = [message.content for message in read if message.content]
    calls = tuple(call for message in read for call in message.tool_calls)
    return Message(id="reply", role="assistant", content="\n".join(texts), author="model", tool_calls=calls)


_NO_CALL = frozenset(
    {
        "code_interpreter_call",
        "compaction",
        "file_search_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "message",
        "reasoning",
        "web_search_call",
    }
)
"""Items after which the run goes no further: messages, and what the provider has done already."""


def answer_text(output: Sequence[Any]) -> str | None:
    """The text of a reply that would be the answer; None where it calls a tool, hands off, or says nothing.

    Args:
        output: the output items.
    """
    if any(item.type not in _NO_CALL for item in output):
        return None
    said = [item for item in output if item.type == "message"]
    if not said:
        return None
    texts = [part.text for part in said[-1].content if part.type == "output_text"]
    return "".join(texts) or None


def tool_specs(tools: Iterable[Any], handoffs: Iterable[Any]) -> Iterator[ToolSpec]:
    """What a request offers, as recordings hold it.

    Args:
        tools: the SDK's tools.
        handoffs: its handoffs.
    """
    for tool in tools:
        yield tool_spec(tool.name, getattr(tool, "description", ""), getattr(tool, "params_json_schema", {"type": "object"}))
    for handoff in handoffs:
        yield tool_spec(handoff.tool_name, handoff.tool_description, handoff.input_json_schema)
