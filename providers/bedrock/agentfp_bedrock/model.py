"""The model object: settings, credentials and HTTP around the writing of requests and the reading of replies."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Literal
from urllib.parse import quote

import anyio

from agentfp import ConfigError
from agentfp.events import ThinkingOmitted
from agentfp.http import HttpOptions, ModelHttp, shows_http_options
from agentfp.model import ModelChunk, ModelConnectionError, ModelError, ModelFeatures, ModelRequest, ModelResponse, Usage, on_loopback
from agentfp_bedrock.catalog import CATALOG, features_of, rules_of
from agentfp_bedrock.content import PROVIDER
from agentfp_bedrock.errors import explain
from agentfp_bedrock.frames import FrameDecoder
from agentfp_bedrock.replies import ReplyReader, response_of
from agentfp_bedrock.requests import Asked, Style, ask
from agentfp_bedrock.signing import Identity, Signer

EVENT_STREAM = "application/vnd.amazon.eventstream"
REST_SECONDS = 0.25
"""How long to wait for the end of a reply whose last event is there, so that its connection can be used again."""
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_ENDPOINTS = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL")


@shows_http_options
class BedrockModel:
    """A model of Amazon Bedrock.

    Args:
        model: id of a model, of an inference profile (``us.anthropic.claude-...``), or an ARN of one; empty for the default one.
        region: of AWS; that of ``AWS_REGION``, ``AWS_DEFAULT_REGION`` or the profile where left out.
        profile: of the user's AWS files.
        access_key_id: of a key, in place of what AWS's own chain of credentials finds.
        secret_access_key: of the same key.
        session_token: of temporary credentials.
        api_key: a bearer token of Bedrock; that of ``AWS_BEARER_TOKEN_BEDROCK`` where nothing else is given.
        endpoint_url: where the API is; Amazon's address of the region where left out. A server on this machine needs no credentials.
        base_url: the same, as other providers call it.
        base_model: the model behind an ARN that does not name it, for its features and prices.
        thinking: how a Claude model thinks where a request states no ``thinking_tokens``; the model's own way where left out.
        effort: how much the model thinks and writes: ``low`` to ``max``.
        http: further keyword settings are those of :class:`agentfp.http.HttpOptions`.

    Raises:
        ConfigError: a setting is unknown or has a value that it cannot have.
    """

    provider = PROVIDER

    def __init__(
        self,
        model: str = "",
        *,
        region: str | None = None,
        profile: str | None = None,
        access_key_id: str | None = None,
        secret_access_key: str | None = None,
        session_token: str | None = None,
        api_key: str | None = None,
        endpoint_url: str | None = None,
        base_url: str | None = None,
        base_model: str | None = None,
        thinking: Literal["adaptive", "between_tools", "disabled"] | None = None,
        effort: str | None = None,
        **http: Any,
    ) -> None:
        problems = []
        if thinking not in (None, "adaptive", "between_tools", "disabled"):
            problems.append(f"thinking of {PROVIDER!r} takes 'adaptive', 'between_tools' or 'disabled', got {thinking!r}")
        if (access_key_id is None) != (secret_access_key is None):
            problems.append(f"{PROVIDER!r} takes access_key_id and secret_access_key together")
        if endpoint_url is not None and base_url is not None:
            problems.append(f"{PROVIDER!r} takes endpoint_url or base_url, which are the same, not both")
        try:
            self._options = HttpOptions.of(PROVIDER, http, own=_OWN)
        except ConfigError as error:
            problems += error.problems
        if problems:
            raise ConfigError(problems)
        self.name = model or CATALOG.default or ""
        self.features: ModelFeatures = features_of(base_model or self.name)
        self._rules = rules_of(base_model or self.name)
        self._style = Style(thinking=thinking, effort=effort)
        self._path = f"/model/{quote(self.name, safe='')}"
        self._endpoint = endpoint_url or base_url or _environment(_ENDPOINTS)
        self._signer = Signer(
            Identity(api_key, access_key_id, secret_access_key, session_token, profile),
            self.name,
            keyless=self._endpoint is not None and on_loopback(self._endpoint),
        )
        self._http: ModelHttp | None = None
        known = region or _environment(_REGIONS)
        if known or self._endpoint:
            self._http = self._made(known or "us-east-1")

    def __repr__(self) -> str:
        return f"BedrockModel({self.name!r})"

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer at once; as :meth:`agentfp.model.Model.complete`."""
        asked = self._ask(request)
        http = await self._ready()
        reply = await http.post(f"{self._path}/converse", asked.body, request)
        with self._told(reply.request_id):
            return response_of(reply.json(), reply.request_id)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Answer in pieces; as :meth:`agentfp.model.Model.stream`."""
        asked = self._ask(request)
        http = await self._ready()
        async with http.open(f"{self._path}/converse-stream", asked.body, request, accept=EVENT_STREAM) as opened:
            reader = ReplyReader(self.name, opened.request_id)
            async with contextlib.aclosing(opened.read(FrameDecoder())) as frames:
                with self._told(opened.request_id, reader):
                    async for frame in frames:
                        chunk = reader.take(frame)
                        if chunk is not None:
                            yield chunk
                        elif reader.done:
                            break
                    if not reader.done:
                        msg = f"{PROVIDER!r} (model {self.name!r}): the reply ended before it was whole; try again"
                        raise ModelConnectionError(msg)
                    response = reader.response()
                with anyio.move_on_after(REST_SECONDS), contextlib.suppress(ModelError):
                    async for _ in frames:
                        pass
                yield response

    # ------------------------------------------------------------------------------------------------------------------ requests

    def _ask(self, request: ModelRequest) -> Asked:
        asked = ask(request, self.name, self._rules, self._style)
        for message, block in asked.wire.omitted:
            request.report(ThinkingOmitted(PROVIDER, self.name, message, block, "another-provider"))
        return asked

    async def _ready(self) -> ModelHttp:
        """HTTP with credentials that are fresh."""
        if self._http is None:
            region = await self._signer.configured_region()
            if not region:
                msg = f"{PROVIDER!r} (model {self.name!r}) needs a region; set AWS_REGION, or pass region"
                raise ConfigError(msg)
            self._http = self._made(region)
        await self._signer.prepare()
        return self._http

    def _made(self, region: str) -> ModelHttp:
        self._signer.region = region
        suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        return ModelHttp(
            provider=PROVIDER,
            model=self.name,
            base_url=self._endpoint or f"https://bedrock-runtime.{region}.{suffix}",
            authorize=self._signer.sign,
            explain=explain,
            options=self._options,
        )

    # ------------------------------------------------------------------------------------------------------------------- replies

    @contextlib.contextmanager
    def _told(self, request_id: str | None, reader: ReplyReader | None = None) -> Iterator[None]:
        """Errors while a reply is read carry whose it was, and the tokens that it reported before."""
        try:
            yield
        except ModelError as error:
            error.provider, error.model = PROVIDER, self.name
            error.request_id = error.request_id or request_id
            if error.usage is None and reader is not None and reader.usage != Usage():
                error.usage = reader.usage
            raise


_OWN = [name for name in BedrockModel.__init__.__annotations__ if name not in ("model", "http", "return")]


def _environment(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
