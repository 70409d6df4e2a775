"""Starts a server and speaks with it over its stdin and stdout, one JSON message a line.

The SDK's own transport reads lines of any length and logs what it cannot read. A server may be hostile here: lines are bounded,
what is no message is counted and dropped, and the whole process group is gone when the session ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from agentfp_mcp.errors import McpStartError

if TYPE_CHECKING:
    from anyio.abc import Process
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from agentfp_mcp.settings import Settings

GRACE_SECONDS = 2.0
"""How long a server may take to end by itself when its stdin is closed, and again when it is asked to."""
_POLL_SECONDS = 0.01
_ID = re.compile(rb'"id"\s*:\s*(?:(\d{1,18})|"([^"]{1,100})")')


class Fault:
    """What a transport saw go wrong, for the error of the call that was waiting."""

    def __init__(self) -> None:
        self.text = ""
        self.garbage = 0
        self.over = False

    def __str__(self) -> str:
        wrote = f"it wrote {self.garbage} lines to stdout that are no messages" if self.garbage else ""
        return "; ".join(filter(None, (self.text, wrote)))


@asynccontextmanager
async def stdio_transport(settings: Settings, fault: Fault) -> AsyncIterator[tuple[Any, Any]]:
    """A server's process as the two streams of a session.

    Args:
        settings: what to start.
        fault: is told what the server did wrong.

    Raises:
        McpStartError: the program cannot be started.
    """
    with contextlib.ExitStack() as files:
        process = await _start(settings, files)
        incoming_send, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, outgoing_receive = anyio.create_memory_object_stream[SessionMessage](0)
        written = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process, incoming_send, settings.max_message_bytes, fault)
            tasks.start_soon(_write, process, outgoing_receive, incoming_send, written)
            try:
                yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    incoming.close()
                    outgoing.close()
                    with anyio.move_on_after(0.5):
                        await written.wait()
                    await _stop(process)
                tasks.cancel_scope.cancel()


async def _start(settings: Settings, files: contextlib.ExitStack) -> Process:
    stderr: Any = {"ignore": subprocess.DEVNULL, "inherit": None}.get(str(settings.stderr), settings.stderr)
    try:
        if isinstance(stderr, (str, os.PathLike)):
            stderr = files.enter_context(open(stderr, "ab"))  # noqa: SIM115, ASYNC230, PTH123 - closed by the stack
        return await anyio.open_process(
            [settings.command or "", *settings.args],
            env={**get_default_environment(), **settings.env},
            cwd=settings.cwd,
            stderr=stderr,
            start_new_session=sys.platform != "win32",
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        msg = f"The server {settings.name} could not be started."
        detail = f"mcp server {settings.name!r}: {settings.place!r} cannot be started: {why}; is it installed and on the path?"
        raise McpStartError(msg, detail=detail) from None  # its text may hold the whole command line


async def _read(process: Process, to: MemoryObjectSendStream[SessionMessage | Exception], limit: int, fault: Fault) -> None:
    assert process.stdout is not None
    lines = BufferedByteReceiveStream(process.stdout)
    async with to:
        while not fault.over:
            try:
                line = await lines.receive_until(b"\n", limit)
            except anyio.DelimiterNotFound:
                fault.text = f"it sent a message of more than {limit} bytes"
                fault.over = True
                return
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                fault.text = fault.text or "its process ended"
                fault.over = True
                return
            message = _message(line)
            if message is None:
                fault.garbage += bool(line.strip())
                continue
            try:
                await to.send(SessionMessage(message))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return


def _message(line: bytes) -> JSONRPCMessage | None:
    """The message in a line; an error in the place of an answer that cannot be read, for somebody waits for it."""
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        found = _ID.search(line) if line.lstrip().startswith(b"{") and b'"method"' not in line[:200] else None
        if found is None:
            return None
        key = int(found[1]) if found[1] else found[2].decode("utf-8", "replace")
        return JSONRPCError(jsonrpc="2.0", id=key, error=ErrorData(code=PARSE_ERROR, message="it sent an answer that cannot be read"))


async def _write(
    process: Process,
    messages: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    written: anyio.Event,
) -> None:
    assert process.stdin is not None
    try:
        async with messages:
            async for message in messages:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(text.encode("utf-8", "surrogatepass") + b"\n")
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        await incoming.aclose()  # who waits for an answer must hear that none will come
    finally:
        written.set()


async def _stop(process: Process) -> None:
    """Let the server end by itself, then ask it, then kill it; its children with it."""
    assert process.stdin is not None
    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    if not await _ended(process, GRACE_SECONDS):
        _signal(process, hard=False)
        await _ended(process, GRACE_SECONDS)
    _signal(process, hard=True)  # children may have outlived it
    await _ended(process, GRACE_SECONDS)
    for stream in (process.stdout, process.stdin):
        if stream is not None:
            with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await stream.aclose()
    # A grandchild that keeps the pipes open would keep asyncio's transport open too.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with contextlib.suppress(PermissionError):
            transport.close()


async def _ended(process: Process, seconds: float) -> bool:
    """Whether the process ends in time. Looked at, not waited for: asyncio's wait also waits for the ends of all pipes."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:  # noqa: ASYNC110 - nothing tells of it
            await anyio.sleep(_POLL_SECONDS)
    return process.returncode is not None


def _signal(process: Process, *, hard: bool) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill() if hard else process.terminate()
        else:
            import signal

            os.killpg(process.pid, signal.SIGKILL if hard else signal.SIGTERM)
