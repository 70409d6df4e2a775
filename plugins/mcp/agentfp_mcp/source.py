"""``mcp()``: a server whose tools an agent uses, in an agent's ``tools``; opened with each run, or once for many."""

from __future__ import annotations

import logging
import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypedDict

from agentfp import ConfigError, UsageError
from agentfp.plugin import Run, Tool, ToolContext, ToolSession, ToolSource, raw_tool
from agentfp_mcp.catalog import Catalog, Handler, Listing, cleaned
from agentfp_mcp.errors import McpError
from agentfp_mcp.results import Reader
from agentfp_mcp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import httpx2
    from typing_extensions import Unpack

    from agentfp_mcp.connection import Connection
    from agentfp_mcp.settings import Elicit, Era, Filter, OnChange, Vend

_log = logging.getLogger("agentfp.mcp")


class McpArguments(TypedDict, total=False):
    """What :func:`mcp` takes."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    cwd: str | Path
    stderr: str | Path
    url: str
    headers: Mapping[str, str]
    auth: httpx2.Auth | Vend
    name: str
    prefix: str
    filter: Filter
    approval: bool | Callable[..., Any]
    mutating: bool
    options: Mapping[str, Mapping[str, Any]]
    on_change: OnChange
    pins: str | Path
    resources: bool
    elicit: Elicit
    era: Era
    timeout: float
    start_timeout: float
    retry_on_throttle: bool
    max_result_chars: int
    max_message_bytes: int
    max_tools: int


def mcp(**arguments: Unpack[McpArguments]) -> McpServer:
    """A server whose tools an agent uses: ``Agent(..., tools=[mcp(command="uvx", args=["some-server"])])``.

    Args:
        command: the program of a server that is started for each run, and gone when the run ends or pauses.
        args: its arguments.
        env: variables of its environment; of ours it gets the harmless ones only (``PATH``, ``HOME`` and the like).
        cwd: its folder.
        stderr: ``ignore``, ``inherit``, or the path of a file for what it writes there.
        url: the address of a server that runs.
        headers: headers of every request.
        auth: an ``httpx2.Auth``, or a function, sync or async, that gives headers for each request; they win over ``headers``.
        name: what the server is called on tools (``tool.source``) and in messages; made of command or address when left out.
        prefix: put before the names of its tools.
        filter: patterns of tools that are wanted (``["read_*"]``), or a function of the server's name of a tool.
        approval: a person decides on each call: True, or a function of context and arguments.
        mutating: whether its tools change something; when left out, those do that are not said to be read only.
        options: by the server's name of a tool: ``approval``, ``mutating``, ``idempotent``, ``timeout``, ``result_ceiling``,
            ``repeated_when``, ``metadata``.
        on_change: a tool that is not as it was at first sight is left out (``refuse``), a person decides on each call of it
            (``ask``), or it is taken as it is (``accept``).
        pins: a file in which first sights are kept; as long as the process lives when left out.
        resources: add two tools, for listing and reading the server's resources.
        elicit: is handed what the server asks a person (:class:`Elicitation`); gives the answers, or None to decline. Without
            it the server is told that nobody can be asked.
        era: which protocol to speak: ``2026-07-28``, ``2025-11-25`` (or an older one that the server knows), or ``auto``.
        timeout: seconds for one call.
        start_timeout: seconds in which it must be up and answer.
        retry_on_throttle: send a request again that was answered 429: at most three times and ten seconds.
        max_result_chars: characters of a result; what is beyond is cut, and the result says so.
        max_message_bytes: bytes of one message of the server; a longer one ends the session.
        max_tools: tools that are taken.

    Raises:
        ConfigError: arguments do not go together; all problems at once.
    """
    known = set(Settings.__dataclass_fields__)
    unknown = [name for name in arguments if name not in known]
    if unknown:
        from agentfp.plugin import nearest

        raise ConfigError([f"mcp has no argument {name!r}; {nearest(name, known)}" for name in unknown])
    given: dict[str, Any] = dict(arguments)
    if isinstance(given.get("args"), (list, tuple)):
        given["args"] = tuple(given["args"])
    return McpServer(Settings(**given))


def from_text(text: str) -> McpServer:
    """The server that ``mcp:...`` in a file's ``tools`` stands for: a command line, or an address.

    Args:
        text: what stands after ``mcp:``.

    Raises:
        ConfigError: it is neither.
    """
    text = text.strip()
    if text.startswith(("http://", "https://")):
        return mcp(url=text)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"mcp: the command line cannot be read: {error}") from error
    if not words:
        raise ConfigError('mcp: nothing stands after "mcp:"; write "mcp:uvx some-server" or "mcp:https://host/mcp"')
    return mcp(command=words[0], args=words[1:])


class McpServer(ToolSource):
    """A server of tools. Made by :func:`mcp`.

    In an agent's ``tools`` it is opened with each run. As an async context manager it is opened once, and shared by all runs
    that go on meanwhile.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.name = settings.name
        self._catalog = Catalog(settings)
        self._shared: _Session | None = None
        self._entered: AbstractAsyncContextManager[_Session] | None = None

    def __repr__(self) -> str:
        return f"<mcp server {self.name!r} ({self.settings.place})>"

    def open(self, run: Run[Any]) -> AbstractAsyncContextManager[ToolSession]:
        """A session for one leg of a run."""
        for secret in self.settings.secrets:
            run.mask_value(secret)
        return self._for_run(run)

    @asynccontextmanager
    async def _for_run(self, run: Run[Any]) -> AsyncIterator[ToolSession]:
        features = run.model.features
        tell = _teller(run, self.name)
        if self._shared is not None:
            if not self._shared.connection.here:
                raise UsageError(f"{self!r} was opened in another event loop; open it in the one in which the agent runs")
            yield _Session(self._catalog, self._shared.connection, features.images, features.documents, tell)
            return
        from agentfp_mcp.connection import connection

        async with connection(self.settings) as made:
            yield _Session(self._catalog, made, features.images, features.documents, tell)

    # --- shared over runs ---

    async def __aenter__(self) -> McpServer:
        """Open the server now, for all runs until the end of the block.

        Raises:
            McpStartError: it cannot be started or reached.
            UsageError: it is open.
        """
        if self._entered is not None:
            raise UsageError(f"{self!r} is open already; make another one with mcp(...)")
        self._entered = self._opened()
        try:
            self._shared = await self._entered.__aenter__()
        except BaseException:
            self._entered = None
            raise
        return self

    async def __aexit__(self, *exception: Any) -> None:
        """Close the server."""
        entered, self._entered = self._entered, None
        try:
            if entered is not None:
                await entered.__aexit__(*exception)
        finally:
            self._shared = None

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[_Session]:
        from agentfp_mcp.connection import connection

        async with connection(self.settings) as made:
            await made.open()
            yield _Session(self._catalog, made, True, True, _log_teller(self.name))

    async def tools(self) -> Sequence[Tool[..., Any]]:
        """The tools of the open server; cached until it says that they changed.

        Raises:
            McpError: they cannot be had; of the kind ``McpClosedError`` after :meth:`close`.
            UsageError: the server is not open.
        """
        return await self._open_session().tools()

    async def refresh(self) -> Sequence[Tool[..., Any]]:
        """The tools of the open server, asked for anew."""
        session = self._open_session()
        session.connection.changes += 1
        return await session.tools()

    async def left_out(self) -> Mapping[str, str]:
        """By the server's own names, the tools that are not offered, and why."""
        session = self._open_session()
        await session.tools()
        return session.listing.left_out

    async def close(self) -> None:
        """Close the open server before the end of its block; idempotent. Calls of its tools raise after that."""
        if self._shared is not None:
            await self._shared.connection.close()

    def _open_session(self) -> _Session:
        if self._shared is None:
            raise UsageError(f"{self!r} is not open; use it in `async with mcp(...) as server:`")
        self._shared.connection.check()
        return self._shared


