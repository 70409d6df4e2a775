"""What Anthropic's own errors mean. Their type says most; a few are told apart by their words, which never reach a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentfp.http import Explained
from agentfp.model import (
    ContentFilterError,
    ContextTooLongError,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelTimeoutError,
)

_KINDS: Mapping[str, type[ModelError]] = {
    "authentication_error": ModelAuthenticationError,
    "permission_error": ModelAuthenticationError,
    "not_found_error": ModelNotFoundError,
    "request_too_large": ContextTooLongError,
    "exceed_context_size_error": ContextTooLongError,  # llama.cpp's server
    "rate_limit_error": ModelRateLimitError,
    "timeout_error": ModelTimeoutError,
    "api_error": ModelOverloadedError,
    "overloaded_error": ModelOverloadedError,
    "invalid_request_error": ModelBadRequestError,
}
_TOO_LONG = ("prompt is too long", "exceed context limit", "context window")
_BLOCKED = ("content filtering policy", "content filter")
_BOUND = Explained(
    ModelBadRequestError,
    "a thinking block goes back into a conversation that has changed before it; leave on_changed_history='drop_thinking', or start anew",
)
_NO_CREDIT = Explained(ModelRateLimitError, "the account has no credit left; add some, for waiting does not help")


def explain(status: int, data: Any) -> type[ModelError] | Explained | None:
    """The class of an error, and what to do where that is not the usual."""
    error = data.get("error") if isinstance(data, Mapping) else None
    if not isinstance(error, Mapping):
        return ModelOverloadedError if status in (0, 529) else None
    kind, words = error.get("type"), error.get("message")
    said = words.lower() if isinstance(words, str) else ""
    if kind == "billing_error" or "credit balance" in said:
        return _NO_CREDIT
    if kind == "invalid_request_error" or status == 400:
        if any(text in said for text in _TOO_LONG):
            return ContextTooLongError
        if any(text in said for text in _BLOCKED):
            return ContentFilterError
        if "block is bound to" in said:
            return _BOUND
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind]
    return ModelOverloadedError if status == 0 else None
