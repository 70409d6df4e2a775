"""``serve()``: an agent's tools, or the agent itself, for MCP clients, over stdin and stdout or over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import ipaddress
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import anyio

from agentfp import Agent, ConfigError, UsageError
from agentfp.plugin import Identity
from agentfp_mcp.offering import Offer, choose, of_tools

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

Verify: TypeAlias = "Callable[[str], Identity | Awaitable[Identity | None] | None]"
"""From a bearer token to who it is; None for a token that is not good."""
_Runner: TypeAlias = Callable[[anyio.Event], Awaitable[None]]
_log = logging.getLogger("agentfp.mcp")


@dataclass(frozen=True, kw_only=True)
class _How:
    transport: Literal["stdio", "http"]
    host: str
    port: int
    path: str
    verify: Verify | None = field(repr=False)
    public: bool
    allowed_hosts: tuple[str, ...]

    def __post_init__(self) -> None:
        problems: list[str] = []
        if self.transport not in ("stdio", "http"):
            problems.append(f"transport is 'stdio' or 'http', got {self.transport!r}")
        if isinstance(self.port, bool) or not isinstance(self.port, int) or not 0 <= self.port <= 65_535:
            problems.append(f"port takes a number from 0 (any) to 65535, got {self.port!r}")
        if not isinstance(self.path, str) or not self.path.startswith("/"):
            problems.append(f"path takes a text that begins with '/', got {self.path!r}")
        if self.transport == "http" and not _is_loopback(self.host) and self.verify is None and not self.public:
            problems.append(
                f"host {self.host!r} can be reached from elsewhere, and anybody could call the tools; "
                "pass verify= to check bearer tokens, or public=True if that is meant"
            )
        if problems:
            raise ConfigError([f"mcp: {problem}" for problem in problems])


class Serving:
    """What is being served.

    Attributes:
        tool_names: the tools, as clients see them.
        address: where clients reach it; there is none on stdio.
        port: the port; there is none on stdio.
    """

    tool_names: tuple[str, ...]
    address: str
    port: int

    def __init__(self, tool_names: Iterable[str]) -> None:
        self.tool_names = tuple(tool_names)
        self._stop = anyio.Event()
        self._done = anyio.Event()

    async def wait(self) -> None:
        """Wait until it ends: on stdio when the client goes away, else when it is closed."""
        await self._done.wait()

    async def close(self) -> None:
        """End it; idempotent. Calls that are going on are cancelled."""
        self._stop.set()
        await self._done.wait()

    def __repr__(self) -> str:
        return f"<serving {len(self.tool_names)} tools {getattr(self, 'address', 'on stdio')}>"


@asynccontextmanager
async def serve(
    what: Agent[Any, Any] | Iterable[Any],
    *,
    name: str | None = None,
    version: str = "0.1.0",
    tools: Sequence[str] | None = None,
    as_agent: bool = False,
    tool_name: str | None = None,
    description: str | None = None,
    approvals: Literal["refuse", "elicit"] = "refuse",
    deps: Any = None,
    transport: Literal["stdio", "http"] = "stdio",
    host: str = "127.0.0.1",
    port: int = 0,
    path: str = "/mcp",
    verify: Verify | None = None,
    public: bool = False,
    allowed_hosts: Sequence[str] = (),
) -> AsyncIterator[Serving]:
    """An agent's tools, or the agent itself, served as long as the block goes on.

    ``async with serve(agent, transport="http") as serving: await serving.wait()`` serves until it is closed.

    Each call of a tool is a run of the agent with that one call: its plugins decide on it, see its result and hear of its
    events. A tool that fails is a failed call and nothing else.

    Args:
        what: an agent, or tools.
        name: what the server calls itself; the agent's name, or ``agentfp``, when left out.
        version: its version.
        tools: names of the tools that are offered; all when left out.
        as_agent: offer one tool that asks the agent itself.
        tool_name: the name of that tool.
        description: what clients are told of that tool.
        approvals: tools that ask for approval are refused at the start (``refuse``), or the client's person is asked, as for
            everything else that is asked of a person (``elicit``).
        deps: what the tools get as ``deps``.
        transport: ``stdio`` or ``http``. HTTP needs asyncio.
        host: where to listen.
        port: the port; any free one when 0.
        path: the path of the address.
        verify: makes of a bearer token the :class:`agentfp.Identity` under which the calls run, or None to turn the client away.
        public: let a host that can be reached from elsewhere be served without ``verify``.
        allowed_hosts: what clients may call this host, as ``name:port`` or ``name:*``; for loopback that is known.

    Raises:
        ConfigError: it cannot be served so; all problems at once.
        UsageError: the address cannot be listened on, or HTTP is to be served without asyncio.
    """
    if approvals not in ("refuse", "elicit"):
        raise ConfigError(f"mcp: approvals is 'refuse' or 'elicit', got {approvals!r}")
    hosts = tuple(allowed_hosts)
    how = _How(transport=transport, host=host, port=port, path=path, verify=verify, public=public, allowed_hosts=hosts)
    async with AsyncExitStack() as opened:
        agent = what if isinstance(what, Agent) else of_tools(what, name or "agentfp")
        for source in agent.tool_sources:
            if hasattr(source, "__aenter__"):  # opened once for all calls
                shared: Any = source
                await opened.enter_async_context(shared)
        asked = approvals == "elicit"
        offered = await choose(
            agent, allow=tools, as_agent=as_agent, tool_name=tool_name, description=description, approvals=asked, deps=deps
        )
        server = _server(offered, name or agent.name or "agentfp", version, deps, elicit=asked)
        serving = Serving(offered)
        failed: Exception | None = None
        async with anyio.create_task_group() as tasks:
            try:
                runner = _prepared(server, serving, how)
                tasks.start_soon(_held, runner, serving)
                yield serving
            except Exception as error:  # raised again outside of the task group, which would wrap it
                failed = error
            finally:
                serving._stop.set()
        if failed is not None:
            raise failed


async def _held(runner: _Runner, serving: Serving) -> None:
    """Serve until the stop; shielded, for it says goodbye to clients also when its caller is cancelled."""
    try:
        with anyio.CancelScope(shield=True):
            await runner(serving._stop)
    except Exception as error:
        _log.error("mcp: serving broke off", exc_info=error)
    finally:
        serving._done.set()


def _server(offered: dict[str, Offer], name: str, version: str, deps: Any, *, elicit: bool) -> Server[Any]:
    import mcp.types as wire
    from mcp.server.lowlevel import Server
    from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

    from agentfp_mcp.served_calls import Caller

    caller = Caller(deps, elicit=elicit)
    described = [_described(offer) for offer in offered.values()]

    async def list_tools(_context: Any, _params: Any) -> wire.ListToolsResult:
        return wire.ListToolsResult(tools=described)

    async def call_tool(context: Any, params: wire.CallToolRequestParams) -> wire.CallToolResult | wire.InputRequiredResult:
        offer = offered.get(params.name)
        if offer is None:
            text = f"There is no tool {params.name[:80]!r}. The tools are: {', '.join(list(offered)[:30])}"
            return wire.CallToolResult(content=[wire.TextContent(type="text", text=text)], is_error=True)
        return await caller.call(offer, params, context, _identity())

    server = Server(name, version=version, on_list_tools=list_tools, on_call_tool=call_tool)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=name))
    return server


def _described(offer: Offer) -> Any:
    import mcp.types as wire

    return wire.Tool(
        name=offer.spec.name,
        description=offer.spec.description or None,
        input_schema=offer.spec.parameters,
        annotations=wire.ToolAnnotations.model_validate(dict(offer.hints)) if offer.hints else None,
        _meta=dict(offer.meta) if offer.meta else None,
    )


def _identity() -> Identity | None:
    """Who the client of this call is, where its token was verified."""
    from mcp.server.auth.middleware.auth_context import get_access_token

    token = get_access_token()
    found = None if token is None or token.claims is None else token.claims.get("identity")
    return found if isinstance(found, Identity) else None


# --- transports -----------------------------------------------------------------------------------------------------------


def _on_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _prepared(server: Server[Any], serving: Serving, how: _How) -> _Runner:
    """What serves until it is told to stop; the address is taken before it is returned."""
    if how.transport == "stdio":
        return lambda stop: _stdio(server, stop)
    if not _on_asyncio():
        raise UsageError("mcp: HTTP is served on asyncio; run it there, or serve on stdio")
    listening = _bound(how.host, how.port)
    serving.port = listening.getsockname()[1]
    shown = f"[{how.host}]" if ":" in how.host else how.host
    serving.address = f"http://{shown}:{serving.port}{how.path}"
    return lambda stop: _http(server, serving, how, listening, stop)


async def _stdio(server: Server[Any], stop: anyio.Event) -> None:
    from mcp.server.stdio import stdio_server

    from agentfp_mcp.stdin import own_stdin

    async with anyio.create_task_group() as tasks:

        async def until_stopped() -> None:
            await stop.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(until_stopped)
        with own_stdin() as lines:
            async with stdio_server(lines) as (read, write):
                await server.run(read, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _http(server: Server[Any], serving: Serving, how: _How, listening: socket.socket, stop: anyio.Event) -> None:
    import uvicorn

    class Quiet(uvicorn.Server):
        """Leaves the signals of the process to the process."""

        @contextlib.contextmanager
        def capture_signals(self) -> Any:
            yield

    app = server.streamable_http_app(streamable_http_path=how.path, host=how.host, **_security(serving, how))
    web = Quiet(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1))
    with listening:
        async with anyio.create_task_group() as tasks:
            async with app.router.lifespan_context(app):
                tasks.start_soon(web.serve, [listening])
                await stop.wait()
            web.should_exit = True  # after the sessions, for their streams would keep it waiting


def _security(serving: Serving, how: _How) -> dict[str, Any]:
    """Who may call, and under which names."""
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.transport_security import TransportSecuritySettings

    options: dict[str, Any] = {}
    if how.allowed_hosts:
        origins = [f"{scheme}://{host}" for host in how.allowed_hosts for scheme in ("http", "https")]
        options["transport_security"] = TransportSecuritySettings(allowed_hosts=list(how.allowed_hosts), allowed_origins=origins)
    if how.verify is not None:
        issuer = f"http://127.0.0.1:{serving.port}"  # nobody is sent there: tokens come from the application
        options["auth"] = AuthSettings.model_validate({"issuer_url": issuer, "resource_server_url": None})
        options["token_verifier"] = _Verifier(how.verify)
    return options


class _Verifier:
    """The application's check of a token, as the SDK asks for it."""

    def __init__(self, verify: Verify) -> None:
        self._verify = verify

    async def verify_token(self, token: str) -> Any:
        """Who a token is."""
        from mcp.server.auth.provider import AccessToken

        found: Any = self._verify(token)
        if inspect.isawaitable(found):
            found = await found
        if not isinstance(found, Identity):
            return None
        who = "/".join(part or "" for part in (found.tenant, found.principal, found.conversation_id))
        return AccessToken(token="", client_id=who, subject=who, scopes=[], claims={"identity": found})


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(128)
        made.setblocking(False)
    except OSError as error:
        made.close()
        raise UsageError(f"mcp: {host!r} port {port} cannot be listened on: {error.strerror or type(error).__name__}") from error
    return made


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
