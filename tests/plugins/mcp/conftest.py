"""The peers of these tests: servers written for them, and npm packages on the Node of a wheel."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentfp_mcp import McpServer, mcp
from tests.node import NODE
from tests.node import npm_packages as node_packages

HERE = Path(__file__).parent


PACKAGES = {"@modelcontextprotocol/conformance": "0.1.16", "@modelcontextprotocol/server-everything": "2026.8.31"}


@pytest.fixture(scope="session")
def node() -> Path:
    """Node 24 or newer."""
    return NODE


@pytest.fixture(scope="session")
def npm_packages() -> Path:
    """The folder in which the packages are installed; installs them where they are not."""
    return node_packages(**PACKAGES) / "@modelcontextprotocol"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a peer writes what it is sent."""
    return tmp_path / "peer.log"


@pytest.fixture
def hostile(log: Path) -> Callable[..., McpServer]:
    """Makes a source of the hostile server in one of its modes."""

    def make(mode: str, *more: str, **settings: Any) -> McpServer:
        settings.setdefault("name", "hostile")
        return mcp(command=sys.executable, args=[str(HERE / "peers" / "hostile.py"), mode, str(log), *more], **settings)

    return make


@pytest.fixture
def modern(log: Path) -> Callable[..., McpServer]:
    """Makes a source of the server made with the SDK."""

    def make(**settings: Any) -> McpServer:
        settings.setdefault("name", "modern")
        return mcp(command=sys.executable, args=[str(HERE / "peers" / "modern.py"), "-", str(log)], **settings)

    return make


@pytest.fixture
def web() -> Iterator[Callable[[Any], str]]:
    """Serves an ASGI app in a thread of its own, so that clients may run on any event loop; gives its address."""
    import uvicorn

    class Quiet(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Any:
            yield

    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(app: Any) -> str:
        server = Quiet(uvicorn.Config(app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        running.append((server, thread))
        while not server.started:
            thread.join(0.01)
            assert thread.is_alive(), "the server did not start"
        return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(10)
