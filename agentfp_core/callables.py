"""What kind of callable something is, and where it is called from."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import anyio

from agentfp_core.errors import RunningLoopError


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine: a coroutine function, a partial of one, or an object with an async ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(type(function), "__call__", None))  # noqa: B004


def refuse_loop(method: str, instead: str) -> None:
    """Refuse to go on inside a running event loop.

    Args:
        method: what was called.
        instead: what to call there.

    Raises:
        RunningLoopError: there is one.
    """
    try:
        anyio.get_current_task()
    except RuntimeError:
        return
    raise RunningLoopError(method, instead)
