"""A program in a pseudo-terminal: what it shows, what is typed, and how it ends."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>])|\r")
PATIENCE = 30.0
"""Seconds; a program that is silent for so long hangs."""


class Terminal:
    """Runs ``agentfp`` as somebody at a terminal would.

    Args:
        arguments: of the command line.
        folder: where.
        env: further environment variables.
        program: what Python runs.
    """

    def __init__(
        self, arguments: Sequence[str], folder: Path, env: Mapping[str, str] | None = None, program: Sequence[str] = ("-m", "agentfp")
    ) -> None:
        own, theirs = pty.openpty()
        environ = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40", **(env or {})}
        self._process = subprocess.Popen(
            [sys.executable, *program, *arguments], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environ,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self._own = own
        self.raw = ""
        self._seen = 0

    @property
    def text(self) -> str:
        """All that was shown, without escape sequences."""
        return ESCAPES.sub("", self.raw)

    def expect(self, text: str) -> str:
        """Wait until a text is shown, after what was expected before; gives what was shown up to it."""
        until = time.monotonic() + PATIENCE
        while (found := self.text.find(text, self._seen)) < 0:
            if time.monotonic() > until or not self._read():
                raise AssertionError(f"{text!r} was not shown; what was:\n{self.text}")
        before = self.text[self._seen : found]
        self._seen = found + len(text)
        return before

    def send(self, line: str) -> None:
        """Type a line."""
        os.write(self._own, f"{line}\n".encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def wait(self) -> int:
        """Wait for the end; gives the exit code."""
        while self._read():
            pass
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        """End the program if it still runs, and let go of the terminal."""
        self._process.kill()
        self._process.wait(PATIENCE)
        os.close(self._own)

    def _read(self) -> bool:
        if not select.select([self._own], [], [], PATIENCE)[0]:
            self._process.kill()
            raise AssertionError(f"the program hangs; what was shown:\n{self.text}")
        try:
            data = os.read(self._own, 65_536)
        except OSError:  # the other end is closed
            return False
        self.raw += data.decode("utf-8", "replace")
        return bool(data)
