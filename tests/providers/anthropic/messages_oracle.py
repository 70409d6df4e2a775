"""The official SDK's types as the judge of what goes over the wire: nothing may be missing, wrong or unknown."""

from __future__ import annotations

import functools
from typing import Any

import pydantic
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as BetaRequest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming

# The SDK speaks the API's version 2026-10-21, which takes no sampling; 2023-06-01, which is spoken here, takes it for older models.
OLDER = ("temperature", "top_p")


@functools.cache
def adapter(kind: Any) -> pydantic.TypeAdapter[Any]:
    """Kept, for a lazily validated list needs its adapter to live."""
    return pydantic.TypeAdapter(kind)


def check_request(body: dict[str, Any], *, beta: bool = False) -> None:
    """A body is one that the SDK's own types know, to the last key."""
    plain = {key: value for key, value in body.items() if key not in OLDER}
    kind = BetaRequest if beta else MessageCreateParamsStreaming if plain.get("stream") else MessageCreateParamsNonStreaming
    checked = adapter(kind).validate_python({**plain, "stream": False} if beta else plain, extra="forbid")
    assert _deep(checked) is not None


def _deep(value: Any) -> Any:
    """Lists of these types are validated when they are read."""
    if isinstance(value, dict):
        return {key: _deep(item) for key, item in value.items()}
    if isinstance(value, list) or type(value).__name__ == "ValidatorIterator":
        return [_deep(item) for item in value]
    return value


def check_reply(data: dict[str, Any]) -> None:
    """A whole reply is one of the API."""
    adapter(Message).validate_python(data, strict=False)
    assert Message.model_validate(data).model_dump(exclude_unset=True, mode="json") == data


def check_event(data: dict[str, Any]) -> None:
    """An event of a stream is one of the API."""
    event = adapter(RawMessageStreamEvent).validate_python(data)
    assert event.model_dump(exclude_unset=True, mode="json") == data
