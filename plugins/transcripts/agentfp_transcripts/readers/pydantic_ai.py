"""Reads pydantic-ai's message history as JSON: requests and responses made of parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentfp.plugin import ToolCall
from agentfp.transcripts import Transcript, TranscriptError
from agentfp_transcripts.building import Builder, call
from agentfp_transcripts.content import as_text, items, json_text, mapping, name_of, result_text

_QUIET = frozenset({"thinking", "compaction"})
_OUTPUT_DONE = frozenset({"Final result processed.", "Output tool not used - a final result was already processed."})
"""What the library itself writes as the result of a tool by which a model hands over its answer as data."""


def _messages(data: Any) -> list[Any] | None:
    if isinstance(data, list):
        return data
    whole = mapping(data)
    for key in ("messages", "message_history", "all_messages"):
        if isinstance(whole.get(key), list):
            return list(whole[key])
    return None


class PydanticAIReader:
    """A list of messages of ``kind`` request or response, each with ``parts``."""

    name = "pydantic-ai"

    def recognises(self, data: Any) -> bool:
        """Whether its first message has a kind and parts."""
        messages = _messages(data)
        first = mapping(messages[0]) if messages else {}
        return first.get("kind") in ("request", "response") and isinstance(first.get("parts"), list)

    def read(self, data: Any, *, id: str, source: str) -> Sequence[Transcript]:
        """The one transcript."""
        messages = _messages(data)
        if messages is None:
            raise TranscriptError(f"{source}: there is no list of messages")
        named = next((mapping(m).get("conversation_id") for m in messages if mapping(m).get("conversation_id")), None)
        building = Builder(name_of(mapping(data), "id", "conversation_id") or as_text(named) or id, format=self.name, source=source)
        handed = _handed_over(messages)
        told: str | None = None
        for message in messages:
            if not isinstance(message, Mapping) or not isinstance(message.get("parts"), list):
                building.unreadable("has no list of parts")
            elif message.get("kind") == "response":
                _add_response(building, message["parts"], handed)
            else:
                instructions = message.get("instructions")
                if isinstance(instructions, str) and instructions != told:
                    building.add("system", instructions)
                    told = instructions
                _add_request(building, message["parts"], handed)
        return [building.build()]


def _handed_over(messages: Sequence[Any]) -> set[str]:
    """Ids of the calls by which the model handed over its answer as data."""
    found = set()
    for message in messages:
        for part in items(mapping(message).get("parts")):
            one = mapping(part)
            if one.get("part_kind") == "tool-return" and as_text(one.get("content")) in _OUTPUT_DONE:
                found.add(as_text(one.get("tool_call_id")))
    return found


def _add_request(building: Builder, parts: Sequence[Any], handed: set[str]) -> None:
    for part in parts:
        one = mapping(part)
        kind, content = one.get("part_kind"), one.get("content")
        if kind in ("system-prompt", "instruction"):
            building.add("system", as_text(content))
        elif kind == "user-prompt":
            building.add("user", _said(building, content))
        elif kind == "tool-return":
            if as_text(one.get("tool_call_id")) not in handed:
                _add_result(building, one)
        elif kind == "retry-prompt":
            text = content if isinstance(content, str) else json_text(content)
            if one.get("tool_name"):
                building.add("tool", text, call_id=as_text(one.get("tool_call_id")) or None, tool=as_text(one["tool_name"]), failed=True)
            else:
                building.add("user", text, author="library")
        else:
            building.skipped(as_text(kind) or "untyped")


def _said(building: Builder, content: Any) -> str:
    """What a person says: a text, or a list of texts and files."""
    if isinstance(content, str):
        return content
    texts = []
    for item in items(content):
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(mapping(item).get("content"), str):
            texts.append(item["content"])
        else:
            building.skipped(as_text(mapping(item).get("kind")) or "untyped")
    return "\n".join(texts)


def _add_result(building: Builder, part: Mapping[str, Any]) -> None:
    failed = part.get("outcome", "success") not in ("success", None)
    building.add(
        "tool",
        result_text(part.get("content"), building.skipped),
        call_id=as_text(part.get("tool_call_id")) or None,
        tool=name_of(part, "tool_name"),
        failed=failed,
    )


def _add_response(building: Builder, parts: Sequence[Any], handed: set[str]) -> None:
    """One message; where the vendor's own tools answered in the midst of it, one before and one after each result."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    added = False
    for part in parts:
        one = mapping(part)
        kind = as_text(one.get("part_kind"))
        if kind == "text":
            texts.append(as_text(one.get("content")))
        elif kind.endswith("tool-call"):
            if as_text(one.get("tool_call_id")) in handed:
                texts.append(as_text(one.get("args")))
            else:
                calls.append(call(one.get("tool_name"), one.get("args"), one.get("tool_call_id")))
        elif kind.endswith("tool-return"):
            if texts or calls:
                building.add("assistant", "".join(texts), calls=calls)
                texts, calls = [], []
            _add_result(building, one)
            added = True
        elif kind not in _QUIET:
            building.skipped(kind or "untyped")
    if texts or calls or not added:
        building.add("assistant", "".join(texts), calls=calls)
