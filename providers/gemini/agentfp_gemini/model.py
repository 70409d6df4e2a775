"""A Gemini model: settings, authorisation, and the two ways to call it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import quote

from agentfp.http import HttpOptions, HttpRequest, ModelHttp, SseDecoder, shows_http_options
from agentfp.model import (
    ModelAuthenticationError,
    ModelChunk,
    ModelConnectionError,
    ModelError,
    ModelFeatures,
    ModelRequest,
    ModelResponse,
    Usage,
)
from agentfp_gemini.errors import explain
from agentfp_gemini.known import catalog, known
from agentfp_gemini.reading import Reading
from agentfp_gemini.request import Bodies

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


@shows_http_options
class GeminiModel:
    """A model of the Gemini API, of Vertex AI, or of a server that speaks the same.

    Args:
        name: its id, such as ``gemini-4-hydrogen``; the provider's default when empty.
        api_key: the key; that of ``GEMINI_API_KEY`` or ``GOOGLE_API_KEY`` when left out, looked up at each call.
        access_token: an OAuth token in place of a key, or a function that gives one; called for each attempt.
        base_url: what ``/models/NAME:generateContent`` is put behind, the version included.
        options: timeouts, pool, proxy, retries, as ``agentfp.http.HttpOptions`` names them.

    Raises:
        ConfigError: a setting is unknown or has a value that cannot be.
    """

    provider = "gemini"

    def __init__(
        self,
        name: str = "",
        *,
        api_key: str | None = None,
        access_token: str | Callable[[], str] | None = None,
        base_url: str = BASE_URL,
        **options: Any,
    ) -> None:
        self.name = name or catalog().default or ""
        self._known = known(self.name)
        self._bodies = Bodies(self.provider, self.name, self._known)
        self._key = api_key
        self._token = access_token
        folder = "" if "/" in self.name else "models/"
        self._path = f"/{folder}{quote(self.name, safe='/@')}"
        self._http = ModelHttp(
            provider=self.provider,
            model=self.name,
            base_url=base_url,
            authorize=self._authorize,
            explain=explain,
            options=HttpOptions.of(self.provider, options, own=("api_key", "access_token", "base_url")),
        )

    def __repr__(self) -> str:
        return f"GeminiModel({self.name!r})"

    @property
    def features(self) -> ModelFeatures:
        """What the model can do."""
        return self._known.features

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer at once.

        Args:
            request: the request.

        Raises:
            ModelError: the call failed; of the kind that fits.
        """
        body = self._bodies.body(request)
        reply = await self._http.post(f"{self._path}:generateContent", body, request)
        reading = Reading(self.provider, self.name)
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
        body = self._bodies.body(request)
        reading = Reading(self.provider, self.name)
        request_id: str | None = None
        with self._facts_of(reading):
            try:
                async with self._http.open(f"{self._path}:streamGenerateContent?alt=sse", body, request) as reply:
                    request_id = reply.request_id
                    async for event in reply.read(SseDecoder()):
                        for chunk in reading.feed(event.json()):
                            yield chunk
            except ModelConnectionError:
                if not reading.ended:  # what breaks after the end of a reply took nothing away
                    raise
            yield reading.response(request_id)

    def check_ready(self) -> None:
        """Say without a request whether there is a key.

        Raises:
            ModelAuthenticationError: there is none, and where it belongs.
        """
        if self._token is None:
            self._key_header()

    def _authorize(self, _: HttpRequest) -> dict[str, str]:
        if self._token is not None:
            return {"authorization": f"Bearer {self._token if isinstance(self._token, str) else self._token()}"}
        return self._key_header()

    def _key_header(self) -> dict[str, str]:
        key = self._key or next((value for name in KEYS if (value := os.environ.get(name))), None)
        if key is None:
            msg = f"no key for model {self.name!r} of {self.provider!r}; set {KEYS[0]} (or {KEYS[1]}), or pass api_key"
            raise ModelAuthenticationError(msg, provider=self.provider, model=self.name)
        return {"x-goog-api-key": key}

    @contextlib.contextmanager
    def _facts_of(self, reading: Reading) -> Iterator[None]:
        """Whatever goes wrong, the tokens that were reported by then are billed."""
        try:
            yield
        except ModelError as error:
            error.provider, error.model = self.provider, self.name
            if reading.usage != Usage():
                error.usage = reading.usage
            raise
