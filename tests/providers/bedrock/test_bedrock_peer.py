"""Models of Bedrock against a peer that speaks Converse and ConverseStream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentfp import Agent
from agentfp.model import ModelOverloadedError, ModelRateLimitError, TextChunk, ThinkingChunk
from agentfp_bedrock import BedrockModel
from tests.providers.aimock import Aimock
from tests.providers.bedrock.conversing import NAME, request, user

pytestmark = [pytest.mark.anyio, pytest.mark.service]
KEYS: dict[str, Any] = {"access_key_id": "AKID", "secret_access_key": "s", "region": "eu-central-1"}


def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: its name.
    """
    return f"It is sunny in {city}."


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_tool_loop_with_a_batch(aimock: Aimock, allow_any_model: None, streaming: bool) -> None:
    batch = [{"name": "get_weather", "arguments": f'{{"city": "{city}"}}'} for city in ("Paris", "Rome")]
    aimock.answers(
        {"match": {"userMessage": "weather", "hasToolResult": False}, "response": {"toolCalls": batch}},
        {"match": {"userMessage": "weather", "hasToolResult": True}, "response": {"content": "Sunny in both."}},
    )
    model = BedrockModel(NAME, endpoint_url=aimock.url, **KEYS)
    model.features = replace(model.features, streaming=streaming)
    result = await Agent(model, tools=[get_weather], instructions="Be brief.").run("The weather?")
    assert result.text == "Sunny in both."
    last = aimock.bodies()[-1]["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "tool", "tool"]
    assert [message["content"] for message in last if message["role"] == "tool"] == ["It is sunny in Paris.", "It is sunny in Rome."]


async def test_thinking_comes_first_and_goes_back(aimock: Aimock, allow_any_model: None) -> None:
    aimock.answers(
        {"match": {"userMessage": "hello"}, "response": {"content": "Hi.", "reasoning": "A greeting."}},
        {"match": {"userMessage": "again"}, "response": {"content": "Hi again."}},
    )
    model = BedrockModel(NAME, endpoint_url=aimock.url, **KEYS)
    chunks: list[Any] = [chunk async for chunk in model.stream(request(user("hello")))]
    assert "".join(c.text for c in chunks if isinstance(c, ThinkingChunk)) == "A greeting."
    assert "".join(c.text for c in chunks if isinstance(c, TextChunk)) == "Hi."
    chat = Agent(model).conversation()
    assert (await chat.send("hello")).text == "Hi."
    assert (await chat.send("again")).text == "Hi again."


async def test_what_the_peer_refuses_is_typed(aimock: Aimock) -> None:
    aimock.answers({"match": {}, "response": {"content": "Hi."}})
    aimock.chaos(rateLimitRate=1)
    model = BedrockModel(NAME, endpoint_url=aimock.url, retries=1, **KEYS)
    with pytest.raises(ModelRateLimitError) as caught:
        await model.complete(request())
    assert caught.value.retry_after == 1
    aimock.chaos(rateLimitRate=0, dropRate=1)
    with pytest.raises(ModelOverloadedError):
        await model.complete(request())
