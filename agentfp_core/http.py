"""HTTP to providers: the one place that uses httpx. Loaded by the providers that need it.

A :class:`ModelHttp` belongs to one model and serves any number of calls and event loops at once: timeouts, connection pool,
retries before the first byte of a reply, typed errors, replies whole or in pieces. Cancelling a call closes its connection.
"""

from __future__ import annotations

import contextlib
import functools
import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import httpx
import pydantic_core

from agentfp_core.errors import ConfigError, ModelConnectionError, ModelError, ModelTimeoutError, ProviderProtocolError
from agentfp_core.events.error import Recovered, Retried
from agentfp_core.http_errors import Explain, error_of_reply, request_id_of
from agentfp_core.http_options import Authorize, HttpOptions, HttpReply, HttpRequest
from agentfp_core.model import ModelRequest
from agentfp_core.retrying import worth_retrying
from agentfp_core.sse import Decoder

T = TypeVar("T")
_HOST = re.compile(r"[\w.:~-]+")


class HttpStream:
    """A reply that is read in pieces, inside ``async with`` of :meth:`ModelHttp.open`."""

    def __init__(self, response: httpx.Response, http: ModelHttp, deadline: float | None) -> None:
        self._response = response
        self._http = http
        self._deadline = deadline
        self._reading: list[AsyncGenerator[Any, None]] = []
        self.headers: Mapping[str, str] = dict(response.headers)

    @property
    def request_id(self) -> str | None:
        """The provider's id of the request, from the headers."""
        return request_id_of(self.headers)

    def read(self, decoder: Decoder[T]) -> AsyncGenerator[T, None]:
        """What a decoder makes of the reply, as it comes in.

        Args:
            decoder: a new one.

        Raises:
            ModelConnectionError: the reply broke off or stalled.
            ProviderProtocolError: the bytes are not of the format.
        """
        reading = self._read(decoder)
        self._reading.append(reading)
        return reading

    async def aclose(self) -> None:
        """End the reading, wherever it is."""
        for reading in self._reading:
            await reading.aclose()

    async def _read(self, decoder: Decoder[T]) -> AsyncGenerator[T, None]:
        chunks = self._response.aiter_bytes()
        try:
            while True:
                try:
                    with self._http.until(self._deadline):
                        chunk = await anext(chunks, None)
                except httpx.HTTPError as error:
                    raise self._http.failure(error, "the reply broke off") from error
                if chunk is None:
                    break
                for item in decoder.feed(chunk):
                    yield item
            for item in decoder.finish():
                yield item
        finally:
            await _leave(self._response, chunks)


