"""What kind of callable something is."""

from __future__ import annotations

import functools
import inspect
from typing import Any


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine: a coroutine function, a partial of one, or an object with an async ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(type(function), "__call__", None))  # noqa: B004
