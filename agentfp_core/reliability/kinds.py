"""What kind of failure an exception is, and what a person who waits for an answer may read of it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from agentfp_core.errors import (
    CircuitOpenError,
    ContentFilterError,
    ContextTooLongError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelOverloadedError,
    ModelRateLimitError,
)
from agentfp_core.retrying import status_of

ErrorKind: TypeAlias = Literal["ok", "5xx-transient", "rate-limit", "circuit-open", "schema-fail", "unknown"]

_TRANSIENT_WORDS = ("connection reset", "connection aborted", "connection refused", "econnreset", "timeout", "timed out", "broken pipe")


def error_kind(error: BaseException | None) -> ErrorKind:
    """The kind of a failed call; of a vendor's own exceptions too.

    Args:
        error: the exception, or None for a call that succeeded.
    """
    if error is None:
        return "ok"
    if isinstance(error, CircuitOpenError):
        return "circuit-open"
    status = status_of(error)
    if status == 429 or isinstance(error, ModelRateLimitError):
        return "rate-limit"
    if (status is not None and 500 <= status < 600) or isinstance(error, (ModelOverloadedError, ModelConnectionError)):
        return "5xx-transient"
    if status is None and (isinstance(error, (ConnectionError, TimeoutError)) or any(w in str(error).lower() for w in _TRANSIENT_WORDS)):
        return "5xx-transient"
    return "unknown"


_SENTENCES: tuple[tuple[type[BaseException], str], ...] = (
    (ContextTooLongError, "This conversation has become too long. Please start a new one."),
    (ContentFilterError, "This cannot be answered. Please ask in another way."),
    (ModelAuthenticationError, "The service is not set up correctly. Please tell the people who run it."),
)


def humanize(error: BaseException) -> str:
    """One sentence for the person who waits for an answer: no names, no codes, nothing of the request.

    Args:
        error: what went wrong; of an error that wraps another one, the inner one counts.
    """
    seen: BaseException | None = error
    while seen is not None:
        for kind, sentence in _SENTENCES:
            if isinstance(seen, kind):
                return sentence
        if error_kind(seen) in ("rate-limit", "circuit-open", "5xx-transient"):
            return "The service is busy at the moment. Please try again in a little while."
        seen = seen.__cause__
    return "Something went wrong. Please try again."
