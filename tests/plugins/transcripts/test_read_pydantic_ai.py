"""pydantic-ai's message history, as runs of its own agents write it; the model is scripted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.plugins.transcripts.telling import ANSWER, ASKED, CONVERSATION, RESULT, failed, read_one, told

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """The library is made for asyncio."""
    return "asyncio"


class Price(BaseModel):
    city: str
    price: int


def scripted(*replies: ModelResponse | dict[str, Any]) -> FunctionModel:
    """Says one reply after the other; data is handed over by the tool that the library offers for it."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        made = replies[sum(isinstance(m, ModelResponse) for m in messages)]
        return made if isinstance(made, ModelResponse) else ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, made, "out")])

    return FunctionModel(answer)


CALLING = ModelResponse(parts=[ThinkingPart("Hm."), ToolCallPart("price", {"city": "Oslo"}, "c1")])


def price(city: str) -> dict[str, Any]:
    return {**RESULT, "city": city}


def broken() -> str:
    raise ModelRetry("no such thing 99")


async def test_a_run_with_a_tool() -> None:
    agent = Agent(scripted(CALLING, ModelResponse(parts=[TextPart(ANSWER)])), system_prompt="Be brief.", tools=[price])
    done = await agent.run(ASKED)
    transcript = read_one(json.loads(done.all_messages_json()), "pydantic-ai")
    assert told(transcript) == CONVERSATION
    assert told(read_one({"id": "t", "messages": json.loads(done.all_messages_json())}, "pydantic-ai")) == CONVERSATION


async def test_instructions_are_told_once() -> None:
    agent = Agent(scripted(CALLING, ModelResponse(parts=[TextPart(ANSWER)])), instructions="Be brief.", tools=[price])
    assert told(read_one(json.loads((await agent.run(ASKED)).all_messages_json()), "pydantic-ai")) == CONVERSATION


async def test_a_tool_that_asks_to_try_again() -> None:
    calling = ModelResponse(parts=[ToolCallPart("broken", {}, "c1")])
    agent = Agent(scripted(calling, ModelResponse(parts=[TextPart(ANSWER)])), tools=[broken])
    transcript = read_one(json.loads((await agent.run(ASKED)).all_messages_json()), "pydantic-ai")
    (said,) = failed(transcript)
    assert "no such thing 99" in said
    assert transcript.messages[2].tool_name == "broken"


async def test_an_answer_that_is_data() -> None:
    agent = Agent(scripted(CALLING, {"city": "Oslo", "price": 1234}), output_type=Price, tools=[price])
    transcript = read_one(json.loads((await agent.run(ASKED)).all_messages_json()), "pydantic-ai")
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert json.loads(transcript.messages[-1].content) == {"city": "Oslo", "price": 1234}
    assert not transcript.messages[-1].tool_calls


async def test_a_person_who_sends_a_picture() -> None:
    agent = Agent(scripted(ModelResponse(parts=[TextPart("Nice.")])))
    done = await agent.run(["Look", BinaryContent(b"x", media_type="image/png"), "here"])
    transcript = read_one(json.loads(done.all_messages_json()), "pydantic-ai")
    assert told(transcript) == [("user", "Look\nhere"), ("assistant", "Nice.")]
    assert "binary" in transcript.problems[0]
