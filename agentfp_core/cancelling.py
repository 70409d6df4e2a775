"""Tells a cancellation that somebody asked for from an exception that only looks like one.

A tool or a hook that waits for a task which was cancelled elsewhere raises the cancellation of that task. Taken for the run's
own, it would end a run that nobody cancelled, and in the middle of a batch even without a trace.
"""

from __future__ import annotations

import math
import sys

import anyio


def stray(error: BaseException) -> bool:
    """Whether this is a cancellation that nobody asked for.

    Args:
        error: what was raised in the task that asks.
    """
    loaded = sys.modules.get("asyncio")  # on other event loops nobody but the loop can make a cancellation
    if loaded is None or not isinstance(error, loaded.CancelledError):
        return False
    task = loaded.current_task()
    return task is not None and not task.cancelling() and anyio.current_effective_deadline() != -math.inf
