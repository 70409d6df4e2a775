"""A model that is asked again when a call fails in a way that may pass."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import anyio

from agentfp_core.billing import failed_call
from agentfp_core.errors import text_of
from agentfp_core.events.error import Recovered, Retried
from agentfp_core.model import Model, ModelChunk, ModelRequest, ModelResponse, ModelWrapper, resolve_model
from agentfp_core.protocol import streaming
from agentfp_core.retrying import RetryPolicy, worth_retrying


class Retry(ModelWrapper):
    """Calls a model again after errors without a 4xx status and after 429; never after a cancellation, nor once anything was shown.

    Providers that speak HTTP try again by themselves (``retries`` of their HTTP options): give them ``attempts=1`` where this wrapper
    is to do it.

    Args:
        model: the model, or its name.
        policy: how often, and how long to wait in between; a wait that the provider states is kept to as far as ``longest`` allows.
    """

    def __init__(self, model: Model | str, policy: RetryPolicy | None = None) -> None:
        super().__init__(resolve_model(model))
        self.policy = policy or RetryPolicy()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call the model until it answers.

        Raises:
            ModelError: the last attempt's error, or one that does not pass.
        """
        rounds = _Rounds(self.inner, self.policy, request)
        while True:
            try:
                response = await self.inner.complete(request)
            except Exception as error:
                await rounds.failed(error)
            else:
                rounds.recovered()
                return response

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream from the model; a failure before the first piece is tried again, one after it is final."""
        rounds = _Rounds(self.inner, self.policy, request)
        while True:
            shown = False
            try:
                async with streaming(self.inner, request) as chunks:
                    async for chunk in chunks:
                        if not shown:
                            shown = True
                            rounds.recovered()
                        yield chunk
                return
            except Exception as error:
                if shown:
                    raise
                await rounds.failed(error)


class _Rounds:
    """The attempts of one call."""

    def __init__(self, model: Model, policy: RetryPolicy, request: ModelRequest) -> None:
        self._model = model
        self._policy = policy
        self._request = request
        self._begun = time.monotonic()
        self.number = 1

    async def failed(self, error: Exception) -> None:
        """Wait for the next attempt; to be called in an ``except``, for without a next one the error goes on from here."""
        if self.number >= self._policy.attempts or not worth_retrying(error):
            raise error
        stated = getattr(error, "retry_after", None)
        wait = self._policy.wait(self.number, stated)
        report = self._request.report
        if getattr(error, "usage", None) is not None:
            report(failed_call(self._model, error))
        kind = getattr(error, "code", None) or type(error).__name__
        stated_ms = None if stated is None else round(stated * 1000)
        report(Retried(self.number, self._policy.attempts, round(wait * 1000), str(kind), stated_ms, text_of(error)))
        self.number += 1
        await anyio.sleep(wait)

    def recovered(self) -> None:
        if self.number > 1:
            self._request.report(Recovered(self.number, round((time.monotonic() - self._begun) * 1000)))
