"""Against aimock, a server written by others: text, tools, batches, streams and failures over both interfaces, and whole agents."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentfp import Agent, tool
from agentfp.model import (
    Model,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelRequest,
    ModelResponse,
    ProviderProtocolError,
    StopReason,
)
from tests.providers.aimock import Aimock
from tests.providers.openai.samples import ANSWER, HELLO, NOTHING, WEATHER, model_at, streamed, user

pytestmark = [pytest.mark.anyio, pytest.mark.service]
APIS = pytest.mark.parametrize("api", ["chat", "responses"])
STREAMING = pytest.mark.parametrize("streaming", [False, True])
UMLAUTS = 'Grüße aus 東京 👋🏽 \u2028 and "quotes" \\ and\nlines ' * 20


async def call(model: Model, streaming: bool, request: ModelRequest = HELLO) -> ModelResponse:
    return (await streamed(model, request))[2] if streaming else await model.complete(request)


@APIS
@STREAMING
@pytest.mark.parametrize("said", ["Hi.", UMLAUTS])
async def test_text(aimock: Aimock, api: str, streaming: bool, said: str) -> None:
    aimock.answers({"match": {"userMessage": "hello"}, "response": {"content": said}})
    got = await call(model_at(aimock.url, api), streaming)
    assert (got.text, got.stop, got.tool_calls) == (said, StopReason.STOP, ())
    assert got.response_id
    assert aimock.bodies()[0]["model"] == "m"


@APIS
@STREAMING
async def test_calls_in_a_batch(aimock: Aimock, api: str, streaming: bool) -> None:
    calls = [{"name": "get_weather", "arguments": {"city": UMLAUTS}}, {"name": "now", "arguments": {}}]
    aimock.answers({"match": {"userMessage": "weather"}, "response": {"toolCalls": calls}})
    got = await call(model_at(aimock.url, api), streaming, ModelRequest(system="", messages=(user("weather"),), tools=(WEATHER, NOTHING)))
    assert [(c.name, c.arguments) for c in got.tool_calls] == [("get_weather", {"city": UMLAUTS}), ("now", {})]
    assert len({c.id for c in got.tool_calls}) == 2
    assert got.stop is StopReason.TOOL_USE


@APIS
@STREAMING
async def test_a_schema_is_sent_in_the_servers_words(aimock: Aimock, api: str, streaming: bool) -> None:
    aimock.answers({"match": {"responseFormat": "json_schema"}, "response": {"content": '{"up": 1, "down": []}'}})
    got = await call(model_at(aimock.url, "chat"), streaming, ModelRequest(system="", messages=(user("?"),), output_schema_json=ANSWER))
    assert got.text == '{"up": 1, "down": []}'


@APIS
@STREAMING
async def test_usage(aimock: Aimock, api: str, streaming: bool) -> None:
    names = ("prompt_tokens", "completion_tokens") if api == "chat" else ("input_tokens", "output_tokens")
    aimock.answers({"match": {}, "response": {"content": "Hi.", "usage": {names[0]: 11, names[1]: 2, "total_tokens": 13}}})
    got = await call(model_at(aimock.url, api), streaming)
    assert (got.usage.input, got.usage.output) == (11, 2)


@APIS
@STREAMING
@pytest.mark.parametrize(
    ("rates", "kinds"),
    [
        ({"rateLimitRate": 1}, (ModelRateLimitError,)),
        ({"dropRate": 1}, (ModelOverloadedError,)),
        ({"malformedRate": 1}, (ProviderProtocolError,)),
        ({"disconnectRate": 1}, (ModelConnectionError,)),
    ],
)
async def test_failures(aimock: Aimock, api: str, streaming: bool, rates: dict[str, float], kinds: tuple[type[ModelError], ...]) -> None:
    aimock.answers({"match": {}, "response": {"content": "Hi."}})
    aimock.chaos(**rates)
    with anyio.fail_after(10), pytest.raises(kinds) as caught:
        await call(model_at(aimock.url, api), streaming)
    if kinds == (ModelRateLimitError,):
        assert caught.value.retry_after == 1


@APIS
async def test_what_the_server_does_not_know(aimock: Aimock, api: str) -> None:
    with pytest.raises(ModelNotFoundError):
        await model_at(aimock.url, api).complete(HELLO)


@APIS
async def test_a_refusal_of_the_servers(aimock: Aimock, api: str) -> None:
    aimock.answers({"match": {}, "response": {"error": {"message": "no", "code": "context_length_exceeded"}, "status": 400}})
    with pytest.raises(ModelError) as caught:
        await model_at(aimock.url, api).complete(HELLO)
    assert caught.value.code == "ERR_CONTEXT_TOO_LONG"


@APIS
@STREAMING
async def test_thinking_is_shown(aimock: Aimock, api: str, streaming: bool) -> None:
    aimock.answers({"match": {}, "response": {"content": "Hi.", "reasoning": "Let me think."}})
    got = await call(model_at(aimock.url, api), streaming)
    assert got.text == "Hi."
    assert [block.text for block in got.thinking if block.text] == ["Let me think."]


@tool
def get_weather(city: str) -> dict[str, Any]:
    """The weather of a city."""
    return {"city": city, "sky": "sunny", "degrees": 21}


@APIS
@pytest.mark.usefixtures("allow_any_model")
async def test_an_agent_calls_tools_over_several_turns(aimock: Aimock, api: str) -> None:
    aimock.answers(
        {
            "match": {"userMessage": "Paris", "hasToolResult": False},
            "response": {"toolCalls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]},
        },
        {"match": {"userMessage": "Paris", "hasToolResult": True}, "response": {"content": "It is sunny in Paris."}},
        {"match": {"userMessage": "Thanks"}, "response": {"content": "You are welcome."}},
    )
    agent = Agent(model_at(aimock.url, api), tools=[get_weather], instructions=["Be short."])
    first = await agent.run("How is Paris?")
    assert first.text == "It is sunny in Paris."
    second = await agent.run("Thanks", history=first.history)
    assert second.text == "You are welcome."
    roles = [message["role"] for message in aimock.bodies()[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


@APIS
async def test_a_long_history(aimock: Aimock, api: str) -> None:
    aimock.answers({"match": {"userMessage": "last"}, "response": {"content": "Hi."}})
    messages = [user(f"number {n} " + "x" * 50) for n in range(500)]
    got = await call(model_at(aimock.url, api), True, ModelRequest(system="", messages=(*messages, user("last"))))
    assert got.text == "Hi."
    assert len(aimock.bodies()[0]["messages"]) == 501
