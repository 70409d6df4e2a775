"""Speaks with a server over HTTP: headers for each request, waiting when it is throttled, bounded answers, faults as answers."""

from __future__ import annotations

import email.utils
import inspect
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client

from agentfp_mcp.stdio import Fault

if TYPE_CHECKING:
    from agentfp_mcp.settings import Settings

ATTEMPTS = 3
MAX_WAIT_SECONDS = 10.0
BASE_WAIT_SECONDS = 0.2


@asynccontextmanager
async def http_transport(
    settings: Settings, fault: Fault, *, inner: httpx2.AsyncBaseTransport | None = None
) -> AsyncIterator[tuple[Any, Any]]:
    """A server's address as the two streams of a session.

    Args:
        settings: where it is.
        fault: is told what went wrong.
        inner: what carries the requests, in place of a pool of connections.
    """
    parts = urlsplit(settings.url or "")
    address = parts._replace(query="", fragment="").geturl()  # what is written to logs; the query goes on below
    carrier = _Carrier(settings, fault, inner or httpx2.AsyncHTTPTransport(), parts.query)
    timeout = httpx2.Timeout(settings.start_timeout, read=settings.timeout + settings.start_timeout)
    auth = settings.auth if isinstance(settings.auth, httpx2.Auth) else None
    async with (
        httpx2.AsyncClient(transport=carrier, headers=dict(settings.headers), timeout=timeout, auth=auth) as client,
        streamable_http_client(address, http_client=client, max_sse_event_size=settings.max_message_bytes) as streams,
    ):
        yield streams


class _Carrier(httpx2.AsyncBaseTransport):
    """Between the SDK and the network. What goes wrong with one request must not end the session of all."""

    def __init__(self, settings: Settings, fault: Fault, inner: httpx2.AsyncBaseTransport, query: str) -> None:
        self._settings = settings
        self._fault = fault
        self._inner = inner
        self._query = query
        address = httpx2.URL(settings.url or "")
        self._origin = (address.scheme, address.host, address.port)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, again when the server says that it is throttled."""
        try:
            request = await self._prepared(request)
        except Exception as error:  # what it says may hold what it was made of
            self._fault.text = f"the headers for a request could not be made ({type(error).__name__})"
            return httpx2.Response(503, request=request)
        waited, attempt = 0.0, 1
        while True:
            try:
                response = await self._inner.handle_async_request(request)
            except httpx2.TransportError as error:
                self._fault.text = f"it cannot be reached ({type(error).__name__})"
                return httpx2.Response(503, request=request)
            wait = self._wait(response, request, attempt, waited)
            if wait is None:
                return self._bounded(response)
            await response.aclose()
            await anyio.sleep(wait)
            waited += wait
            attempt += 1

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    async def _prepared(self, request: httpx2.Request) -> httpx2.Request:
        url = request.url
        own = (url.scheme, url.host, url.port) == self._origin  # an authorization flow asks others too: they get nothing of ours
        if own and self._query and not url.query:
            url = url.copy_with(query=self._query.encode())
        headers = request.headers.copy()
        headers["accept-encoding"] = "identity"  # a bound on what is sent would be none on what it unfolds to
        vend = self._settings.auth
        if own and vend is not None and not isinstance(vend, httpx2.Auth):
            vended = vend()
            for key, value in dict(await vended if inspect.isawaitable(vended) else vended).items():
                headers[key] = value
        return httpx2.Request(request.method, url, headers=headers, stream=request.stream, extensions=request.extensions)

    def _wait(self, response: httpx2.Response, request: httpx2.Request, attempt: int, waited: float) -> float | None:
        """Seconds to wait before the request is sent again; None to leave it at this answer."""
        replayable = isinstance(request.stream, httpx2.ByteStream)
        if response.status_code != 429 or not self._settings.retry_on_throttle or attempt >= ATTEMPTS or not replayable:
            return None
        wait = _retry_after(response.headers.get("retry-after"))
        if wait is None:
            wait = BASE_WAIT_SECONDS * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)
        return wait if waited + wait <= MAX_WAIT_SECONDS else None

    def _bounded(self, response: httpx2.Response) -> httpx2.Response:
        if response.status_code >= 400:
            self._fault.text = f"it answered HTTP {response.status_code}" + _advice(response.status_code)
        if response.headers.get("content-encoding", "identity") != "identity":
            self._fault.text = "it sent a compressed answer though it was told not to"
            return httpx2.Response(502, request=response._request)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _Counted(response.stream, self._settings.max_message_bytes, self._tell)
        return response

    def _tell(self, text: str) -> None:
        self._fault.text = text


class _Counted(httpx2.AsyncByteStream):
    """A body that breaks off where it is longer than it may be."""

    def __init__(self, stream: Any, limit: int, tell: Callable[[str], None]) -> None:
        self._stream = stream
        self._limit = limit
        self._tell = tell

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._limit
        try:
            async for chunk in self._stream:
                left -= len(chunk)
                if left < 0:
                    self._tell(f"it sent an answer of more than {self._limit} bytes")
                    raise httpx2.StreamError("the answer is too long")
                yield chunk
        except httpx2.TransportError as error:
            self._tell(f"the connection broke ({type(error).__name__})")
            raise httpx2.StreamError("the connection broke") from error

    async def aclose(self) -> None:
        await self._stream.aclose()


def _advice(status: int) -> str:
    if status in (401, 403):
        return "; pass credentials with headers= or auth="
    return "; is the path of the address right?" if status in (404, 405) else ""


def _retry_after(text: str | None) -> float | None:
    """Seconds that a ``Retry-After`` header asks for, a number or a date."""
    if text is None:
        return None
    try:
        return max(float(text), 0.0)
    except ValueError:
        pass
    try:
        return max(email.utils.parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return None
