"""Reads the messages of a history from outside: this library's own JSON, and the mappings that other libraries keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from agentfp_core.errors import CheckpointError, ProviderProtocolError
from agentfp_core.jsonable import without_surrogates
from agentfp_core.messages import Message, ThinkingBlock, ToolCall, part_from_dict
from agentfp_core.wellformed import misfit

if TYPE_CHECKING:
    from agentfp_core.messages import Role

_ROLES = ("system", "user", "assistant", "tool")
_TEXT_BLOCKS = ("text", "input_text", "output_text")
_AUTHOR_OF_ROLE = {"user": "person", "assistant": "model", "tool": "tool", "system": "app"}


def message_from_dict(data: Any, index: int, *, id: str) -> Message:
    """Read one message of a history.

    Args:
        data: what :meth:`Message.to_dict` gives, or a ``{"role", "content"}`` mapping from elsewhere; calls may be in
            the flat form or in that of OpenAI (``function`` with ``name`` and ``arguments``), a content may be a list of
            text blocks, and ``developer`` is ``system``.
        index: its place, for the error.
        id: an id to use where the data has none.

    Raises:
        CheckpointError: the data is no message; names the index and the field.
    """

    def refuse(what: str) -> CheckpointError:
        return CheckpointError(f"message {index} of the history {what}")

    if not isinstance(data, Mapping):
        raise refuse(f"must be an object, got a {type(data).__name__}")
    role, content = data.get("role"), _text_in(data.get("content"))
    role = "system" if role == "developer" else role
    if role not in _ROLES:
        raise refuse(f"needs a role, one of {', '.join(_ROLES)}")
    if content is None and data.get("tool_calls"):
        content = ""
    if not isinstance(content, str):
        raise refuse(f"needs a text in 'content', got a {type(content).__name__}")
    call_id = data.get("tool_call_id")
    try:
        made = Message(
            id=without_surrogates(str(data.get("id") or id)),
            role=cast("Role", role),
            content=content,
            turn=int(data.get("turn", 0)),
            author=str(data.get("author", _AUTHOR_OF_ROLE[role])),
            tool_calls=tuple(_call_from_dict(call) for call in data.get("tool_calls") or ()),
            tool_call_id=None if call_id is None else without_surrogates(str(call_id)),
            tool_name=data.get("tool_name"),
            notes=tuple(str(note) for note in data.get("notes", ())),
            parts=tuple(part_from_dict(part) for part in data.get("parts", ())),
            thinking=tuple(ThinkingBlock(**block) for block in data.get("thinking", ())),
            own=data.get("own"),
            failed=data.get("failed", False),
        )
    except (KeyError, TypeError, ValueError, OverflowError, ProviderProtocolError) as error:
        raise refuse(f"has a field that cannot be read ({type(error).__name__})") from error
    return _fitting(made, refuse)


def _text_in(content: Any) -> Any:
    """The text of a content that is a list of text blocks, as providers keep it; anything else as it is."""
    if not isinstance(content, list) or not content:
        return content
    texts: list[Any] = [block.get("text") for block in content if isinstance(block, Mapping) and block.get("type") in _TEXT_BLOCKS]
    whole = len(texts) == len(content) and all(isinstance(text, str) for text in texts)
    return "\n\n".join(texts) if whole else content


def message_of(data: Any, index: int) -> Message:
    """One message of a history in whatever form it comes.

    Args:
        data: a message, or a mapping.
        index: its place, for the error.

    Raises:
        CheckpointError: the data is no message; names the index and the field.
    """
    if not isinstance(data, Message):
        return message_from_dict(data, index, id=f"m_in_{index}")
    return _fitting(data, lambda what: CheckpointError(f"message {index} of the history {what}"))


def _fitting(message: Message, refuse: Callable[[str], CheckpointError]) -> Message:
    wrong = misfit(message)
    if wrong is not None:
        raise refuse(f"is malformed: {wrong}")
    return message


def _call_from_dict(data: Any) -> ToolCall:
    if not isinstance(data, Mapping) or not isinstance(data.get("function", data), Mapping):
        raise TypeError("a call is an object")
    function = data.get("function", data)
    call_id = without_surrogates(str(data["id"]))
    return ToolCall.make(function["name"], function.get("arguments"), id=call_id, provider_meta=data.get("provider_meta"))
