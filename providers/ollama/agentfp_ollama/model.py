"""A model of an Ollama server: settings, the two ways to call it, and what the server says of it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from agentfp.http import HttpOptions, HttpRequest, ModelHttp, NdjsonDecoder, shows_http_options
from agentfp.model import (
    ModelCatalog,
    ModelChunk,
    ModelConnectionError,
    ModelError,
    ModelFeatures,
    ModelRequest,
    ModelResponse,
    ProviderProtocolError,
    Usage,
)
from agentfp_ollama.errors import explaining
from agentfp_ollama.host import url_of
from agentfp_ollama.reading import Reading
from agentfp_ollama.request import Bodies

USUAL = ModelFeatures(
    streaming=True,
    parallel_tool_calls=True,
    json_schema=True,
    thinking=True,
    images=True,
    roles=("system", "user", "assistant", "tool"),
)
"""What a model has unless the data or the server says otherwise."""


@shows_http_options
class OllamaModel:
    """A model of an Ollama server.

    Args:
        name: its name there, such as ``qwen3:8b``; the provider's default when empty.
        base_url: where the server is, as ``OLLAMA_HOST`` names it; that variable, or this machine, when left out.
        api_key: for a server behind a proxy, or Ollama's cloud; that of ``OLLAMA_API_KEY`` when left out and the server is spoken
            to by https.
        num_ctx: tokens of context that the server makes room for. It cuts off what is longer, so set it for long conversations; the
            server's own default when left out.
        options: timeouts, pool, proxy, retries, as ``agentfp.http.HttpOptions`` names them.

    Raises:
        ConfigError: a setting is unknown or has a value that cannot be.
    """

    provider = "ollama"

    def __init__(
        self,
        name: str = "",
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        num_ctx: int | None = None,
        **options: Any,
    ) -> None:
        self.name = name or _catalog().default or ""
        usual = _catalog().features(self.name.rpartition("/")[2].partition(":")[0], USUAL)
        self._features = dataclasses.replace(usual, context_window=num_ctx)
        self._num_ctx = num_ctx
        self._bodies = Bodies(self.provider, self.name, self._features, num_ctx)
        self._key = api_key
        self._explain = explaining(self.name)
        url = url_of(os.environ.get("OLLAMA_HOST", "") if base_url is None else base_url)
        self._http = ModelHttp(
            provider=self.provider,
            model=self.name,
            base_url=url,
            authorize=self._authorize,
            explain=self._explain,
            options=HttpOptions.of(self.provider, options, own=("base_url", "api_key", "num_ctx")),
            unreachable=f"nothing answers at {url.partition('?')[0]}: start the server with `ollama serve`, or set OLLAMA_HOST or base_url",
        )

    def __repr__(self) -> str:
        return f"OllamaModel({self.name!r})"

    @property
    def features(self) -> ModelFeatures:
        """What the model can do."""
        return self._features

    async def inspect(self) -> OllamaModel:
        """The same model, with the features that its server states: tools, images, thinking, and the context window.

        The window is ``num_ctx`` where that is set or stands in the model's own parameters, else what the model was trained for.

        Raises:
            ModelError: the server was not reached, or does not have the model.
            ProviderProtocolError: it did not answer as an Ollama server does.
        """
        shown = (await self._http.post("/api/show", {"model": self.name})).json()
        if not isinstance(shown, Mapping):
            msg = f"{self.provider!r} described model {self.name!r} by no object; is base_url that of an Ollama server?"
            raise ProviderProtocolError(msg, provider=self.provider, model=self.name)
        features = dataclasses.replace(self._features, context_window=self._num_ctx or _window(shown))
        able = shown.get("capabilities")
        if isinstance(able, list):
            features = dataclasses.replace(features, tools="tools" in able, images="vision" in able, thinking="thinking" in able)
        made = object.__new__(OllamaModel)
        made.__dict__.update(self.__dict__, _features=features, _bodies=Bodies(self.provider, self.name, features, self._num_ctx))
        return made

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer at once.

        Args:
            request: the request.

        Raises:
            ModelError: the call failed; of the kind that fits.
        """
        body = self._bodies.body(request, stream=False)
        reply = await self._http.post("/api/chat", body, request)
        reading = Reading(self.provider, self.name, self._explain)
        with self._facts_of(reading):
            for _ in reading.feed(reply.json()):
                pass
            return reading.response(reply.request_id)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer in pieces, each as it comes.

        Args:
            request: the request.

        Raises:
            ModelError: the call failed; of the kind that fits, with the tokens that were reported by then.
        """
        body = self._bodies.body(request, stream=True)
        reading = Reading(self.provider, self.name, self._explain)
        request_id: str | None = None
        with self._facts_of(reading):
            try:
                async with self._http.open("/api/chat", body, request, accept="application/x-ndjson") as reply:
                    request_id = reply.request_id
                    async for piece in reply.read(NdjsonDecoder()):
                        for chunk in reading.feed(piece):
                            yield chunk
            except ModelConnectionError:
                if not reading.ended:  # what breaks after the end of a reply took nothing away
                    raise
            yield reading.response(request_id)

    def _authorize(self, request: HttpRequest) -> dict[str, str]:
        key = self._key
        if key is None and request.url.startswith("https://"):  # a key of the environment goes over no open line
            key = os.environ.get("OLLAMA_API_KEY")
        return {"authorization": f"Bearer {key}"} if key else {}

    @contextlib.contextmanager
    def _facts_of(self, reading: Reading) -> Iterator[None]:
        """Whatever goes wrong, the tokens that were reported by then are counted."""
        try:
            yield
        except ModelError as error:
            error.provider, error.model = self.provider, self.name
            if reading.usage != Usage():
                error.usage = reading.usage
            raise


@functools.cache
def _catalog() -> ModelCatalog:
    return ModelCatalog.of_package("agentfp_ollama")


def _window(shown: Mapping[str, Any]) -> int | None:
    """The context window that a description of a model states."""
    parameters = shown.get("parameters")
    for line in parameters.splitlines() if isinstance(parameters, str) else ():
        name, _, value = line.strip().partition(" ")
        if name == "num_ctx" and value.strip().isdigit():
            return int(value)
    facts = shown.get("model_info")
    for name, value in facts.items() if isinstance(facts, Mapping) else ():
        if name.endswith(".context_length") and isinstance(value, int):
            return value
    return None
