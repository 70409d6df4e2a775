"""Tools that are known only while a run goes on: what may stand in an agent's ``tools`` for them, and the run's view of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from agentfp_core.errors import ToolNameError
from agentfp_core.tools import Tool

if TYPE_CHECKING:
    from types import TracebackType

    from agentfp_core.run import Run


class ToolSession(Protocol):
    """What a source opened for one leg of a run."""

    async def tools(self) -> Sequence[Tool[..., Any]]:
        """The tools there are now; the very same object as before where nothing changed."""


class ToolSource(ABC):
    """Stands in an agent's ``tools`` for tools that are known only while a run goes on, such as those of a server.

    The object holds settings and no state of a run; one object serves many runs at once.
    """

    name: str
    """What messages call it."""

    @abstractmethod
    def open(self, run: Run[Any]) -> AbstractAsyncContextManager[ToolSession]:
        """Open a session for one leg of a run.

        It is entered and left in the task of the leg, whatever ends it, a pause included. Entering it should cost nothing:
        the tools are asked for when the first request is made.

        Args:
            run: the leg.
        """


class OpenSources:
    """The sessions of one leg, and the tools that they brought, as an async context manager."""

    def __init__(self, run: Run[Any], sources: Sequence[ToolSource]) -> None:
        self._run = run
        self._sources = sources
        self._stack = AsyncExitStack()
        self._sessions: list[tuple[str, ToolSession]] = []
        self._seen: list[Sequence[Tool[..., Any]]] = []
        self._owners: dict[str, str] = {}

    async def __aenter__(self) -> OpenSources:
        await self._stack.__aenter__()
        try:
            for source in self._sources:
                self._sessions.append((source.name, await self._stack.enter_async_context(source.open(self._run))))
        except BaseException as error:
            await self._stack.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def refresh(self) -> None:
        """Ask each source for its tools, before a request is made of them.

        Raises:
            ToolNameError: two tools have one name. One that appears under way stays out, for the model may have called the
                other already.
        """
        first = not self._seen
        lists = [await session.tools() for _, session in self._sessions]
        if not first and all(new is old for new, old in zip(lists, self._seen, strict=True)):
            return
        self._seen = lists
        found: dict[str, Tool[..., Any]] = dict(self._run.agent.tools)
        owners = dict.fromkeys(found, "the agent")
        clashes: list[str] = []
        offered = [(name, tool) for (name, _), tools in zip(self._sessions, lists, strict=True) for tool in tools]
        for owner, tool in sorted(offered, key=lambda pair: self._owners.get(pair[1].name) != pair[0]):
            if tool.name in found:
                clashes.append(f"{tool.name!r} (of {owners[tool.name]} and of {owner!r})")
                continue
            found[tool.name] = tool
            owners[tool.name] = repr(owner)
            self._owners[tool.name] = owner
        if clashes and first:
            raise ToolNameError(f"two tools have one name: {', '.join(clashes)}; give one of them another name, or its source a prefix")
        self._run.tools = MappingProxyType(found)
        self._run.composer.use_tools(self._run.tools)


def split(items: Sequence[Any]) -> tuple[list[Any], tuple[ToolSource, ...]]:
    """The tools of an agent's argument, and the sources among them."""
    return [item for item in items if not isinstance(item, ToolSource)], tuple(item for item in items if isinstance(item, ToolSource))
