"""How a provider is spoken to, and what one exchange with it is: plain data, without the HTTP library."""

from __future__ import annotations

import dataclasses
import inspect
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from agentfp_core.errors import ConfigError, nearest
from agentfp_core.http_errors import request_id_of
from agentfp_core.retrying import RetryPolicy
from agentfp_core.sse import parse_json

C = TypeVar("C", bound=type)
Authorize: TypeAlias = Callable[["HttpRequest"], Mapping[str, str]]
"""Gives the headers that authorise one attempt: a key, or a signature over the request. Called anew for each attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """How a provider is spoken to.

    Args:
        connect_timeout: seconds until the connection stands.
        silence_timeout: seconds without a byte after which a reply counts as stalled.
        max_connections: connections to the provider at once; further calls wait.
        pool_timeout: seconds that a call waits for a free connection.
        keepalive: seconds that an idle connection is kept.
        proxy: URL of a proxy; the environment's (``HTTPS_PROXY``) when left out; an empty text for none at all.
        verify: whether certificates are checked; a path to authorities' certificates; or an SSL context.
        headers: further headers of each request.
        retries: when and how a request is sent again that got no reply, or one that says "later".
        max_reply_bytes: what a whole reply may hold.
    """

    connect_timeout: float = 10.0
    silence_timeout: float = 120.0
    max_connections: int = 100
    pool_timeout: float = 60.0
    keepalive: float = 30.0
    proxy: str | None = field(default=None, repr=False)
    verify: bool | str | ssl.SSLContext = True
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    max_reply_bytes: int = 256 * 1024 * 1024

    def pool_key(self) -> tuple[Any, ...]:
        """What must be the same for two models to share connections."""
        return (
            self.connect_timeout,
            self.silence_timeout,
            self.max_connections,
            self.pool_timeout,
            self.keepalive,
            self.proxy,
            self.verify,
        )

    @classmethod
    def of(cls, provider: str, settings: Mapping[str, Any], *, own: Iterable[str] = ()) -> HttpOptions:
        """Options of a provider's keyword settings.

        Args:
            provider: its name, for errors.
            settings: by the names above. ``retries`` may be the number of attempts, or a mapping of a ``RetryPolicy``'s fields.
            own: names of the provider's other settings, which a misspelt one may have meant.

        Raises:
            ConfigError: names all that are no setting, with the nearest one, and all values that cannot be.
        """
        names = [f.name for f in dataclasses.fields(cls)]
        accepted = [*own, *names]
        problems = [f"provider {provider!r} has no setting {name!r}; {nearest(name, accepted)}" for name in settings if name not in names]
        values = {name: value for name, value in settings.items() if name in names}
        problems += [f"{name} of provider {provider!r} takes {_FITS[name][0]}" for name in values if not _FITS[name][1](values[name])]
        if not problems and "retries" in values:
            values["retries"] = _retries(values["retries"])
        if problems:
            raise ConfigError(problems)
        return cls(**values)


def shows_http_options(model: C) -> C:
    """Let a model's class show each HTTP option in its signature, where its ``__init__`` takes them as ``**options``.

    A config file is checked against the signature, so a misspelt setting is found before a key is there to make the model with.

    Args:
        model: the class.
    """
    own = list(inspect.signature(model).parameters.values())
    shown = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=f.type) for f in dataclasses.fields(HttpOptions)
    ]
    named = [parameter for parameter in own if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    model.__signature__ = inspect.Signature([*named, *shown])  # type: ignore[attr-defined]
    return model


def _above_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and _above_zero(value)


def _is_headers(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair)


_POLICY = tuple(f.name for f in dataclasses.fields(RetryPolicy))
_SECONDS = ("a number of seconds above 0", _above_zero)
_COUNT = ("a whole number above 0", _whole)
_FITS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "connect_timeout": _SECONDS,
    "silence_timeout": _SECONDS,
    "max_connections": _COUNT,
    "pool_timeout": _SECONDS,
    "keepalive": _SECONDS,
    "proxy": ("the URL of a proxy", lambda value: value is None or isinstance(value, str)),
    "verify": ("True, False, a path or an SSL context", lambda value: isinstance(value, (bool, str, ssl.SSLContext))),
    "headers": ("names of headers and their texts", _is_headers),
    "retries": (
        "a whole number of attempts, a RetryPolicy, or a mapping of its fields",
        lambda value: isinstance(value, (int, Mapping, RetryPolicy)) and not isinstance(value, bool),
    ),
    "max_reply_bytes": _COUNT,
}


def _retries(value: Any) -> RetryPolicy:
    if isinstance(value, RetryPolicy):
        return value
    fields = value if isinstance(value, Mapping) else {"attempts": value}
    unknown = [f"retries has no {name!r}; {nearest(str(name), _POLICY)}" for name in fields if name not in _POLICY]
    if unknown:
        raise ConfigError(unknown)
    return RetryPolicy(**fields)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One attempt, as :data:`Authorize` is given it.

    Args:
        method: for example ``POST``.
        url: whole.
        headers: those that stand already.
        body: the bytes that are sent.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A whole reply.

    Args:
        status: 200 to 299.
        headers: with names in lower case.
        body: the bytes.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def request_id(self) -> str | None:
        """The provider's id of the request, from the headers."""
        return request_id_of(self.headers)

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            ProviderProtocolError: it is none.
        """
        return parse_json(self.body)
