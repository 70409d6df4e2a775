"""The application's own checkers: objects, or the places where they are found; and how one is asked."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from typing import Any

import anyio

from agentfp.plugin import Allow, Deny, Halt, nearest
from agentfp_permissions.events import Phase
from agentfp_permissions.requests import GOVERNABLE, Decision, PermissionChecker, PermissionRequest

UNAVAILABLE = "This call could not be authorised and was not run. That will not change in this run: do not try it again."


def load_checkers(given: Sequence[Any], problems: list[str]) -> tuple[PermissionChecker, ...]:
    """Take or import checkers.

    Args:
        given: checkers, or ``module:name`` of one.
        problems: what is wrong is added here.
    """
    made: list[PermissionChecker] = []
    for number, item in enumerate(given):
        where = f"checkers[{number}]"
        checker = _imported(item, where, problems) if isinstance(item, str) else item
        if checker is None:
            continue
        if isinstance(checker, type):
            problems.append(f"{where} is the class {checker.__name__!r}; give an object of it")
            continue
        if not callable(getattr(checker, "check", None)) or not isinstance(getattr(checker, "name", None), str) or not checker.name:
            problems.append(f"{where} is no checker: a {type(checker).__name__} needs a `name`, a text, and a method `check(request)`")
            continue
        governs = getattr(checker, "governs", ())
        if isinstance(governs, str) or not isinstance(governs, (frozenset, set, tuple, list)):
            problems.append(f"{where} ({checker.name!r}) must have `governs` as a set of capabilities")
            continue
        wrong = sorted(str(name) for name in governs if name not in GOVERNABLE)
        problems += [f"{where} ({checker.name!r}) governs {name!r}, which is no capability; {nearest(name, GOVERNABLE)}" for name in wrong]
        made.append(checker)
    names = [checker.name for checker in made]
    problems += [
        f"two checkers are called {name!r}; give one of them another name" for name in sorted({n for n in names if names.count(n) > 1})
    ]
    return tuple(made)


def _imported(place: str, where: str, problems: list[str]) -> Any:
    module, _, name = place.partition(":")
    if not module or not name:
        problems.append(f"{where} is {place!r}; write 'module:name'")
        return None
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # whatever a module of the application does while it is imported
        problems.append(f"{where}: module {module!r} cannot be imported ({type(error).__name__}); is it installed?")
        return None
    for part in name.split("."):
        if not hasattr(found, part):
            problems.append(f"{where}: {module!r} has no {name!r}; {nearest(part, vars(found) if hasattr(found, '__dict__') else ())}")
            return None
        found = getattr(found, part)
    return found


async def ask_checker(checker: PermissionChecker, request: PermissionRequest, phase: Phase, seconds: float) -> Decision:
    """Ask one checker one question. One that raises, takes too long or answers something else refuses.

    Args:
        checker: the checker; one without ``screen`` allows there.
        request: the question.
        phase: ``screen``, or ``authorize``.
        seconds: how long an async one may take.
    """
    ask = checker.check if phase == "authorize" else getattr(checker, "screen", None)
    if ask is None:
        return Allow()
    try:
        answer = ask(request)
        if inspect.isawaitable(answer):
            with anyio.fail_after(seconds):
                answer = await answer
    except Exception as error:  # who cannot say that a call may run says that it may not
        return Deny(f"checker raised: {type(error).__name__}{_words(error)}", UNAVAILABLE, "checker.failed")
    wrong = None if answer is None and phase == "screen" else _wrong(answer)
    if wrong is not None:
        return Deny(f"checker answered {wrong}; it may answer Allow(), Deny or Halt", UNAVAILABLE, "checker.failed")
    return Allow() if answer is None else answer


def _wrong(answer: Any) -> str | None:
    """What an answer is that decides nothing; None of one that decides."""
    if isinstance(answer, Allow):
        return None if answer == Allow() else "an Allow with arguments"
    if not isinstance(answer, (Deny, Halt)):
        return f"a {type(answer).__name__}"
    texts = isinstance(answer.reason, str) and all(isinstance(said, (str, type(None))) for said in (answer.tell_model, answer.rule))
    return None if texts else f"a {type(answer).__name__} whose words are no texts"


def _words(error: Exception) -> str:
    """What an error says, where it can."""
    try:
        said = str(error)
    except Exception:
        return ""
    return f": {said}" if said else ""
