"""Claude models against a peer that speaks the Messages API, and against a real model behind llama.cpp's server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from agentfp import Agent
from agentfp.model import Message, ModelOverloadedError, ModelRateLimitError, ModelSettings, TextChunk, ThinkingChunk, ToolCall
from agentfp_anthropic import AnthropicModel
from tests.providers.aimock import Aimock
from tests.providers.anthropic.sending import request, user

pytestmark = pytest.mark.anyio


def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: its name.
    """
    return f"It is sunny in {city}."


PLAN = (
    {
        "match": {"userMessage": "weather", "hasToolResult": False},
        "response": {"toolCalls": [{"name": "get_weather", "arguments": f'{{"city": "{city}"}}'} for city in ("Paris", "Rome")]},
    },
    {"match": {"userMessage": "weather", "hasToolResult": True}, "response": {"content": "Sunny in both."}},
)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.service
async def test_a_tool_loop_with_a_batch(aimock: Aimock, allow_any_model: None, streaming: bool) -> None:
    aimock.answers(*PLAN)
    model = AnthropicModel("claude-haiku-4-5", base_url=aimock.url, api_key="k")
    model.features = replace(model.features, streaming=streaming)
    result = await Agent(model, tools=[get_weather], instructions="Be brief.").run("The weather?")
    assert result.text == "Sunny in both."
    last = aimock.bodies()[-1]["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "tool", "tool"]
    assert [message["content"] for message in last if message["role"] == "tool"] == ["It is sunny in Paris.", "It is sunny in Rome."]


@pytest.mark.service
async def test_thinking_comes_first_and_goes_back(aimock: Aimock, allow_any_model: None) -> None:
    aimock.answers(
        {"match": {"userMessage": "hello"}, "response": {"content": "Hi.", "reasoning": "A greeting."}},
        {"match": {"userMessage": "again"}, "response": {"content": "Hi again."}},
    )
    model = AnthropicModel("claude-haiku-4-5", base_url=aimock.url)
    chunks: list[Any] = [chunk async for chunk in model.stream(request(user("hello")))]
    assert "".join(c.text for c in chunks if isinstance(c, ThinkingChunk)) == "A greeting."
    assert "".join(c.text for c in chunks if isinstance(c, TextChunk)) == "Hi."
    chat = Agent(model).conversation()
    assert (await chat.send("hello")).text == "Hi."
    assert (await chat.send("again")).text == "Hi again."


@pytest.mark.service
async def test_what_the_peer_refuses_is_typed(aimock: Aimock) -> None:
    aimock.answers({"match": {}, "response": {"content": "Hi."}})
    aimock.chaos(rateLimitRate=1)
    model = AnthropicModel("m", base_url=aimock.url, retries=1)
    with pytest.raises(ModelRateLimitError) as caught:
        await model.complete(request())
    assert caught.value.retry_after == 1
    aimock.chaos(rateLimitRate=0, dropRate=1)
    with pytest.raises(ModelOverloadedError):
        await model.complete(request())


SETTINGS = ModelSettings(max_tokens=24, temperature=0.0)


@pytest.mark.real_model
async def test_a_real_model_streams_and_counts_and_is_cancelled(llama: str) -> None:
    model = AnthropicModel("smollm2", base_url=llama)
    chunks = [chunk async for chunk in model.stream(request(user("Count from one to twenty."), settings=SETTINGS))]
    assert len(chunks) > 5
    wish = request(user("Tell me a very long story."), settings=ModelSettings(max_tokens=1500, temperature=0.0))
    with anyio.fail_after(60):
        with anyio.CancelScope() as scope:
            async for chunk in model.stream(wish):
                assert isinstance(chunk, TextChunk)
                scope.cancel()
        assert scope.cancelled_caught
        # The server has one slot: that this is answered shows that the cancelled reply is not being written any more.
        assert (await model.complete(request(settings=SETTINGS))).usage.output


@pytest.mark.real_model
async def test_a_real_model_answers_from_a_tools_result_over_turns(llama: str, allow_any_model: None) -> None:
    model = AnthropicModel("smollm2", base_url=llama)
    call = ToolCall.make("get_weather", {"city": "Paris"}, id="toolu_1")
    history = [
        user("What is the weather in Paris?"),
        Message("m_2", "assistant", "", tool_calls=(call,)),
        Message("m_3", "tool", "sunny, 21 degrees", tool_call_id="toolu_1", tool_name="get_weather"),
    ]
    agent = Agent(model, tools=[get_weather], model_settings=SETTINGS)
    result = await agent.run("Say it again.", history=history)
    assert result.text
    assert (result.usage.input or 0) > 30
