"""What the loop makes of a model's replies: pieces, whole replies, and replies that are none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentfp import (
    Agent,
    ModelFeatureError,
    ProviderProtocolError,
    RunCheckpointError,
    StreamChunkError,
    ThinkingBlock,
    ToolCall,
    can_resume,
)
from agentfp.events import LlmEnd, MessageAdded, ThinkingDelta, ThinkingEnd, Token, TurnEnd
from agentfp.model import ModelError, ModelFeatures, ModelRequest, ModelResponse, StopReason, TextChunk, ThinkingChunk, Usage
from agentfp.testing import ScriptedModel
from tests.core.running import answering, call, check_record, last_request, outcomes, roles, says

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> str:
    """Look."""
    return f"seen {n}"


class Streams:
    """A model that streams what it is told, and completes what it is told."""

    provider, name = "acme", "m"
    features = ModelFeatures(streaming=True)

    def __init__(self, *chunks: Any, whole: Any = None) -> None:
        self.chunks = chunks
        self.whole = whole
        self.completed = 0
        self.closed = False

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.completed += 1
        made: ModelResponse = self.whole
        return made

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        try:
            for chunk in self.chunks:
                if isinstance(chunk, Exception):
                    raise chunk
                yield chunk
        finally:
            self.closed = True


async def run(model: Any, **settings: Any) -> tuple[Any, list[str]]:
    tokens: list[str] = []
    result = await Agent(model, **settings).run("go", on_event={"agentfp.stream.token": lambda event: tokens.append(event.payload.text)})
    return result, tokens


# --- streams --------------------------------------------------------------------------------------------------------------------


async def test_a_stream_that_ends_with_its_reply_is_not_completed_again() -> None:
    model = Streams(TextChunk("Da"), TextChunk(""), TextChunk("ta"), ModelResponse(text="Data", usage=Usage(3, 2)))
    result, tokens = await run(model)
    assert (result.text, tokens, model.completed, model.closed) == ("Data", ["Da", "ta"], 0, True)
    (end,) = check_record(result).of(LlmEnd)
    assert (end.input_tokens, end.output_tokens, end.text_chars) == (3, 2, 4)


@pytest.mark.parametrize("pieces", [[], ["Da", "ta"]])
async def test_a_stream_without_a_reply_is_completed(pieces: list[str]) -> None:
    model = Streams(*map(TextChunk, pieces), whole=ModelResponse(text="Data", usage=Usage(3, 2)))
    result, tokens = await run(model)
    assert (result.text, "".join(tokens), model.completed) == ("Data", "Data", 1)


@pytest.mark.parametrize("last", [[ModelResponse(text="other")], []])
async def test_what_was_streamed_is_what_was_said(last: list[Any]) -> None:
    """Text that people saw and text on the record are one."""
    result, tokens = await run(Streams(TextChunk("Da"), TextChunk("ta"), *last, whole=ModelResponse(text="other")))
    assert (result.text, "".join(tokens)) == ("Data", "Data")
    assert (result.history[-1].content, result.history[-1].own) == ("Data", None)


async def test_a_reply_alone_is_a_stream_too() -> None:
    result, tokens = await run(Streams(ModelResponse(text="Data")))
    assert (result.text, tokens) == ("Data", ["Data"])


@pytest.mark.parametrize("chunk", [TextChunk(None), ThinkingChunk(5), "Data", None, {"content": None}])  # type: ignore[arg-type]
async def test_what_is_no_chunk_names_the_provider(chunk: Any) -> None:
    model = Streams(TextChunk("a"), chunk)
    with pytest.raises(StreamChunkError, match="'acme' must stream TextChunk") as caught:
        await Agent(model).run("go")
    assert isinstance(caught.value, TypeError)
    assert model.closed


@pytest.mark.parametrize("whole", [None, "Data", ModelResponse(text=5)])  # type: ignore[arg-type]
async def test_what_is_no_reply_names_the_provider(whole: Any) -> None:
    with pytest.raises(ProviderProtocolError, match="acme"):
        await Agent(Streams(whole=whole)).run("go")


async def test_a_chunk_at_fault_later_in_the_run_comes_with_a_checkpoint() -> None:
    class Then(Streams):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
            yield says("", call("look")) if len(request.messages) == 1 else TextChunk(None)  # type: ignore[arg-type]

    with pytest.raises(RunCheckpointError) as caught:
        await Agent(Then(), tools=[look]).run("go")
    assert isinstance(caught.value.__cause__, StreamChunkError)
    assert (caught.value.iteration, caught.value.phase, caught.value.stage) == (2, "llm", "call-llm")


async def test_a_stream_that_breaks_off_is_closed_and_bills_nothing() -> None:
    model = Streams(TextChunk("Da"), ModelError("gone"))
    seen: list[Any] = []
    with pytest.raises(ModelError, match="gone"):
        await Agent(model).run("go", on_event=seen.append)
    assert model.closed
    assert not [event for event in seen if isinstance(event.payload, LlmEnd)]


async def test_pieces_are_not_built_when_nobody_listens() -> None:
    seen: list[Any] = []
    await Agent(Streams(TextChunk("a"), ModelResponse(text="a"))).run("go", on_event={"agentfp.agent.*": seen.append})
    assert not [event for event in seen if isinstance(event.payload, Token)]


# --- replies ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", ["x", [call("look")], ("look",), None])
async def test_calls_that_are_none_are_the_providers_fault(calls: Any) -> None:
    agent = answering(ModelResponse(tool_calls=calls), "never", tools=[look])
    with pytest.raises(ProviderProtocolError, match="tool calls as a tuple of ToolCall"):
        await agent.run("go")
    model: Any = agent.model
    assert len(model.requests) == 1


@pytest.mark.parametrize("arguments", [5, ["a"], True])
def test_arguments_that_are_neither_an_object_nor_text_are_the_providers_fault(arguments: Any) -> None:
    with pytest.raises(ProviderProtocolError, match="'look' must be an object, got a"):
        ToolCall.make("look", arguments)


async def test_ids_are_unique_in_a_conversation() -> None:
    agent = answering(
        [call("look", n=1, id="a"), call("look", n=2, id="a")], [call("look", n=3, id="a")], call("look", n=4), "x", tools=[look]
    )
    chat = agent.conversation()
    result = await chat.send("go")
    ended = outcomes(check_record(result))
    assert len(ended) == 4
    assert "a" in ended
    assert all(ended)
    answered = {m.tool_call_id: m.content for m in result.history if m.role == "tool"}
    assert [answered[made.id] for m in result.history for made in m.tool_calls] == ["seen 1", "seen 2", "seen 3", "seen 4"]


async def test_what_only_the_provider_understands_goes_back_as_it_came() -> None:
    block = ThinkingBlock("hm", signature="c2ln", provider_meta='{"a": 1}')
    sealed = ThinkingBlock("", redacted=True, provider_meta='"opaque"')
    made = ToolCall("c1", "look", "{}", provider_meta='{ "kept" :1}')
    agent = answering(says("", made, thinking=(block, sealed)), says("done", thinking=(block,)), "again", tools=[look])
    chat = agent.conversation()
    seen: list[Any] = []
    result = await chat.send("go", on_event=seen.append)
    message = last_request(agent).messages[1]
    assert (message.thinking, message.tool_calls) == ((block, sealed), (made,))
    assert [event.payload.text for event in seen if isinstance(event.payload, ThinkingDelta)] == ["hm", "", "hm"][::2]
    assert check_record(result).of(ThinkingEnd) == [ThinkingEnd(2, 2), ThinkingEnd(1, 2)]
    await chat.send("more")
    assert last_request(agent).messages[3].thinking == (block,)


async def test_arguments_that_are_no_json_are_told_and_kept() -> None:
    agent = answering(says("", ToolCall.make("look", '{"n": ')), "done", tools=[look])
    result = await agent.run("go")
    assert list(outcomes(check_record(result)).values()) == ["invalid"]
    assert result.record.of(MessageAdded)[1].tool_calls[0].arguments == '{"n": '  # type: ignore[index]


@pytest.mark.parametrize(("stop", "truncated"), [(StopReason.MAX_TOKENS, True), (StopReason.STOP, False)])
async def test_an_answer_that_was_cut_says_so(stop: StopReason, truncated: bool) -> None:
    result = await answering(says("half a", stop=stop, provider_stop="length")).run("go")
    assert (result.status, result.record.of(TurnEnd)[0].truncated) == ("answered", truncated)
    assert result.record.of(LlmEnd)[0].provider_stop == "length"


async def test_tokens_that_were_not_reported_are_unknown_and_not_none() -> None:
    result = await answering(says("", call("look"), usage=Usage()), says("x", usage=Usage(4, None)), tools=[look]).run("go")
    assert result.usage == Usage(4, None)
    assert result.usage + Usage(1, 2, thinking=0) == Usage(5, 2, None, None, 0)


async def test_an_empty_answer_is_an_answer() -> None:
    result = await answering(says("")).run("go")
    assert (result.status, result.text, roles(result.history)) == ("answered", "", ["user", "assistant"])
    assert result.record.of(TurnEnd)[0].answer_was_empty


# --- failures -------------------------------------------------------------------------------------------------------------------


class Status(ModelError):
    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"status {status}")


@pytest.mark.parametrize(("status", "resumable"), [(401, False), (400, False), (404, False), (422, False), (429, True), (503, True)])
async def test_a_failure_after_an_iteration_says_whether_going_on_can_help(status: int, resumable: bool) -> None:
    with pytest.raises(RunCheckpointError) as caught:
        await answering(call("look"), Status(status), tools=[look]).run("go")
    error = caught.value
    assert (error.resumable, can_resume(error.__cause__ or error)) == (resumable, resumable)
    assert (error.iteration, error.phase, error.stage) == (2, "llm", "call-llm")
    check_record(error.checkpoint.record)


async def test_a_failure_before_any_iteration_is_itself() -> None:
    seen: list[Any] = []
    with pytest.raises(Status, match="503"):
        await answering(Status(503)).run("go", on_event=seen.append)
    assert [event.name for event in seen][-2:] == ["agentfp.error.fatal", "agentfp.run.ended"]
    assert (seen[-2].payload.stage, seen[-2].payload.scope, seen[-1].payload.status) == ("call-llm", "run", "failed")


async def test_a_wish_for_thinking_is_refused_where_the_model_has_none() -> None:
    model = ScriptedModel(["never"], features=ModelFeatures())
    with pytest.raises(ModelFeatureError, match="'script' of 'scripted' has no thinking"):
        await Agent(model, model_settings={"thinking_tokens": 1000}).run("Hi")
    assert not model.requests
    assert (await Agent(model, model_settings={"thinking_tokens": 0}).run("Hi")).text == "never"  # 0 asks for none
