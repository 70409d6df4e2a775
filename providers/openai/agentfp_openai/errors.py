"""What OpenAI's error codes mean, and those of the servers that speak its protocol."""

from __future__ import annotations

import re
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

_MEANINGS: Mapping[type[ModelError], tuple[str, ...]] = {
    ContextTooLongError: (
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size_error",
        "model_max_prompt_tokens_exceeded",
    ),
    ContentFilterError: (
        "bio_policy",
        "content_filter",
        "content_policy_violation",
        "image_content_policy_violation",
        "invalid_prompt",
        "misalignment_policy_violation",
        "moderation_blocked",
        "responsibleaipolicyviolation",
    ),
    ModelAuthenticationError: (
        "authentication_error",
        "invalid_api_key",
        "invalid_organization",
        "permission_denied",
        "permission_error",
        "unauthorized",
        "unsupported_country_region_territory",
    ),
    ModelNotFoundError: ("deploymentnotfound", "model_not_found", "notfounderror"),
    ModelRateLimitError: (
        "billing_hard_limit_reached",
        "insufficient_quota",
        "rate_limit_error",
        "rate_limit_exceeded",
        "too_many_requests",
    ),
    ModelOverloadedError: (
        "api_error",
        "engine_overloaded",
        "internal_error",
        "internal_server_error",
        "internalservererror",
        "overloaded",
        "overloaded_error",
        "server_error",
        "service_unavailable",
        "slow_down",
        "unavailable_error",
        "vector_store_timeout",
    ),
    ModelTimeoutError: ("request_timeout", "timeout"),
    ModelBadRequestError: ("badrequesterror", "invalid_request_error"),
}
_CODES: Mapping[str, type[ModelError]] = {code: kind for kind, codes in _MEANINGS.items() for code in codes}
_VAGUE = (ModelBadRequestError, ModelOverloadedError)
"""Said of much; a more telling code beside it, or the words of the error, count for more."""
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|reduce the length|prompt is too long|too many tokens", re.IGNORECASE
)
_NO_QUOTA = "the quota is used up; look at the plan and the billing details at the provider"
_STATUSES: Mapping[int, type[ModelError]] = {
    401: ModelAuthenticationError,
    403: ModelAuthenticationError,
    404: ModelNotFoundError,
    408: ModelTimeoutError,
    413: ContextTooLongError,
    429: ModelRateLimitError,
}


def explain(status: int, data: Any) -> type[ModelError] | Explained | None:
    """What an error means, from its codes; see ``agentfp.http.Explain``.

    Args:
        status: of HTTP; 0 in the middle of a stream.
        data: the error's JSON.
    """
    error = data.get("error", data) if isinstance(data, Mapping) else None
    if not isinstance(error, Mapping):
        return None
    inner = error.get("innererror") or error.get("inner_error")  # Azure says here that its filter refused
    said = [level.get(name) for level in (inner, error) if isinstance(level, Mapping) for name in ("code", "type")]
    kinds = [_CODES[code.lower()] for code in said if isinstance(code, str) and code.lower() in _CODES]
    telling = next((kind for kind in kinds if kind not in _VAGUE), None)
    if telling is not None:
        return Explained(telling, _NO_QUOTA) if "insufficient_quota" in said else telling
    if status in (0, 400, 413, 422) and _says_too_long(error):
        return ContextTooLongError
    if status != 0:
        return None  # it says as much as a vague code
    return next(iter(kinds), None) or _kind_of_number(next((code for code in said if isinstance(code, int)), 0))


def _says_too_long(error: Mapping[str, Any]) -> bool:
    """Some servers have no code for it. The words are read for this only, and are shown nowhere."""
    words = error.get("message")
    return isinstance(words, str) and _TOO_LONG.search(words) is not None


def _kind_of_number(code: int) -> type[ModelError] | None:
    """Of servers that put an HTTP status into an error in the middle of a stream."""
    if code in _STATUSES:
        return _STATUSES[code]
    if 400 <= code < 500:
        return ModelBadRequestError
    return ModelOverloadedError if 500 <= code < 600 else None
