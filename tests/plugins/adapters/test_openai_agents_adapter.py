"""What is special to the OpenAI Agents SDK: handoffs, models by name, conversations that the server keeps, its traces."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, ModelBehaviorError, ModelProvider, RunConfig, Runner, function_tool, handoff
from agents.models.interface import Model
from agents.tracing import Span, Trace, TracingProcessor, set_trace_processors
from openai.types.responses import ResponseIncompleteEvent

from agentfp import Record
from agentfp_adapters.openai_agents import EvidenceProvider, UnsupportedValuesError, evidence_of, with_evidence
from agentfp_adapters.openai_items import answer_text, messages_of
from tests.plugins.adapters.binding import Call, Reply, Script, Scripted, Seen, lookup
from tests.plugins.adapters.bound_openai_agents import BINDING, FakeModel

pytestmark = pytest.mark.anyio
ASK = "How busy is mds-07?"
LOOK = Call("lookup", {"switch": "mds-07"})
BAD = "mds-07 peaked at 42,100 IOPS."
GOOD = "mds-07 peaked at 41,200 IOPS."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("wrapped", [False, True], ids=["agent", "handoff()"])
async def test_agents_that_are_handed_to_are_judged_with_all_that_was_read_before(wrapped: bool) -> None:
    expert_script, triage_script = Scripted([BAD, GOOD]), Scripted([LOOK, Call("transfer_to_expert", {}, "h1")])
    expert = Agent(name="expert", model=FakeModel(expert_script))
    triage = Agent(
        name="triage", model=FakeModel(triage_script), tools=[function_tool(lookup)], handoffs=[handoff(expert) if wrapped else expert]
    )
    result = await Runner.run(with_evidence(triage, "refuse"), ASK)
    assert result.final_output == GOOD
    assert result.last_agent.name == "expert"
    found = evidence_of(result)
    assert found is not None
    assert found.standing == "supported"
    assert "42,100" not in str(result.to_input_list())


async def test_agents_that_hand_to_each_other_are_wrapped_once_each() -> None:
    first = Agent(name="first", model=FakeModel(Scripted([Call("transfer_to_second", {}, "h1"), BAD, BAD])))
    second = Agent(name="second", model=FakeModel(Scripted([Call("transfer_to_first", {}, "h2")])), handoffs=[first])
    first.handoffs = [second]
    with pytest.raises(UnsupportedValuesError):
        await Runner.run(with_evidence(first, "refuse"), ASK)


async def test_the_agent_that_is_given_stays_as_it_is() -> None:
    model = FakeModel(Scripted([BAD]))
    agent = Agent(name="desk", model=model, tools=[function_tool(lookup)])
    tools, handoffs, settings = agent.tools, agent.handoffs, agent.model_settings
    judged = with_evidence(agent, "refuse")
    assert agent.model is model
    assert (agent.tools, agent.handoffs, agent.model_settings) == (tools, handoffs, settings)
    assert judged.model_settings == settings
    assert (await Runner.run(agent, ASK)).final_output == BAD


class Named(ModelProvider):
    """Knows one model by name."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[str | None] = []

    def get_model(self, model_name: str | None) -> Model:
        self.asked.append(model_name)
        return FakeModel(self.script)


async def test_a_model_given_by_name_comes_from_the_provider_when_it_is_first_called() -> None:
    provider = Named(Scripted([BAD]))
    agent = with_evidence(Agent(name="desk", model="gpt-9"), "flag", provider=provider)
    assert provider.asked == []
    found = evidence_of(await Runner.run(agent, ASK))
    assert found is not None
    assert found.unsupported == ("42,100 IOPS",)
    assert provider.asked == ["gpt-9"]


async def test_a_provider_judges_the_models_of_runs_whose_agents_stay_as_they_are() -> None:
    provider = EvidenceProvider("revise", provider=Named(Scripted([LOOK, BAD, GOOD])))
    agent = Agent(name="desk", model="gpt-9", tools=[function_tool(lookup)])
    result = await Runner.run(agent, ASK, run_config=RunConfig(model_provider=provider))
    assert result.final_output == GOOD
    found = provider.evidence_of(result)
    assert found is not None
    assert found.standing == "supported"
    assert evidence_of(result) is None


