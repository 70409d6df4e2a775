"""The application's own checkers: objects, or the places where they are found."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from agentfp.plugin import nearest
from agentfp_permissions.requests import GOVERNABLE, PermissionChecker


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
