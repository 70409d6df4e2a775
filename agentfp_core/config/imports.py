"""Things named by import path in a file: ``module:attribute``."""

from __future__ import annotations

import importlib
import re
from typing import Any

from agentfp_core.entrypoints import TOOLS_GROUP, installed, load
from agentfp_core.errors import PluginLoadError, nearest

_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_PREFIX = re.compile(r"([a-z][a-z0-9_-]*):(.*)", re.DOTALL)


class ImportPathError(Exception):
    """An import path leads nowhere; the cause is chained where there is one."""


def resolve(text: str) -> Any:
    """What an import path names.

    Raises:
        ImportPathError: it is no import path, the module cannot be imported, or has no such attribute.
    """
    if not _PATH.fullmatch(text):
        raise ImportPathError(f"{text!r} is no import path; write module:attribute, such as 'app.tools:search'")
    module_name, _, attributes = text.partition(":")
    try:
        found = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may raise anything
        said = " ".join(str(error).split())
        cause = f"{type(error).__name__}: {said}" if said else type(error).__name__
        own = isinstance(error, ModuleNotFoundError) and error.name is not None and f"{module_name}.".startswith(f"{error.name}.")
        hint = "; is its folder on sys.path, or its distribution installed?" if own else ""
        if own and module_name.endswith(".py"):
            hint = f"; a module is named without its ending: {module_name.removesuffix('.py')}:{attributes}"
        raise ImportPathError(f"module {module_name!r} cannot be imported: {cause}{hint}") from error
    at = module_name
    for name in attributes.split("."):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            known = [n for n in dir(found) if not n.startswith("_")]
            raise ImportPathError(f"{at!r} has no {name!r}; {nearest(name, known)}") from error
        at = f"{at}.{name}"
    return found


def resolve_tools(text: str) -> list[Any]:
    """The tools that an item of ``tools`` stands for: an import path, or ``NAME:text`` for an entry point of ``agentfp.tools``.

    Raises:
        ImportPathError: it leads nowhere.
    """
    match = _PREFIX.fullmatch(text)
    entries = installed().group(TOOLS_GROUP)
    if match is not None and match[1] in entries:
        try:
            made = load(entries[match[1]][0])(match[2])
        except PluginLoadError as error:
            raise ImportPathError(str(error)) from error
        except (Exception, SystemExit) as error:
            raise ImportPathError(f"the tools of {match[1]!r} cannot be made: {type(error).__name__}: {error}") from error
        return list(made) if isinstance(made, (list, tuple)) else [made]
    if match is not None and (match[1] == "mcp" or not _PATH.fullmatch(text)):
        install = f"pip install agentfp-{match[1]}"
        raise ImportPathError(f"nothing installed brings tools for '{match[1]}:'; {install}, or write an import path module:attribute")
    return [resolve(text)]
