"""What Google's error codes mean: a status name such as ``RESOURCE_EXHAUSTED``, and details with reasons and waits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentfp.http import Explained
from agentfp.model import (
    ContextTooLongError,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelTimeoutError,
)

_KINDS: Mapping[str, type[ModelError]] = {
    "UNAUTHENTICATED": ModelAuthenticationError,
    "PERMISSION_DENIED": ModelAuthenticationError,
    "NOT_FOUND": ModelNotFoundError,
    "RESOURCE_EXHAUSTED": ModelRateLimitError,
    "UNAVAILABLE": ModelOverloadedError,
    "INTERNAL": ModelOverloadedError,
    "UNKNOWN": ModelOverloadedError,
    "DEADLINE_EXCEEDED": ModelTimeoutError,
    "CANCELLED": ModelConnectionError,
    "ABORTED": ModelOverloadedError,
    "INVALID_ARGUMENT": ModelBadRequestError,
    "FAILED_PRECONDITION": ModelBadRequestError,
    "OUT_OF_RANGE": ModelBadRequestError,
    "UNIMPLEMENTED": ModelBadRequestError,
}
_KEY = re.compile(r"API[ _]?KEY|ACCESS_TOKEN|CREDENTIALS", re.IGNORECASE)
_TOO_LONG = re.compile(r"exceeds the maximum number of (?:input )?tokens|input token count|context window", re.IGNORECASE)
_SIGNATURE = re.compile(r"thought[_ ]?signature", re.IGNORECASE)
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s\Z")


def explain(_status: int, data: Any) -> type[ModelError] | Explained | None:
    """Tell Google's errors apart; the body says all.

    Args:
        data: the JSON body.
    """
    if isinstance(data, list) and data:  # a stream that was refused is a list with one error
        data = data[0]
    error = data.get("error") if isinstance(data, Mapping) else None
    if not isinstance(error, Mapping):
        return None
    details = _objects(error.get("details"))
    message, name = error.get("message"), error.get("status")
    words = message if isinstance(message, str) else ""
    kind = _KINDS.get(name) if isinstance(name, str) else None
    reasons = [reason for item in details if isinstance(reason := item.get("reason"), str)]
    if kind is ModelBadRequestError:
        if any(_KEY.match(reason) for reason in reasons) or "API key not valid" in words:
            return ModelAuthenticationError
        if _TOO_LONG.search(words):
            return ContextTooLongError
        if name == "FAILED_PRECONDITION":
            return Explained(kind, "the Gemini API is not offered here without billing; switch it on for the project, or use Vertex AI")
        if _SIGNATURE.search(words):
            return Explained(kind, "a thought signature does not fit this model; begin a new conversation with it")
    if kind is ModelAuthenticationError and "SERVICE_DISABLED" in reasons:
        return Explained(kind, "switch the Generative Language API on for the key's project")
    if kind is ModelRateLimitError:
        return _limited(details)
    return kind


def _objects(items: Any) -> list[Mapping[str, Any]]:
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _limited(details: list[Mapping[str, Any]]) -> Explained:
    wait = next((seconds for item in details if (seconds := _delay(item)) is not None), None)
    if any("PerDay" in quota for quota in _quotas(details)):
        return Explained(ModelRateLimitError, "the quota of the day is used up: raise it, switch billing on, or choose another model", wait)
    return Explained(ModelRateLimitError, None, wait)


def _delay(detail: Mapping[str, Any]) -> float | None:
    """Seconds of a ``RetryInfo``."""
    delay = detail.get("retryDelay")
    if isinstance(delay, Mapping):
        seconds = delay.get("seconds")
        return float(seconds) if isinstance(seconds, (int, str)) and str(seconds).isdigit() else None
    found = _SECONDS.match(delay) if isinstance(delay, str) else None
    return float(found[1]) if found else None


def _quotas(details: list[Mapping[str, Any]]) -> Iterator[str]:
    for item in details:
        for violation in _objects(item.get("violations")):
            if isinstance(violation.get("quotaId"), str):
                yield violation["quotaId"]