class _Session:
    """The tools of a connection, for one leg of a run or for whoever shares the server."""

    def __init__(self, catalog: Catalog, connection: Connection, images: bool, documents: bool, tell: Callable[[str, str], None]) -> None:
        self.connection = connection
        self.listing = Listing((), {})
        self._catalog = catalog
        self._reader = Reader(connection.settings, images=images, documents=documents)
        self._tell = tell
        self._names: dict[str, str] = {}
        self._described: list[dict[str, Any]] | None = None
        self._changes = -1

    async def tools(self) -> Sequence[Tool[..., Any]]:
        """The tools; the same object as before where nothing changed.

        Raises:
            McpError: they cannot be had, and were not had before.
        """
        first = self._described is None
        if first:
            await self.connection.open()
        elif self._changes == self.connection.changes or not self.connection.live:
            return self.listing.tools
        self._changes = self.connection.changes
        try:
            described = await self.connection.described()
        except McpError as error:
            if first:
                raise
            self._tell("its tools", f"they changed, and cannot be had: {error.detail}")
            return self.listing.tools
        if described != self._described:
            self._described = described
            self._take(self._catalog.listing(described, self._names, self._handler))
        return self.listing.tools

    def _take(self, listing: Listing) -> None:
        for name, why in listing.left_out.items():
            if self.listing.left_out.get(name) != why:
                self._tell(name, why)
        extra = self._resource_tools() if self.connection.settings.resources and self.connection.has_resources else ()
        self.listing = Listing((*listing.tools, *extra), listing.left_out)

    def _handler(self, name: str) -> Handler:
        async def call(ctx: ToolContext[Any], arguments: dict[str, Any]) -> Any:
            given = arguments if isinstance(arguments, dict) else {}
            raw = await self.connection.call_tool(name, given, ctx.progress)
            return self._reader.result(name, raw)

        return call

    def _resource_tools(self) -> tuple[Tool[..., Any], ...]:
        settings = self.connection.settings

        async def list_resources(_ctx: Any, _arguments: dict[str, Any]) -> Any:
            found = await self.connection.list_resources()
            wanted = ("uri", "name", "description", "mimeType")
            return [{key: cleaned(item[key], 500) for key in wanted if item.get(key)} for item in found]

        async def read_resource(_ctx: Any, arguments: dict[str, Any]) -> Any:
            uri = arguments["uri"]
            return self._reader.contents(uri, await self.connection.read_resource(uri))

        uri = {"type": "string", "description": "The resource's address, as it is listed."}
        parameters = {"type": "object", "properties": {"uri": uri}, "required": ["uri"], "additionalProperties": False}
        facts: dict[str, Any] = {"source": settings.name, "approval": settings.approval}
        about = f"of the server {settings.name}"
        return (
            raw_tool(f"{settings.prefix}list_resources", f"List the resources {about}.", None, list_resources, **facts),
            raw_tool(f"{settings.prefix}read_resource", f"Read a resource {about}.", parameters, read_resource, **facts),
        )


def _teller(run: Run[Any], server: str) -> Callable[[str, str], None]:
    """Puts on a run's record which tools are not offered, and why."""

    def tell(tool: str, why: str) -> None:
        run.emit_app("mcp.tool.left_out", {"server": server, "tool": cleaned(tool, 200), "reason": why})

    return tell


def _log_teller(server: str) -> Callable[[str, str], None]:
    def tell(tool: str, why: str) -> None:
        _log.warning("mcp server %r: tool %r is not offered: %s", server, cleaned(tool, 200), why)

    return tell
