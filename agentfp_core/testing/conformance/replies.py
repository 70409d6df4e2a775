"""Checks of what a model makes of its provider's replies."""
# ruff: noqa: D102  the names of checks say what they check

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentfp_core.errors import ModelError, ModelFeatureError
from agentfp_core.messages import StopReason, ThinkingBlock, ToolCall, Usage
from agentfp_core.testing.conformance.asking import ODD, TOOLS, ask, request
from agentfp_core.testing.conformance.base import WireChecks, ways
from agentfp_core.testing.conformance.server import WireServer
from agentfp_core.testing.conformance.wire import SeenRequest

CHUNKS = [1, 2, 3, 5, 7, 16, 61, 1000]
PARIS = ToolCall.make("get_weather", {"city": "Paris"}, id="call_paris")
ROME = ToolCall.make("get_time", {"city": "Rome"}, id="call_rome")
OSLO = ToolCall.make("get_weather", {"city": "Ósló 🌧️"}, id="call_oslo")


class ReplyChecks(WireChecks):
    """Text, calls, thinking, usage and stop reasons, whole and streamed."""

    @ways
    async def test_a_text_comes_as_it_was_said(self, server: WireServer, stream: bool) -> None:
        said = self.said("Once upon a time there was a model.")
        server.play([said])
        self.same((await ask(server.model(), request(), stream=stream)).response, said)
        assert len(server.seen) == 1

    @ways
    async def test_any_text_survives(self, server: WireServer, stream: bool) -> None:
        said = self.said(ODD)
        server.play([said])
        self.same((await ask(server.model(), request(), stream=stream)).response, said)

    @ways
    async def test_an_empty_text_is_no_error(self, server: WireServer, stream: bool) -> None:
        said = self.said("")
        server.play([said])
        self.same((await ask(server.model(), request(), stream=stream)).response, said)

    @ways
    async def test_a_long_text_survives(self, server: WireServer, stream: bool) -> None:
        said = self.said("A word after a word is power. " * 500)
        server.play([said])
        self.same((await ask(server.model(), request(), stream=stream)).response, said)

    async def test_a_stream_shows_text_before_it_ends(self, server: WireServer) -> None:
        if not server.model().features.streaming:
            await self._no_stream(server)
            return
        server.play([self.said("Once upon a time there was a model.")])
        told = await ask(server.model(), request(), stream=True)
        assert len(told.texts) > 1, "a streamed text must come in the pieces that the provider sends"
        assert all(told.texts), "a chunk without text is no chunk"

    async def _no_stream(self, server: WireServer) -> None:
        """A model that cannot stream says so, or gives its reply in one piece."""
        server.play([self.said("Whole.")])
        try:
            chunks = [chunk async for chunk in server.model().stream(request())]
        except (ModelFeatureError, NotImplementedError):
            assert not server.seen
        else:
            self.same(chunks[-1], self.said("Whole."))  # type: ignore[arg-type]

    @pytest.mark.parametrize("chunk", CHUNKS)
    async def test_chunks_of_any_size_give_the_same(self, server: WireServer, chunk: int) -> None:
        calls = () if not server.model().features.tools else self._calls(server)
        text = ODD if self.wire.text_with_calls or not calls else ""
        said = self.said(text, *calls, stop=StopReason.TOOL_USE if calls else StopReason.STOP)
        wish = request(tools=TOOLS if calls else ())
        model = server.play([said, said]).model()
        whole = (await ask(model, wish, stream=False)).response
        server.chunk = chunk
        streamed = (await ask(model, wish, stream=True)).response
        self.same(streamed, said)
        self.same(streamed, whole)

    @ways
    async def test_a_call_comes_as_it_was_said(self, server: WireServer, stream: bool) -> None:
        if not server.model().features.tools:
            await self.refused(server, request(tools=TOOLS))
            return
        said = self.said("", OSLO, stop=StopReason.TOOL_USE)
        server.play([said])
        self.same((await ask(server.model(), request(tools=TOOLS), stream=stream)).response, said)

    @ways
    async def test_a_batch_of_calls_keeps_its_order(self, server: WireServer, stream: bool) -> None:
        if not server.model().features.tools:
            await self.refused(server, request(tools=TOOLS))
            return
        said = self.said("", *self._calls(server), stop=StopReason.TOOL_USE)
        server.play([said])
        self.same((await ask(server.model(), request(tools=TOOLS), stream=stream)).response, said)

    def _calls(self, server: WireServer) -> tuple[ToolCall, ...]:
        again = ToolCall.make("get_weather", {"city": "Paris"}, id="call_again")
        return (PARIS, ROME, OSLO, again) if server.model().features.parallel_tool_calls else (PARIS,)

    @ways
    async def test_text_may_stand_beside_a_call(self, server: WireServer, stream: bool) -> None:
        if not (server.model().features.tools and self.wire.text_with_calls):
            return
        said = self.said("Let me look.", PARIS, stop=StopReason.TOOL_USE)
        server.play([said])
        self.same((await ask(server.model(), request(tools=TOOLS), stream=stream)).response, said)

    @ways
    async def test_arguments_of_all_shapes_survive(self, server: WireServer, stream: bool) -> None:
        if not server.model().features.tools:
            return
        deep = {"list": [1, -2.5, True, None, {"a": []}], "text": ODD, "": {}, "big": 2**53 + 1}
        shapes: list[dict[str, Any]] = [{}, deep, {"text": "x" * 20_000}]
        for number, arguments in enumerate(shapes):
            said = self.said("", ToolCall.make("get_weather", arguments, id=f"call_{number}"), stop=StopReason.TOOL_USE)
            server.play([said])
            self.same_calls((await ask(server.model(), request(tools=TOOLS), stream=stream)).response, said)

    @ways
    async def test_arguments_that_are_no_json_are_kept_or_refused(self, server: WireServer, stream: bool) -> None:
        if not (server.model().features.tools and self.wire.text_arguments):
            return
        said = self.said("", ToolCall("call_bad", "get_weather", '{"city": "Par'), stop=StopReason.TOOL_USE)
        server.play([said])
        self.same_calls((await ask(server.model(), request(tools=TOOLS), stream=stream)).response, said)

    @ways
    async def test_thinking_comes_as_it_was_thought(self, server: WireServer, stream: bool) -> None:
        if not server.model().features.thinking:
            return  # that a wish for it is refused stands among the checks of requests
        said = self.said("Four.", thinking=self.thinking())
        server.play([said])
        told = await ask(server.model(), request(), stream=stream)
        self.same(told.response, said)
        if told.thoughts:
            assert "".join(told.thoughts) == "".join(block.text for block in said.thinking)

    def thinking(self) -> tuple[ThinkingBlock, ...]:
        """A block of thinking, as the format can carry it."""
        return (ThinkingBlock("Two and two… " + ODD, signature="c2lnbmF0dXJl/+==" if self.wire.signatures else None),)

    @ways
    async def test_usage_that_is_not_reported_is_none(self, server: WireServer, stream: bool) -> None:
        server.play([self.said("Hello.", usage=Usage())])
        told = await ask(server.model(), request(), stream=stream)
        assert told.response.usage == Usage(), "usage that the provider does not report is None, not 0"

    @ways
    async def test_each_number_of_the_usage_arrives(self, server: WireServer, stream: bool) -> None:
        for usage in (Usage(1005, 203, 400, 300, 101), Usage(17, 5, 0, 0, 0)):
            said = self.said("Hello.", usage=usage)
            server.play([said])
            assert (await ask(server.model(), request(), stream=stream)).response.usage == said.usage

    @ways
    async def test_stop_reasons_are_told_apart(self, server: WireServer, stream: bool) -> None:
        for stop in self.wire.stops:
            server.play([self.said("Once upon", stop=stop)])
            assert (await ask(server.model(), request(), stream=stream)).response.stop == stop

    @ways
    async def test_an_unknown_stop_reason_is_unknown_and_kept(self, server: WireServer, stream: bool) -> None:
        server.play([self.said("Once upon", stop=StopReason.UNKNOWN, provider_stop="brand_new_reason")])
        response = (await ask(server.model(), request(), stream=stream)).response
        assert (response.stop, response.provider_stop) == (StopReason.UNKNOWN, "brand_new_reason")

    @ways
    async def test_one_model_serves_many_calls_at_once(self, server: WireServer, stream: bool) -> None:
        def echo(seen: SeenRequest) -> object:
            word = next(text for text in seen.strings() if text.startswith("number "))
            return self.said(f"You said {word}, and I say: {word}." * 3)

        server.play(echo)  # type: ignore[arg-type]
        server.pace = 0.002
        model = server.model()
        answers: dict[int, str] = {}

        async def one(number: int) -> None:
            answers[number] = (await ask(model, request(f"number {number}"), stream=stream)).response.text

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(one, number)
        assert answers == {n: f"You said number {n}, and I say: number {n}." * 3 for n in range(20)}

    async def refused(self, server: WireServer, wish: object) -> None:
        """What the features lack is refused by name before anything is sent.

        Args:
            server: the server.
            wish: a request that needs what its model lacks.
        """
        model = server.play([self.said("Too late.")]).model()
        for stream in (False, True):
            with pytest.raises(ModelFeatureError) as caught:
                await ask(model, wish, stream=stream)  # type: ignore[arg-type]
            assert model.name in str(caught.value)
        assert not server.seen, "a request that cannot be served was sent"
        assert isinstance(caught.value, ModelError)
