"""The model object: settings, keys and HTTP around the writing of requests and the reading of replies."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, get_type_hints

import anyio

from agentfp import ConfigError
from agentfp.events import ThinkingOmitted
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
    on_loopback,
)
from agentfp_anthropic.catalog import CATALOG, USUAL, rules_of
from agentfp_anthropic.content import PROVIDER
from agentfp_anthropic.errors import explain
from agentfp_anthropic.replies import ReplyReader, response_of
from agentfp_anthropic.requests import Asked, Style, ask

BASE_URL = "https://api.anthropic.com"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
REST_SECONDS = 0.25
"""How long to wait for the end of a reply whose last event is there, so that its connection can be used again."""


@shows_http_options
class AnthropicModel:
    """A Claude model, or one behind a server that speaks the Messages API.

    Args:
        model: its name; empty for the default one.
        api_key: the key; that of the variable ``ANTHROPIC_API_KEY``, looked up at each call, where left out. A server on this machine
            needs none.
        auth_token: a bearer token, in place of a key.
        base_url: where the API is, without ``/v1``.
        api_version: of the API.
        betas: names of beta features, for the header ``anthropic-beta``.
        thinking: how the model thinks where a request states no ``thinking_tokens``; the model's own way where left out.
        thinking_display: whether thinking is shown; newer models show none unless told ``summarized``.
        effort: how much the model thinks and writes, for models that take no budget.
        on_changed_history: what happens to thinking of the newest models when something before it changed, such as the system text:
            ``drop_thinking`` goes on without it and files that, ``error`` lets the API refuse the request.
        http: further keyword settings are those of :class:`agentfp.http.HttpOptions`.

    Raises:
        ConfigError: a setting is unknown or has a value that it cannot have.
    """

    provider = PROVIDER

    def __init__(
        self,
        model: str = "",
        *,
        api_key: str | None = None,
        auth_token: str | None = None,
        base_url: str | None = None,
        api_version: str = "2023-06-01",
        betas: Sequence[str] = (),
        thinking: Literal["adaptive", "between_tools", "disabled"] | None = None,
        thinking_display: Literal["summarized", "omitted"] | None = None,
        effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None,
        on_changed_history: Literal["drop_thinking", "error"] = "drop_thinking",
        **http: Any,
    ) -> None:
        style = {
            "thinking": thinking,
            "thinking_display": thinking_display,
            "effort": effort,
            "on_changed_history": on_changed_history,
        }
        problems = _misfits(style)
        if isinstance(betas, str) or not all(isinstance(beta, str) for beta in betas):
            problems.append(f"betas of {PROVIDER!r} takes a list of names")
        try:
            options = HttpOptions.of(PROVIDER, http, own=_OWN)
        except ConfigError as error:
            problems += error.problems
        if problems:
            raise ConfigError(problems)
        self._style = Style(**style)  # type: ignore[arg-type]
        self.name = model or CATALOG.default or ""
        self.features: ModelFeatures = CATALOG.features(self.name, USUAL)
        self._rules = rules_of(self.name)
        self._key, self._token = api_key, auth_token
        self._version = api_version
        self._betas = tuple(betas)
        self._http = ModelHttp(
            provider=PROVIDER,
            model=self.name,
            base_url=base_url or BASE_URL,
            authorize=self._authorize,
            explain=explain,
            options=options,
        )
        self._keyless = on_loopback(self._http.base_url)

    def __repr__(self) -> str:
        return f"AnthropicModel({self.name!r})"

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer at once; as :meth:`agentfp.model.Model.complete`."""
        asked = self._ask(request, stream=False)
        reply = await self._http.post("/v1/messages", asked.body, request, **self._headers(asked))
        with self._told(reply.request_id):
            message = reply.json()
            response = response_of(message, reply.request_id)
        self._report(request, asked, message.get("input_transformations"))
        return response

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Answer in pieces; as :meth:`agentfp.model.Model.stream`."""
        asked = self._ask(request, stream=True)
        async with self._http.open("/v1/messages", asked.body, request, **self._headers(asked)) as opened:
            reader = ReplyReader(self.name, opened.request_id)
            async with contextlib.aclosing(opened.read(SseDecoder())) as events:
                with self._told(opened.request_id, reader):
                    async for event in events:
                        chunk = reader.take(event)
                        if chunk is not None:
                            yield chunk
                        elif reader.done:
                            break
                    if not reader.done:
                        msg = f"{PROVIDER!r} (model {self.name!r}): the reply ended before it was whole; try again"
                        raise ModelConnectionError(msg)
                    response = reader.response()
                    self._report(request, asked, reader.transformations)
                with anyio.move_on_after(REST_SECONDS), contextlib.suppress(ModelError):
                    async for _ in events:
                        pass
                yield response

    # ------------------------------------------------------------------------------------------------------------------ requests

    def _ask(self, request: ModelRequest, *, stream: bool) -> Asked:
        asked = ask(request, self.name, self._rules, self._style, stream=stream)
        for message, block in asked.wire.omitted:
            request.report(ThinkingOmitted(PROVIDER, self.name, message, block, "another-provider"))
        return asked

    def _headers(self, asked: Asked) -> dict[str, str]:
        headers = {"anthropic_version": self._version}
        betas = dict.fromkeys((*self._betas, *asked.betas))
        return headers | ({"anthropic_beta": ",".join(betas)} if betas else {})

    def _authorize(self, _attempt: HttpRequest) -> Mapping[str, str]:
        if self._token:
            return {"authorization": f"Bearer {self._token}"}
        key = self._key or os.environ.get(KEY_VARIABLE)
        if key:
            return {"x-api-key": key}
        if self._keyless:
            return {}
        msg = f"{PROVIDER!r} (model {self.name!r}) needs a key; set the variable {KEY_VARIABLE}, or pass api_key"
        raise ModelAuthenticationError(msg, provider=PROVIDER, model=self.name)

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

    def _report(self, request: ModelRequest, asked: Asked, transformations: Any) -> None:
        """File the thinking that the API left out."""
        if not isinstance(transformations, list):
            return
        for item in transformations:
            if isinstance(item, dict) and item.get("type") == "thinking_dropped":
                _, message, _, block = f"{item.get('path')}...".split(".")[:4]
                if message.isdigit() and block.isdigit():
                    reason = str(item.get("reason"))[:60]
                    request.report(ThinkingOmitted(PROVIDER, self.name, asked.wire.message_at(int(message)), int(block), reason))


_OWN = [name for name in AnthropicModel.__init__.__annotations__ if name not in ("model", "http", "return")]


def _misfits(settings: Mapping[str, Any]) -> list[str]:
    """What is wrong with settings that are one of a few words."""
    hints = get_type_hints(Style)
    problems = []
    for name, value in settings.items():
        words = [word for part in (hints[name], *get_args(hints[name])) for word in get_args(part) if isinstance(word, str)]
        if value is not None and value not in words:
            problems.append(f"{name} of {PROVIDER!r} takes {', '.join(map(repr, dict.fromkeys(words)))}, got {value!r}")
    return problems
