"""Chromium, driven: started once for the tests of a file, watched for errors of the page and for requests to anywhere else."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from agentfp_viewer import Library, Server
from scripts.browser import found

MISSING = (
    "these tests drive a real browser, and there is no Chromium on this machine. On Debian: "
    "apt-get install -y --no-install-recommends chromium; elsewhere name one with AGENTFP_CHROMIUM=/path/to/chromium"
)
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium_path() -> str:
    """Where the browser is.

    Raises:
        AssertionError: there is none; says what to install.
    """
    path = found()
    assert path is not None, MISSING
    return path


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser."""
    path = chromium_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """Pages of one test; :meth:`check` says that none of them erred or asked for anything from elsewhere.

    Args:
        browser: the browser.
    """

    def __init__(self, browser: Browser) -> None:
        self._context = browser.new_context(viewport={"width": 1400, "height": 860}, reduced_motion="reduce")
        self.errors: list[str] = []
        self.requests: list[str] = []

    def open(self, url: str, *, ready: str = ".rows .row, .runs, .wrong") -> Page:
        """Open a page and wait until there is something to see."""
        page = self._context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._heard)
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(url)
        page.wait_for_selector(ready)
        return page

    def _heard(self, message: ConsoleMessage) -> None:
        ended = "ERR_CONNECTION_REFUSED" in message.text or message.location["url"].endswith("/follow")  # it outlives its server
        if message.type in ("error", "warning") and not ended:
            self.errors.append(message.text)

    def check(self) -> None:
        """Nothing went wrong and nothing was asked for elsewhere."""
        self._context.close()
        assert not self.errors, self.errors
        elsewhere = [url for url in self.requests if urlsplit(url).scheme not in ("file", "data") and urlsplit(url).hostname != "127.0.0.1"]
        assert not elsewhere, elsewhere


@contextlib.contextmanager
def serving(path: Path) -> Iterator[str]:
    """A server on a file or folder; gives its address."""
    library = Library(path)
    server = Server(library)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until = time.monotonic() + 10
        while not server.started:
            assert time.monotonic() < until, "the server does not start"
            time.sleep(0.01)
        yield server.url
    finally:
        server.stop()
        thread.join(10)
        library.close()
    assert not thread.is_alive()
