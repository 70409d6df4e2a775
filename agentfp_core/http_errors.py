"""What a provider's refusal means: status, codes and headers made a typed error that says what to do and shows nothing secret."""

from __future__ import annotations

import datetime
import email.utils
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pydantic_core

from agentfp_core.errors import (
    ContentFilterError,
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

Explain: TypeAlias = Callable[[int, Any], type[ModelError] | None]
"""Tells a provider's own errors apart: takes the status (0 in the middle of a stream) and the JSON body (None when it is none), and
gives the error's class; None leaves it to the status."""

_ADVICE: Mapping[type[ModelError], str] = {
    ModelAuthenticationError: "check the key, and that it may use this model",
    ModelNotFoundError: "check the model's name and base_url",
    ModelRateLimitError: "wait, ask for less, or raise the quota",
    ModelOverloadedError: "try again later, or fall back on another model",
    ModelTimeoutError: "try again later",
    ModelConnectionError: "check base_url and the proxy",
    ContextTooLongError: "shorten the conversation, or choose a model with a larger context window",
    ContentFilterError: "change what is asked, or handle this error as a refusal",
    ModelBadRequestError: "sending it again does not help; error.detail holds the provider's own words",
}
_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "x-goog-request-id", "cf-ray")
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.:\[\]/-]{0,79}\Z")


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """The provider's id of a request, from the reply's headers (names in lower case)."""
    return next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None)


def class_of_status(status: int) -> type[ModelError]:
    """What a status means where the body says nothing more."""
    exact: dict[int, type[ModelError]] = {
        401: ModelAuthenticationError,
        403: ModelAuthenticationError,
        404: ModelNotFoundError,
        408: ModelTimeoutError,
        413: ContextTooLongError,
        429: ModelRateLimitError,
    }
    if status in exact:
        return exact[status]
    if 400 <= status < 500:
        return ModelBadRequestError
    return ModelOverloadedError if status >= 500 else ModelConnectionError  # a redirect is a wrong address


def error_of_reply(
    provider: str, model: str, status: int, headers: Mapping[str, str], body: bytes, explain: Explain | None = None
) -> ModelError:
    """The error of a reply that says no.

    Args:
        provider: name of the provider.
        model: name of the model.
        status: of the reply.
        headers: names in lower case.
        body: of the reply.
        explain: tells the provider's own codes apart.
    """
    try:
        data = pydantic_core.from_json(body)
    except ValueError:
        data = None
    return error_of_data(provider, model, status, data, explain, retry_after=retry_after(headers), request_id=request_id_of(headers))


def error_of_data(provider: str, model: str, status: int, data: Any, explain: Explain | None = None, **facts: Any) -> ModelError:
    """The error of a refusal that is read already, for example one in the middle of a stream.

    Args:
        provider: name of the provider.
        model: name of the model.
        status: HTTP status; 0 where there is none.
        data: the provider's JSON, or None.
        explain: tells the provider's own codes apart.
        facts: further facts of a ``ModelError``.
    """
    kind = (explain(status, data) if explain is not None else None) or class_of_status(status)
    advice = next(text for known, text in _ADVICE.items() if issubclass(kind, known)) if issubclass(kind, tuple(_ADVICE)) else "try again"
    said = ", ".join(([f"status {status}"] if status else []) + codes_of(data))
    wait = facts.get("retry_after")
    stated = f"; it asks to wait {wait:g} s" if wait is not None else ""
    error = kind(
        f"{provider!r} refused a call of model {model!r} ({said or 'no reason given'}){stated}: {advice}",
        provider=provider,
        model=model,
        status=status or None,
        **facts,
    )
    error.detail = words_of(data)
    return error


def codes_of(data: Any) -> list[str]:
    """The short codes of a provider's error: safe to show, for they hold no text of anybody's."""
    found: list[str] = []
    inner = data.get("error") if isinstance(data, Mapping) else None
    for level in (inner, data):
        if isinstance(level, Mapping):
            for key in ("type", "code", "status", "param", "__type"):
                value = level.get(key)
                if isinstance(value, str) and _CODE.match(value) and value not in ("error", *found):
                    found.append(value)
    return found


def words_of(data: Any) -> str | None:
    """The provider's own words; they may quote the request, so they stand in no message."""
    inner = data.get("error", data) if isinstance(data, Mapping) else data
    if isinstance(inner, Mapping):
        inner = inner.get("message", inner.get("Message"))
    return inner if isinstance(inner, str) else None


def retry_after(headers: Mapping[str, str], *, now: datetime.datetime | None = None) -> float | None:
    """Seconds that a reply asks to wait: ``Retry-After`` as seconds or date, or ``retry-after-ms``.

    Args:
        headers: names in lower case.
        now: the present, for dates.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        try:
            seconds = float(text) / unit
        except ValueError:
            continue
        if 0 <= seconds < 1e9:
            return seconds
    try:
        at = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=datetime.UTC)
    return max((at - (now or datetime.datetime.now(datetime.UTC))).total_seconds(), 0.0)
