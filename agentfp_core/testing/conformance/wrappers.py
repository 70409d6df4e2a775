"""Checks of models that wrap another one: what goes in comes through, and nothing of the inner model goes dark."""
# ruff: noqa: D102  the names of checks say what they check

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal

import anyio
import pytest

from agentfp_core.errors import ModelBadRequestError
from agentfp_core.events.base import Payload
from agentfp_core.events.error import Recovered
from agentfp_core.messages import StopReason, ThinkingBlock, ToolCall, Usage
from agentfp_core.model import Model, ModelChunk, ModelFeatures, ModelRequest, ModelResponse, ModelSettings, TextChunk
from agentfp_core.prices import Prices
from agentfp_core.testing.conformance.asking import TOOLS, ask, request
from agentfp_core.testing.conformance.base import Checks, ways
from agentfp_core.testing.conformance.server import PATIENCE

FULL = ModelFeatures(
    streaming=True,
    parallel_tool_calls=True,
    forced_tool_choice=True,
    json_schema=True,
    prompt_cache="breakpoints",
    thinking=True,
    images=True,
    documents=True,
    roles=("user", "assistant", "tool", "system"),
    context_window=4242,
    prices=Prices(Decimal("0.5")),
)
BARE = ModelFeatures(tools=False, roles=("user",))
REPLY = ModelResponse(
    text="Once upon a time.",
    tool_calls=(ToolCall.make("get_weather", {"city": "Paris"}, id="call_1"),),
    usage=Usage(5, 4, 3, 2, 1),
    stop=StopReason.TOOL_USE,
    provider_stop="tools",
    thinking=(ThinkingBlock("Hm.", signature="sig"),),
    response_id="resp_1",
    model="inner-really",
    request_id="req_1",
)


class Probe:
    """The wrapped model of the checks.

    Args:
        features: what it says it can do.
        error: raised in place of a reply.
    """

    provider = "probe"
    name = "probe-1"

    def __init__(self, features: ModelFeatures = FULL, *, error: Exception | None = None) -> None:
        self.features = features
        self.requests: list[ModelRequest] = []
        self.begun = anyio.Event()
        self.ended = anyio.Event()
        self.more = anyio.Event()
        self._error = error
        self.more.set()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Report, wait for leave, answer."""
        self.requests.append(request)
        if self._error is not None:
            raise self._error
        request.report(Recovered(2, 10))
        self.begun.set()
        try:
            await self.more.wait()
        finally:
            self.ended.set()
        return REPLY

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The first piece at once, the rest when it may."""
        self.requests.append(request)
        if self._error is not None:
            raise self._error
        request.report(Recovered(2, 10))
        try:
            yield TextChunk("Once upon ")
            self.begun.set()
            await self.more.wait()
            yield TextChunk("a time.")
            yield REPLY
        finally:
            self.ended.set()


class WrapperConformance(Checks):
    """The checks that every model that wraps another one should pass. Subclass it and define :meth:`wrap`."""

    def wrap(self, inner: Model) -> Model:
        """Wrap a model.

        Args:
            inner: the model to wrap, as the only one.
        """
        raise NotImplementedError

    @pytest.mark.parametrize("features", [FULL, BARE], ids=["full", "bare"])
    async def test_names_and_features_are_those_of_the_inner_model(self, features: ModelFeatures) -> None:
        model = self.wrap(Probe(features))
        assert isinstance(model, Model)
        assert (model.provider, model.name) == ("probe", "probe-1")
        assert model.features == features

    @ways
    async def test_request_and_reply_go_through_whole(self, stream: bool) -> None:
        probe = Probe()
        wish = request(
            "Hi.",
            system="Be brief.",
            tools=TOOLS,
            tool_choice="get_time",
            output_schema_json='{"type":"object"}',
            settings=ModelSettings(seed=7),
        )
        told = await ask(self.wrap(probe), wish, stream=stream)
        assert told.response == REPLY
        assert probe.requests == [wish]

    @ways
    async def test_reports_of_the_inner_model_arrive(self, stream: bool) -> None:
        events: list[Payload] = []
        await ask(self.wrap(Probe()), request(report=events.append), stream=stream)
        assert Recovered(2, 10) in events, "what the inner model reports must reach request.report"

    async def test_a_stream_comes_piece_by_piece(self) -> None:
        probe = Probe()
        probe.more = anyio.Event()
        texts: list[str] = []
        with anyio.fail_after(PATIENCE):
            async for chunk in self.wrap(probe).stream(request()):
                if isinstance(chunk, TextChunk):
                    texts.append(chunk.text)
                    probe.more.set()  # the inner model goes on only when the first piece was seen
        assert texts == ["Once upon ", "a time."]

    @ways
    async def test_errors_keep_their_type(self, stream: bool) -> None:
        with pytest.raises(ModelBadRequestError, match="not like this"):
            await ask(self.wrap(Probe(error=ModelBadRequestError("not like this"))), request(), stream=stream)

    @ways
    async def test_cancelling_reaches_the_inner_model(self, stream: bool) -> None:
        probe = Probe()
        probe.more = anyio.Event()
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._ask, probe, stream)
                await probe.begun.wait()
                tasks.cancel_scope.cancel()
        assert probe.ended.is_set()

    async def _ask(self, probe: Probe, stream: bool) -> None:
        await ask(self.wrap(probe), request(), stream=stream)

    async def test_leaving_a_stream_closes_the_inner_one(self) -> None:
        probe = Probe()
        probe.more = anyio.Event()
        chunks = self.wrap(probe).stream(request())
        async for _ in chunks:
            break
        close = getattr(chunks, "aclose", None)
        assert close is not None, "stream() must give an asynchronous generator, so that it can be closed"
        await close()
        assert probe.ended.is_set(), "the inner stream is still open; close it in a finally, or with contextlib.aclosing"

    async def test_many_calls_go_through_at_once(self) -> None:
        model = self.wrap(Probe())
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(self._full, model)

    async def _full(self, model: Model) -> None:
        assert (await ask(model, request(), stream=True)).response == REPLY
