"""What an editor shows of a public function: each of its arguments, where there are several."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from agentfp.plugin import Plugin
from agentfp_core.hookspecs import mark_of
from scripts.site import modules

ARGUMENT = re.compile(r"^ {4}\*{0,2}(\w+): ", re.MULTILINE)


def functions(module: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of a module's public names and the methods of its classes, those from bases too."""
    offered = import_module(module)
    for name in offered.__all__:
        thing = getattr(offered, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            for base in thing.__mro__:
                for attribute, value in list(vars(base).items()):
                    function = getattr(value, "__func__", value)
                    if inspect.isfunction(function) and not attribute.startswith(("_", "test_")) and not _told_elsewhere(thing, attribute):
                        yield f"{name}.{attribute}", function


def _told_elsewhere(cls: type, name: str) -> bool:
    """Hooks are called by the kernel alone; what a class takes over from its base or protocol is described there."""
    if mark_of(inspect.getattr_static(cls, name, None)) is not None or (issubclass(cls, Plugin) and hasattr(Plugin, name)):
        return cls is not Plugin
    return (inspect.getdoc(getattr(cls, name)) or "").startswith("See :class:")


def arguments(function: Callable[..., Any]) -> set[str]:
    """Those that a caller gives, as the source has them."""
    code = function.__code__
    several = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + several]) - {"self", "cls"}


@pytest.mark.parametrize("module", modules())
def test_several_arguments_are_each_described(module: str) -> None:
    wrong = []
    for name, function in functions(module):
        function = inspect.unwrap(function)
        wanted = arguments(function)
        if not function.__module__.startswith("agentfp") or len(wanted) < 2:
            continue
        said = inspect.cleandoc(function.__doc__ or "")
        described = re.split(r"^(?:Returns|Raises|Yields):$", said.partition("Args:\n")[2], flags=re.MULTILINE)[0]
        found = set(ARGUMENT.findall(described))
        if found != wanted:
            wrong.append(f"{name}: lacks {sorted(wanted - found)}, has {sorted(found - wanted)} too much")
    assert not wrong, "\n".join(wrong)
