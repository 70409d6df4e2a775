"""A provider with one fault fails the check that is made for it: each fault is planted into the reference provider, one at a time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest
from _pytest.outcomes import Failed

from agentfp.model import Message, Model, ModelChunk, ModelFeatures, ModelRequest, ModelResponse, ModelWrapper, StopReason, TextChunk, Usage
from agentfp.testing import Endpoint, ModelConformance, WireServer, WrapperConformance
from tests.core.testing.conformance.tiny import FULL, Tiny, TinyWire, _Got

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("allow_any_model")]
pytest_plugins = ["pytester"]
Check = Callable[[ModelConformance, WireServer], Awaitable[None]]
FAILS = (AssertionError, Failed, BaseExceptionGroup, TimeoutError, KeyError, ValueError)


class LosesUsage(Tiny):
    def usage(self, data: Any) -> Usage:
        return Usage(*[data["usage"].get(name, 0) for name in ("input", "output")])


class LosesUsageOfBrokenStreams(Tiny):
    def take(self, got: _Got, event: Any) -> ModelChunk | None:
        chunk = super().take(got, event)
        got.usage = None
        return chunk


class TakesAnEndedStreamForWhole(Tiny):
    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        texts = []
        try:
            async for chunk in super().stream(request):
                texts += [chunk.text] if isinstance(chunk, TextChunk) else []
                yield chunk
        except Exception:
            yield ModelResponse(text="".join(texts))


class GathersTheStream(Tiny):
    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        response = await self.complete(request)
        yield TextChunk(response.text)
        yield response


class LosesTheLastCall(Tiny):
    def take(self, got: _Got, event: Any) -> ModelChunk | None:
        chunk = super().take(got, event)
        if "end" in event and len(got.calls) > 1:
            got.calls.pop()
        return chunk


class ForgetsTheForcedTool(Tiny):
    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        return {key: value for key, value in super().body(request, stream=stream).items() if key != "must_call"}


class ForgetsTheSchema(Tiny):
    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        return {key: value for key, value in super().body(request, stream=stream).items() if key != "schema"}


class DropsTheSeed(Tiny):
    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        return {key: value for key, value in super().body(request, stream=stream).items() if key != "seed"}


class SendsWhatWasShown(Tiny):
    def message(self, message: Message) -> dict[str, Any]:
        return super().message(message) | {"text": message.content}


class TrimsText(Tiny):
    def message(self, message: Message) -> dict[str, Any]:
        return super().message(message) | {"text": " ".join(message.text.split())}


class SendsNoSignatures(Tiny):
    def message(self, message: Message) -> dict[str, Any]:
        data = super().message(message)
        return data | ({"thinking": [[text, None] for text, _ in data["thinking"]]} if "thinking" in data else {})


class DropsImages(Tiny):
    def message(self, message: Message) -> dict[str, Any]:
        return {key: value for key, value in super().message(message).items() if key != "parts"}


class ShowsItsKey(Tiny):
    def __repr__(self) -> str:
        return f"Tiny({self._key!r})"


class KnowsItsModelsOnly(Tiny):
    def __init__(self, endpoint: Endpoint) -> None:
        if "conformance" not in endpoint.model:
            raise KeyError(endpoint.model)
        super().__init__(endpoint)


class MixesItsCalls(Tiny):
    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.current = request
        await anyio.sleep(0.01)
        return await super().complete(self.current)


class StaysOnTheLine(Tiny):
    async def complete(self, request: ModelRequest) -> ModelResponse:
        scope = anyio.CancelScope(shield=True)
        scope.__enter__()
        try:
            return await super().complete(request)
        finally:
            scope.__exit__(None, None, None)


class TellsSecrets(Tiny):
    async def complete(self, request: ModelRequest) -> ModelResponse:
        try:
            return await super().complete(request)
        except Exception as error:
            raise type(error)(f"{error}: {request.messages[-1].text}") from error


class KnowsNoOtherStop(Tiny):
    def ending(self, end: Any) -> dict[str, Any]:
        return super().ending(end) | ({"stop": StopReason.STOP} if end["stop"] not in ("length", "calls") else {})


class CutsText(Tiny):
    """Takes bytes for text at the borders of chunks, in effect."""

    def take(self, got: _Got, event: Any) -> ModelChunk | None:
        if "t" in event:
            event = {"t": event["t"].encode("ascii", "replace").decode()}
        return super().take(got, event)


class TriesAgainWhatWasRefused(Tiny):
    async def complete(self, request: ModelRequest) -> ModelResponse:
        try:
            return await super().complete(request)
        except Exception:
            return await super().complete(request)


class TakesAnythingForAReply(Tiny):
    def response(self, data: Any) -> ModelResponse:
        try:
            return super().response(data)
        except Exception:
            return ModelResponse(text=json.dumps(data))


FAULTS: list[tuple[type[Tiny], Check]] = [
    (LosesUsage, lambda suite, server: suite.test_usage_that_is_not_reported_is_none(server, False)),
    (LosesUsage, lambda suite, server: suite.test_each_number_of_the_usage_arrives(server, True)),
    (LosesUsageOfBrokenStreams, lambda suite, server: suite.test_a_stream_that_is_dropped_is_never_taken_for_whole(server)),
    (TakesAnEndedStreamForWhole, lambda suite, server: suite.test_a_stream_that_ends_early_is_never_taken_for_whole(server)),
    (TakesAnEndedStreamForWhole, lambda suite, server: suite.test_a_stream_that_is_dropped_is_never_taken_for_whole(server)),
    (TakesAnEndedStreamForWhole, lambda suite, server: suite.test_a_malformed_reply_is_a_protocol_error(server, True)),
    (GathersTheStream, lambda suite, server: suite.test_a_stream_shows_text_before_it_ends(server)),
    (LosesTheLastCall, lambda suite, server: suite.test_a_batch_of_calls_keeps_its_order(server, True)),
    (LosesTheLastCall, lambda suite, server: suite.test_chunks_of_any_size_give_the_same(server, 7)),
    (ForgetsTheForcedTool, lambda suite, server: suite.test_a_forced_tool_is_named(server, False)),
    (ForgetsTheSchema, lambda suite, server: suite.test_the_schema_of_the_answer_is_sent(server, True)),
    (DropsTheSeed, lambda suite, server: suite.test_a_setting_is_sent_or_refused_never_dropped(server, "seed", 424242, 424242)),
    (SendsWhatWasShown, lambda suite, server: suite.test_the_models_own_text_goes_back(server)),
    (SendsWhatWasShown, lambda suite, server: suite.test_results_are_sent_with_the_calls_that_they_answer(server)),
    (TrimsText, lambda suite, server: suite.test_any_text_is_sent_as_it_is(server, False)),
    (SendsNoSignatures, lambda suite, server: suite.test_thinking_goes_back_byte_by_byte(server)),
    (DropsImages, lambda suite, server: suite.test_parts_are_sent_or_refused(server, "image")),
    (ShowsItsKey, lambda suite, server: suite.test_the_key_is_in_no_body_and_no_repr(server)),
    (KnowsItsModelsOnly, lambda suite, server: suite.test_a_model_that_nobody_knows_works(server)),
    (MixesItsCalls, lambda suite, server: suite.test_one_model_serves_many_calls_at_once(server, False)),
    (StaysOnTheLine, lambda suite, server: suite.test_cancelling_closes_the_connection(server, False)),
    (TellsSecrets, lambda suite, server: suite.test_no_reply_is_a_connection_error(server, False)),
    (KnowsNoOtherStop, lambda suite, server: suite.test_an_unknown_stop_reason_is_unknown_and_kept(server, True)),
    (KnowsNoOtherStop, lambda suite, server: suite.test_stop_reasons_are_told_apart(server, True)),
    (CutsText, lambda suite, server: suite.test_any_text_survives(server, True)),
    (TriesAgainWhatWasRefused, lambda suite, server: suite.test_what_cannot_pass_is_not_tried_again(server, False)),
    (TakesAnythingForAReply, lambda suite, server: suite.test_a_reply_of_another_type_is_a_protocol_error(server, False)),
]


@pytest.mark.parametrize(("kind", "check"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
async def test_a_fault_is_found_by_its_check(kind: type[Tiny], check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentfp_core.testing.conformance import faults
    from agentfp_core.testing.conformance import server as serving

    for module in (faults, serving):
        monkeypatch.setattr(module, "PATIENCE", 1.0)
    for made in (Tiny, kind):
        suite = _suite(made)
        with WireServer(suite.wire) as server:
            if made is Tiny:
                await check(suite, server)
                continue
            with pytest.raises(FAILS):
                await check(suite, server)


def _suite(kind: type[Tiny]) -> ModelConformance:
    class FaultyWire(TinyWire):
        def model(self, endpoint: Endpoint) -> Model:
            return kind(endpoint)

    class Suite(ModelConformance):
        wire = FaultyWire()

    return Suite()


class LosesReports(ModelWrapper):
    async def complete(self, request: ModelRequest) -> ModelResponse:
        return await super().complete(ModelRequest(system=request.system, messages=request.messages))


class StreamsWhole(ModelWrapper):
    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        for chunk in [chunk async for chunk in super().stream(request)]:
            yield chunk


class LeavesStreamsOpen(ModelWrapper):
    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.kept = super().stream(request)
        async for chunk in self.kept:
            yield chunk


class HidesFeatures(ModelWrapper):
    features = FULL


WRAPPERS: list[tuple[type[ModelWrapper], Callable[[WrapperConformance], Awaitable[None]]]] = [
    (LosesReports, lambda suite: suite.test_reports_of_the_inner_model_arrive(False)),
    (LosesReports, lambda suite: suite.test_request_and_reply_go_through_whole(False)),
    (StreamsWhole, lambda suite: suite.test_a_stream_comes_piece_by_piece()),
    (LeavesStreamsOpen, lambda suite: suite.test_leaving_a_stream_closes_the_inner_one()),
    (HidesFeatures, lambda suite: suite.test_names_and_features_are_those_of_the_inner_model(ModelFeatures())),
]


@pytest.mark.parametrize(("kind", "check"), WRAPPERS, ids=lambda value: getattr(value, "__name__", ""))
async def test_a_fault_of_a_wrapper_is_found_by_its_check(
    kind: type[ModelWrapper], check: Callable[[WrapperConformance], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentfp_core.testing.conformance import wrappers

    monkeypatch.setattr(wrappers, "PATIENCE", 1.0)

    class Suite(WrapperConformance):
        def wrap(self, inner: Model) -> Model:
            kept.append(kind(inner))
            return kept[-1]

    kept: list[ModelWrapper] = []
    with pytest.raises(FAILS):
        await check(Suite())
    for model in kept:
        if isinstance(model, LeavesStreamsOpen):
            await model.kept.aclose()  # type: ignore[attr-defined]


def test_a_suite_without_a_wire_says_what_is_missing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from agentfp.testing import ModelConformance

        class TestNothing(ModelConformance):
            pass
        """
    )
    result = pytester.runpytest_subprocess("-q", "-x", "-k", "comes_as_it_was_said", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*TestNothing.wire must be set to an object of your subclass of Wire*"])