async def test_answers_in_a_conversation_that_the_server_keeps_are_flagged_only() -> None:
    agent = BINDING.agent(Scripted([BAD]), "refuse")
    result = await Runner.run(agent, ASK, conversation_id="conv_1")
    assert result.final_output == BAD
    found = evidence_of(result)
    assert found is not None
    assert found.unsupported == ("42,100 IOPS",)


async def test_a_run_that_goes_on_from_a_response_of_the_server_is_flagged_only() -> None:
    result = await Runner.run(BINDING.agent(Scripted([BAD]), "refuse"), ASK, previous_response_id="resp_1")
    assert result.final_output == BAD


async def test_a_run_that_sends_only_what_is_new_knows_what_it_sent_before() -> None:
    class WithIds(FakeModel):
        async def get_response(self, *args: Any, **rest: Any) -> Any:
            response = await super().get_response(*args, **rest)
            response.response_id = f"resp_{id(response)}"
            return response

    script = Scripted([LOOK, BAD, GOOD])
    agent = with_evidence(Agent(name="desk", model=WithIds(script), tools=[function_tool(lookup)]), "refuse")
    result = await Runner.run(agent, ASK, auto_previous_response_id=True)
    assert result.final_output == GOOD
    assert [role for role, _ in script.requests[1]] == ["tool"]


class Kept(TracingProcessor):
    """Keeps the spans."""

    def __init__(self) -> None:
        self.spans: list[Span[Any]] = []

    def on_trace_start(self, trace: Trace) -> None: ...
    def on_trace_end(self, trace: Trace) -> None: ...
    def on_span_start(self, span: Span[Any]) -> None: ...
    def on_span_end(self, span: Span[Any]) -> None:
        self.spans.append(span)

    def shutdown(self) -> None: ...
    def force_flush(self) -> None: ...


async def test_the_verdict_is_in_the_sdks_own_trace() -> None:
    kept = Kept()
    set_trace_processors([kept])
    await Runner.run(BINDING.agent(Scripted([LOOK, BAD]), "flag"), ASK)
    [span] = [span for span in kept.spans if getattr(span.span_data, "name", "") == "agentfp.evidence"]
    assert span.span_data.data["action"] == "flagged"
    assert "42,100" not in str(span.span_data.data)


async def test_the_usage_of_a_streamed_answer_counts_its_drafts() -> None:
    result = Runner.run_streamed(BINDING.agent(Scripted([LOOK, BAD, GOOD]), "revise"), ASK)
    async for _ in result.stream_events():
        pass
    assert result.context_wrapper.usage.input_tokens == 30
    assert result.context_wrapper.usage.total_tokens == 39


async def test_a_failed_tool_grounds_nothing() -> None:
    @function_tool
    def broken(switch: str) -> str:
        """Breaks."""
        raise RuntimeError("serial QX-7788 is unknown")

    script = Scripted([Call("broken", {"switch": "a"}), "The serial is QX-7788."])
    agent = with_evidence(Agent(name="desk", model=FakeModel(script), tools=[broken]), "flag")
    found = evidence_of(await Runner.run(agent, "Which serial?"))
    assert found is not None
    assert found.unsupported == ("QX-7788",)


async def test_state_goes_with_its_run() -> None:
    def script(seen: Seen) -> Reply:
        return GOOD if any(role == "tool" for role, _ in seen) else LOOK

    agent = BINDING.agent(script, "refuse")
    for _ in range(3):
        await Runner.run(agent, ASK)
    gate = agent.model.gate
    assert len(gate._sessions) == 0


def test_items_are_read() -> None:
    def read(**item: Any) -> list[tuple[str, str, bool]]:
        return [(message.role, message.content, message.failed) for message in messages_of(item)]

    assert read(role="developer", content="Be brief.") == [("system", "Be brief.", False)]
    assert read(type="mcp_call", id="m1", name="find", arguments="{}", output="7 bikes") == [
        ("assistant", "", False),
        ("tool", "7 bikes", False),
    ]
    assert read(type="mcp_call", id="m1", name="find", arguments="{}", error="no")[1] == ("tool", "no", True)
    assert read(type="function_call_output", call_id="c1", output=[{"type": "input_text", "text": "7"}]) == [("tool", "7", False)]
    assert read(type="reasoning", id="r1", summary=[]) == []
    assert answer_text([]) is None


