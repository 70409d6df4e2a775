"""Tokens as the two interfaces count them; what is not reported stays unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentfp.model import ModelSettings, StopReason, Usage


def chat_usage(data: Any) -> Usage:
    """Usage of Chat Completions.

    Args:
        data: its ``usage``, whatever it is.
    """
    if not isinstance(data, Mapping):
        return Usage()
    read = data.get("prompt_tokens_details"), data.get("completion_tokens_details")
    cached = _count(read[0], "cached_tokens")
    return Usage(
        _count(data, "prompt_tokens"),
        _count(data, "completion_tokens"),
        _count(data, "prompt_cache_hit_tokens") if cached is None else cached,  # DeepSeek's word
        _count(read[0], "cache_write_tokens"),
        _count(read[1], "reasoning_tokens"),
    )


def responses_usage(data: Any) -> Usage:
    """Usage of the Responses interface.

    Args:
        data: its ``usage``, whatever it is.
    """
    if not isinstance(data, Mapping):
        return Usage()
    read = data.get("input_tokens_details")
    return Usage(
        _count(data, "input_tokens"),
        _count(data, "output_tokens"),
        _count(read, "cached_tokens"),
        _count(read, "cache_write_tokens"),
        _count(data.get("output_tokens_details"), "reasoning_tokens"),
    )


def _count(data: Any, name: str) -> int | None:
    value = data.get(name) if isinstance(data, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def cut_off(usage: Usage, settings: ModelSettings, window: int | None) -> StopReason:
    """Why a reply was cut off: by the limit of the request, or since the model's window was full. The interfaces say the same of both.

    Args:
        usage: of the reply.
        settings: of the request.
        window: tokens that the model has room for, where known.
    """
    within = settings.max_tokens is None or (usage.output is not None and usage.output < settings.max_tokens)
    full = window is not None and usage.input is not None and usage.output is not None and usage.total >= window
    return StopReason.CONTEXT_WINDOW if within and full else StopReason.MAX_TOKENS
