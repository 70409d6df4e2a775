"""What the models of both interfaces are made of: a server, HTTP to it, features, and errors that lose nothing that is known."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from typing import Any, Protocol

import anyio

from agentfp.http import HttpOptions, HttpStream, ModelHttp, ServerSentEvent, SseDecoder
from agentfp.model import ModelConnectionError, ModelError, ModelFeatures, ModelRequest, Usage
from agentfp_openai.errors import explain
from agentfp_openai.families import Family, family_of
from agentfp_openai.server import Server

PROVIDER = "openai"
_GRACE = 0.25
"""Seconds that a reply which is complete is given to end, so that its connection can serve the next call."""


class Collected(Protocol):
    """A reply as far as it came."""

    @property
    def usage(self) -> Usage:
        """Tokens, as far as they are reported."""


class OpenAIModel:
    """A model on a server that speaks one of OpenAI's interfaces.

    Args:
        name: the model's name; on Azure's dated interface that of the deployment.
        server: where it is.
        features: what it can do.
        options: timeouts, proxy, retries.
        reasoning_effort: effort that it puts into thinking; its own default when None.
        reasoning_summary: which summary of its thinking is asked for, over Responses.
    """

    provider = PROVIDER

    def __init__(
        self,
        name: str,
        *,
        server: Server,
        features: ModelFeatures,
        options: HttpOptions | None = None,
        reasoning_effort: str | None = None,
        reasoning_summary: str | None = None,
    ) -> None:
        self.name = name
        self.server = server
        self.features = features
        self.family = Family() if server.kind == "compatible" else family_of(name)
        self.reasoning_effort = reasoning_effort
        self.reasoning_summary = reasoning_summary
        self.http = ModelHttp(
            provider=PROVIDER,
            model=name,
            base_url=server.base_url,
            authorize=lambda _: server.authorization(PROVIDER, name),
            explain=explain,
            options=options,
        )

    def check_ready(self) -> None:
        """Say without a request whether there is a key.

        Raises:
            ModelAuthenticationError: there is none, and where it belongs.
        """
        if not callable(self.server.key):
            self.server.authorization(PROVIDER, self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, base_url={self.server.base_url!r})"

    @contextlib.asynccontextmanager
    async def opened(
        self, call: str, body: Mapping[str, Any], request: ModelRequest, collected: Collected
    ) -> AsyncIterator[tuple[HttpStream, AsyncGenerator[ServerSentEvent, None]]]:
        """A reply in pieces, and its events.

        Args:
            call: the interface's path.
            body: of the request.
            request: the request.
            collected: the reply as far as it came; an error carries its usage.
        """
        async with self.http.open(self.server.path(call, self.name), body, request) as stream:
            with self.facts(collected, stream.request_id):
                yield stream, stream.read(SseDecoder())

    @contextlib.contextmanager
    def facts(self, collected: Collected, request_id: str | None) -> Iterator[None]:
        """Errors in here carry what is known: provider, model, the id of the request, and tokens that were reported.

        Args:
            collected: the reply as far as it came.
            request_id: the id that the server gave the request.
        """
        try:
            yield
        except ModelError as error:
            error.provider = error.provider or PROVIDER
            error.model = error.model or self.name
            error.request_id = error.request_id or request_id
            if error.usage is None and collected.usage != Usage():
                error.usage = collected.usage
            raise

    def broken_off(self) -> ModelConnectionError:
        """The error of a stream that ends before its reply does."""
        return ModelConnectionError(f"{PROVIDER!r} (model {self.name!r}): the reply ended before it was complete; try again")


async def rest_of(events: AsyncIterator[ServerSentEvent]) -> None:
    """Read a reply that is complete to the end of its bytes, so that the connection can be used again; not for long."""
    with anyio.move_on_after(_GRACE):
        async for _ in events:
            pass
