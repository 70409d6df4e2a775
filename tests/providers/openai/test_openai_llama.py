"""Against a real model on llama.cpp's server. What it says is of no account; that it says it, and how it is counted, is."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import anyio
import pytest

from agentfp import Agent, ToolError, tool
from agentfp.model import (
    ContextTooLongError,
    Model,
    ModelBadRequestError,
    ModelRequest,
    ModelSettings,
    StopReason,
    TextChunk,
    ToolCall,
    resolve_model,
)
from tests.providers.llama import CONTEXT
from tests.providers.openai.samples import ANSWER, WEATHER, assistant, result, streamed, user

pytestmark = [pytest.mark.anyio, pytest.mark.real_model]
APIS = pytest.mark.parametrize("api", ["chat", "responses"])
SHORT = ModelSettings(max_tokens=16, temperature=0.0)


def model_of(url: str, api: str) -> Model:
    """Retries as they are by default: this server may close a connection just when the next call takes it."""
    return resolve_model(f"openai-{api}:smollm2", settings={"base_url": f"{url}/v1"})


def asks(text: str, **more: Any) -> ModelRequest:
    return ModelRequest(system="Be short.", messages=(user(text),), settings=SHORT, **more)


@APIS
async def test_a_stream_says_what_the_whole_reply_says(llama: str, api: str) -> None:
    model = model_of(llama, api)
    whole = await model.complete(asks("Say hello."))
    text, _, reply = await streamed(model, asks("Say hello."))
    assert text == reply.text == whole.text != ""
    assert reply.usage.output == whole.usage.output
    assert reply.usage.input == whole.usage.input
    assert whole.usage.input is not None
    assert whole.usage.input > 5
    assert 0 < (whole.usage.output or 0) <= 16
    assert reply.usage.cache_read is not None, "llama.cpp counts what it had in its cache"
    assert reply.usage.cache_write is reply.usage.thinking is None
    assert reply.response_id != whole.response_id


async def test_text_comes_in_pieces(llama: str) -> None:
    request = dataclasses.replace(asks("Tell a story."), settings=dataclasses.replace(SHORT, extra={"ignore_eos": True}))
    pieces = [chunk.text async for chunk in model_of(llama, "chat").stream(request) if isinstance(chunk, TextChunk)]
    assert len(pieces) > 8


async def test_a_reply_that_is_cut_off(llama: str) -> None:
    request = ModelRequest(system="", messages=(user("Tell a long story."),), settings=ModelSettings(max_tokens=3, temperature=0.0))
    reply = await model_of(llama, "chat").complete(request)
    assert (reply.stop, reply.usage.output) == (StopReason.MAX_TOKENS, 3)


async def test_the_schema_of_the_answer_is_enforced(llama: str) -> None:
    request = ModelRequest(
        system="", messages=(user("One port is up."),), settings=ModelSettings(max_tokens=64, temperature=0.0), output_schema_json=ANSWER
    )
    for reply in (await model_of(llama, "chat").complete(request), (await streamed(model_of(llama, "chat"), request))[2]):
        assert reply.text.startswith("{")
        assert '"up"' in reply.text


@APIS
async def test_a_conversation_with_results_of_tools(llama: str, api: str) -> None:
    """The server's template puts tools, calls and results into the prompt; more of them cost more tokens."""
    model = model_of(llama, api)
    bare = ModelRequest(system="Be short.", messages=(user("How is Paris?"),), settings=SHORT)
    told = ModelRequest(
        system="Be short.",
        messages=(
            user("How is Paris?"),
            assistant("", ToolCall("c1", "get_weather", '{"city":"Paris"}')),
            result("c1", '{"sky":"sunny","degrees":21}'),
        ),
        tools=(WEATHER,),
        settings=SHORT,
    )
    first, second = await model.complete(bare), (await streamed(model, told))[2]
    assert second.text
    assert (second.usage.input or 0) > (first.usage.input or 0) + 40


@APIS
async def test_a_stream_that_is_left_frees_the_server(llama: str, api: str) -> None:
    """The server has one slot: a call behind one that still runs would wait for it."""
    model = model_of(llama, api)
    endless = ModelRequest(
        system="",
        messages=(user("Write a very long story about a dragon."),),
        settings=ModelSettings(max_tokens=1_500, temperature=0.0, extra={"ignore_eos": True}),
    )
    with anyio.move_on_after(0.4) as scope:
        async for _ in model.stream(endless):
            pass
    assert scope.cancelled_caught
    chunks = model.stream(endless)
    assert isinstance(await anext(chunks), TextChunk)
    await chunks.aclose()  # type: ignore[attr-defined]
    begun = time.monotonic()
    with anyio.fail_after(8):  # the story would take longer
        assert (await model.complete(asks("Say hello."))).text
    assert time.monotonic() - begun < 8


@APIS
async def test_a_request_that_is_too_long(llama: str, api: str) -> None:
    with pytest.raises(ContextTooLongError) as caught:
        await model_of(llama, api).complete(asks("hello " * CONTEXT))
    assert caught.value.status == 400
    assert "hello" not in str(caught.value)


async def test_what_the_server_refuses(llama: str) -> None:
    request = ModelRequest(system="", messages=(user("x"),), settings=ModelSettings(extra={"messages": 5}))
    with pytest.raises(ModelBadRequestError) as caught:
        await model_of(llama, "chat").complete(request)
    assert caught.value.detail


async def test_calls_at_once_are_all_answered(llama: str) -> None:
    model = model_of(llama, "chat")
    texts: list[str] = []

    async def ask(number: int) -> None:
        texts.append((await model.complete(asks(f"Say {number}."))).text)

    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(ask, number)
    assert len(texts) == 4
    assert all(texts)


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    raise ToolError("no weather today")


@APIS
async def test_an_agent_over_two_turns(llama: str, api: str) -> None:
    agent = Agent(
        model_of(llama, api), tools=[get_weather], instructions=["Be short."], model_settings={"max_tokens": 12, "temperature": 0.0}
    )
    tokens: list[str] = []
    first = await agent.run("Say hello.", on_event={"agentfp.stream.token": lambda event: tokens.append(event.payload.text)})
    second = await agent.run("And again.", history=first.history)
    assert first.text == "".join(tokens) != ""
    assert (second.usage.input or 0) > (first.usage.input or 0) > 0
