"""One list of scenarios that every adapter must pass, each through the framework's own agent. The frameworks run on asyncio alone."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentfp import Record
from agentfp_evidence import Evidence, UnsupportedValuesError
from tests.plugins.adapters import bound_langchain, bound_openai_agents, bound_pydantic_ai
from tests.plugins.adapters.binding import IN, OUT, Binding, Call, Data, Reply, Scripted, Seen

pytestmark = pytest.mark.anyio

ASK = "How busy is mds-07?"
LOOK = Call("lookup", {"switch": "mds-07"})
BAD = "mds-07 peaked at 42,100 IOPS."
GOOD = "mds-07 peaked at 41,200 IOPS."
BINDINGS = [bound_pydantic_ai.BINDING, bound_openai_agents.BINDING, bound_langchain.BINDING]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=BINDINGS, ids=lambda binding: binding.name)
def bound(request: pytest.FixtureRequest) -> Binding:
    binding: Binding = request.param
    return binding


async def test_flag_ships_the_answer_with_its_report(bound: Binding) -> None:
    script = Scripted([LOOK, BAD])
    outcome = await bound.run(bound.agent(script, "flag"), ASK)
    assert outcome.text == BAD
    assert outcome.report is not None
    assert outcome.report.unsupported == ("42,100 IOPS",)
    assert outcome.report.answer == BAD
    assert [value.sources[0].path for value in outcome.report.values if value.text == "mds-07"] == ["$.switch"]


async def test_revise_sends_the_draft_back_and_leaves_no_trace_of_it(bound: Binding) -> None:
    script = Scripted([LOOK, BAD, GOOD, "That was mds-07 again: 41,200 IOPS."])
    agent = bound.agent(script, "revise")
    outcome = await bound.run(agent, ASK)
    assert outcome.text == GOOD
    assert outcome.report is not None
    assert outcome.report.standing == "supported"
    assert "42,100" not in str(outcome.messages)
    assert [role for role, _ in outcome.messages] == ["user", "assistant", "tool", "assistant"]
    note = script.requests[2][-1][1]
    assert "42,100 IOPS" in note
    assert f"<draft>\n{BAD}\n</draft>" in note
    assert outcome.tokens == (3 * IN, 3 * OUT)
    later = await bound.run(agent, "And again?", outcome)
    assert later.text.startswith("That was")
    assert "draft" not in str(script.requests[3])


async def test_refuse_ends_the_run_when_the_revision_does_not_help(bound: Binding) -> None:
    script = Scripted([LOOK, BAD, BAD])
    with pytest.raises(UnsupportedValuesError, match="42,100 IOPS") as caught:
        await bound.run(bound.agent(script, "refuse"), ASK)
    assert caught.value.revised
    assert len(script.requests) == 3


async def test_a_tool_may_be_called_between_the_draft_and_the_answer(bound: Binding) -> None:
    script = Scripted([BAD, LOOK, GOOD])
    outcome = await bound.run(bound.agent(script, "refuse"), ASK)
    assert outcome.text == GOOD
    assert len(script.requests) == 3


async def test_only_one_revision_is_asked_for_in_a_run(bound: Binding) -> None:
    script = Scripted([BAD, LOOK, BAD])
    outcome = await bound.run(bound.agent(script, "revise"), ASK)
    assert outcome.text == BAD
    assert len(script.requests) == 3


async def test_a_stream_is_held_until_its_answer_is_accepted(bound: Binding) -> None:
    outcome = await bound.stream(bound.agent(Scripted([LOOK, BAD, GOOD]), "revise"), ASK)
    assert "".join(outcome.chunks) == GOOD
    assert outcome.text == GOOD
    assert outcome.report is not None
    assert outcome.report.standing == "supported"


async def test_a_refused_stream_lets_nothing_out(bound: Binding) -> None:
    agent = bound.agent(Scripted([LOOK, BAD, BAD]), "refuse")
    with pytest.raises(UnsupportedValuesError):
        await bound.stream(agent, ASK)


async def test_flag_streams_live_and_reports_at_the_end(bound: Binding) -> None:
    outcome = await bound.stream(bound.agent(Scripted([LOOK, BAD]), "flag"), ASK)
    assert "".join(outcome.chunks) == BAD
    assert outcome.report is not None
    assert outcome.report.unsupported == ("42,100 IOPS",)


async def test_a_typed_answer_is_judged_field_by_field(bound: Binding) -> None:
    bad, good = Data({"switch": "mds-07", "peak_iops": 42_100}), Data({"switch": "mds-07", "peak_iops": 41_200})
    flagged = await bound.run(bound.agent(Scripted([LOOK, bad]), "flag", typed=True), ASK)
    assert flagged.report is not None
    assert [(v.path, v.text) for v in flagged.report.values if v.verdict == "unsupported"] == [("$.peak_iops", "42100")]
    revised = await bound.run(bound.agent(Scripted([LOOK, bad, good]), "revise", typed=True), ASK)
    assert revised.output.peak_iops == 41_200
    assert not re.search(r"\b42100\b", str(revised.messages))


async def test_what_a_typed_answer_said_is_no_evidence_in_a_later_turn(bound: Binding) -> None:
    bad = Data({"switch": "mds-07", "peak_iops": 42_100})
    agent = bound.agent(Scripted([LOOK, bad, bad]), "flag", typed=True)
    first = await bound.run(agent, ASK)
    second = await bound.run(agent, "Say it again.", first)
    assert second.report is not None
    assert second.report.unsupported == ("42100",)


async def test_results_of_earlier_turns_ground_and_earlier_answers_do_not(bound: Binding) -> None:
    agent = bound.agent(Scripted([LOOK, f"{GOOD} Its twin mds-99 has 77,300.", "41,200 IOPS.", "mds-99 has 77,300."]), "flag")
    first = await bound.run(agent, ASK)
    second = await bound.run(agent, "How much was it?", first)
    assert second.report is not None
    assert second.report.standing == "supported"
    third = await bound.run(agent, "And the twin?", second)
    assert third.report is not None
    assert set(third.report.unsupported) == {"mds-99", "77,300"}


async def test_parallel_calls_ground_together(bound: Binding) -> None:
    calls: Reply = [Call("lookup", {"switch": "mds-07"}, "c1"), Call("lookup", {"switch": "mds-08"}, "c2")]
    outcome = await bound.run(bound.agent(Scripted([calls, "mds-07: 41,200 IOPS, mds-08: 18,450 IOPS."]), "refuse"), f"{ASK} And mds-08?")
    assert outcome.report is not None
    assert outcome.report.standing == "supported"
    assert outcome.report.calls == 2


async def test_a_nested_agent_launders_no_inventions(bound: Binding) -> None:
    inner = bound.agent(Scripted([LOOK, "mds-07 has 41,200 IOPS and serial QX-7788."]), "flag", name="expert")
    ask = Call("expert", {"question": "mds-07?"} if bound.name != "openai-agents" else {"input": "mds-07?"}, "outer")
    outcome = await bound.run(bound.agent(Scripted([ask, "It has 41,200 IOPS; the serial is QX-7788."]), "flag", inner=inner), ASK)
    assert outcome.report is not None
    assert outcome.report.unsupported == ("QX-7788",)


async def test_replies_of_agents_that_are_left_out_are_not_judged(bound: Binding) -> None:
    outcome = await bound.run(bound.agent(Scripted([LOOK, BAD]), "refuse", name="router", leave_out=["router"]), ASK)
    assert outcome.text == BAD
    assert outcome.report is None


async def test_fifty_runs_at_once_of_one_agent_stay_apart(bound: Binding, tmp_path: Path) -> None:
    """Each draft states the value of another run: were evidence shared, it would pass."""

    def script(seen: Seen) -> Reply:
        everything = str(seen)
        found = re.search(r"sw-(\d+)\?", everything)
        assert found is not None
        number = int(found[1])
        value = 20_000 + 7 * number
        if not any(role == "tool" for role, _ in seen):
            return Call("lookup", {"switch": f"sw-{number}"})
        return f"sw-{number}: {value} IOPS." if "<draft>" in everything else f"sw-{number}: {value + 7} IOPS."

    agent = bound.agent(script, "refuse", record=tmp_path)
    outcomes = await asyncio.gather(*[bound.run(agent, f"How busy is sw-{number}?") for number in range(50)])
    assert [outcome.text for outcome in outcomes] == [f"sw-{number}: {20_000 + 7 * number} IOPS." for number in range(50)]
    assert all(outcome.report is not None and outcome.report.standing == "supported" for outcome in outcomes)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 50
    asked = {Record.load(file).history[0].content for file in files}
    assert asked == {f"How busy is sw-{number}?" for number in range(50)}


async def test_one_argument_records_the_run(bound: Binding, tmp_path: Path) -> None:
    calls: Reply = [Call("lookup", {"switch": "mds-07"}, "c1"), Call("lookup", {"switch": "mds-08"}, "c2")]
    await bound.run(bound.agent(Scripted([calls, BAD, GOOD]), "revise", record=tmp_path), ASK)
    [file] = tmp_path.iterdir()
    record = Record.load(file)
    assert [m.role for m in record.history] == ["user", "assistant", "tool", "tool", "assistant"]
    assert record.history[-1].content == GOOD
    assert [report.unsupported for report in Evidence.reports(file)] == [("42,100 IOPS",), ()]
    assert [len(record.served_at(call).messages) for call in (1, 2, 3)] == [1, 4, 5]
    assert record.served_at(1).system == "You look after switches."
    assert [spec.name for spec in record.served_at(1).tools] == ["lookup"]
    assert [event.payload.status for event in record.events("agentfp.run.ended")] == ["answered"]  # type: ignore[attr-defined]
    assert len(record.events("agentfp.tool.ended")) == 2


async def test_a_refused_run_is_recorded_too(bound: Binding, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedValuesError):
        await bound.run(bound.agent(Scripted([LOOK, BAD, BAD]), "refuse", record=tmp_path), ASK)
    [file] = tmp_path.iterdir()
    record = Record.load(file)
    assert [event.payload.status for event in record.events("agentfp.run.ended")] == ["refused"]  # type: ignore[attr-defined]
    assert [report.unsupported for report in Evidence.reports(file)] == [("42,100 IOPS",)] * 2


async def test_a_nested_run_is_recorded_within_the_outer_one(bound: Binding, tmp_path: Path) -> None:
    inner = bound.agent(Scripted([LOOK, GOOD]), "flag", name="expert", record=tmp_path)
    ask = Call("expert", {"question": "mds-07?"} if bound.name != "openai-agents" else {"input": "mds-07?"}, "outer")
    await bound.run(bound.agent(Scripted([ask, GOOD]), "flag", inner=inner, record=tmp_path), ASK)
    [file] = tmp_path.iterdir()
    assert [child.history[-1].content for child in Record.load(file).children.values()] == [GOOD]


async def test_the_verdict_is_on_the_current_span_without_any_value(bound: Binding) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("test").start_as_current_span("request"):
        await bound.run(bound.agent(Scripted([LOOK, BAD]), "flag"), ASK)
    [span] = [span for span in exporter.get_finished_spans() if span.name == "request"]
    attributes: dict[str, Any] = dict(span.attributes or {})
    assert attributes["agentfp.evidence.action"] == "flagged"
    assert attributes["agentfp.evidence.strong"] == 1
    assert "42,100" not in str(attributes)
