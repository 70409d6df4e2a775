"""What is special to Pydantic AI: rejected attempts, output modes, its streams, its retries."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent, ModelRetry, NativeOutput, UsageLimits
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelRequest, ModelResponse, RetryFeedbackPart, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage, RunUsage

from agentfp_adapters.pydantic_ai import EvidenceGate, UnsupportedValuesError, evidence_of
from tests.plugins.adapters.binding import Call, Peak, Scripted, Seen
from tests.plugins.adapters.bound_pydantic_ai import BINDING, model_of

pytestmark = pytest.mark.anyio
ASK = "How busy is mds-07?"
LOOK = Call("lookup", {"switch": "mds-07"})
BAD = "mds-07 peaked at 42,100 IOPS."
GOOD = "mds-07 peaked at 41,200 IOPS."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_draft_stands_on_the_accepted_response_as_a_rejected_attempt() -> None:
    result = await BINDING.agent(Scripted([LOOK, BAD, GOOD]), "revise").run(ASK)
    last = result.all_messages()[-1]
    assert isinstance(last, ModelResponse)
    assert [attempt.outcome for attempt in last.failed_attempts or ()] == ["rejected"]
    assert last.usage.input_tokens == 10
    assert last.metadata is not None
    assert last.metadata["evidence"]["action"] == "grounded"
    assert result.usage.input_tokens == 30


async def test_limits_count_drafts() -> None:
    agent = BINDING.agent(Scripted([LOOK, BAD, GOOD]), "revise")
    with pytest.raises(UsageLimitExceeded):
        await agent.run(ASK, usage_limits=UsageLimits(total_tokens_limit=30))


async def test_the_report_survives_the_messages_being_stored() -> None:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    result = await BINDING.agent(Scripted([LOOK, BAD]), "flag").run(ASK)
    loaded = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
    assert evidence_of(loaded) == evidence_of(result)


async def test_run_stream_holds_text_too() -> None:
    agent = BINDING.agent(Scripted([LOOK, BAD, GOOD]), "revise")
    async with agent.run_stream(ASK) as result:
        shown = [text async for text in result.stream_text(delta=True, debounce_by=None)]
    assert "".join(shown) == GOOD
    found = evidence_of(result)
    assert found is not None
    assert found.standing == "supported"


async def test_a_native_output_is_judged_field_by_field() -> None:
    script = Scripted(['{"switch": "mds-07", "peak_iops": 42100}', '{"switch": "mds-07", "peak_iops": 41200}'])
    agent = Agent(model_of(script), output_type=NativeOutput(Peak), capabilities=[EvidenceGate("revise", given=["41,200 IOPS"])], retries=0)
    agent.model.profile["supports_json_schema_output"] = True  # type: ignore[union-attr]
    result = await agent.run(ASK)
    assert result.output.peak_iops == 41_200
    assert len(script.requests) == 2


async def test_words_of_the_framework_that_quote_the_model_ground_nothing() -> None:
    script = Scripted(["mds-99 has 77,300 IOPS.", "Still: mds-99 has 77,300 IOPS."])
    agent = Agent(model_of(script), capabilities=[EvidenceGate("flag")])
    refused: list[str] = []

    @agent.output_validator
    def once(text: str) -> str:
        if not refused:
            refused.append(text)
            raise ModelRetry(f"Do not say {text}")
        return text

    result = await agent.run("How busy is the twin?")
    assert any(
        isinstance(part, RetryFeedbackPart)
        for message in result.all_messages()
        if isinstance(message, ModelRequest)
        for part in message.parts
    )
    found = evidence_of(result)
    assert found is not None
    assert set(found.unsupported) == {"mds-99", "77,300 IOPS"}


async def test_system_prompts_and_instructions_are_given() -> None:
    agent = Agent(model_of(Scripted(["Ask desk Q-4471, ext. 5512."])), system_prompt="Desk Q-4471.", instructions="Extension 5512.",
                  capabilities=[EvidenceGate("refuse")])  # fmt: skip
    found = evidence_of(await agent.run("Whom do I ask?"))
    assert found is not None
    assert found.standing == "supported"


async def test_the_gate_sees_what_other_capabilities_leave_of_the_conversation_and_forgets_nothing_of_the_run() -> None:
    """A history processor drops the tool's result; it was served in this run, so what it says stays evidence."""

    class Short(AbstractCapability[Any]):
        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            if len(request_context.messages) > 3:
                request_context.messages = request_context.messages[-1:]
            return request_context

    def script(seen: Seen) -> Any:
        steps.append(seen)
        return [LOOK, Call("lookup", {"switch": "mds-08"}, "c2"), GOOD][len(steps) - 1]

    steps: list[Seen] = []
    agent = Agent(model_of(script), capabilities=[Short(), EvidenceGate("refuse")])
    from tests.plugins.adapters.binding import lookup

    agent.tool_plain(lookup)
    result = await agent.run(ASK)
    assert result.output == GOOD


