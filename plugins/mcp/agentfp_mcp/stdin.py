"""Standard input of a server, read without a thread: one that waits for a line cannot be cancelled, and would outlive Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio

_CHUNK = 65_536


@contextlib.contextmanager
def own_stdin() -> Iterator[Any]:
    """The lines of standard input; the tools of this process read nothing from it meanwhile.

    Yields:
        An asynchronous iterator of lines, or None where the SDK's own reader must do: for files, and on Windows.
    """
    if sys.platform == "win32" or not _is_stream(0):
        yield None
        return
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        yield _Lines(private)
    finally:
        os.dup2(private, 0)
        os.close(private)


def _is_stream(fd: int) -> bool:
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


class _Lines:
    """Lines of a pipe as they come."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def __aiter__(self) -> AsyncIterator[str]:
        pending = b""
        while True:
            await anyio.wait_readable(self._fd)
            chunk = os.read(self._fd, _CHUNK)
            if not chunk:
                break
            *lines, pending = (pending + chunk).split(b"\n") if b"\n" in chunk else (pending + chunk,)
            for line in lines:
                yield line.decode("utf-8", "replace") + "\n"
        if pending:
            yield pending.decode("utf-8", "replace")