class OneByOne(FakeModel):
    """Streams as servers do that send items when they are done and leave the completed response empty."""

    async def stream_response(self, system_instructions: Any, input: Any, *args: Any, **rest: Any) -> AsyncIterator[Any]:
        async for event in super().stream_response(system_instructions, input, *args, **rest):
            if event.type == "response.completed":
                event.response.output = []
            yield event


async def test_a_streamed_answer_that_comes_item_by_item_is_judged() -> None:
    agent = with_evidence(Agent(name="desk", model=OneByOne(Scripted([LOOK, BAD, GOOD])), tools=[function_tool(lookup)]), "refuse")
    result = Runner.run_streamed(agent, ASK)
    async for _ in result.stream_events():
        pass
    assert result.final_output == GOOD
    assert evidence_of(result) is not None


class BreaksOff(FakeModel):
    """Streams a reply that reaches its limit."""

    async def stream_response(self, system_instructions: Any, input: Any, *args: Any, **rest: Any) -> AsyncIterator[Any]:
        async for event in super().stream_response(system_instructions, input, *args, **rest):
            if event.type == "response.completed":
                yield ResponseIncompleteEvent(response=event.response, sequence_number=99, type="response.incomplete")
            else:
                yield event


async def test_nothing_of_a_held_stream_goes_out_that_breaks_off() -> None:
    result = Runner.run_streamed(with_evidence(Agent(name="desk", model=BreaksOff(Scripted([BAD]))), "revise"), ASK)
    seen: list[str] = []

    async def read() -> None:
        async for event in result.stream_events():
            seen.append(str(event))  # noqa: PERF401  # what came before the error counts

    with pytest.raises(ModelBehaviorError):
        await read()
    assert "42,100" not in "".join(seen)


@pytest.mark.parametrize("ends", ["paused", "cancelled", "answered"])
async def test_the_recording_says_how_the_run_ended(ends: str) -> None:
    class Slow(FakeModel):
        async def get_response(self, *args: Any, **rest: Any) -> Any:
            if ends == "cancelled" and script.requests:
                task.cancel()
                await asyncio.sleep(10)
            return await super().get_response(*args, **rest)

    kept: list[Record] = []
    script = Scripted([LOOK, GOOD])
    own = function_tool(lookup, needs_approval=ends == "paused")
    agent = Agent(
        name="desk", model=Slow(script), tools=[own], tool_use_behavior="stop_on_first_tool" if ends == "answered" else "run_llm_again"
    )
    task = asyncio.ensure_future(Runner.run(with_evidence(agent, "revise", record=kept.append), ASK))
    with contextlib.suppress(asyncio.CancelledError):
        await task
    [record] = kept
    assert [event.payload.status for event in record.events("agentfp.run.ended")] == [ends]  # type: ignore[attr-defined]


async def test_what_may_stand_in_an_image_is_not_held_to_be_invented() -> None:
    content = [{"type": "input_text", "text": "How busy?"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]
    result = await Runner.run(BINDING.agent(Scripted([BAD]), "refuse"), [{"role": "user", "content": content}])  # type: ignore[list-item, misc]
    found = evidence_of(result)
    assert found is not None
    assert found.unseen


def test_results_of_shells_and_computers_are_read() -> None:
    def read(**item: Any) -> list[tuple[str, str]]:
        return [(message.role, message.content) for message in messages_of(item)]

    [(role, content)] = read(
        type="shell_call_output", call_id="s1", output=[{"stdout": "41200", "stderr": "", "outcome": {"type": "exit"}}]
    )
    assert role == "tool"
    assert "41200" in content
    assert read(type="local_shell_call_output", id="s1", output="41200") == [("tool", "41200")]
    picture = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}
    assert read(type="computer_call_output", call_id="p1", output=picture) == [("tool", "[image]")]
    [asked] = messages_of({"type": "shell_call", "call_id": "s1", "action": {"commands": ["df"]}})
    assert [(call.id, call.name) for call in asked.tool_calls] == [("s1", "shell_call")]