def test_a_response_without_text_or_calls_is_no_answer() -> None:
    from agentfp_adapters.pydantic_ai import messages_of

    [reply] = messages_of(ModelResponse(parts=[]))
    assert reply.content == ""
    [reply] = messages_of(ModelResponse(parts=[TextPart("a"), TextPart("b")]))
    assert reply.content == "ab"


def test_what_the_model_gave_an_output_tool_is_what_it_said() -> None:
    from pydantic_ai.messages import ToolCallPart, ToolReturnPart

    from agentfp_adapters.pydantic_ai import messages_of

    [reply] = messages_of(ModelResponse(parts=[ToolCallPart("final_result", {"n": 1}, tool_call_id="o")]), {"final_result"})
    assert (reply.content, reply.tool_calls) == ('{"n":1}', ())
    processed = ModelRequest(parts=[ToolReturnPart("final_result", "Final result processed: QX-7788.", tool_call_id="o")])
    assert list(messages_of(processed, {"final_result"})) == []


async def test_the_verdict_is_on_the_span_of_the_model_call() -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from pydantic_ai.capabilities import Instrumentation
    from pydantic_ai.models.instrumented import InstrumentationSettings

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    settings = InstrumentationSettings(tracer_provider=provider)
    agent = Agent(model_of(Scripted([BAD])), capabilities=[EvidenceGate("flag"), Instrumentation(settings)])
    await agent.run(ASK)
    marked = [span.name for span in exporter.get_finished_spans() if "agentfp.evidence.action" in (span.attributes or {})]
    assert len(marked) == 1
    assert marked[0].startswith("chat")


def said(*replies: list[Any]) -> FunctionModel:
    left = iter(replies)
    return FunctionModel(lambda messages, info: ModelResponse(parts=next(left), usage=RequestUsage(input_tokens=10, output_tokens=3)))


async def test_each_output_call_of_a_reply_is_judged_for_the_run_takes_one_that_fits() -> None:
    def output(**values: Any) -> ToolCallPart:
        return ToolCallPart("final_result", values, tool_call_id=f"o{len(values)}")

    draft = [output(switch="mds-07"), output(switch="mds-07", peak_iops=42_100)]
    model = said(draft, [output(switch="mds-07", peak_iops=41_200)])
    agent = Agent(model, output_type=Peak, capabilities=[EvidenceGate("revise", given=["41,200 IOPS"])])
    assert (await agent.run(ASK)).output.peak_iops == 41_200


async def test_the_report_is_on_the_typed_answer_also_where_the_model_says_something_besides() -> None:
    reply = [TextPart("Here it is, for 99."), ToolCallPart("final_result", {"switch": "mds-07", "peak_iops": 42_100})]
    agent = Agent(said(reply), output_type=Peak, capabilities=[EvidenceGate("flag")])
    found = evidence_of(await agent.run(ASK))
    assert found is not None
    assert [found.answer[value.start : value.end] for value in found.values] == ["mds-07", "42100"]


@pytest.mark.parametrize("place", ["asked", "served"])
async def test_what_may_stand_in_an_image_is_not_held_to_be_invented(place: str) -> None:
    image = BinaryContent(data=b"image", media_type="image/png")
    agent = Agent(
        said(*([[ToolCallPart("photo", {})]] if place == "served" else []), [TextPart(BAD)]), capabilities=[EvidenceGate("refuse")]
    )

    @agent.tool_plain
    def photo() -> BinaryContent:
        """A photo."""
        return image

    found = evidence_of(await agent.run(["What does it say?", image] if place == "asked" else "What does it say?"))
    assert found is not None
    assert found.unseen


@pytest.mark.parametrize("ends", ["refused", "cancelled", "failed"])
async def test_what_a_draft_cost_is_counted_when_its_run_ends_without_an_answer(ends: str) -> None:
    calls: list[Any] = []

    async def model(messages: Any, info: Any) -> ModelResponse:
        calls.append(messages)
        if len(calls) == 2 and ends == "failed":
            raise OSError("no network")
        if len(calls) == 2 and ends == "cancelled":
            raise asyncio.CancelledError
        return ModelResponse(parts=[TextPart(BAD)], usage=RequestUsage(input_tokens=10, output_tokens=3))

    spent = RunUsage()
    with pytest.raises((UnsupportedValuesError, OSError, asyncio.CancelledError)):
        await Agent(FunctionModel(model), capabilities=[EvidenceGate("refuse")]).run(ASK, usage=spent)
    assert spent.input_tokens == (20 if ends == "refused" else 10)


class Outer(AbstractCapability[Any]):
    """An application's own wrapper of model requests."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
        response = await handler(request_context)
        self.seen.append(response.text)
        return response


@pytest.mark.parametrize("first", [True, False])
async def test_wrappers_of_the_application_see_no_draft_in_either_order(first: bool) -> None:
    own, gate = Outer(), EvidenceGate("revise", given=["41,200 IOPS, mds-07"])
    agent = Agent(said([TextPart(BAD)], [TextPart(GOOD)]), capabilities=[own, gate] if first else [gate, own])
    assert (await agent.run(ASK)).output == GOOD
    assert own.seen == [GOOD]
