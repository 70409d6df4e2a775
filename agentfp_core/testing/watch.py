"""Watching hooks: which were called, about which call, and what they answered, in order; for one run among many."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentfp_core.hookspecs import ARGUMENTS

if TYPE_CHECKING:
    from agentfp_core.plugins import Impl, PluginSet

_heard: ContextVar[list[HookCall] | None] = ContextVar("agentfp_hook_calls", default=None)


@dataclass(slots=True)
class HookCall:
    """One call of one hook.

    Args:
        plugin: the plugin.
        moment: the moment.
        phase: its phase; empty for moments without phases.
        call_id: the tool call that it was about, or that a batch hook's verdict is about.
        answer: the class name of what it answered, ``None``, ``raised`` with the error's class, or ``cancelled``.
        tool: name of that call's tool.
    """

    plugin: str
    moment: str
    phase: str
    call_id: str | None
    answer: str = "running"
    tool: str | None = None


@contextmanager
def hearing() -> Iterator[list[HookCall]]:
    """Collect the hook calls of runs that are started in the block, on agents that are watched."""
    calls: list[HookCall] = []
    token = _heard.set(calls)
    try:
        yield calls
    finally:
        _heard.reset(token)


def watch(plugins: PluginSet, before: Callable[[Impl], None] | None = None) -> None:
    """Watch the hooks of one agent's plugins.

    Args:
        plugins: of the agent; it must not have run yet.
        before: is called right before each hook.
    """
    plugins.watch(lambda impl: _watched(impl, before))


def _watched(impl: Impl, before: Callable[[Impl], None] | None) -> Callable[..., Any]:
    inner = impl.call
    names = ARGUMENTS[impl.moment, impl.per]

    def begin(args: tuple[Any, ...]) -> HookCall:
        given = dict(zip(names, args, strict=True))
        call = given.get("call")
        event = given.get("event")
        made = HookCall(impl.plugin, impl.moment, impl.phase, call.id if call is not None else getattr(event, "call_id", None))
        made.tool = None if call is None else call.name
        heard = _heard.get()
        if heard is not None:
            heard.append(made)
        if before is not None:
            before(impl)
        return made

    async def ended(made: HookCall, answer: Any) -> Any:
        try:
            value = await answer
        except BaseException as error:
            made.answer = f"raised {type(error).__name__}" if isinstance(error, Exception) else "cancelled"
            raise
        _answered(made, value)
        return value

    async def call_async(*args: Any) -> Any:
        made = begin(args)
        return await ended(made, inner(*args))

    def call_sync(*args: Any) -> Any:
        made = begin(args)
        try:
            value = inner(*args)
        except Exception as error:
            made.answer = f"raised {type(error).__name__}"
            raise
        if inspect.isawaitable(value):
            return ended(made, value)
        _answered(made, value)
        return value

    return call_async if impl.is_async else call_sync


def _answered(made: HookCall, value: Any) -> None:
    """Note the answer; of a batch hook's mapping, one entry for each call that it decides over."""
    if not isinstance(value, Mapping):
        made.answer = "None" if value is None else type(value).__name__
        return
    pairs = [(str(key), "None" if each is None else type(each).__name__) for key, each in value.items()]
    if not pairs:
        made.answer = "None"
        return
    made.call_id, made.answer = pairs[0]
    heard = _heard.get()
    at = None if heard is None else next((index for index, each in enumerate(heard) if each is made), None)
    if heard is not None and at is not None:
        heard[at + 1 : at + 1] = [HookCall(made.plugin, made.moment, made.phase, key, answer) for key, answer in pairs[1:]]
