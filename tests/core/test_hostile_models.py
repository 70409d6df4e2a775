"""Models that do not keep to the protocol: each fault is named at the adapter, and no record is spoilt by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentfp import Agent, ConfigError, Record, RunCheckpointError, StopReason, ThinkingBlock, ToolCall, Usage, tool
from agentfp.model import ModelError, ModelFeatures, ModelRequest, ModelResponse, ProviderProtocolError, TextChunk
from tests.core.running import PLAIN, answering, check_record, says

pytestmark = pytest.mark.anyio


class Strange:
    """A model that gives whatever it is told to."""

    provider = "strange"
    name = "one"

    def __init__(self, complete: Callable[[], Any] | None = None, stream: Callable[[], Any] | None = None) -> None:
        self.features = ModelFeatures(streaming=stream is not None, parallel_tool_calls=True)
        self._complete = complete
        self._stream = stream

    def complete(self, request: ModelRequest) -> Any:
        return self._complete() if self._complete is not None else ModelResponse(text="complete")

    def stream(self, request: ModelRequest) -> Any:
        return self._stream() if self._stream is not None else None


def agent_of(model: Any) -> Agent[Any, Any]:
    made: Any = Agent
    agent: Agent[Any, Any] = made(model, tools=[echo])
    return agent


@tool
def echo(x: str = "d") -> str:
    """Say it back."""
    return x


ANY: Any = None
MALFORMED: dict[str, dict[str, Any]] = {
    "text": {"text": b"x"},
    "no text": {"text": None},
    "name": {"tool_calls": (ToolCall("", ANY),)},
    "arguments": {"tool_calls": (ToolCall("", "echo", ANY),)},
    "arguments as an object": {"tool_calls": (ToolCall("", "echo", {"x": "SECRET"}),)},  # type: ignore[arg-type]
    "call id": {"tool_calls": (ToolCall(5, "echo"),)},  # type: ignore[arg-type]
    "meta of a call": {"tool_calls": (ToolCall("", "echo", "{}", {"a": 1}),)},  # type: ignore[arg-type]
    "calls": {"tool_calls": [ToolCall("", "echo")]},
    "usage": {"usage": None},
    "tokens below 0": {"usage": Usage(-5, 1)},
    "half a token": {"usage": Usage(1, 2.5)},  # type: ignore[arg-type]
    "tokens as text": {"usage": Usage("1", 2)},  # type: ignore[arg-type]
    "tokens that are no number": {"usage": Usage(float("nan"), 2)},  # type: ignore[arg-type]
    "stop": {"stop": "stop"},
    "provider's stop": {"provider_stop": 5},
    "reply's id": {"response_id": object()},
    "model": {"model": 5},
    "thinking": {"thinking": None},
    "a list of thinking": {"thinking": [ThinkingBlock("t")]},
    "thinking's text": {"thinking": (ThinkingBlock(ANY),)},
    "thinking's signature": {"thinking": (ThinkingBlock("t", 5),)},  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", MALFORMED)
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_malformed_reply_is_a_fault_of_the_adapter(what: str, streaming: bool) -> None:
    reply = ModelResponse(**{"text": "fine", **MALFORMED[what]})

    async def complete() -> ModelResponse:
        return reply

    async def stream() -> AsyncIterator[Any]:
        yield reply

    agent = agent_of(Strange(stream=stream) if streaming else Strange(complete))
    with pytest.raises(ProviderProtocolError, match="strange") as caught:
        await agent.run("x")
    assert "SECRET" not in str(caught.value)


async def test_a_malformed_reply_after_a_batch_leaves_a_record_that_can_be_read_and_taken_up() -> None:
    agent = answering(says("", ToolCall("", "echo")), ModelResponse(text="x", usage=Usage(-1, 1)), features=PLAIN, tools=[echo])
    with pytest.raises(RunCheckpointError) as caught:
        await agent.run("x")
    record = caught.value.checkpoint.record
    assert list(Record.from_lines(record.to_lines()).to_lines()) == list(record.to_lines())
    result = await answering("done", features=PLAIN, tools=[echo]).resume_on_error(caught.value)
    assert result.text == "done"
    check_record(result)


async def test_complete_that_is_no_coroutine_function_is_named() -> None:
    with pytest.raises(ProviderProtocolError, match="async def"):
        await agent_of(Strange(lambda: ModelResponse(text="x"))).run("x")


async def test_a_coroutine_that_gives_a_coroutine_is_named() -> None:
    async def inner() -> ModelResponse:
        return ModelResponse(text="x")

    async def complete() -> Any:
        return inner()

    with pytest.raises(ProviderProtocolError, match="coroutine"):
        await agent_of(Strange(complete)).run("x")


@pytest.mark.parametrize("kind", ["coroutine", "list", "generator", "nothing"])
async def test_a_stream_that_cannot_be_iterated_over_is_named(kind: str) -> None:
    async def coroutine() -> ModelResponse:
        return ModelResponse(text="x")

    def generator() -> Any:
        yield TextChunk("a")

    streams: dict[str, Callable[[], Any]] = {
        "coroutine": coroutine,
        "list": lambda: [TextChunk("a")],
        "generator": generator,
        "nothing": lambda: None,
    }
    with pytest.raises(ProviderProtocolError, match="async generator"):
        await agent_of(Strange(stream=streams[kind])).run("x")


async def test_nothing_comes_after_the_complete_reply() -> None:
    async def stream() -> AsyncIterator[Any]:
        yield ModelResponse(text="one", tool_calls=(ToolCall("", "echo"),), stop=StopReason.TOOL_USE)
        yield ModelResponse(text="two")

    with pytest.raises(ProviderProtocolError, match="after the complete reply"):
        await agent_of(Strange(stream=stream)).run("x")


@pytest.mark.parametrize("model", [5, None, object(), Strange])
def test_what_is_no_model_is_refused_while_building(model: Any) -> None:
    with pytest.raises(ConfigError, match="model must be a model"):
        agent_of(model)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_cancellation_inside_of_a_model_that_nobody_asked_for_is_its_failure(streaming: bool, anyio_backend: str) -> None:
    async def complete() -> ModelResponse:
        raise asyncio.CancelledError

    async def stream() -> AsyncIterator[Any]:
        yield TextChunk("a")
        raise asyncio.CancelledError

    with pytest.raises(ModelError, match="was cancelled"):
        await agent_of(Strange(stream=stream) if streaming else Strange(complete)).run("x")
