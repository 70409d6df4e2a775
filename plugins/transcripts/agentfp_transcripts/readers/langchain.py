"""Reads messages of LangChain and LangGraph: ``messages_to_dict``, ``dumpd``, plain dumps, and states that hold ``messages``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentfp.plugin import ToolCall
from agentfp.transcripts import Transcript, TranscriptError
from agentfp_transcripts.building import Builder, call
from agentfp_transcripts.content import items, mapping, name_of, result_text, text_of

_TYPES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool", "chat": "chat",
          "developer": "system", "remove": "remove"}  # fmt: skip
_CLASSES = {"HumanMessage": "human", "AIMessage": "ai", "SystemMessage": "system", "ToolMessage": "tool", "FunctionMessage": "function",
            "ChatMessage": "chat", "RemoveMessage": "remove"}  # fmt: skip
_STATES = ("values", "channel_values", "state", "output", "outputs", "checkpoint")
_QUIET = frozenset({"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "thinking", "reasoning", "function_call",
                    "redacted_thinking", "server_tool_call", "server_tool_result", "server_tool_call_chunk"})  # fmt: skip


def _fields(data: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Type and fields of a message in any of its forms; None if it is none."""
    if not isinstance(data, Mapping):
        return None
    if data.get("lc") == 1 and data.get("type") == "constructor":
        path = items(data.get("id"))
        name = str(path[-1]).removesuffix("Chunk") if path else ""
        return (_CLASSES[name], mapping(data.get("kwargs"))) if name in _CLASSES else None
    kind = data.get("type")
    if not isinstance(kind, str):
        return None
    kind = _CLASSES.get(kind.removesuffix("Chunk").removesuffix("MessageChunk"), kind)
    if kind not in _TYPES:
        return None
    inner = data.get("data")
    if isinstance(inner, Mapping) and "content" in inner:
        return kind, inner
    return (kind, data) if "content" in data and "role" not in data else ((kind, data) if kind in ("chat", "remove") else None)


def _messages(data: Any, depth: int = 0) -> list[Any] | None:
    """The list of messages that data is, or that a state or a run holds."""
    if isinstance(data, list):
        if data and isinstance(data[0], list) and len(data) == 1:  # a batch of one, as runs are traced
            return _messages(data[0], depth + 1)
        return data
    if not isinstance(data, Mapping) or depth > 4:
        return None
    if isinstance(data.get("messages"), list):
        return _messages(data["messages"], depth + 1)
    for key in _STATES:
        found = _messages(data[key], depth + 1) if isinstance(data.get(key), Mapping) else None
        if found:
            return found
    inputs = mapping(data.get("inputs"))
    return _messages(inputs, depth + 1) if inputs else None


def _generated(data: Any) -> Iterator[Any]:
    """The message that a traced model call made."""
    for batch in items(mapping(mapping(data).get("outputs")).get("generations"))[:1]:
        for generation in items(batch)[:1]:
            yield mapping(generation).get("message")


class LangChainReader:
    """Messages with a ``type`` such as ``human`` and ``ai``, in any of the forms that the library writes."""

    name = "langchain"

    def recognises(self, data: Any) -> bool:
        """Whether most of its first messages are of a class of the library."""
        messages = _messages(data)
        if not messages:
            return False
        first = messages[:8]
        return 2 * sum(_fields(message) is not None for message in first) > len(first)

    def read(self, data: Any, *, id: str, source: str) -> Sequence[Transcript]:
        """The one transcript."""
        messages = _messages(data)
        if messages is None:
            raise TranscriptError(f"{source}: there is no list of messages, neither in 'messages' nor in a state that holds it")
        building = Builder(self._name(data) or id, format=self.name, source=source)
        building.offer(mapping(mapping(data).get("extra")).get("tools"))
        for message in [*messages, *_generated(data)]:
            _add(building, message)
        return [building.build()]

    @staticmethod
    def _name(data: Any) -> str | None:
        whole = mapping(data)
        configurable = mapping(mapping(whole.get("config")).get("configurable"))
        return name_of(whole, "thread_id", "id", "session_id") or name_of(configurable, "thread_id")


def _add(building: Builder, message: Any) -> None:
    found = _fields(message)
    if found is None:
        building.unreadable("is no message of a class that is known")
        return
    kind, fields = found
    role = _TYPES[kind]
    if role == "chat":
        role = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}.get(str(fields.get("role")), "system")
    if role == "remove":
        building.problems.append(f"message {len(building)} asks that another be removed, which is not done")
        building.add("system", "")
        return
    content, own = fields.get("content"), fields.get("id")
    if role == "tool":
        call_id = fields.get("tool_call_id")
        building.add(
            "tool",
            result_text(content, building.skipped),
            id=own,
            call_id=call_id if isinstance(call_id, str) else None,
            tool=name_of(fields, "name"),
            failed=fields.get("status") == "error",
        )
    elif role == "assistant":
        text = text_of([part for part in content if _is_said(part)] if isinstance(content, list) else content, building.skipped, join="")
        building.add("assistant", text, id=own, calls=_calls(fields))
    else:
        building.add("user" if role == "user" else "system", text_of(content, building.skipped), id=own)


def _is_said(part: Any) -> bool:
    return not (isinstance(part, Mapping) and part.get("type") in _QUIET)


def _calls(fields: Mapping[str, Any]) -> Iterator[ToolCall]:
    seen = False
    for wanted in (*items(fields.get("tool_calls")), *items(fields.get("invalid_tool_calls"))):
        seen = True
        inner = mapping(wanted)
        yield call(inner.get("name"), inner.get("args"), inner.get("id"))
    if seen:
        return
    extra = mapping(fields.get("additional_kwargs"))
    for wanted in items(extra.get("tool_calls")):
        function = mapping(mapping(wanted).get("function"))
        yield call(function.get("name"), function.get("arguments"), mapping(wanted).get("id"))
    if older := mapping(extra.get("function_call")):
        yield call(older.get("name"), older.get("arguments"), "")
