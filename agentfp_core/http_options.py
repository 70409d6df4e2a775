"""How a provider is spoken to, and what one exchange with it is: plain data, without the HTTP library."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agentfp_core.http_errors import request_id_of
from agentfp_core.retrying import RetryPolicy
from agentfp_core.sse import parse_json

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
