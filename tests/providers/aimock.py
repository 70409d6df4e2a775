"""A peer that speaks the wire formats of model providers: npm's `@copilotkit/aimock`, installed into `.venv/node` and run as a process.

def test_it(aimock: Aimock) -> None:            # the fixture of conftest.py: one process a session, empty for each test
    aimock.answers({"match": {"userMessage": "hello"}, "response": {"content": "Hi."}})
    model = resolve_model("acme:m", settings={"base_url": aimock.url, "api_key": "k"})
    ...
    aimock.bodies()                             # what it was sent, oldest first
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.node import NODE, npm_packages

PACKAGE = "@copilotkit/aimock"
VERSION = "1.43.0"


class Aimock:
    """A running server.

    Args:
        url: where it listens, without a path.
        client: for its control interface.
    """

    def __init__(self, url: str, client: httpx.Client) -> None:
        self.url = url
        self._client = client

    def answers(self, *fixtures: dict[str, Any]) -> None:
        """Add what it answers, the first match first: ``{"match": {...}, "response": {...}}`` as aimock's guide describes."""
        self._control("POST", "fixtures", {"fixtures": list(fixtures)})

    def chaos(self, **rates: float) -> None:
        """Let calls fail: ``dropRate`` (500), ``malformedRate``, ``disconnectRate``, ``rateLimitRate``, each from 0 to 1."""
        self._control("POST", "chaos", rates)

    def journal(self) -> list[dict[str, Any]]:
        """What it was asked since the last reset, oldest first: ``method``, ``path``, ``headers``, ``body``, ``response``."""
        entries: list[dict[str, Any]] = self._control("GET", "journal")
        return entries

    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of what it was asked, oldest first, in the form of Chat Completions; of one above 64 KB a note that it was."""
        return [entry["body"] for entry in self.journal()]

    def reset(self) -> None:
        """Forget fixtures, chaos and journal."""
        self._control("DELETE", "chaos")
        self._control("POST", "reset")

    def _control(self, method: str, what: str, data: Any = None) -> Any:
        reply = self._client.request(method, f"{self.url}/__aimock/{what}", json=data)
        assert reply.is_success, f"aimock refused {method} {what}: {reply.text}"
        return reply.json() if reply.content else None


@contextlib.contextmanager
def running(log: Path, *options: str) -> Iterator[Aimock]:
    """A server of its own process.

    Args:
        log: file for what it prints.
        options: further ones of its command line.
    """
    script = npm_packages(**{PACKAGE: VERSION}) / PACKAGE / "dist" / "cli.js"
    none = log.with_name("no_fixtures.json")
    none.write_text(json.dumps({"fixtures": []}), encoding="utf-8")
    command = [str(NODE), str(script), "--port", "0", "--fixtures", str(none), *options]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as process:
        try:
            url = _listening(process, log)
            with httpx.Client(trust_env=False, timeout=10) as client:
                yield Aimock(url, client)
        finally:
            process.terminate()
            process.wait(10)


def _listening(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"listening on (http://\S+)", log.read_text(encoding="utf-8"))
        if found is not None:
            return found[1]
        time.sleep(0.02)
    raise AssertionError(f"aimock did not start:\n{log.read_text(encoding='utf-8')}")
