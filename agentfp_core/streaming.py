"""A streamed run: its events while it goes on, its text, and its result."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio
import anyio.from_thread

from agentfp_core.errors import UsageError
from agentfp_core.events.stream import Token

if TYPE_CHECKING:
    from agentfp_core.events.base import Event
    from agentfp_core.result import RunResult

Out = TypeVar("Out")


class RunStream(Generic[Out]):
    """A run that is watched. Use it as ``async with``; the run begins on entering and is cancelled when it is left early.

    Iterate over it for all events, or over :meth:`text` for the answer's text; ``await`` it for the result. Whatever is
    iterated over, or nothing, the run is the same.
    """

    def __init__(self, go: Callable[[Callable[[Event], None]], Awaitable[RunResult[Out]]]) -> None:
        self._go = go
        self._events: deque[Event] = deque()
        self._news: anyio.Event | None = None
        self._done: anyio.Event | None = None
        self._result: RunResult[Out] | None = None
        self._error: BaseException | None = None
        self._tasks: anyio.abc.TaskGroup | None = None

    async def __aenter__(self) -> RunStream[Out]:
        if self._done is not None:
            raise UsageError("a stream is entered once; call stream(...) again for another run")
        self._done = anyio.Event()
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._run)
        return self

    async def _run(self) -> None:
        try:
            self._result = await self._go(self._push)
        except Exception as error:  # handed to whoever awaits or iterates
            self._error = error
        finally:
            if self._done is not None:
                self._done.set()
            self._wake()

    def _push(self, event: Event) -> None:
        self._events.append(event)
        self._wake()

    def _wake(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._tasks is not None
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(None, None, None)

    def __aiter__(self) -> AsyncIterator[Event]:
        """The run's events as they happen. Ends with the run; a run that failed raises its error."""
        return self

    async def __anext__(self) -> Event:
        if self._done is None:
            raise UsageError("enter the stream first: async with agent.stream(...) as run")
        while not self._events:
            if self._finished:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._news = self._news or anyio.Event()
            await self._news.wait()
        return self._events.popleft()

    def text(self) -> AsyncIterator[str]:
        """The answer's text in pieces. With ``stream="live"`` drafts come too; watch for ``Retracted`` events then."""
        return _Text(self)

    def __await__(self) -> Generator[Any, Any, RunResult[Out]]:
        return self._wait().__await__()

    async def _wait(self) -> RunResult[Out]:
        if self._done is None:
            raise UsageError("enter the stream first: async with agent.stream(...) as run")
        await self._done.wait()
        return self.result

    @property
    def _finished(self) -> bool:
        return self._result is not None or self._error is not None or (self._done is not None and self._done.is_set())

    @property
    def result(self) -> RunResult[Out]:
        """The result of the finished run.

        Raises:
            UsageError: the run still goes on.
            Exception: what the run failed with.
        """
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise UsageError("the run still goes on; iterate to its end, or `await` the stream")
        return self._result


class _Text:
    """The texts of a stream's tokens. No generator, for one that is left early would have to be closed."""

    def __init__(self, events: AsyncIterator[Event]) -> None:
        self._events = events

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        while True:
            event = await self._events.__anext__()
            if type(event.payload) is Token:
                return event.payload.text


class SyncRunStream(Generic[Out]):
    """A streamed run for code without an event loop; the run goes on in a thread of its own."""

    def __init__(self, stream: RunStream[Out]) -> None:
        self._stream = stream
        self._portal_context: AbstractContextManager[anyio.from_thread.BlockingPortal] | None = None
        self._portal: anyio.from_thread.BlockingPortal | None = None
        self._inner: AbstractContextManager[RunStream[Out]] | None = None
        self._left = False

    def __enter__(self) -> SyncRunStream[Out]:
        self._portal_context = anyio.from_thread.start_blocking_portal()
        self._portal = self._portal_context.__enter__()
        self._inner = self._portal.wrap_async_context_manager(self._stream)
        _ = self._inner.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._inner is not None
        assert self._portal_context is not None
        try:
            self._inner.__exit__(kind, error, trace)
        finally:
            self._left = True
            self._portal_context.__exit__(None, None, None)

    def _entered(self) -> anyio.from_thread.BlockingPortal:
        if self._portal is None:
            raise UsageError("enter the stream first: with agent.stream_sync(...) as run")
        return self._portal

    def _iterate(self, source: AsyncIterator[Any]) -> Iterator[Any]:
        portal = self._entered()

        async def step() -> tuple[bool, Any]:
            try:
                return True, await source.__anext__()
            except StopAsyncIteration:
                return False, None

        while True:
            more, item = portal.call(step)
            if not more:
                return
            yield item

    def __iter__(self) -> Iterator[Event]:
        """The run's events as they happen."""
        return self._iterate(self._stream.__aiter__())

    def text(self) -> Iterator[str]:
        """The answer's text in pieces."""
        return self._iterate(self._stream.text())

    @property
    def result(self) -> RunResult[Out]:
        """The result. Inside the block it waits for the end of the run; it can be read after the block too."""
        if self._portal is None:
            raise UsageError("enter the stream first: with agent.stream_sync(...) as run")
        if self._left:
            return self._stream.result
        return self._portal.call(self._stream._wait)
