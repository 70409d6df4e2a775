"""Domains ``stream`` and ``model``: a reply while it arrives and when it is complete; calls of plugins to a model."""

from __future__ import annotations

from typing import Literal

from agentfp_core.events.base import Content, Name, Number, Payload, event


@event("agentfp.stream.token", kind="transient")
class Token(Payload):
    """A piece of shown text. ``draft`` says that it may still be taken back."""

    index: Number[int]
    text: Content[str]
    draft: Number[bool] = False


@event("agentfp.stream.thinking_delta", kind="transient")
class ThinkingDelta(Payload):
    """A piece of a model's thinking."""

    index: Number[int]
    text: Content[str]


@event("agentfp.stream.llm_end")
class LlmEnd(Payload):
    """A reply is complete and accepted. A call that failed has ``context.served`` and no ``llm_end``."""

    stop_reason: Name[str]
    tool_call_count: Number[int]
    duration_ms: Number[int]
    input_tokens: Number[int | None] = None
    output_tokens: Number[int | None] = None
    cache_read_tokens: Number[int | None] = None
    cache_write_tokens: Number[int | None] = None
    thinking_tokens: Number[int | None] = None
    provider_stop: Name[str | None] = None
    response_id: Name[str | None] = None
    text_chars: Number[int] = 0
    request_id: Name[str | None] = None


@event("agentfp.model.call_failed")
class CallFailed(Payload):
    """A model call failed after the provider had counted tokens for it; they are billed."""

    provider: Name[str]
    model: Name[str]
    error_class: Name[str]
    status: Name[int | None] = None
    request_id: Name[str | None] = None
    input_tokens: Number[int | None] = None
    output_tokens: Number[int | None] = None
    cache_read_tokens: Number[int | None] = None
    cache_write_tokens: Number[int | None] = None
    thinking_tokens: Number[int | None] = None

    def __str__(self) -> str:
        tokens = f"{self.input_tokens or 0} + {self.output_tokens or 0}"
        return f"{self.provider}:{self.model} failed with {self.error_class}; {tokens} tokens are billed"


@event("agentfp.stream.thinking_end", kind="diagnostic")
class ThinkingEnd(Payload):
    """A reply came with thinking; the blocks stand in its ``message.added``."""

    block_count: Number[int]
    total_chars: Number[int]


@event("agentfp.stream.draft_discarded", kind="diagnostic")
class Retracted(Payload):
    """Text that was streamed as a draft is not part of the answer. Clear what was shown."""

    reason: Name[Literal["wrap-up", "re-ask", "rewritten", "refused", "tool-calls"]]
    token_count: Number[int]


@event("agentfp.model.helper_replied")
class HelperReplied(Payload):
    """A plugin or a tool called a model for its own work; billed to the run. ``plugin`` is who called, and ``call_id`` tells a tool's."""

    plugin: Name[str]
    purpose: Name[str]
    provider: Name[str]
    model: Name[str]
    duration_ms: Number[int]
    input_tokens: Number[int | None] = None
    output_tokens: Number[int | None] = None
    cache_read_tokens: Number[int | None] = None
    cache_write_tokens: Number[int | None] = None
    thinking_tokens: Number[int | None] = None

    def __str__(self) -> str:
        return f"{self.plugin} asked {self.provider}:{self.model} ({self.purpose}), {self.duration_ms} ms"
