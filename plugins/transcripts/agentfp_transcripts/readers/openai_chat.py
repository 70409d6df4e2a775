"""Reads OpenAI chat messages, which many tools write: a list of them, an object that holds one, a request with its response."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentfp.plugin import ToolCall
from agentfp.transcripts import Transcript, TranscriptError
from agentfp_transcripts.building import Builder, call
from agentfp_transcripts.content import as_text, items, mapping, name_of, result_text, text_of

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
LISTS = ("messages", "conversation", "history", "traj", "trajectory")
"""Fields in which tools keep the list of messages."""
_FOREIGN_FIELDS = ("toolUse", "toolResult")
_REQUESTS = ("request", "body", "input", "inputs", "kwargs", "params")
_RESPONSES = ("response", "completion", "output", "outputs", "result", "body")


def is_message(data: Any) -> bool:
    """Whether it looks like a message: a role, and a content or calls."""
    return (
        isinstance(data, Mapping)
        and data.get("role") in ROLES
        and ("content" in data or "tool_calls" in data or "function_call" in data)
        and "parts" not in data
    )


def _is_foreign(message: Any) -> bool:
    """Whether a message that looks like one of these is another vendor's: read as one of these, its calls and results would be lost."""
    if not isinstance(message, Mapping):
        return False
    if "toolInvocations" in message or message.get("object") == "thread.message":
        return True
    parts = [part for part in items(message.get("content")) if isinstance(part, Mapping)]
    return any(as_text(part.get("type")).startswith("tool-") or any(field in part for field in _FOREIGN_FIELDS) for part in parts)


def messages_of(data: Any) -> list[Any] | None:
    """The list of messages that data is or holds."""
    if isinstance(data, list):
        return data
    if not isinstance(data, Mapping):
        return None
    for key in LISTS:
        if isinstance(data.get(key), list):
            return list(data[key])
    for key in _REQUESTS:
        inner = data.get(key)
        if isinstance(inner, Mapping) and isinstance(inner.get("messages"), list):
            return list(inner["messages"])
    return _asked(data)


def _asked(data: Mapping[str, Any]) -> list[Any] | None:
    """The messages that traces of one model call hold as its input."""
    for key in ("input", "inputs"):
        inner = data.get(key)
        if isinstance(inner, list) and inner and all(map(is_message, inner)):
            return list(inner)
    return None


class OpenAIChatReader:
    """Messages with ``role`` and ``content``, ``tool_calls`` or the older ``function_call``."""

    name = "openai-chat"

    def recognises(self, data: Any) -> bool:
        """Whether most of its first messages look like chat messages, and none like those of another vendor."""
        messages = messages_of(data)
        if not messages or any(map(_is_foreign, messages)):
            return False
        first = messages[:8]
        return 2 * sum(map(is_message, first)) > len(first)

    def read(self, data: Any, *, id: str, source: str) -> Sequence[Transcript]:
        """The one transcript."""
        messages = messages_of(data)
        if messages is None:
            raise TranscriptError(f"{source}: there is no list of messages; they are looked for under {', '.join(map(repr, LISTS))}")
        whole = mapping(data)
        name = name_of(whole, "id", "conversation_id", "thread_id", "session_id", "task_id", "custom_id")
        building = Builder(name or id, format=self.name, source=source)
        for part in (whole, *(mapping(whole.get(key)) for key in _REQUESTS)):
            building.offer(part.get("tools"))
            building.offer(part.get("functions"))
        for message in [*messages, *_replies(whole, messages)]:
            _add(building, message)
        return [building.build()]


def _replies(whole: Mapping[str, Any], messages: list[Any]) -> Iterator[Any]:
    """The message of the response, where an export has one beside the request."""
    for part in (whole, *(mapping(whole.get(key)) for key in _RESPONSES), mapping(mapping(whole.get("response")).get("body"))):
        for choice in items(part.get("choices"))[:1]:
            message = mapping(choice).get("message")
            if isinstance(message, Mapping) and (not messages or messages[-1] != message):
                yield message
                return
    if _asked(whole) is not None:
        made = whole.get("output", whole.get("outputs"))
        for message in [{"role": "assistant", "content": made}] if isinstance(made, str) else made if isinstance(made, list) else [made]:
            if is_message(message):
                yield message


def _add(building: Builder, message: Any) -> None:
    if not isinstance(message, Mapping):
        building.unreadable(f"is no object, but a {type(message).__name__}")
        return
    role, content = message.get("role"), message.get("content")
    if role in ("system", "developer"):
        building.add("system", text_of(content, building.skipped), id=message.get("id"))
    elif role == "user":
        building.add("user", text_of(content, building.skipped), id=message.get("id"))
    elif role == "assistant":
        text = text_of(content, building.skipped) or text_of(message.get("refusal"))
        building.add("assistant", text, id=message.get("id"), calls=_calls(message))
    elif role in ("tool", "function"):
        call_id = message.get("tool_call_id")
        building.add(
            "tool",
            result_text(content, building.skipped),
            id=message.get("id"),
            call_id=call_id if isinstance(call_id, str) else None,
            tool=name_of(message, "name", "tool_name"),
            failed=message.get("is_error") is True or message.get("error") is True or message.get("status") == "error",
        )
    else:
        building.unreadable(f"has the role {role!r}, which is none of {', '.join(sorted(ROLES))}"[:200])


def _calls(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    for wanted in items(message.get("tool_calls")):
        inner = mapping(wanted)
        function = mapping(inner.get("function")) or mapping(inner.get("custom")) or inner
        yield call(function.get("name"), function.get("arguments", function.get("input")), inner.get("id"))
    older = mapping(message.get("function_call"))
    if older:
        yield call(older.get("name"), older.get("arguments"), "")
