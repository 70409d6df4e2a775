"""A session with a server, used from any task: opens it, asks, and makes errors of ours of whatever goes wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import mcp.types as wire
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from pydantic import TypeAdapter, ValidationError

from agentfp_mcp.catalog import cleaned
from agentfp_mcp.errors import McpClosedError, McpError, McpProtocolError, McpStartError, McpTimeoutError
from agentfp_mcp.held import Held, say_why
from agentfp_mcp.stdio import Fault

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from agentfp_mcp.settings import Settings

MAX_PAGES = 100
MAX_ROUNDS = 10
"""How often a server may ask back within one call."""
MAX_PROGRESS = 1_000
"""Reports of progress that are passed on from one call."""

_RAW: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
Progress = Callable[[dict[str, Any]], None]


@asynccontextmanager
async def connection(settings: Settings) -> AsyncIterator[Connection]:
    """A connection that is opened when it is first used, and closed at the end, whatever ends it."""
    failed: Exception | None = None
    async with anyio.create_task_group() as tasks:
        made = Connection(settings, tasks)
        try:
            yield made
        except Exception as error:  # raised again outside of the task group, which would wrap it
            failed = error
        finally:
            await made.close()
    if failed is not None:
        raise failed


class Connection:
    """A session with a server. Made by :func:`connection`."""

    def __init__(self, settings: Settings, tasks: TaskGroup) -> None:
        self.settings = settings
        self.changes = 0
        self._listed: tuple[int, list[dict[str, Any]]] = (0, [])
        self._listing = anyio.Lock()
        self._tasks = tasks
        self._held: Held | None = None
        self._opening = anyio.Lock()
        self._closed = False
        self._loop = anyio.lowlevel.current_token()

    @property
    def here(self) -> bool:
        """Whether this is the event loop that the session lives in."""
        return anyio.lowlevel.current_token() == self._loop

    @property
    def live(self) -> bool:
        """Whether the session is open and nothing is known to be wrong with it."""
        held = self._held
        return held is not None and held.client is not None and not held.done.is_set() and not held.fault.over

    async def open(self) -> None:
        """Open the session unless it is; one whose server has ended is opened anew.

        Raises:
            McpStartError: the server cannot be started or reached, or does not speak MCP in time.
            McpClosedError: it was closed.
        """
        async with self._opening:
            if self.live:
                return
            self.check()
            if self._held is not None:
                await self._held.end()
            held = self._held = Held(self)
            self._tasks.start_soon(held.live)
            with anyio.move_on_after(self.settings.start_timeout):
                await held.ready.wait()
            if held.client is None:
                why = (
                    say_why(held.fault, held.error)
                    if held.ready.is_set()
                    else f"no answer in {self.settings.start_timeout:g} s (start_timeout)"
                )
                why = why if held.ready.is_set() or not str(held.fault) else f"{why}; {held.fault}"
                await held.end()
                raise self._not_started(why, held.error)
            self.changes += 1

    async def close(self) -> None:
        """Close the session; idempotent. Calls after that raise."""
        self._closed = True
        if self._held is not None:
            await self._held.end()

    def check(self) -> None:
        """Raise where the session was closed.

        Raises:
            McpClosedError: it was.
        """
        if self._closed:
            raise self._over("the session was closed")

    # --- asking ---

    async def described(self) -> list[dict[str, Any]]:
        """The tools as the server describes them; asked for once, and again when it says that they changed.

        Raises:
            McpError: they cannot be had.
        """
        async with self._listing:
            changes = self.changes
            if self._listed[0] != changes:
                self._listed = (changes, await self._list())
            return self._listed[1]

    async def _list(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            params = wire.PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await self._asked("tools/list", lambda client, params=params: client.session.list_tools(params=params))  # type: ignore[misc]
            found += [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor or cursor in seen or len(found) > 4 * self.settings.max_tools:
                break
            seen.add(cursor)
        return found

    async def call_tool(self, name: str, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """Call a tool.

        Args:
            name: the server's name of it.
            arguments: its arguments.
            progress: is told how far the tool is.

        Returns:
            The server's answer as it came; what it means is for the reader of results.

        Raises:
            McpError: there is none.
        """
        left = MAX_PROGRESS

        async def report(done: float, total: float | None, message: str | None) -> None:
            nonlocal left
            left -= 1
            if left >= 0:
                told = {"progress": done, "total": total, "message": cleaned(message, 500) or None}
                progress({key: value for key, value in told.items() if value is not None})

        def request(answers: Any, state: Any) -> wire.CallToolRequest:
            params = wire.CallToolRequestParams(name=name, arguments=dict(arguments), input_responses=answers, request_state=state)
            return wire.CallToolRequest(params=params)

        return await self._rounds(name, request, report)

    async def read_resource(self, uri: str) -> dict[str, Any]:
        """What a resource holds, as it came."""

        def request(answers: Any, state: Any) -> wire.ReadResourceRequest:
            return wire.ReadResourceRequest(params=wire.ReadResourceRequestParams(uri=uri, input_responses=answers, request_state=state))

        return await self._rounds(f"resource {cleaned(uri, 80)}", request, None)

    async def list_resources(self) -> list[dict[str, Any]]:
        """The first resources as the server describes them."""
        page = await self._asked("resources/list", lambda client: client.session.list_resources())
        return [item.model_dump(by_alias=True, mode="json", exclude_none=True) for item in page.resources[:500]]

    @property
    def has_resources(self) -> bool:
        """Whether the server says that it has resources."""
        client = None if self._held is None else self._held.client
        return client is not None and client.server_capabilities.resources is not None

    # --- inside ---

    async def _rounds(self, what: str, request: Callable[[Any, Any], Any], report: Any) -> dict[str, Any]:
        """Send a request, and again with what the server asked back, until it answers."""
        answers: Any = None
        state: str | None = None
        relisted = False
        for _ in range(MAX_ROUNDS):
            made = request(answers, state)
            try:
                raw: dict[str, Any] = await self._asked(what, lambda client, made=made: self._send(client, made, report))  # type: ignore[misc]
            except _Stale:
                if relisted:
                    raise self._failed(what, "it says that the schema of its tool changed") from None
                relisted = True
                await self._list()
                continue
            if raw.get("resultType") != "input_required":
                return raw
            wanted = wire.InputRequiredResult.model_validate(raw, by_name=False)
            state = wanted.request_state
            answers = await self._asked(what, lambda client, wanted=wanted: _answers(client, wanted))  # type: ignore[misc]
        raise self._failed(what, f"it asked back more than {MAX_ROUNDS} times")

    async def _send(self, client: Client, request: Any, report: Any) -> dict[str, Any]:
        try:
            session: Any = client.session  # its types know of models only, where it takes any adapter
            raw: dict[str, Any] = await session.send_request(request, _RAW, self.settings.timeout, progress_callback=report)
            return raw
        except ValidationError as error:
            shape = next((issue["input"] for issue in error.errors(include_url=False) if len(issue["loc"]) == 1), None)
            if isinstance(shape, dict) and "toolResult" in shape and "content" not in shape:
                return shape
            raise _Unreadable(shape) from None

    async def _asked(self, what: str, ask: Callable[[Client], Any]) -> Any:
        """Ask the server something; whatever goes wrong becomes an error of ours, without what the server sent."""
        held = self._held
        self.check()
        if not self.here:
            raise self._over("the session lives in another event loop")
        if held is None or held.client is None or held.done.is_set():
            raise self._over(
                say_why(Fault() if held is None else held.fault, None if held is None else held.error) or "the session is not open"
            )
        if not held.fault.over:
            held.fault.text = ""
        try:
            return await ask(held.client)
        except MCPError as error:
            raise self._translated(what, error, held) from None
        except _Unreadable as error:
            raise self._unreadable(what, error.raw) from None
        except ValidationError as error:
            place = ".".join(str(step) for step in error.errors(include_input=False, include_url=False)[0]["loc"][:6])
            raise self._failed(what, f"its answer cannot be read at {place[:120]!r}", McpProtocolError) from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError) as error:
            raise self._over(str(held.fault) or type(error).__name__) from None

    def _translated(self, what: str, error: MCPError, held: Held) -> BaseException:
        code = error.error.code
        if code == wire.REQUEST_TIMEOUT:
            limit = f"{self.settings.timeout:g} s"
            return McpTimeoutError(
                f"{what} of {self.settings.name} did not answer within {limit}. It may still be running.",
                detail=f"mcp server {self.settings.name!r}: {what!r} took longer than {limit} (timeout)",
            )
        if code == wire.CONNECTION_CLOSED and error.error.message == "Connection closed":  # servers use the code for their own
            return self._over(str(held.fault) or "the connection was closed")
        if code == wire.HEADER_MISMATCH:
            return _Stale()
        if code == wire.INVALID_REQUEST and error.error.message == "Session terminated":
            held.fault.over, held.fault.text = True, "it does not know the session any more"
            return self._over(held.fault.text)
        said = str(held.fault) or cleaned(self.settings.scrubbed(error.error.message), 500)
        return self._failed(what, said)

    def _failed(self, what: str, why: str, kind: type[McpError] = McpError) -> McpError:
        return kind(f"{what} of {self.settings.name} failed: {why}", detail=f"mcp server {self.settings.name!r}: {what!r} failed: {why}")

    def _unreadable(self, what: str, raw: Any) -> McpError:
        from agentfp_mcp.results import Reader

        return Reader(self.settings).unreadable(what, raw)

    def _over(self, why: str) -> McpClosedError:
        name = self.settings.name
        return McpClosedError(
            f"The server {name} has ended. Its tools are not available now.", detail=f"mcp server {name!r} has ended: {why}"
        )

    def _not_started(self, why: str, cause: BaseException | None) -> McpStartError:
        if isinstance(cause, McpStartError):
            return cause
        name, place = self.settings.name, self.settings.place
        hint = '; stderr="inherit" shows what it says' if self.settings.command is not None and self.settings.stderr == "ignore" else ""
        return McpStartError(
            f"The server {name} could not be used.",
            detail=f"mcp server {name!r} ({place}) gives no session: {self.settings.scrubbed(why)}{hint}",
        )


class _Stale(Exception):
    """The server wants its tools listed anew before the call."""


class _Unreadable(Exception):
    def __init__(self, raw: Any) -> None:
        self.raw = raw
        super().__init__("unreadable")


async def _answers(client: Client, wanted: wire.InputRequiredResult) -> dict[str, Any] | None:
    """What the server asks back, answered one after the other."""
    if not wanted.input_requests:
        return None
    answers: dict[str, Any] = {}
    for key, request in wanted.input_requests.items():
        context = ClientRequestContext(session=client.session, request_id=key, meta=None)
        answer = await client.session.dispatch_input_request(context, request)
        if isinstance(answer, wire.ErrorData):
            raise MCPError(code=answer.code, message="it asks for something that nobody here can give")
        answers[key] = answer
    return answers
