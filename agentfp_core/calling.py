"""Calling hooks: in order, each guarded, with a time limit, and its verdict checked and filed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from agentfp_core.cancelling import stray
from agentfp_core.errors import PluginError, text_of
from agentfp_core.events.hook import PluginSlow, VerdictFiled
from agentfp_core.hook_timer import HookTimeUp
from agentfp_core.run import KERNEL, Run
from agentfp_core.verdicts import ALLOWED, Allow, AskPerson, Deny, Halt, Note, Refuse, Replace, Revise, Withhold
from agentfp_core.wellformed import misfit

if TYPE_CHECKING:
    from agentfp_core.plugins import Impl

X = TypeVar("X")
HOOK_SECONDS = 30.0
SLOW_SYNC_SECONDS = 0.05

Unit: TypeAlias = "tuple[Impl, X, tuple[Any, ...]]"
"""One call of a hook: the implementation, what it is about, and the arguments."""


class HookTimeoutError(PluginError, TimeoutError):
    """A hook did not end within its time."""


async def each(
    run: Run[Any],
    units: Sequence[Unit[X]],
    take: Callable[[Impl, X, Any], bool],
    failed: Callable[[Impl, X, Exception], bool],
    *,
    alive: Callable[[X], bool] | None = None,
    seconds: float = HOOK_SECONDS,
) -> None:
    """Call hooks one after the other, each under the time limit; what one emits carries its plugin's name.

    This is called at every moment of every iteration: a hook without an opinion costs a call and nothing else.

    Args:
        run: the run.
        units: in order.
        take: handles an answer that is not None; False ends the round. What it raises counts as the hook's failure.
        failed: applies the policy to a hook that raised or overran; False ends the round.
        alive: whether the thing that a unit is about still matters; asked once an earlier hook of the round had a say.
        seconds: time limit of one hook.
    """
    limit = run.hook_timer.limit(seconds)
    pending = iter(units)
    changed = False
    while True:
        try:
            with limit:
                for impl, about, args in pending:
                    if changed and alive is not None and not alive(about):
                        continue
                    run.source = impl.plugin
                    limit.next()
                    try:
                        if impl.is_async:
                            answer = await impl.call(*args)
                        else:
                            begun = time.perf_counter()
                            answer = impl.call(*args)
                            if (spent := time.perf_counter() - begun) > SLOW_SYNC_SECONDS:
                                _report_slow(run, impl, spent)
                            if answer is not None and hasattr(answer, "__await__"):
                                answer = await answer
                        if answer is not None:
                            run.source, changed = KERNEL, True
                            if not take(impl, about, answer):
                                return
                    except Exception as error:
                        run.source, changed = KERNEL, True
                        if not failed(impl, about, error):
                            return
                    except BaseException as error:
                        if not stray(error):
                            raise
                        run.source, changed = KERNEL, True
                        why = PluginError("the hook waited for something that was cancelled", plugin=impl.plugin, moment=impl.moment)
                        why.__cause__ = error
                        if not failed(impl, about, why):
                            return
            return
        except HookTimeUp:
            run.source, changed = KERNEL, True
            late = HookTimeoutError(f"the hook did not end within {seconds:g} s", plugin=impl.plugin, moment=impl.moment)
            if not failed(impl, about, late):
                return
        finally:
            run.source = KERNEL


def _report_slow(run: Run[Any], impl: Impl, seconds: float) -> None:
    key = f"slow {impl.plugin} {impl.moment} {impl.phase}"
    if key not in run.warned:
        run.warned.add(key)
        run.emit(PluginSlow(impl.plugin, impl.moment, int(seconds * 1000)), source=KERNEL)


def check_verdict(impl: Impl, verdict: Any) -> Any:
    """Refuse an answer that the moment does not know; it counts as a fault of the plugin.

    Raises:
        PluginError: names what may be answered.
    """
    if verdict is None:
        return None
    if isinstance(verdict, ALLOWED[impl.moment]):
        wrong = misfit(verdict)
        if wrong is not None:
            raise PluginError(
                f"plugin {impl.plugin!r} answered {impl.moment!r} with a malformed verdict: {wrong}", plugin=impl.plugin, moment=impl.moment
            )
        return verdict
    names = ", ".join(kind.__name__ for kind in ALLOWED[impl.moment]) or "nothing"
    msg = f"plugin {impl.plugin!r} answered {impl.moment!r} with a {type(verdict).__name__}; it may answer None or {names}"
    raise PluginError(msg, plugin=impl.plugin, moment=impl.moment)


def file_verdict(run: Run[Any], impl: Impl, verdict: Any, call_id: str | None = None, *, arguments: str | None = None) -> None:
    """Put a verdict on the record. A question stands in its pause.

    Args:
        run: the run.
        impl: whose verdict.
        verdict: the verdict.
        call_id: the call it is about.
        arguments: of an ``Allow``, its arguments as canonical JSON text.
    """
    kind = type(verdict).__name__
    payload = VerdictFiled(impl.moment, impl.phase, impl.plugin, kind)
    if isinstance(verdict, Allow):
        payload.arguments = arguments
        payload.origin = verdict.origin
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
        payload.reason = text_of(verdict.error)
    elif isinstance(verdict, AskPerson):
        return
    run.emit(payload, call_id=call_id, source=KERNEL)
