"""Secrets that other plugins hand to tools do not go to the store: what a tool puts is masked as what it returns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from agentfp.artifacts import InvalidArtifactError
from agentfp_artifacts.stores.base import check_chunk, ending
from agentfp_artifacts.stores.payload import canonical_bytes, restored

Mask = Callable[[str], str]
OVERLAP = 64 * 1024
"""Bytes of a stream that are looked at once more with the next chunk, for a value may be cut in two."""


def masked_data(data: Any, mask: Mask) -> Any:
    """Data without the values that are masked.

    Args:
        data: bytes, a text, or plain JSON data.
        mask: masks a text.

    Returns:
        The same object where there is nothing to mask.

    Raises:
        InvalidArtifactError: it cannot be stored, or not without the value.
    """
    raw, shape = canonical_bytes(data)
    text = _text(raw)
    masked = mask(text)
    if masked == text:
        return data
    try:
        return restored(masked.encode(errors="surrogateescape"), shape)
    except ValueError as error:
        raise InvalidArtifactError("data holds a secret in the place of a number; leave it out") from error


def masked_words(words: Any, mask: Mask) -> Any:
    """What a tool says of an artifact, without the values that are masked."""
    return mask(words) if isinstance(words, str) else words


async def without_secrets(body: AsyncIterator[bytes], mask: Mask) -> AsyncIterator[bytes]:
    """A stream as it is; its length is declared, so that a value in it cannot be masked.

    Args:
        body: its chunks.
        mask: masks a text.

    Raises:
        InvalidArtifactError: a value that would have to be masked is in it.
    """
    waiting: list[bytes] = []
    before, size = b"", 0

    def looked_at() -> bytes:
        nonlocal before, size
        fresh = b"".join(waiting)
        seen = before + fresh
        text = _text(seen)
        if mask(text) != text:
            raise InvalidArtifactError("the stream holds a secret; leave it out, or put the artifact whole to have it masked")
        before, size = seen[-OVERLAP:], 0
        waiting.clear()
        return fresh

    async with ending(body):
        async for chunk in body:
            size += check_chunk(chunk)
            waiting.append(chunk)
            if size >= OVERLAP:  # not for each of many small chunks, for the overlap is looked at again each time
                yield looked_at()
    if waiting:
        yield looked_at()


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")
