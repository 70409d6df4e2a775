"""Streams taken apart as they come in: server-sent events and lines of JSON. Plain functions of bytes; any chunking gives the same.

The rules of server-sent events are those of the HTML standard, "Interpreting an event stream".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import pydantic_core

from agentfp_core.errors import ProviderProtocolError

MAX_EVENT_BYTES = 64 * 1024 * 1024
"""What one event or line may hold; a reply that never ends a line must not fill the memory."""
T_co = TypeVar("T_co", covariant=True)


class Decoder(Protocol[T_co]):
    """Takes a stream apart. One object reads one stream."""

    def feed(self, chunk: bytes) -> Iterator[T_co]:
        """What a chunk completes.

        Args:
            chunk: the next bytes of the stream, cut anywhere.

        Raises:
            ProviderProtocolError: the bytes are not of the format.
        """

    def finish(self) -> Iterator[T_co]:
        """What the end of the stream completes."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event.

    Args:
        event: its type; ``message`` where the stream names none.
        data: its data, lines joined by a newline.
    """

    event: str
    data: str

    def json(self) -> Any:
        """The data as JSON.

        Raises:
            ProviderProtocolError: it is none.
        """
        return parse_json(self.data)


def parse_json(text: str | bytes) -> Any:
    """JSON of a provider.

    Raises:
        ProviderProtocolError: it is none; the message says where it breaks off and holds nothing of it.
    """
    try:
        return pydantic_core.from_json(text)
    except ValueError as error:
        msg = f"the provider sent {len(text)} characters that are no JSON ({_place(error)}); if it happens again, report it to the provider"
        raise ProviderProtocolError(msg) from error


def _place(error: ValueError) -> str:
    said = str(error)
    return said[said.rfind("at line") :] if "at line" in said else "malformed"


class _Lines:
    """Whole lines of a byte stream; a line ends with CR, LF or CRLF."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0
        self._skip_lf = False

    def feed(self, chunk: bytes) -> list[bytes]:
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        lines = chunk.splitlines()
        ended = chunk.endswith((b"\n", b"\r"))
        self._skip_lf = chunk.endswith(b"\r")
        if self._rest and (len(lines) > 1 or ended):
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest.clear()
            self._size = 0
        if not ended:
            tail = lines.pop()
            self._rest.append(tail)
            self._size += len(tail)
            if self._size > MAX_EVENT_BYTES:
                raise ProviderProtocolError(f"the provider sent more than {MAX_EVENT_BYTES} bytes without the end of a line")
        return lines

    def finish(self) -> bytes:
        rest = b"".join(self._rest)
        self._rest.clear()
        return rest


class SseDecoder:
    """Takes server-sent events apart."""

    def __init__(self) -> None:
        self._lines = _Lines()
        self._event = ""
        self._data: list[str] = []
        self._size = 0
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """The events that a chunk completes."""
        for line in self._lines.feed(chunk):
            if self._first:
                self._first = False
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line:
                if self._data:
                    yield ServerSentEvent(self._event or "message", self._data[0] if len(self._data) == 1 else "\n".join(self._data))
                self._event, self._data, self._size = "", [], 0
            elif line.startswith(b"data:"):
                self._size += len(line)
                if self._size > MAX_EVENT_BYTES:
                    raise ProviderProtocolError(f"the provider sent an event of more than {MAX_EVENT_BYTES} bytes")
                self._data.append(str(line[6:] if line.startswith(b" ", 5) else line[5:], "utf-8", "replace"))
            elif line.startswith(b"event:"):
                self._event = str(line[6:], "utf-8", "replace").removeprefix(" ")
            elif line == b"data":
                self._data.append("")

    def finish(self) -> Iterator[ServerSentEvent]:
        """Nothing: an event without its empty line is half an event."""
        return iter(())


class NdjsonDecoder:
    """Takes lines of JSON apart."""

    def __init__(self) -> None:
        self._lines = _Lines()

    def feed(self, chunk: bytes) -> Iterator[Any]:
        """The values that a chunk completes."""
        for line in self._lines.feed(chunk):
            if line and not line.isspace():
                yield parse_json(line)

    def finish(self) -> Iterator[Any]:
        """The value on a last line without its end, where it is whole."""
        line = self._lines.finish()
        if line and not line.isspace():
            yield parse_json(line)
