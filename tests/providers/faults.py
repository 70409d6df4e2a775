"""A server that plays a script of raw bytes: what a provider's adapter meets when the other side is ill.

    def test_it(faults: Faults) -> None:                    # the fixture of conftest.py
        faults.plays(reply(429, {"error": {...}}, retry_after="1"))                      # what the first request gets
        faults.plays(*stream(sse({"a": 1}), "text/event-stream", whole=False), STALL)   # and the second: it never ends
        ...
        faults.requests[0].json()                           # what it was sent
        faults.hung_up.wait(5)                              # the client closed a connection that was in STALL

It answers one request a connection. A request that no script is left for is kept in `unscripted`, which the fixture checks.
"""

from __future__ import annotations

import enum
import json
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeAlias


class Fault(enum.Enum):
    """What a script may hold between bytes."""

    STALL = enum.auto()
    """Say nothing more, until the client closes the connection or the server stops."""
    RESET = enum.auto()
    """Drop the connection at once, as a crashed machine does."""


STALL, RESET = Fault.STALL, Fault.RESET
Step: TypeAlias = bytes | Fault


def reply(status: int, body: Mapping[str, Any] | bytes | str, content_type: str = "application/json", **headers: str) -> bytes:
    """A whole reply.

    Args:
        status: of HTTP.
        body: JSON data, or what is sent as it is.
        content_type: of the body.
        headers: further ones, underscores for dashes.
    """
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return _head(status, content_type, {"content-length": str(len(data)), **_named(headers)}) + data


def stream(body: bytes, content_type: str, *, size: int | None = None, whole: bool = True, **headers: str) -> list[Step]:
    """A reply in chunks, which arrive at the client's reader just as they are cut here.

    Args:
        body: all of it.
        content_type: of the body.
        size: bytes of a chunk; all in one when None.
        whole: whether the reply ends as HTTP wants it; a connection closed without that is a broken one.
        headers: further ones, underscores for dashes.
    """
    cut = [body] if size is None else [body[i : i + size] for i in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in cut if piece)
    return [_head(200, content_type, {"transfer-encoding": "chunked", **_named(headers)}), framed, *([b"0\r\n\r\n"] if whole else [])]


def sse(*events: Mapping[str, Any] | str | tuple[str, Mapping[str, Any]]) -> bytes:
    """Server-sent events: JSON data, text as it is, or a pair of the event's name and its data."""
    lines = []
    for event in events:
        name, data = event if isinstance(event, tuple) else ("", event)
        text = data if isinstance(data, str) else json.dumps(data)
        lines.append((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
    return "".join(lines).encode()


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _head(status: int, content_type: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", f"content-type: {content_type}", "connection: close"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode()


@dataclass(frozen=True)
class Received:
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


class Faults:
    """The server, on loopback, with threads of its own so that it serves any event loop."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.unscripted: list[Received] = []
        self.hung_up = threading.Event()
        self._scripts: deque[tuple[Step, ...]] = deque()
        self._stop_here, self._stop = socket.socketpair()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept, name="faults")]

    def plays(self, *steps: Step) -> None:
        """Add a script: what the next request without one gets. At its end the connection is closed."""
        self._scripts.append(steps)

    def __enter__(self) -> Faults:
        self._threads[0].start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.close()
        for thread in list(self._threads):
            thread.join(10)
            assert not thread.is_alive(), "a connection of the scripted server did not end"
        self._stop_here.close()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            ready, _, _ = select.select([self._listener, self._stop_here], [], [])
            if self._stop_here in ready:
                return
            connection, _ = self._listener.accept()
            thread = threading.Thread(target=self._serve, args=(connection,), name="faults connection")
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(10)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                request = _read(connection)
                if request is None:
                    return
                self.requests.append(request)
                if not self._scripts:
                    self.unscripted.append(request)
                    return
                for step in self._scripts.popleft():
                    if isinstance(step, bytes):
                        connection.sendall(step)
                    elif step is RESET:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        return
                    else:
                        self._stall(connection)
                        return
            except OSError:  # the client is gone
                self.hung_up.set()

    def _stall(self, connection: socket.socket) -> None:
        ready, _, _ = select.select([connection, self._stop_here], [], [])
        if connection in ready and connection.recv(1) == b"":
            self.hung_up.set()


def _read(connection: socket.socket) -> Received | None:
    """A request; None where the client closes without one."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        more = connection.recv(65536)
        if not more:
            return None
        body += more
    method, path, _ = first.split(" ")
    return Received(method, path, headers, body)
