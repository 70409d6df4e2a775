"""The task in which one session with a server lives: opens it, keeps it until it is told to stop or breaks, closes it.

The SDK's task groups must be left where they were entered, and one that fails cancels whoever entered it. So a session has a
task that does nothing else; it is shielded from the caller's cancellation, so that a cancelled call can still tell the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp.types as wire
from mcp import Client, MCPError
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from agentfp_mcp.catalog import cleaned
from agentfp_mcp.eliciting import responder
from agentfp_mcp.stdio import Fault, stdio_transport

if TYPE_CHECKING:
    from agentfp_mcp.connection import Connection

CLOSE_SECONDS = 5.0
"""How long a session may take to say goodbye; after that it is broken off. A process is killed by then in any case."""


class Held:
    """The task in which one session of a connection lives."""

    def __init__(self, owner: Connection) -> None:
        self.client: Client | None = None
        self.error: BaseException | None = None
        self.fault = Fault()
        self.ready = anyio.Event()
        self.done = anyio.Event()
        self._owner = owner
        self._stop = anyio.Event()
        self._scope = anyio.CancelScope(shield=True)

    async def live(self) -> None:
        """Open the session, keep it until it is told to stop or breaks, close it."""
        try:
            with self._scope:
                async with self._client() as client, anyio.create_task_group() as tasks:
                    era = self._owner.settings.era
                    if era != "auto" and (client.protocol_version in MODERN_PROTOCOL_VERSIONS) != (era in MODERN_PROTOCOL_VERSIONS):
                        raise _WrongEra(client.protocol_version)
                    self.client = client
                    if _tells_of_changes(client):
                        tasks.start_soon(self._listen, client)
                    self.ready.set()
                    await self._stop.wait()
                    tasks.cancel_scope.cancel()
        except Exception as error:  # a group of them too; whoever waits for an answer is told
            self.error = _first(error)
        finally:
            self.ready.set()
            self.done.set()

    async def end(self) -> None:
        """Close the session and wait until nothing of it is left."""
        self._stop.set()
        with anyio.CancelScope(shield=True):
            if self.client is None:
                self._scope.cancel()
            with anyio.move_on_after(CLOSE_SECONDS):
                await self.done.wait()
            self._scope.cancel()
            await self.done.wait()

    def _client(self) -> Client:
        settings = self._owner.settings
        if settings.command is not None:
            transport: Any = stdio_transport(settings, self.fault)
        else:
            from agentfp_mcp.http import http_transport

            transport = http_transport(settings, self.fault)
        return Client(
            transport,
            client_info=wire.Implementation(name="agentfp", version="0.1.0"),
            mode="legacy" if settings.era == "2025-11-25" else "auto",
            read_timeout_seconds=settings.timeout,
            message_handler=self._heard,
            elicitation_callback=None if settings.elicit is None else responder(settings.name, settings.elicit),
            cache=None,
        )

    async def _heard(self, message: Any) -> None:
        if isinstance(message, wire.ToolListChangedNotification):
            self._owner.changes += 1

    async def _listen(self, client: Client) -> None:
        """On the newer protocol a client must ask to be told of changes."""
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._owner.changes += 1
        except Exception:  # a server that does not serve it is asked for its tools no more than once
            return


class _WrongEra(Exception):
    pass


def _tells_of_changes(client: Client) -> bool:
    tools = client.server_capabilities.tools
    return client.protocol_version in MODERN_PROTOCOL_VERSIONS and tools is not None and bool(tools.list_changed)


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def say_why(fault: Fault, error: BaseException | None) -> str:
    """Why a session ended, in words without anything that came over the wire but a server's own error."""
    if isinstance(error, _WrongEra):
        return f"it speaks {error}, and era asks for another protocol"
    if str(fault):
        return str(fault)
    if isinstance(error, MCPError):
        return cleaned(error.error.message, 300)
    return "" if error is None else type(error).__name__
