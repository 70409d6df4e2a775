"""Reads Anthropic messages: a request's ``system`` and ``messages``, with the response; and the session files of Claude Code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentfp.plugin import ToolCall
from agentfp.transcripts import Transcript, TranscriptError
from agentfp_transcripts.building import Builder, call
from agentfp_transcripts.content import as_text, items, json_text, mapping, name_of, result_text, text_of
from agentfp_transcripts.readers.openai_chat import LISTS, messages_of

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_QUIET = frozenset({"thinking", "redacted_thinking", "container_upload", "compaction"})
_SESSION_KEYS = ("sessionId", "session_id", "uuid")
_NOTES = frozenset({"summary", "file-history-snapshot", "queue-operation", "custom-title", "agent-name", "last-prompt", "progress"})
_OTHER_PROOFS = ("max_tokens", "stop_sequences", "anthropic_version")


def _is_result(kind: str) -> bool:
    return kind == "tool_result" or kind.endswith("_tool_result")


def _has_blocks(message: Any) -> bool:
    """Whether a message has blocks that this format alone has."""
    if not isinstance(message, Mapping):
        return False
    for block in items(message.get("content")):
        kind = block.get("type") if isinstance(block, Mapping) else None
        if isinstance(kind, str) and (kind in _CALLS or _is_result(kind) or kind in _QUIET):
            return True
    return False


def _is_session_line(data: Any) -> bool:
    return (
        isinstance(data, Mapping)
        and data.get("type") in ("user", "assistant")
        and isinstance(data.get("message"), Mapping)
        and "content" in data["message"]
        and any(key in data for key in _SESSION_KEYS)
    )


def _is_session_note(data: Any) -> bool:
    """Whether it is one of the lines by which a session file keeps its books; such files often begin with them."""
    kind = data.get("type") if isinstance(data, Mapping) else None
    return (kind in _NOTES and "message" not in data) or (kind in ("system", "result") and "subtype" in data and "session_id" in data)


def _is_session(data: Any) -> bool:
    """Whether it is a list of a session file's lines."""
    return isinstance(data, list) and bool(data) and (any(map(_is_session_line, data)) or all(map(_is_session_note, data)))


class AnthropicReader:
    """Messages whose content is text or blocks such as ``tool_use`` and ``tool_result``."""

    name = "anthropic"

    def recognises(self, data: Any) -> bool:
        """Whether a message has blocks of this format, or the request its fields; or lines are those of a session file."""
        if _is_session(data):
            return True
        messages = messages_of(data)
        if not messages:
            return False
        if any(map(_has_blocks, messages[:50])):
            return all(mapping(m).get("role") in ("user", "assistant", "system") for m in messages[:50])
        whole = mapping(data)
        request = mapping(whole.get("request")) or whole
        return "system" in request and any(key in request for key in _OTHER_PROOFS)

    def read(self, data: Any, *, id: str, source: str) -> Sequence[Transcript]:
        """The transcripts: one, and of a session file one for each session and helper."""
        if isinstance(data, list) and any(map(_is_session_line, data)):
            return self._sessions(data, id, source)
        messages = messages_of(data)
        if messages is None:
            raise TranscriptError(f"{source}: there is no list of messages; they are looked for under {', '.join(map(repr, LISTS))}")
        whole = mapping(data)
        request = mapping(whole.get("request")) or mapping(whole.get("body")) or mapping(whole.get("params"))
        building = Builder(name_of(whole, "id", "conversation_id", "session_id", "custom_id") or id, format=self.name, source=source)
        for part in (whole, request):
            building.offer(part.get("tools"))
            if part.get("system"):
                building.add("system", text_of(part["system"], building.skipped))
        for message in messages:
            _add(building, message)
        response = mapping(whole.get("response")) or mapping(whole.get("completion"))
        for reply in (response, whole):
            if reply.get("role") == "assistant" and "content" in reply and (not messages or messages[-1] != reply):
                _add(building, reply)
                break
        return [building.build()]

    def _sessions(self, lines: Sequence[Any], id: str, source: str) -> Sequence[Transcript]:
        found: dict[str, Builder] = {}
        for line in lines:
            if not _is_session_line(line):
                continue
            own = name_of(line, "sessionId", "session_id") or id
            if line.get("isSidechain") is True or line.get("parent_tool_use_id"):
                own = f"{own}/{name_of(line, 'agentId', 'parent_tool_use_id') or 'helper'}"
            building = found.setdefault(own, Builder(own, format=self.name, source=source))
            author = "app" if line.get("isMeta") is True else None
            _add(building, line["message"], author=author)
        return [building.build() for building in found.values()]


def _add(building: Builder, message: Any, *, author: str | None = None) -> None:
    if not isinstance(message, Mapping):
        building.unreadable(f"is no object, but a {type(message).__name__}")
        return
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        _add_assistant(building, content)
    elif role == "user":
        _add_user(building, content, author)
    elif role == "system":
        building.add("system", text_of(content, building.skipped))
    else:
        building.unreadable("has a role other than user and assistant")


def _add_user(building: Builder, content: Any, author: str | None) -> None:
    """Results of tools become messages of their own, what the person says stays one message."""
    blocks = content if isinstance(content, list) else [content]
    said: list[Any] = []
    for block in blocks:
        if isinstance(block, Mapping) and _is_result(as_text(block.get("type"))):
            _add_result(building, block)
        else:
            said.append(block)
    if said or not blocks:
        building.add("user", text_of(said, building.skipped), author=author)


def _add_assistant(building: Builder, content: Any) -> None:
    """One message; where the vendor's own tools answered in the midst of it, one before and one after each result."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    added = False
    for block in content if isinstance(content, list) else [content]:
        kind = as_text(block.get("type")) if isinstance(block, Mapping) else ""
        if kind in _CALLS:
            calls.append(call(block.get("name"), block.get("input"), block.get("id")))
        elif _is_result(kind):
            if texts or calls:
                building.add("assistant", "".join(texts), calls=calls)
                texts, calls = [], []
            _add_result(building, block)
            added = True
        elif kind not in _QUIET:
            texts.append(text_of([block], building.skipped))
    if texts or calls or not added:
        building.add("assistant", "".join(texts), calls=calls)


def _add_result(building: Builder, block: Mapping[str, Any]) -> None:
    content = block.get("content")
    failed = block.get("is_error") is True
    if isinstance(content, Mapping):  # of the vendor's own tools: an object, with a type that names an error
        failed = failed or as_text(content.get("type")).endswith("_error")
    text = json_text(content) if block.get("type") not in ("tool_result", "mcp_tool_result") else result_text(content, building.skipped)
    call_id = block.get("tool_use_id")
    building.add("tool", text, call_id=call_id if isinstance(call_id, str) else None, failed=failed)
