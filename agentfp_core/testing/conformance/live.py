"""Checks against a real model that answers as it likes: shapes, bounds and repetition, never wisdom."""
# ruff: noqa: D102  the names of checks say what they check

from __future__ import annotations

import dataclasses
import json
from typing import Any, ClassVar

import anyio
import jsonschema
import pytest

from agentfp_core import jsontext
from agentfp_core.errors import ContextTooLongError, ModelFeatureError
from agentfp_core.messages import DocumentPart, ImagePart, Message, StopReason, ToolCall
from agentfp_core.model import Model, ModelRequest, ModelSettings, TextChunk
from agentfp_core.testing.conformance.asking import ODD, TOOLS, Told, ask, request, user
from agentfp_core.testing.conformance.base import Checks, ways

ANSWER = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "sunny": {"type": "boolean"}},
    "required": ["city", "sunny"],
    "additionalProperties": False,
}


class LiveModelConformance(Checks):
    """Checks for a provider against a real model. Subclass it and define :meth:`make`. Each test is marked ``real_model``.

    ``settings`` go with each request; the checks ask for repeatable answers.
    """

    pytestmark: ClassVar[list[Any]] = [pytest.mark.anyio, pytest.mark.real_model]
    settings: ClassVar[ModelSettings] = ModelSettings(temperature=0.0, max_tokens=24)
    patience: ClassVar[float] = 120.0
    """Seconds for one check."""

    def make(self) -> Model:
        """Make the model under check; called once for each check."""
        raise NotImplementedError

    async def told(self, model: Model, wish: ModelRequest, *, stream: bool = False, **settings: Any) -> Told:
        """Ask in good time.

        Args:
            model: the model.
            wish: the request.
            stream: whether the reply is streamed.
            **settings: fields of ``ModelSettings``, over those of the class.
        """
        with anyio.fail_after(self.patience):
            own = ModelSettings(**settings).over(self.settings)
            return await ask(model, _with(wish, own), stream=stream)

    @ways
    async def test_it_answers_and_counts(self, stream: bool) -> None:
        told = await self.told(self.make(), request("What is the capital of France?", system="Answer briefly."), stream=stream)
        assert told.response.text
        assert told.response.stop in (StopReason.STOP, StopReason.MAX_TOKENS)
        assert (told.response.usage.input or 0) > 5
        assert 0 < (told.response.usage.output or 0) <= 24

    async def test_a_stream_says_what_a_whole_reply_says(self) -> None:
        model, wish = self.make(), request("Name three colours.")
        whole, streamed = await self.told(model, wish), await self.told(model, wish, stream=True)
        assert streamed.response.text == whole.response.text
        assert streamed.response.stop == whole.response.stop
        if model.features.streaming:
            assert len(streamed.texts) > 1

    @ways
    async def test_a_reply_ends_where_its_tokens_do(self, stream: bool) -> None:
        response = (await self.told(self.make(), request("Count from 1 to 100."), stream=stream, max_tokens=4)).response
        assert response.stop == StopReason.MAX_TOKENS
        assert (response.usage.output or 0) <= 5

    @ways
    async def test_any_text_can_be_sent(self, stream: bool) -> None:
        messages = [user(ODD), Message("m_2", "assistant", ODD), user("Repeat.", id="m_3")]
        assert (await self.told(self.make(), request(messages, system=ODD), stream=stream)).response.usage.input

    async def test_empty_contents_can_be_sent(self) -> None:
        await self.told(self.make(), request([user(""), Message("m_2", "assistant", ""), user("Well?", id="m_3")]))

    async def test_a_long_history_can_be_sent(self) -> None:
        messages = [m for n in range(12) for m in (user("Hi.", id=f"q{n}"), Message(f"a{n}", "assistant", "Hello."))]
        response = (await self.told(self.make(), request([*messages, user("Bye.", id="q")]))).response
        assert (response.usage.input or 0) > 12 * 4

    async def test_a_history_with_tools_is_answered(self) -> None:
        model = self.make()
        if not model.features.tools:
            await self.refused(model, request(tools=TOOLS))
            return
        call = ToolCall.make("get_weather", {"city": "Paris"}, id="call_1")
        history = [user("What is the weather in Paris?"), Message("m_2", "assistant", "", tool_calls=(call,))]
        history.append(Message("m_3", "tool", "sunny, 21 degrees", tool_call_id="call_1", tool_name="get_weather"))
        response = (await self.told(model, request(history, tools=TOOLS), stream=True)).response
        assert response.text or response.tool_calls

    @ways
    async def test_a_forced_tool_is_called(self, stream: bool) -> None:
        model = self.make()
        wish = request("What is the time in Rome?", tools=TOOLS, tool_choice="get_time")
        if not model.features.forced_tool_choice:
            await self.refused(model, wish)
            return
        response = (await self.told(model, wish, stream=stream, max_tokens=60)).response
        assert [call.name for call in response.tool_calls][:1] == ["get_time"]
        assert response.stop == StopReason.TOOL_USE
        for call in response.tool_calls:
            jsonschema.validate(jsontext.parse(call.arguments_json), TOOLS[1].parameters)

    @ways
    async def test_the_answer_keeps_to_its_schema(self, stream: bool) -> None:
        model = self.make()
        wish = request("It is sunny in Paris. Answer as JSON.", output_schema_json=jsontext.canonical(ANSWER))
        if not model.features.json_schema:
            await self.refused(model, wish)
            return
        response = (await self.told(model, wish, stream=stream, max_tokens=80)).response
        jsonschema.validate(json.loads(response.text), ANSWER)

    async def test_what_is_too_long_is_refused_as_such(self) -> None:
        model = self.make()
        if model.features.context_window is None:
            return
        with pytest.raises(ContextTooLongError):
            await self.told(model, request("word " * (model.features.context_window + 100)))

    async def test_what_its_features_lack_is_refused(self) -> None:
        model = self.make()
        if not model.features.images:
            await self.refused(model, request([user("Look.", parts=(ImagePart("image/png", b"\x89PNG"),))]))
        if not model.features.documents:
            await self.refused(model, request([user("Read.", parts=(DocumentPart("application/pdf", b"%PDF"),))]))
        if not model.features.thinking:
            await self.refused(model, request(settings=ModelSettings(thinking_tokens=100)))

    async def test_a_cancelled_call_leaves_it_ready(self) -> None:
        model = self.make()
        if not model.features.streaming:
            return
        wish = _with(request("Write a very long story."), ModelSettings(max_tokens=400).over(self.settings))
        texts = 0
        with anyio.move_on_after(self.patience) as scope:
            async for chunk in model.stream(wish):
                texts += isinstance(chunk, TextChunk)
                if texts == 3:
                    scope.cancel()
        assert scope.cancel_called
        assert texts < 40, "the stream went on after it was cancelled"
        assert (await self.told(model, request("Hi."))).response.usage.output

    async def test_calls_at_once_do_not_mix(self) -> None:
        model = self.make()
        questions = ["Name a fruit.", "Name a river.", "Name a metal.", "Name a bird."]
        alone = {q: (await self.told(model, request(q))).response.text for q in questions}
        together: dict[str, str] = {}

        async def one(question: str) -> None:
            together[question] = (await self.told(model, request(question), stream=True)).response.text

        async with anyio.create_task_group() as tasks:
            for question in questions:
                tasks.start_soon(one, question)
        assert together == alone

    async def refused(self, model: Model, wish: ModelRequest) -> None:
        """What the features lack is refused by name.

        Args:
            model: the model.
            wish: a request that needs what it lacks.
        """
        with pytest.raises(ModelFeatureError) as caught:
            await ask(model, wish, stream=False)
        assert model.name in str(caught.value)


def _with(wish: ModelRequest, settings: ModelSettings) -> ModelRequest:
    return dataclasses.replace(wish, settings=settings)
