"""Which tools ran in a run, with which arguments: read from the record, and asserted in a line."""

from __future__ import annotations

from typing import Any

from agentfp_core.called import Called, calls_of, short
from agentfp_core.memos import HasRecord
from agentfp_core.record import Record

__all__ = ["Called", "assert_called", "assert_not_called", "calls_of"]


def assert_called(source: HasRecord | Record, tool: str, /, **arguments: Any) -> Called:
    """Check that a tool ran, with these arguments among those it ran with.

    Args:
        source: a record, or a result, pause or outcome with one.
        tool: the tool's name.
        **arguments: arguments that the call must have, as JSON data; others may be there.

    Returns:
        The first call that fits.

    Raises:
        AssertionError: shows the calls that there were.
    """
    __tracebackhide__ = True
    calls = calls_of(source)
    for call in calls:
        if call.tool == tool and call.ran and _fits(call, arguments):
            return call
    wanted = f"{tool}({', '.join(f'{key}={short.repr(value)}' for key, value in arguments.items())})"
    raise AssertionError(f"no call {wanted} ran; {_those(calls)}")


def assert_not_called(source: HasRecord | Record, tool: str, /, **arguments: Any) -> None:
    """Check that a tool did not run, or not with these arguments. A call that was proposed and refused did not run.

    Args:
        source: a record, or a result, pause or outcome with one.
        tool: the tool's name.
        **arguments: only calls that have these arguments count.

    Raises:
        AssertionError: shows the call.
    """
    __tracebackhide__ = True
    found = [call for call in calls_of(source) if call.tool == tool and call.ran and _fits(call, arguments)]
    if found:
        raise AssertionError(f"{tool} ran and should not have:\n" + "\n".join(f"  {call}" for call in found))


def _fits(call: Called, wanted: dict[str, Any]) -> bool:
    had = call.arguments
    return all(key in had and had[key] == value for key, value in wanted.items())


def _those(calls: list[Called]) -> str:
    return "the calls were:\n" + "\n".join(f"  {call}" for call in calls) if calls else "there was no call of any tool"
