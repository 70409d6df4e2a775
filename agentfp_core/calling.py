"""Calling hooks: in order, each guarded, with a time limit, and its verdict checked and filed."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio

from agentfp_core.errors import PluginError
from agentfp_core.events.hook import PluginSlow, VerdictFiled
from agentfp_core.jsontext import canonical
from agentfp_core.run import KERNEL, Run
from agentfp_core.verdicts import ALLOWED, Allow, AskPerson, Deny, Halt, Note, Refuse, Replace, Revise, Withhold

if TYPE_CHECKING:
    from agentfp_core.plugins import Impl

X = TypeVar("X")
HOOK_SECONDS = 30.0
SLOW_SYNC_SECONDS = 0.05


class HookTimeoutError(PluginError, TimeoutError):
    """A hook did not end within its time."""


async def invoke(run: Run[Any], impl: Impl, args: Sequence[Any]) -> Any:
    """Call one hook; what it emits carries its plugin's name.

    Raises:
        Exception: whatever the hook raises.
    """
    run.source = impl.plugin
    try:
        if impl.is_async:
            return await impl.call(*args)
        begun = time.perf_counter()
        answer = impl.call(*args)
        if time.perf_counter() - begun > SLOW_SYNC_SECONDS:
            _report_slow(run, impl, time.perf_counter() - begun)
        if answer is not None and hasattr(answer, "__await__"):
            answer = await answer
        return answer
    finally:
        run.source = KERNEL


def _report_slow(run: Run[Any], impl: Impl, seconds: float) -> None:
    key = f"slow {impl.plugin} {impl.moment} {impl.phase}"
    if key not in run.warned:
        run.warned.add(key)
        run.emit(PluginSlow(impl.plugin, impl.moment, int(seconds * 1000)), source=KERNEL)


Unit: TypeAlias = "tuple[Impl, X]"
"""One call of a hook: the implementation, and what it is called about."""


async def each(
    units: Sequence[Unit[X]],
    step: Callable[[Impl, X], Awaitable[bool]],
    failed: Callable[[Impl, X, Exception], bool],
    *,
    seconds: float = HOOK_SECONDS,
) -> None:
    """Take units one after the other, under a time limit that is counted anew for each slow one.

    Args:
        units: in order.
        step: does the work of one unit; False ends the round.
        failed: applies the policy to one that raised or overran; False ends the round.
        seconds: time limit of one unit.
    """
    index = 0
    limited = any(impl.is_async for impl, _ in units)
    while index < len(units):
        with anyio.move_on_after(seconds) if limited else nullcontext() as scope:
            begun = time.perf_counter()
            while index < len(units):
                impl, about = units[index]
                try:
                    go_on = await step(impl, about)
                except Exception as error:
                    go_on = failed(impl, about, error)
                index += 1
                if not go_on:
                    return
                if scope is not None and (spent := time.perf_counter() - begun) > 1:
                    scope.deadline += spent
                    begun += spent
        if scope is not None and scope.cancelled_caught:
            impl, about = units[index]
            late = HookTimeoutError(f"the hook did not end within {seconds:g} s", plugin=impl.plugin, moment=impl.moment)
            index += 1
            if not failed(impl, about, late):
                return


def check_verdict(impl: Impl, verdict: Any) -> Any:
    """Refuse an answer that the moment does not know; it counts as a fault of the plugin.

    Raises:
        PluginError: names what may be answered.
    """
    if verdict is None or isinstance(verdict, ALLOWED[impl.moment]):
        return verdict
    names = ", ".join(kind.__name__ for kind in ALLOWED[impl.moment]) or "nothing"
    msg = f"plugin {impl.plugin!r} answered {impl.moment!r} with a {type(verdict).__name__}; it may answer None or {names}"
    raise PluginError(msg, plugin=impl.plugin, moment=impl.moment)


def file_verdict(run: Run[Any], impl: Impl, verdict: Any, call_id: str | None = None) -> None:
    """Put a verdict on the record. A question stands in its pause."""
    kind = type(verdict).__name__
    payload = VerdictFiled(impl.moment, impl.phase, impl.plugin, kind)
    if isinstance(verdict, Allow):
        payload.arguments = None if verdict.args is None else canonical(dict(verdict.args))
    elif isinstance(verdict, (Deny, Halt)):
        payload.reason, payload.text, payload.rule = verdict.reason, verdict.tell_model, verdict.rule
    elif isinstance(verdict, Withhold):
        payload.reason, payload.text = verdict.reason, verdict.tell_model
    elif isinstance(verdict, Replace):
        payload.text = verdict.content if impl.moment != "after_result" else None
    elif isinstance(verdict, Note):
        payload.text = None
    elif isinstance(verdict, Revise):
        payload.rule = verdict.key
    elif isinstance(verdict, Refuse):
        payload.reason = str(verdict.error)
    elif isinstance(verdict, AskPerson):
        return
    run.emit(payload, call_id=call_id, source=KERNEL)
