"""HTTP options as settings of a provider: its factory takes them as keyword arguments, in code as in a config file."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from agentfp_core.errors import ConfigError, nearest
from agentfp_core.http_options import HttpOptions
from agentfp_core.retrying import RetryPolicy

M = TypeVar("M")
_FIELDS = {f.name: f for f in dataclasses.fields(HttpOptions)}
_SECONDS = ("connect_timeout", "silence_timeout", "pool_timeout", "keepalive")
_COUNTS = ("max_connections", "max_reply_bytes")
_RETRIES = tuple(f.name for f in dataclasses.fields(RetryPolicy))


def takes_http_options(factory: Callable[..., M]) -> Callable[..., M]:
    """Let a provider's factory take the fields of ``HttpOptions`` as keyword arguments, besides its own.

    The factory is written with a keyword argument ``http`` and is given the options in it. Its signature shows the single
    fields, so that a config file is checked against them.

    Args:
        factory: a callable ``(model_name, *, ..., http: HttpOptions) -> Model``.

    Raises:
        ConfigError: by the returned factory, for names that are no setting, with the nearest one, and for values that no option has.
    """
    signature = inspect.signature(factory)
    own = [p for p in signature.parameters.values() if p.name != "http"]
    taken = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any) for name in _FIELDS]
    known = [p.name for p in own if p.kind is inspect.Parameter.KEYWORD_ONLY] + list(_FIELDS)
    whose = f"provider {factory.__name__.replace('_', '-')!r}"

    @functools.wraps(factory)
    def with_options(*args: Any, **settings: Any) -> M:
        problems = [f"{whose} has no setting {name!r}; {nearest(name, known)}" for name in settings if name not in known]
        given = {name: settings.pop(name) for name in _FIELDS if name in settings}
        options = http_options({name: value for name, value in given.items() if value is not None}, problems)
        if problems or options is None:
            raise ConfigError(problems)
        return factory(*args, **settings, http=options)

    with_options.__signature__ = signature.replace(parameters=[*own, *taken])  # type: ignore[attr-defined]
    return with_options


def http_options(settings: Mapping[str, Any], problems: list[str]) -> HttpOptions | None:
    """Options of settings.

    Args:
        settings: by the names of the options; ``retries`` may be a mapping.
        problems: takes what is wrong with them; then there are no options.
    """
    before = len(problems)
    values = dict(settings)
    problems += [f"{name} takes a number of seconds above 0" for name in _SECONDS if name in values and not _positive(values[name])]
    problems += [f"{name} takes a whole number from 1" for name in _COUNTS if name in values and not _whole(values[name])]
    if not isinstance(values.get("proxy", ""), str):
        problems.append("proxy takes a URL such as 'http://proxy:3128'")
    headers = values.get("headers", {})
    if not isinstance(headers, Mapping) or not all(isinstance(part, str) for pair in headers.items() for part in pair):
        problems.append("headers takes names and texts")
    if "retries" in values:
        values["retries"] = _retries(values["retries"], problems)
    return HttpOptions(**values) if len(problems) == before else None


def _retries(given: Any, problems: list[str]) -> RetryPolicy | None:
    if isinstance(given, RetryPolicy):
        return given
    if not isinstance(given, Mapping):
        problems.append("retries takes a RetryPolicy, or a table such as { attempts = 3 }")
        return None
    unknown = [f"retries has no {name!r}; {nearest(str(name), _RETRIES)}" for name in given if name not in _RETRIES]
    problems += unknown
    try:
        return None if unknown else RetryPolicy(**given)
    except ConfigError as error:
        problems += error.problems
        return None


def _positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
