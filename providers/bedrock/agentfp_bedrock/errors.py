"""What Bedrock's exceptions mean, as replies and in the middle of a stream."""

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
    "accessdeniedexception": ModelAuthenticationError,
    "unrecognizedclientexception": ModelAuthenticationError,
    "expiredtokenexception": ModelAuthenticationError,
    "invalidsignatureexception": ModelAuthenticationError,
    "resourcenotfoundexception": ModelNotFoundError,
    "throttlingexception": ModelRateLimitError,
    "servicequotaexceededexception": ModelRateLimitError,
    "modelnotreadyexception": ModelOverloadedError,
    "modeltimeoutexception": ModelTimeoutError,
    "modelerrorexception": ModelOverloadedError,
    "modelstreamerrorexception": ModelOverloadedError,
    "internalserverexception": ModelOverloadedError,
    "serviceunavailableexception": ModelOverloadedError,
    "validationexception": ModelBadRequestError,
}
_TOO_LONG = ("too long", "too many input tokens", "context window", "context limit", "maximum context length")
_BLOCKED = ("content filtering policy", "content filter")
_KEY = "check the credentials of AWS, and that they may use this model in this region"
_PROFILE = Explained(
    ModelBadRequestError, "this model is called by an inference profile: put 'global.' or a region such as 'us.' before its id"
)


def explain(status: int, data: Any) -> type[ModelError] | Explained | None:
    """The class of an error, and what to do where that is not the usual."""
    body = data if isinstance(data, Mapping) else {}
    named, words = body.get("__type"), body.get("message", body.get("Message"))
    said = words.lower() if isinstance(words, str) else ""
    kind = _KINDS.get(named.rpartition("#")[2].lower()) if isinstance(named, str) else None
    if kind is ModelBadRequestError or (kind is None and status == 400):
        if "on-demand throughput" in said:
            return _PROFILE
        if any(text in said for text in _TOO_LONG):
            return ContextTooLongError
        if any(text in said for text in _BLOCKED):
            return ContentFilterError
    if kind is ModelAuthenticationError or (kind is None and status in (401, 403)):
        return Explained(ModelAuthenticationError, _KEY)
    if kind is None and status in (0, 424):
        return ModelOverloadedError
    return kind
