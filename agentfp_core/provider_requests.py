"""What every provider's adapter does with a request: further fields laid over it, wishes refused, servers of this machine known."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from agentfp_core.errors import ModelFeatureError


def with_extra(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """A request's body with the further fields of ``settings.extra``; neither is changed.

    Objects are merged at every depth, tools are added to those that are there, and everything else takes the place of what was there.

    Args:
        body: what the request says.
        extra: the further fields.
    """
    made = dict(body)
    for name, value in extra.items():
        there = made.get(name)
        if isinstance(there, Mapping) and isinstance(value, Mapping):
            made[name] = with_extra(there, value)
        elif name == "tools" and isinstance(there, list) and isinstance(value, (list, tuple)):
            made[name] = [*there, *value]
        else:
            made[name] = value
    return made


def lacking(provider: str, model: str, what: str, instead: str) -> ModelFeatureError:
    """The error of a wish that a model cannot keep; raised before anything is sent.

    Args:
        provider: name of the provider.
        model: name of the model.
        what: what it has not, such as ``images by URL``.
        instead: what to do.
    """
    return ModelFeatureError(f"model {model!r} of {provider!r} has no {what}; {instead}", provider=provider, model=model)


def on_loopback(url: str) -> bool:
    """Whether a server is on this machine, so that it may do without a key."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
