"""The time limit of hooks. On asyncio one ticking timer a run watches them all, for a cancel scope each would cost more than the hook.

On other event loops it is an ordinary cancel scope. ``asyncio.timeout`` cancels and un-cancels a task in the same way.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    import asyncio

TICKS = 10
"""Ticks of the timer in a limit: a hook is stopped after the limit, and at most a tick later."""


class HookTimeUp(Exception):
    """The hook did not end in time."""


class HookTimer:
    """Watches the hooks of one run, one at a time."""

    def __init__(self) -> None:
        self._limits: dict[float, _AsyncioLimit] = {}

    def limit(self, seconds: float) -> Limit:
        """A context for hooks that run one after the other, each for so long at most; it can be entered again and again.

        Args:
            seconds: the limit.

        Raises:
            HookTimeUp: on leaving it, when the time was up.
        """
        limit = self._limits.get(seconds)
        if limit is None:
            if not _on_asyncio():
                return _ScopeLimit(seconds)
            limit = self._limits[seconds] = _AsyncioLimit(seconds)
        return limit

    def close(self) -> None:
        """The run is over."""
        for limit in self._limits.values():
            limit.close()


def _on_asyncio() -> bool:
    """Whether asyncio runs here; it is not loaded to find out."""
    loaded = sys.modules.get("asyncio")
    try:
        return loaded is not None and loaded.get_running_loop() is not None
    except RuntimeError:
        return False


class Limit(AbstractContextManager[None]):
    """The time limit of hooks that run one after the other."""

    __slots__ = ()

    def next(self) -> None:
        """The time is counted anew: the next hook begins."""


class _AsyncioLimit(Limit):
    """A timer that ticks while hooks run and counts the ticks of the one that runs now."""

    __slots__ = ("_active", "_asyncio", "_cancelling", "_expired", "_handle", "_loop", "_number", "_seen", "_task", "_tick", "_ticks")

    def __init__(self, seconds: float) -> None:
        import asyncio

        self._asyncio = asyncio
        self._loop = asyncio.get_running_loop()
        self._tick = seconds / TICKS
        self._handle: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._active = False
        self._number = 0
        self._seen = 0
        self._ticks = 0
        self._cancelling = 0
        self._expired = False

    def next(self) -> None:
        self._number += 1

    def __enter__(self) -> None:
        self._active = True
        if self._handle is None:
            self._task = self._asyncio.current_task()
            self._handle = self._loop.call_later(self._tick, self._fire)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._active = False
        if self._expired:
            self._expired = False
            task = self._task
            if task is not None and task.uncancel() <= self._cancelling and isinstance(error, self._asyncio.CancelledError):
                raise HookTimeUp from error

    def _fire(self) -> None:
        self._handle = None
        if not self._active or self._task is None:
            return
        if self._number != self._seen:
            self._seen, self._ticks = self._number, 0
        self._ticks += 1
        if self._ticks > TICKS:
            self._cancelling, self._expired = self._task.cancelling(), True
            self._task.cancel()
        else:
            self._handle = self._loop.call_later(self._tick, self._fire)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class _ScopeLimit(Limit):
    """An ordinary cancel scope at each entry, whose deadline moves on with each hook."""

    __slots__ = ("_scope", "_seconds")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._scope: anyio.CancelScope | None = None

    def next(self) -> None:
        assert self._scope is not None
        self._scope.deadline = anyio.current_time() + self._seconds

    def __enter__(self) -> None:
        self._scope = anyio.move_on_after(self._seconds)
        _ = self._scope.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        assert self._scope is not None
        swallowed = self._scope.__exit__(kind, error, trace)
        if self._scope.cancelled_caught:
            raise HookTimeUp
        return swallowed
