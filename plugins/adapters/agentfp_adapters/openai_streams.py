"""Streams of the OpenAI Agents SDK's models: closed in time, and what of one that breaks off may go out unjudged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

BROKEN_OFF = ("response.incomplete", "response.failed", "response.error", "error")
"""Events that end a stream without a complete reply; the run fails with them."""


def without_words(event: Any) -> Any:
    """The event that says why a held reply broke off, without what was said of it: nobody judged that."""
    response = getattr(event, "response", None)
    return event if response is None else event.model_copy(update={"response": response.model_copy(update={"output": []})})


@asynccontextmanager
async def closed(stream: AsyncIterator[Any]) -> AsyncIterator[AsyncIterator[Any]]:
    """A model's stream that is closed when the run stops reading, not when it is collected."""
    try:
        yield stream
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
