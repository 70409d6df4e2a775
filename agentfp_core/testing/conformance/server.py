"""A server on loopback that plays a provider: it follows a script, writes it in the provider's format, and goes wrong on request."""

from __future__ import annotations

import contextlib
import http.server
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, TypeAlias

import anyio
import anyio.to_thread

from agentfp_core.http_options import HttpOptions
from agentfp_core.model import Model, ModelResponse
from agentfp_core.retrying import RetryPolicy
from agentfp_core.testing.conformance.wire import Broken, Endpoint, Refusal, SeenRequest, Wire, WireReply

KEY = "sk-conformance-0123456789abcdef"
"""The secret that models under check are made with."""
PATIENCE = 10.0
"""Seconds that a check waits for what should happen at once."""
WireItem: TypeAlias = ModelResponse | Refusal | Broken | WireReply


class WireServer:
    """A provider that follows a script; use it in ``with``. Its replies go out in chunks of any size.

    Args:
        wire: the provider's format.
        script: replies in order, or a function of the request that gives each.

    Attributes:
        seen: the requests to the model.
        chunk: bytes of a chunk; each piece of a reply is one when None.
        pace: seconds between chunks.
    """

    def __init__(self, wire: Wire, script: Iterable[WireItem] | Callable[[SeenRequest], WireItem] = ()) -> None:
        self.wire = wire
        self.seen: list[SeenRequest] = []
        self.chunk: int | None = None
        self.pace = 0.0
        self.play(script)
        self._hung_up = threading.Event()
        self._stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._server: _Server | None = None

    def play(self, script: Iterable[WireItem] | Callable[[SeenRequest], WireItem]) -> WireServer:
        """Take a new script.

        Args:
            script: as for the class.
        """
        self._function = script if callable(script) else None
        self._items: deque[WireItem] = deque(() if callable(script) else script)
        return self

    @property
    def base_url(self) -> str:
        """Where it listens."""
        assert self._server is not None, "enter the server first: with WireServer(...) as server"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def model(self, name: str | None = None, *, silence: float | None = None, attempts: int = 1) -> Model:
        """The model under check, connected to this server.

        Args:
            name: its name; that of the wire when None.
            silence: seconds without a byte after which a reply counts as stalled; more than a check waits when None.
            attempts: of each call.
        """
        options = HttpOptions(silence_timeout=silence or PATIENCE, retries=RetryPolicy(attempts=attempts, initial=0.01, longest=0.05))
        return self.wire.model(Endpoint(self.base_url, KEY, name or self.wire.model_name, options))

    async def hung_up(self) -> bool:
        """Whether the client closes the connection of a stalled reply, soon."""
        return await anyio.to_thread.run_sync(self._hung_up.wait, PATIENCE)

    def __enter__(self) -> WireServer:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.play = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._server is not None
        self._stopping.set()
        self._server.shutdown()
        with self._lock:
            for connection in self._open:
                _hang_up(connection)
        self._server.server_close()  # joins the threads of the connections
        self._thread.join()

    # ------------------------------------------------------------------------------------- called by connections' threads

    def _next(self, request: SeenRequest) -> WireItem | None:
        with self._lock:
            self.seen.append(request)
            if self._function is None:
                return self._items.popleft() if self._items else None
        return self._function(request)

    def _answer(self, connection: _Handler, request: SeenRequest) -> None:
        aside = self.wire.aside(request)
        item = aside if aside is not None else self._next(request)
        if item is None:
            text = b"the script of the conformance server is used up"
            self._send(connection, WireReply((text,), "text/plain", 500))
        elif isinstance(item, Broken):
            self._break(connection, self.wire.reply(request, item.response), item)
        elif isinstance(item, Refusal):
            reply = self.wire.refusal(request, item)
            stated = {} if item.retry_after is None else {"Retry-After": f"{item.retry_after:g}"}
            self._send(connection, WireReply(reply.pieces, reply.content_type, reply.status, {**reply.headers, **stated}))
        else:
            self._send(connection, item if isinstance(item, WireReply) else self.wire.reply(request, item))

    def _send(self, connection: _Handler, reply: WireReply) -> None:
        self._head(connection, reply)
        self._pieces(connection, reply.pieces)
        connection.wfile.write(b"0\r\n\r\n")

    def _break(self, connection: _Handler, reply: WireReply, broken: Broken) -> None:
        connection.close_connection = broken.how in ("drop", "stall")
        if broken.after is not None:
            self._head(connection, reply)
            self._pieces(connection, reply.pieces[: broken.after])
            rest = reply.pieces[broken.after :]
            if broken.how == "half":
                self._pieces(connection, [rest[0][: len(rest[0]) // 2]])
            elif broken.how == "garble":
                self._pieces(connection, [self.wire.garble(rest[0]), *rest[1:]])
        if broken.how == "drop":
            _hang_up(connection.connection)
        elif broken.how == "stall":
            self._wait_for_end(connection.connection)
        else:
            connection.wfile.write(b"0\r\n\r\n")

    def _head(self, connection: _Handler, reply: WireReply) -> None:
        connection.send_response(reply.status)
        for name, value in {"Content-Type": reply.content_type, "Transfer-Encoding": "chunked", **reply.headers}.items():
            connection.send_header(name, value)
        connection.end_headers()

    def _pieces(self, connection: _Handler, pieces: Iterable[bytes]) -> None:
        chunks: Iterable[bytes] = (piece for piece in pieces if piece)
        if self.chunk is not None:
            body = b"".join(pieces)
            chunks = [body[at : at + self.chunk] for at in range(0, len(body), self.chunk)]
        framed = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks]
        if not self.pace:
            connection.wfile.write(b"".join(framed))
            return
        for chunk in framed:
            connection.wfile.write(chunk)
            time.sleep(self.pace)

    def _wait_for_end(self, connection: socket.socket) -> None:
        while not self._stopping.is_set():
            ready, _, _ = select.select([connection], [], [], 0.02)
            if ready:
                try:
                    ended = connection.recv(1, socket.MSG_PEEK) == b""
                except OSError:
                    ended = True
                if ended:
                    self._hung_up.set()
                    return


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128
    play: WireServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the play."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        play = self.server.play
        with play._lock:
            play._open.add(self.connection)
            if play._stopping.is_set():
                _hang_up(self.connection)

    def finish(self) -> None:
        play = self.server.play
        with play._lock:
            play._open.discard(self.connection)
        super().finish()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.play._answer(self, SeenRequest(self.command, self.path, headers, body))

    do_GET = do_POST = _serve  # noqa: N815  names that the standard library looks up

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side may be faster
        connection.shutdown(socket.SHUT_RDWR)
