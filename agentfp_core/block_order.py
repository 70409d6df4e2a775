"""Replies that are lists of blocks: where each stood among text, calls and thinking, kept beside the message so that it goes back so.

A message keeps its text, its calls and its thinking apart. A provider whose replies are lists of blocks writes with :func:`block_meta`
what must not be lost into the ``provider_meta`` of calls and thinking, and reads with :func:`ordered_blocks`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from agentfp_core.messages import Message, ThinkingBlock, ToolCall


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """A call in its place.

    Args:
        call: the call.
        block: what the provider kept of it.
    """

    call: ToolCall
    block: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlacedThinking:
    """A thinking block in its place.

    Args:
        thinking: the block.
        index: its index in the message's ``thinking``.
        block: what the provider kept of it; None for one of another provider.
    """

    thinking: ThinkingBlock
    index: int
    block: Mapping[str, Any] | None


Placed: TypeAlias = str | PlacedCall | PlacedThinking
"""A piece of text, a call, or a thinking block."""


def block_meta(provider: str, block: Mapping[str, Any], *, text: int = 0, calls: int = 0) -> str:
    """The ``provider_meta`` of a call or a thinking block.

    Args:
        provider: name of the provider; no other one reads it.
        block: fields of the block that stand nowhere else in the message.
        text: characters of the reply's text before the block.
        calls: calls of the reply before the block; of thinking only.
    """
    places = {name: number for name, number in (("text", text), ("calls", calls)) if number}
    return json.dumps({"provider": provider, **places, "block": block}, ensure_ascii=False, separators=(",", ":"))


def ordered_blocks(message: Message, provider: str) -> Iterator[Placed]:
    """What an assistant message holds, in the order in which it came.

    Calls without a place of this provider come after the text. Pieces of text that are blank join what follows, for no provider
    takes them; a blank rest is left out.

    Args:
        message: of the assistant.
        provider: name of the provider.
    """
    text = message.text
    calls = [(call, _meta(call.provider_meta, provider)) for call in message.tool_calls]
    said = called = 0
    for stop, meta in _stops(message, provider):
        if stop is not None and meta is None:
            yield stop
            continue
        for call, kept in calls[called : None if meta is None else max(meta.calls, called)]:
            upto = len(text) if kept is None else kept.text
            if text[said:upto].strip():
                yield text[said:upto]
                said = upto
            yield PlacedCall(call, {} if kept is None else kept.block)
            called += 1
        upto = len(text) if meta is None else meta.text
        if text[said:upto].strip():
            yield text[said:upto]
            said = upto
        if stop is not None:
            yield stop


def _stops(message: Message, provider: str) -> Iterator[tuple[PlacedThinking | None, _Meta | None]]:
    """The thinking blocks, and the end of the message."""
    for index, thinking in enumerate(message.thinking):
        meta = _meta(thinking.provider_meta, provider)
        yield PlacedThinking(thinking, index, None if meta is None else meta.block), meta
    yield None, None


@dataclass(frozen=True, slots=True)
class _Meta:
    text: int
    calls: int
    block: Mapping[str, Any]


def _meta(text: str | None, provider: str) -> _Meta | None:
    """What a provider kept; None for what it did not write."""
    if text is None:
        return None
    try:
        data = json.loads(text)
    except ValueError:
        return None
    if not isinstance(data, dict) or data.get("provider") != provider or not isinstance(data.get("block"), dict):
        return None
    places = [value if isinstance(value, int) else 0 for value in (data.get("text"), data.get("calls"))]
    return _Meta(places[0], places[1], data["block"])
