"""Listeners: functions of the application that are called with each event, in place, as it happens."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from agentfp_core.callables import is_async
from agentfp_core.cancelling import stray
from agentfp_core.errors import ConfigError, UsageError
from agentfp_core.patterns import matcher

if TYPE_CHECKING:
    from agentfp_core.events.base import Event
    from agentfp_core.segments import SegmentHeader

Listener: TypeAlias = "Callable[[Event], Any] | Callable[[Event, SegmentHeader], Any]"
ListenerSpec: TypeAlias = "Listener | Mapping[str, Listener] | Iterable[tuple[str, Listener]] | None"
"""A function for all events, a mapping of pattern to function, or pairs of them. Patterns: a name, ``agentfp.tool.*``, ``*``.

A function with two parameters is handed the header of the run too: its ids, session, identity and path.
"""


class Listeners:
    """The listeners of one run. One that raises is counted and never breaks the run.

    Args:
        *specs: listeners of the agent and of the run.
        outer: the listeners of the run that this one is nested in; they hear it too.

    Raises:
        ConfigError: a listener is no function, or is a coroutine function.
    """

    def __init__(self, *specs: ListenerSpec, outer: Listeners | None = None) -> None:
        self._pairs = [pair for spec in specs for pair in _pairs(spec)]
        if outer is not None:
            self._pairs += outer._pairs
        self._by_name: dict[str, tuple[Listener, ...]] = {}
        self.mask: Callable[[Event], Event] | None = None
        self.failures = 0
        self._failed: set[int] = set()
        self._with_header = {id(listener) for _, listener in self._pairs if _takes_two(listener)}

    @property
    def patterns(self) -> tuple[str, ...]:
        """What is listened for."""
        return tuple(pattern for pattern, _ in self._pairs)

    def __bool__(self) -> bool:
        return bool(self._pairs)

    def _for(self, name: str) -> tuple[Listener, ...]:
        found = self._by_name.get(name)
        if found is None:
            exact = [f for p, f in self._pairs if p == name]
            domain = [f for p, f in self._pairs if p.endswith(".*") and matcher(p)(name)]
            everything = [f for p, f in self._pairs if p == "*"]
            found = self._by_name[name] = (*exact, *domain, *everything)
        return found

    def hears(self, name: str) -> bool:
        """Whether any listener gets events of this name."""
        return bool(self._pairs) and bool(self._for(name))

    def tell(self, event: Event, header: SegmentHeader) -> list[Exception]:
        """Call the listeners: those of the exact name first, then of the domain, then of all.

        Returns:
            What they raised, of each listener once in a run: one that raises each time would fill the record with it.
        """
        failures: list[Exception] = []
        listeners = self._for(event.name)
        try:
            if listeners and self.mask is not None:
                event = self.mask(event)
        except Exception as error:  # what cannot be masked is not shown
            self.failures += 1
            return [error]
        for listener in listeners:
            try:
                if id(listener) in self._with_header:
                    listener(event, header)  # type: ignore[call-arg]
                else:
                    listener(event)  # type: ignore[call-arg]
            except Exception as error:  # a listener only watches
                self._count(listener, error, failures)
            except BaseException as error:
                if not stray(error):
                    raise
                self._count(listener, UsageError("the listener raised a cancellation that nobody asked for"), failures)
        return failures

    def _count(self, listener: Listener, error: Exception, failures: list[Exception]) -> None:
        self.failures += 1
        if id(listener) not in self._failed:
            self._failed.add(id(listener))
            failures.append(error)


def _takes_two(listener: Listener) -> bool:
    try:
        parameters = inspect.signature(listener).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    return len(needed) == 2


def _pairs(spec: ListenerSpec) -> list[tuple[str, Listener]]:
    if spec is None:
        return []
    pairs: list[Any]
    if callable(spec):
        pairs = [("*", spec)]
    elif isinstance(spec, Mapping):
        pairs = list(spec.items())
    else:
        pairs = list(spec) if isinstance(spec, Iterable) else [spec]
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and callable(pair[1])):
            raise ConfigError(
                f"listeners takes functions of an event by pattern, such as {{'agentfp.tool.*': print}}; got a {type(pair).__name__}"
            )
        if is_async(pair[1]):
            raise ConfigError(
                f"the listener of {pair[0]!r} is a coroutine function and would never be awaited; "
                "use agent.stream(...), or a plugin with export_event"
            )
    return pairs
