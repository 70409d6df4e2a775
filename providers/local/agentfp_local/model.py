"""``LocalModel``: decides what a request wants, has the server decode it within bounds, and reads the reply."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio.to_thread
import pydantic_core

from agentfp import ConfigError
from agentfp.http import HttpOptions, HttpRequest, ModelHttp, RetryPolicy
from agentfp.model import (
    ModelChunk,
    ModelConnectionError,
    ModelFeatures,
    ModelRequest,
    ModelResponse,
    Prices,
    StopReason,
    TextChunk,
    ToolCall,
)
from agentfp_local import prompts, weights
from agentfp_local.chat import ChatClient, Said, body_of, explain
from agentfp_local.choosing import choose
from agentfp_local.servers import LlamaServer, ServerOptions, server_for
from agentfp_local.turn import turn_of
from agentfp_local.wording import grammar

FREE = Prices(input=Decimal(0), output=Decimal(0), cache_read=Decimal(0), cache_write=Decimal(0))
_SILENCE = 600.0
"""Seconds that a call waits for its turn, and for a long prompt to be read."""


class LocalModel:
    """A small model on this machine.

    It calls tools, fills arguments and answers from results by constrained decoding: what it may write is bounded by the
    schemas of the tools, the words of the question and those of the results. Temperature 0 unless a request says otherwise, so
    the same request gives the same reply.

    Args:
        name: ``smollm2`` (also when left out), or the path of a GGUF file.
        context: tokens that a request and its reply may have together; memory grows with it.
        threads: threads that decode. More than one is slower as soon as anything else uses the processor.
        seed: for requests with a temperature that name no seed.
        chat_template: a Jinja template, or the path of one, in place of the file's own.
        tools: whether tools may be offered; without them it is a plain chat model.
        base_url: of a llama.cpp server that runs already; none is started then, and ``name`` may be any name.
        key: that server's key.
        options: timeouts and connections.

    Raises:
        ModelNotFoundError: the weights are not there; says what to install.
        ConfigError: a setting cannot be used.
    """

    provider = "local"

    def __init__(
        self,
        name: str = "",
        *,
        context: int = 4096,
        threads: int = 1,
        seed: int = 0,
        chat_template: str | None = None,
        tools: bool = True,
        base_url: str | None = None,
        key: str | None = None,
        options: HttpOptions | None = None,
    ) -> None:
        self.name = name or weights.DEFAULT
        _check(context=context, threads=threads, seed=seed)
        self._seed = seed
        self._http_options = options or _own_options()
        self.features = ModelFeatures(
            streaming=True,
            tools=tools,
            parallel_tool_calls=tools,
            forced_tool_choice=tools,
            json_schema=True,
            context_window=context if base_url is None else None,
            prices=FREE,
        )
        self._server_options: ServerOptions | None = None
        self._server: LlamaServer | None = None
        if base_url is not None:
            self._client = self._connect(base_url, key)
        else:
            self._server_options = ServerOptions(weights.find(self.name), self.name, context, threads, _template(chat_template))

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r})"

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer at once.

        Raises:
            ModelError: of the kind that fits.
        """
        client = await self._ready()
        calls, body = self._plan(request)
        try:
            said = await client.complete(body, request)
        except ModelConnectionError as error:
            self._look_after(error)
            raise
        return _called(said) if calls else _answered(said)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer in pieces; calls come whole.

        Raises:
            ModelError: of the kind that fits.
        """
        client = await self._ready()
        calls, body = self._plan(request)
        try:
            if calls:
                yield _called(await client.complete(body, request))
                return
            async with contextlib.aclosing(client.stream(body, request)) as pieces:
                async for piece in pieces:
                    yield TextChunk(piece) if isinstance(piece, str) else _answered(piece)
        except ModelConnectionError as error:
            self._look_after(error)
            raise

    def _plan(self, request: ModelRequest) -> tuple[bool, dict[str, Any]]:
        """Whether calls are decoded, and the body that has it done."""
        body = functools.partial(body_of, self.name, request, seed=self._seed)
        turn = turn_of(request.messages)
        choices = choose(request, turn) if request.tools else ()
        if choices:
            return True, body(prompts.calling(turn, choices), _schema(prompts.call_schema(choices)))
        from_results = bool(request.tools and turn.results)
        messages = prompts.from_results(request, turn) if from_results else prompts.conversation(request)
        if request.output_schema_json is not None:
            return False, body(messages, _schema(pydantic_core.from_json(request.output_schema_json)))
        bounds = grammar(messages[-1]["content"]) if from_results else None
        return False, body(messages, {} if bounds is None else {"grammar": bounds})

    # ----------------------------------------------------------------------------------------------------------- server

    async def _ready(self) -> ChatClient:
        """The client of a server that runs; the first call starts it."""
        if self._server_options is None:
            return self._client
        server = self._server
        if server is None or server.ended is not None:
            server = await anyio.to_thread.run_sync(server_for, self._server_options, abandon_on_cancel=True)
            self._client = self._connect(server.url, server.key)
            self._server = server
        return self._client

    def _connect(self, base_url: str, key: str | None) -> ChatClient:
        def authorize(_attempt: HttpRequest) -> dict[str, str]:
            return {} if key is None else {"authorization": f"Bearer {key}"}

        http = ModelHttp(
            provider="local", model=self.name, base_url=base_url, authorize=authorize, explain=explain, options=self._http_options
        )
        return ChatClient(http, self.features.context_window)

    def _look_after(self, error: ModelConnectionError) -> None:
        """Say more where a call failed because the server has ended.

        Raises:
            ModelConnectionError: it has.
        """
        ended = self._server.ended if self._server is not None else None
        if ended is not None:
            how = f"signal {-ended}" if ended < 0 else f"exit code {ended}"
            msg = f"the server of the local model {self.name!r} ended in the middle of a call ({how}); the next call starts it anew"
            raise ModelConnectionError(msg, provider="local", model=self.name) from error


def _schema(schema: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}}


def _answered(said: Said) -> ModelResponse:
    return ModelResponse(
        text=said.text, usage=said.usage, stop=said.stop, provider_stop=said.provider_stop, response_id=said.id, model=said.model
    )


def _called(said: Said) -> ModelResponse:
    """The calls of a reply; one that was cut off before its end has none."""
    try:
        data = pydantic_core.from_json(said.text)
    except ValueError:
        return _answered(said)
    calls = tuple(ToolCall.make(call["tool"], call["arguments"]) for call in data.get("calls", [data]))
    return ModelResponse(
        tool_calls=calls,
        usage=said.usage,
        stop=StopReason.TOOL_USE,
        provider_stop=said.provider_stop,
        response_id=said.id,
        model=said.model,
    )


def _template(given: str | None) -> str | None:
    """The text of a chat template."""
    if given is None or "{{" in given or "{%" in given:
        return given
    try:
        return Path(given).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"chat_template {given!r} is neither a Jinja template nor a file that can be read") from error


def _own_options() -> HttpOptions:
    """For a server of our own: no proxy; connections given up before it does so itself, and one more attempt if it was faster."""
    return HttpOptions(silence_timeout=_SILENCE, proxy="", keepalive=2.0, retries=RetryPolicy(attempts=2, initial=0.05))


def _check(*, context: Any, threads: Any, seed: Any) -> None:
    problems = [
        f"{name} of a local model takes a whole number from {least}, got {value!r}"
        for name, value, least in (("context", context, 256), ("threads", threads, 1), ("seed", seed, 0))
        if isinstance(value, bool) or not isinstance(value, int) or value < least
    ]
    if problems:
        raise ConfigError(problems)
