"""A server on loopback that answers each request with bytes a test writes down, cut and broken off as the test wants."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.abc

Answer = Callable[[anyio.abc.SocketStream], Awaitable[None]]


@dataclass
class Seen:
    """A request as it came in."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Loopback:
    url: str
    seen: list[Seen] = field(default_factory=list)
    closed: int = 0
    """Connections that the client closed while an answer was still being sent."""


def reply(body: bytes = b"{}", status: str = "200 OK", content_type: str = "application/json", **headers: str) -> Answer:
    """A whole reply."""
    named = {"content-type": content_type, "content-length": str(len(body))} | {k.replace("_", "-"): v for k, v in headers.items()}
    head = f"HTTP/1.1 {status}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in named.items()) + "\r\n"

    async def send(stream: anyio.abc.SocketStream) -> None:
        await stream.send(head.encode() + body)

    return send


def chunked(chunks: Sequence[bytes], content_type: str = "text/event-stream", *, stall: bool = False, drop: bool = False) -> Answer:
    """A reply in pieces; then it ends, stalls for ever, or breaks off."""

    async def send(stream: anyio.abc.SocketStream) -> None:
        await stream.send(f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        for chunk in chunks:
            await stream.send(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        if stall:
            await stream.receive()  # until the client goes away
        elif drop:
            await stream.aclose()
        else:
            await stream.send(b"0\r\n\r\n")

    return send


async def drop(stream: anyio.abc.SocketStream) -> None:
    """No reply at all."""
    await stream.aclose()


async def stall(stream: anyio.abc.SocketStream) -> None:
    """Silence, until the client goes away."""
    await stream.receive()


@contextlib.asynccontextmanager
async def loopback(*answers: Answer) -> AsyncIterator[Loopback]:
    """A server that gives these answers, in the order of the requests; the last one again and again."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    server = Loopback(f"http://127.0.0.1:{port}")

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                while True:
                    seen = await _request(stream)
                    server.seen.append(seen)
                    answer = answers[min(len(server.seen), len(answers)) - 1]
                    try:
                        await answer(stream)
                    except (anyio.EndOfStream, anyio.BrokenResourceError):
                        server.closed += 1
                        return

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        try:
            yield server
        finally:
            tasks.cancel_scope.cancel()


async def _request(stream: anyio.abc.SocketStream) -> Seen:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (entry.partition(":") for entry in rest)}
    while len(body) < int(headers.get("content-length", 0)):
        body += await stream.receive()
    return Seen(line, headers, body)
