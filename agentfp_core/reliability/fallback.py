"""Several models for one: the next one serves when one fails."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence

from agentfp_core.billing import failed_call
from agentfp_core.errors import ConfigError, text_of
from agentfp_core.events.error import FallbackTriggered
from agentfp_core.model import Model, ModelChunk, ModelFeatures, ModelRequest, ModelResponse, ModelWrapper, resolve_model
from agentfp_core.protocol import streaming


class Fallback(ModelWrapper):
    """Calls the first model, and the next one when it fails before it has shown anything.

    Its features are what all its models have in common, so that any of them can take over; its name and prices are those of the
    first, and a reply is priced as the model that served it. A cancelled call falls back on nothing.

    Args:
        models: the models or their names, the preferred one first; at least two.
        when: whether an error is a reason to go on with the next model; every one is when left out.
    """

    def __init__(self, *models: Model | str, when: Callable[[Exception], bool] | None = None) -> None:
        if len(models) < 2:
            raise ConfigError(f"Fallback takes at least two models, got {len(models)}")
        self.models: tuple[Model, ...] = tuple(resolve_model(model) for model in models)
        self.when = when
        super().__init__(self.models[0])
        self._features = shared_features([model.features for model in self.models])

    @property
    def behind(self) -> Sequence[Model]:
        """Any of them."""
        return self.models

    @property
    def features(self) -> ModelFeatures:
        """What all models have in common."""
        return self._features

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call the models in turn until one answers.

        Raises:
            ModelError: the error of the last one; notes on it tell of those before.
        """
        chain = _Chain(self, request)
        while True:
            try:
                return served_by(chain.model, await chain.model.complete(addressed(chain.model, request)))
            except Exception as error:
                chain.failed(error)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream from the first model that begins to answer; what fails after its first piece is final."""
        chain = _Chain(self, request)
        while True:
            shown = False
            try:
                async with streaming(chain.model, addressed(chain.model, request)) as chunks:
                    async for chunk in chunks:
                        shown = True
                        yield served_by(chain.model, chunk) if isinstance(chunk, ModelResponse) else chunk
                return
            except Exception as error:
                if shown:
                    raise
                chain.failed(error)


class _Chain:
    """Where one call stands in the list of models."""

    def __init__(self, fallback: Fallback, request: ModelRequest) -> None:
        self._models = fallback.models
        self._when = fallback.when
        self._report = request.report
        self._at = 0
        self._told: list[str] = []

    @property
    def model(self) -> Model:
        return self._models[self._at]

    def failed(self, error: Exception) -> None:
        """Go on with the next model; to be called in an ``except``, for without a next one the error goes on from here."""
        here = self.model
        if self._at + 1 == len(self._models) or (self._when is not None and not self._when(error)):
            for note in self._told:
                error.add_note(note)
            raise error
        self._at += 1
        if getattr(error, "usage", None) is not None:
            self._report(failed_call(here, error))
        self._told.append(f"before that, {here.provider}:{here.name} failed: {type(error).__name__}: {text_of(error)}")
        self._report(FallbackTriggered("provider", full_name(here), full_name(self.model), text_of(error)))


def full_name(model: Model) -> str:
    """``provider:name``."""
    return f"{model.provider}:{model.name}"


def addressed(model: Model, request: ModelRequest) -> ModelRequest:
    """A request for one of several models: under its own name, without cache marks that it does not know."""
    marks = request.cache_marks if model.features.prompt_cache == "breakpoints" else ()
    return dataclasses.replace(request, model=model.name, cache_marks=marks)


def served_by(model: Model, response: ModelResponse) -> ModelResponse:
    """A reply that says which model it is of."""
    return dataclasses.replace(response, model=response.model or model.name, by=response.by or model)


def shared_features(features: Sequence[ModelFeatures]) -> ModelFeatures:
    """What several models have in common.

    Args:
        features: of the models, the preferred one first. A cache with marks is used where any has it: the others get none.
    """
    first = features[0]
    windows = [one.context_window for one in features if one.context_window is not None]
    caches = {one.prompt_cache for one in features}
    return ModelFeatures(
        streaming=all(one.streaming for one in features),
        tools=all(one.tools for one in features),
        parallel_tool_calls=all(one.parallel_tool_calls for one in features),
        forced_tool_choice=all(one.forced_tool_choice for one in features),
        json_schema=all(one.json_schema for one in features),
        prompt_cache="breakpoints" if "breakpoints" in caches else caches.pop() if len(caches) == 1 else "none",
        thinking=all(one.thinking for one in features),
        images=all(one.images for one in features),
        documents=all(one.documents for one in features),
        roles=tuple(role for role in first.roles if all(role in one.roles for one in features)),
        context_window=min(windows) if windows else None,
        prices=first.prices,
    )
