"""Bedrock's event stream taken apart: botocore decodes the frames and checks their sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.eventstream import EventStreamBuffer, ParserError

from agentfp.http import parse_json
from agentfp.model import ProviderProtocolError


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame.

    Args:
        kind: ``event``, ``exception`` or ``error``.
        name: of the event or the exception.
        data: JSON data of it.
    """

    kind: str
    name: str
    data: Any


class FrameDecoder:
    """Takes a stream of frames apart. One object reads one stream."""

    def __init__(self) -> None:
        self._buffer = EventStreamBuffer()

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """The frames that a chunk completes.

        Args:
            chunk: the next bytes, cut anywhere.

        Raises:
            ProviderProtocolError: they are no frames, or damaged ones.
        """
        self._buffer.add_data(chunk)
        while True:
            try:
                message = next(self._buffer, None)
            except (ParserError, ValueError, KeyError, OverflowError) as error:  # the last three of headers that make no sense
                msg = f"'bedrock' sent a damaged frame ({type(error).__name__}); try again, and look at proxies in between"
                raise ProviderProtocolError(msg) from error
            if message is None:
                return
            headers: Any = message.headers
            yield _frame(headers, message.payload)

    def finish(self) -> Iterator[Frame]:
        """Nothing: half a frame is no frame."""
        return iter(())


def _frame(headers: Mapping[str, Any], payload: bytes) -> Frame:
    kind = str(headers.get(":message-type", "event"))
    if kind == "error":  # the frame itself says it all
        return Frame(kind, str(headers.get(":error-code", "")), {"message": str(headers.get(":error-message", ""))})
    name = headers.get(":exception-type" if kind == "exception" else ":event-type")
    return Frame(kind, str(name or ""), parse_json(payload) if payload else {})
