"""The server behind the page: reads from the library, writes nothing, tells when a run goes on."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.to_thread
import pydantic_core
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from agentfp_viewer.access import Guard, new_token
from agentfp_viewer.bundle import head, tail
from agentfp_viewer.library import Library
from agentfp_viewer.receipts import verified
from agentfp_viewer.recording import NoRecordingError, Recording
from agentfp_viewer.thread import Thread
from agentfp_viewer.views import changes

LOOK = 0.25
"""Seconds between two looks at a file that a page follows."""
PING = 15.0
"""Seconds after which a silent stream says that it is still there."""
_COUNTS = ("rev", "rows", "messages", "blobs", "served")


class Json(Response):
    """JSON data, written fast and without a way into markup."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The data as bytes."""
        return pydantic_core.to_json(content, inf_nan_mode="null")


class _Routes:
    """The answers.

    Args:
        library: the files.
        stopping: whether the server is about to end.
    """

    def __init__(self, library: Library, stopping: Callable[[], bool]) -> None:
        self._library = library
        self._stopping = stopping

    def page(self, request: Request) -> Response:
        boot = {"mode": "serve", "folder": self._library.is_folder, "name": self._library.path.name}
        return HTMLResponse(head(f"{self._library.path.name} · agentfp view", boot, connect=True) + tail())

    def runs(self, request: Request) -> Response:
        return Json(self._library.list())

    def _of(self, request: Request) -> tuple[Recording, Thread]:
        recording = self._library.open(request.path_params["run"])
        key = request.query_params.get("thread") or next(iter(recording.threads))
        return recording, recording.thread(key)

    def changes(self, request: Request) -> Response:
        recording, _ = self._of(request)
        recording.refresh()
        asked = request.query_params
        same = asked.get("generation", str(recording.generation)) == str(recording.generation)
        known = {name: _number(asked.get(name)) for name in _COUNTS} if same else {}  # of another file all is news
        return Json(changes(recording, self._of(request)[1], known))

    def events(self, request: Request) -> Response:
        recording, thread = self._of(request)
        asked = request.query_params
        if "seqs" in asked:
            indices = [at for seq in asked["seqs"].split(",") if (at := thread.index_of(_number(seq))) is not None]
            return Json(list(recording.events(thread, iter(indices))))
        return Json(list(recording.events(thread, thread.between(_number(asked.get("from")), _number(asked.get("to"))))))

    def event(self, request: Request) -> Response:
        recording, thread = self._of(request)
        found = recording.event(thread, _number(request.path_params["seq"]))
        if found is None:
            return PlainTextResponse("there is no such event\n", 404)
        named = f'attachment; filename="event-{request.path_params["seq"]}.json"'
        return Response(found, media_type="application/octet-stream", headers={"Content-Disposition": named})

    def search(self, request: Request) -> Response:
        recording, thread = self._of(request)
        text = request.query_params.get("q", "")
        return Json(list(recording.search(text, thread)) if text.strip() else [])

    def receipts(self, request: Request) -> Response:
        recording, thread = self._of(request)
        return Json(verified(recording, thread))

    async def follow(self, request: Request) -> Response:
        recording = await anyio.to_thread.run_sync(self._library.open, request.path_params["run"])
        return StreamingResponse(self._news(recording), media_type="text/event-stream")

    async def _news(self, recording: Recording) -> AsyncIterator[bytes]:
        yield b": here\n\n"
        silent = 0.0
        while not self._stopping():
            await anyio.sleep(LOOK)
            silent += LOOK
            if await anyio.to_thread.run_sync(recording.refresh):
                yield b"data: news\n\n"
                silent = 0.0
            elif silent >= PING:
                yield b": here\n\n"
                silent = 0.0


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else 0


def _missing(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse("there is no such run\n", 404)


def _unreadable(_request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 422)


def make_app(library: Library, token: str, port: int, stopping: Callable[[], bool] = lambda: False) -> Guard:
    """The application.

    Args:
        library: the files that it shows.
        token: the first part of every path.
        port: that it is reached at.
        stopping: whether streams should end.
    """
    routes = _Routes(library, stopping)
    run = "/api/run/{run}"
    inner = [
        Route("/", routes.page),
        Route("/api/runs", routes.runs),
        Route(f"{run}/changes", routes.changes),
        Route(f"{run}/events", routes.events),
        Route(f"{run}/event/{{seq}}", routes.event),
        Route(f"{run}/search", routes.search),
        Route(f"{run}/receipts", routes.receipts),
        Route(f"{run}/follow", routes.follow),
    ]
    app = Starlette(
        routes=[Mount(f"/{token}", routes=inner)],
        exception_handlers={KeyError: _missing, NoRecordingError: _unreadable, OSError: _unreadable},
    )
    return Guard(app, token, port)


class Server:
    """Serves a library on this machine only.

    Args:
        library: the files.
        port: 0 for any that is free.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, library: Library, port: int = 0) -> None:
        self._socket = socket.socket()
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(("127.0.0.1", port))
            self._socket.listen(128)  # who asks before it serves waits, and is not refused
        except OSError:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        token = new_token()
        self.url = f"http://127.0.0.1:{self.port}/{token}/"
        app = make_app(library, token, self.port, lambda: self._server.should_exit)
        config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", timeout_graceful_shutdown=2, server_header=False)
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until it is interrupted or stopped."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Have it end soon; for another thread."""
        self._server.should_exit = True

    @property
    def started(self) -> bool:
        """Whether it answers."""
        return self._server.started
