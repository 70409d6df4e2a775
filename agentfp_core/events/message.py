"""Domain ``message``: the history, one event a message."""

from __future__ import annotations

from typing import Literal

from agentfp_core.events.base import Content, Name, Number, Payload, event, part


@part
class ProposedCall:
    """A call that an assistant message proposes; the one home of its arguments."""

    id: Name[str]
    name: Content[str]
    arguments: Content[str]
    provider_meta: Content[str | None] = None


@part
class Thinking:
    """A thinking block, kept byte by byte."""

    text: Content[str]
    signature: Content[str | None] = None
    redacted: Number[bool] = False
    provider_meta: Content[str | None] = None


@event("agentfp.message.added")
class MessageAdded(Payload):
    """A message joined the history; the one home of what a person or a model wrote.

    The content of a tool message stands here only when it differs from the tool's own result, which is the content of
    the ``tool.ended`` event with seq ``content_of``.
    """

    message_id: Name[str]
    role: Name[Literal["system", "user", "assistant", "tool"]]
    author: Name[str]
    content: Content[str | None] = None
    content_of: Number[int | None] = None
    tool_calls: tuple[ProposedCall, ...] | None = None
    tool_call_id: Name[str | None] = None
    tool_name: Content[str | None] = None
    notes: Content[tuple[str, ...] | None] = None
    parts: Content[str | None] = None
    thinking: tuple[Thinking, ...] | None = None
    own: Content[str | None] = None
    message_turn: Number[int | None] = None
    failed: Number[bool | None] = None


@event("agentfp.message.repaired")
class MessageRepaired(Payload):
    """A history from outside held a call without a result; it was closed so that providers accept the history."""

    message_id: Name[str]
    tool_call_id: Name[str]
    reason: Name[Literal["orphan-call", "orphan-result", "duplicate-result"]]