class ModelHttp:
    """HTTP for one model.

    Args:
        provider: name of the provider, for errors.
        model: name of the model, for errors.
        base_url: what the paths of requests are put behind.
        authorize: gives the headers that authorise an attempt.
        explain: tells the provider's own error codes apart; see :mod:`agentfp_core.http_errors`.
        options: timeouts, pool, proxy, retries.
        unreachable: what to do when no connection comes about, where that is known better than in general.
    """

    def __init__(
        self,
        *,
        provider: str,
        model: str,
        base_url: str,
        authorize: Authorize | None = None,
        explain: Explain | None = None,
        options: HttpOptions | None = None,
        unreachable: str = "is the server up, and are base_url and proxy right?",
    ) -> None:
        self.provider = provider
        self.model = model
        self.base_url = _checked_url(provider, base_url)
        self.options = options or HttpOptions()
        self._pool = (self.base_url, self.options.pool_key())
        self._authorize = authorize
        self._explain = explain
        self._unreachable = unreachable

    def __repr__(self) -> str:
        return f"ModelHttp({self.provider!r}, {self.model!r})"

    async def post(self, path: str, body: Mapping[str, Any] | bytes, request: ModelRequest | None = None, **headers: str) -> HttpReply:
        """Send a request and read the whole reply.

        Args:
            path: behind the base URL.
            body: JSON data, or the bytes of it.
            request: the model call it is for: its timeout holds, and retries are reported to it.
            headers: of this request.

        Raises:
            ModelError: of the kind that fits; says what to do.
        """
        deadline = _deadline(request)
        return await self._attempts(lambda: self._whole("POST", path, body, headers, deadline), request, deadline)

    async def get(self, path: str, request: ModelRequest | None = None, **headers: str) -> HttpReply:
        """Read something, for example the list of models; as :meth:`post`.

        Args:
            path: behind the base URL.
            request: the model call it is for: its timeout holds, and retries are reported to it.
            **headers: of this request.
        """
        deadline = _deadline(request)
        return await self._attempts(lambda: self._whole("GET", path, b"", headers, deadline), request, deadline)

    @contextlib.asynccontextmanager
    async def open(
        self,
        path: str,
        body: Mapping[str, Any] | bytes,
        request: ModelRequest | None = None,
        *,
        accept: str = "text/event-stream",
        **headers: str,
    ) -> AsyncIterator[HttpStream]:
        """Send a request whose reply comes in pieces. Retries end with the reply's first byte.

        Args:
            path: behind the base URL.
            body: JSON data, or the bytes of it.
            request: the model call it is for.
            accept: the media type that the reply must have.
            headers: of this request.

        Raises:
            ModelError: of the kind that fits; ``ProviderProtocolError`` for a reply of another media type.
        """
        deadline = _deadline(request)
        response = await self._attempts(lambda: self._send("POST", path, body, {"accept": accept, **headers}, deadline), request, deadline)
        stream = HttpStream(response, self, deadline)
        try:
            got = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if got != accept:
                msg = f"{self._whose()} must answer with {accept!r}, got {got[:60]!r}; is base_url right, and does the server stream?"
                raise ProviderProtocolError(msg, provider=self.provider, model=self.model, request_id=stream.request_id)
            yield stream
        finally:
            with anyio.CancelScope(shield=True):
                await stream.aclose()
                await response.aclose()

    # -------------------------------------------------------------------------------------------------------- attempts

    async def _attempts(self, attempt: Callable[[], Awaitable[T]], request: ModelRequest | None, deadline: float | None) -> T:
        policy = self.options.retries
        begun = time.monotonic()
        for number in range(1, policy.attempts + 1):
            try:
                result = await attempt()
            except ModelError as error:
                wait = policy.wait(number, error.retry_after)
                late = deadline is not None and time.monotonic() + wait >= deadline
                if number == policy.attempts or late or not worth_retrying(error):
                    raise
                if request is not None:
                    stated = None if error.retry_after is None else round(error.retry_after * 1000)
                    request.report(Retried(number, policy.attempts, round(wait * 1000), error.code, stated, str(error)))
                await anyio.sleep(wait)
            else:
                if number > 1 and request is not None:
                    request.report(Recovered(number, round((time.monotonic() - begun) * 1000)))
                return result
        raise AssertionError("unreachable")

    async def _whole(
        self, method: str, path: str, body: Mapping[str, Any] | bytes, headers: Mapping[str, str], deadline: float | None
    ) -> HttpReply:
        response = await self._send(method, path, body, headers, deadline)
        content = await self._read_all(response, deadline)
        return HttpReply(response.status_code, dict(response.headers), content)

    async def _send(
        self, method: str, path: str, body: Mapping[str, Any] | bytes, headers: Mapping[str, str], deadline: float | None
    ) -> httpx.Response:
        """A reply that says yes, its body unread."""
        content = body if isinstance(body, bytes) else pydantic_core.to_json(body)
        client = await self._client()
        named = {
            "content-type": "application/json",
            **self.options.headers,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        url = self.base_url + path
        if self._authorize is not None:
            named |= self._authorize(HttpRequest(method, url, named, content))
        try:
            built = client.build_request(method, url, content=content, headers=named)
            built.stream = _Body(content)
        except (TypeError, ValueError, httpx.InvalidURL) as error:
            raise self._unsendable(error) from None
        try:
            with self.until(deadline):
                response = await client.send(built, stream=True)
        except httpx.LocalProtocolError as error:
            raise self._unsendable(error) from None
        except httpx.HTTPError as error:
            raise self.failure(error, "no reply came") from error
        if 200 <= response.status_code < 300:
            return response
        try:
            refusal = await self._read_all(response, deadline)
        except ModelError:
            refusal = b""  # the status alone says enough
        raise error_of_reply(self.provider, self.model, response.status_code, dict(response.headers), refusal, self._explain)

    async def _read_all(self, response: httpx.Response, deadline: float | None) -> bytes:
        parts: list[bytes] = []
        size = 0
        chunks = response.aiter_bytes()
        try:
            with self.until(deadline):
                async for chunk in chunks:
                    size += len(chunk)
                    if size > self.options.max_reply_bytes:
                        msg = f"the reply of {self._whose()} has more than {self.options.max_reply_bytes} bytes; it was not read on"
                        raise ProviderProtocolError(msg, provider=self.provider, model=self.model)
                    parts.append(chunk)
        except httpx.HTTPError as error:
            raise self.failure(error, "the reply broke off") from error
        finally:
            await _leave(response, chunks)
        return b"".join(parts)

    # ----------------------------------------------------------------------------------------------------------- errors

    def _whose(self) -> str:
        return f"{self.provider!r} (model {self.model!r})"

    def _unsendable(self, error: Exception) -> ConfigError:
        """The error's own text is kept back: it shows the header that is wrong, which may be a key."""
        kind = type(error).__name__
        return ConfigError(f"the request to {self._whose()} cannot be written ({kind}); keys and headers must be one line of plain ASCII")

    def failure(self, error: httpx.HTTPError, what: str) -> ModelConnectionError:
        """The typed error of a failed transport.

        Args:
            error: what httpx raised.
            what: what was going on, in words.
        """
        options = self.options
        timeout = isinstance(error, httpx.TimeoutException)
        if isinstance(error, httpx.ConnectTimeout):
            said = f"no connection within {options.connect_timeout:g} s; is base_url right?"
        elif isinstance(error, httpx.PoolTimeout):
            said = f"all {options.max_connections} connections were busy for {options.pool_timeout:g} s; raise max_connections"
        elif timeout:
            said = f"{what}: nothing was heard for {options.silence_timeout:g} s; try again, or raise silence_timeout"
        elif isinstance(error, httpx.ConnectError):
            said = f"no connection ({type(error).__name__}); {self._unreachable}"
        else:
            said = f"{what} ({type(error).__name__}); try again"
        kind = ModelTimeoutError if timeout else ModelConnectionError
        return kind(f"{self._whose()}: {said}", provider=self.provider, model=self.model)

    @contextlib.contextmanager
    def until(self, deadline: float | None) -> Iterator[None]:
        """Bound a wait by the deadline of the call.

        Raises:
            ModelTimeoutError: the deadline passed.
        """
        if deadline is None:
            yield
            return
        with anyio.move_on_after(max(deadline - time.monotonic(), 0)) as scope:
            yield
        if scope.cancelled_caught:
            msg = f"{self._whose()}: the call did not end within its timeout; raise the timeout setting, or ask for less"
            raise ModelTimeoutError(msg, provider=self.provider, model=self.model)

    # ----------------------------------------------------------------------------------------------------------- clients

    async def _client(self) -> httpx.AsyncClient:
        """The client of the running event loop; models of one server with the same options share it."""
        clients = _CLIENTS.get(None)
        if clients is None:
            clients = {}
            _CLIENTS.set(clients)
        kept = clients.get(self._pool)
        if kept is None:
            kept = clients[self._pool] = _Kept(self._new_client())
            await kept.start()
        return kept.client

    def _new_client(self) -> httpx.AsyncClient:
        options = self.options
        read = options.silence_timeout
        try:
            return httpx.AsyncClient(
                timeout=httpx.Timeout(connect=options.connect_timeout, read=read, write=read, pool=options.pool_timeout),
                limits=httpx.Limits(
                    max_connections=options.max_connections,
                    max_keepalive_connections=options.max_connections,
                    keepalive_expiry=options.keepalive,
                ),
                proxy=options.proxy or None,
                trust_env=options.proxy != "",
                verify=_ssl_context(options.verify),
                follow_redirects=False,
            )
        except (ValueError, OSError, ImportError, httpx.InvalidURL) as error:
            kind = type(error).__name__  # its text may show a proxy's password
            raise ConfigError(
                f"the HTTP options of {self._whose()} cannot be used ({kind}); look at proxy, verify and HTTPS_PROXY"
            ) from None


class _Body(httpx.AsyncByteStream):
    """The bytes of a request. httpx's own stream is a generator, which nobody ends when writing fails; see :func:`_leave`."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Once(self._content)


class _Once(AsyncIterator[bytes]):
    def __init__(self, content: bytes) -> None:
        self._left = [content]

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop()


async def _leave(response: httpx.Response, chunks: AsyncIterator[bytes]) -> None:
    """Close a reply, and run what httpx has open inside to its end: trio complains of generators that nobody ended."""
    with anyio.CancelScope(shield=True):
        await response.aclose()
        with contextlib.suppress(Exception):
            while await anext(chunks, None) is not None:  # what was read already comes first
                pass


class _Kept:
    """A client that is closed when its event loop ends.

    Event loops close the asynchronous generators that are still open when they end (``shutdown_asyncgens``, and the same in
    trio); the ``finally`` of this one closes the client.
    """

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self._open = self._hold(client)

    async def start(self) -> None:
        await anext(self._open)

    @staticmethod
    async def _hold(client: httpx.AsyncClient) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await client.aclose()


_CLIENTS: anyio.lowlevel.RunVar[dict[tuple[Any, ...], _Kept]] = anyio.lowlevel.RunVar("agentfp_http")
"""The clients of each event loop, by server and options: connections belong to the loop that opened them."""


def _deadline(request: ModelRequest | None) -> float | None:
    timeout = None if request is None else request.settings.timeout
    return None if timeout is None else time.monotonic() + timeout


def _ssl_context(verify: bool | str | ssl.SSLContext) -> bool | ssl.SSLContext:
    if isinstance(verify, str):
        return ssl.create_default_context(cafile=verify)
    return _default_context() if verify is True else verify


@functools.cache
def _default_context() -> ssl.SSLContext:
    """One for all clients: reading the authorities' certificates takes 20 ms and more."""
    return httpx.create_ssl_context()


def _checked_url(provider: str, base_url: str) -> str:
    """Refuse a base URL that cannot be one, before anything is sent."""
    try:
        parsed = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ConfigError(f"base_url of {provider!r} is no URL; it looks like 'https://host/v1'") from error
    if parsed.scheme not in ("http", "https") or not _HOST.fullmatch(parsed.host):
        raise ConfigError(f"base_url of {provider!r} needs http:// or https:// and a host, such as 'https://host/v1'")
    if parsed.userinfo:
        raise ConfigError(f"base_url of {provider!r} holds a user name or password; pass a key or headers")
    return str(parsed).rstrip("/")
