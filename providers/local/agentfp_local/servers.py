"""The servers of this process: one for each file and its settings, started when first used, gone when the process is.

A server is a process of its own. What crashes in native code must not take the user's program along, and a call that is
cancelled must stop decoding at once, which closing its connection does.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from agentfp.model import ModelConnectionError, ModelTimeoutError

START_SECONDS = 300.0
"""What loading a model may take."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What makes a server the one that a model needs.

    Args:
        file: the GGUF file.
        name: the model's name, for errors.
        context: tokens that a request and its reply may have together.
        threads: that decode.
        chat_template: a Jinja template in place of the file's own.
    """

    file: Path
    name: str = field(compare=False)
    context: int
    threads: int
    chat_template: str | None


class LlamaServer:
    """A running server.

    Args:
        options: what it serves, and how.

    Raises:
        ModelConnectionError: it did not start; says why.
    """

    def __init__(self, options: ServerOptions) -> None:
        self.key = secrets.token_hex(16)  # other users of this machine reach loopback, too
        self._owner = os.getpid()
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the process
        self._process = _spawn(self._log)
        try:
            self.url: str = self._start(options)
        except BaseException:
            self.close()
            raise

    def _start(self, options: ServerOptions) -> str:
        wanted = {
            "sys_path": [str(Path(entry or ".").resolve()) for entry in sys.path],
            "file": str(options.file),
            "alias": options.name,
            "context": options.context,
            "threads": options.threads,
            "chat_template": options.chat_template,
            "key": self.key,
        }
        said = b""
        late = threading.Timer(START_SECONDS, self._process.kill)
        late.start()
        try:
            with contextlib.suppress(BrokenPipeError):  # it ended already; its log says why
                _pipe(self._process.stdin).write(json.dumps(wanted).encode() + b"\n")
                _pipe(self._process.stdin).flush()
            said = _pipe(self._process.stdout).readline()
        finally:
            timed_out = late.finished.is_set()
            late.cancel()
        if said:
            url: str = json.loads(said)["url"]
            return url
        kind = ModelTimeoutError if timed_out else ModelConnectionError
        what = f"it did not load within {START_SECONDS:g} s" if timed_out else self._last_words()
        msg = f"the local model {options.name!r} could not be started from {str(options.file)!r}: {what}"
        raise kind(msg, provider="local", model=options.name)

    def _last_words(self) -> str:
        """What the server logged as errors before it ended."""
        self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").splitlines()
        errors = [line.split(" E ", 1)[1].strip() for line in lines if " E " in line]
        errors = errors or [line.strip() for line in lines if line.strip()][-1:]
        reason = "; ".join(dict.fromkeys(errors)) or f"exit code {self._process.returncode}"
        return f"{reason[:600]}. Is the file whole, and is there memory for it and the context?"

    @property
    def ended(self) -> int | None:
        """Exit code of a server that has ended (negative: a signal); None while it runs."""
        if os.getpid() != self._owner:
            return None  # a forked process cannot ask, but it can use the server
        return self._process.poll()

    @property
    def pid(self) -> int:
        """Id of the server's process."""
        return self._process.pid

    def close(self) -> None:
        """End the server."""
        if os.getpid() != self._owner:
            return
        with contextlib.suppress(OSError):
            _pipe(self._process.stdin).close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()
        self._log.close()


def _spawn(log: IO[bytes]) -> subprocess.Popen[bytes]:
    own_group: dict[str, Any] = {"start_new_session": True}
    if os.name == "nt":  # a group of its own there, too, and no window
        own_group = {"creationflags": 0x00000200 | 0x08000000}
    script = str(Path(__file__).with_name("child.py"))
    return subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, **own_group)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


# Models of one file share one server, whoever made them: the memory is the process's, so the table of it is, too.
_RUNNING: dict[ServerOptions, LlamaServer] = {}
_LOCK = threading.Lock()


def server_for(options: ServerOptions) -> LlamaServer:
    """The running server for these options; blocks while it starts.

    Args:
        options: what it serves, and how.

    Raises:
        ModelConnectionError: it cannot be started; says why.
    """
    with _LOCK:
        server = _RUNNING.get(options)
        if server is not None and server.ended is not None:
            del _RUNNING[options]
            server.close()
            server = None
        if server is None:
            server = _RUNNING[options] = LlamaServer(options)
        return server


def shutdown() -> None:
    """End all servers of this process; they also end with it. The next call of a model starts one anew."""
    with _LOCK:
        servers = list(_RUNNING.values())
        _RUNNING.clear()
    for server in servers:
        server.close()


atexit.register(shutdown)


def _after_fork() -> None:
    """A thread that held the lock is not there in a forked process."""
    global _LOCK
    _LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
