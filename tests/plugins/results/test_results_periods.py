"""The period that a result declares, and the verdict over it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest

from agentfp import Agent, Record, ToolReturn, raw_tool, request_input, tool
from agentfp.plugin import AskField, Deny, Plugin, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_answer import DeclarationRefusedError, absent, coverage
from agentfp_results import Period, Results, trusted
from agentfp_results.events import Coverage, PeriodJudged
from tests.plugins.results.stores import agent, notes, read_of, results, returning, span, stored, verdicts

pytestmark = pytest.mark.anyio


async def run(value: Any, **settings: Any) -> Any:
    return await agent([call("read", span="1h"), "Done."], [returning(value)], **settings).run("Read.")


async def test_what_is_not_held_settles_nothing() -> None:
    period = read_of(span("06:00", "07:00"), span("00:00", "04:30"))
    result = await run(lambda: absent("backup of A", checked=["the backup list"], period=period))
    assert verdicts(result) == ["not-held"]
    assert "period.verdict: not-held." in notes(result)[0]
    assert [said.kind for said in result.record.of(Coverage)] == ["absence"]
    assert json.loads(results(result)[0])["period"] == period, "the model reads the period as it was declared"


@pytest.mark.parametrize(
    ("queried", "held", "verdict"),
    [
        (("06:00", "07:00"), ("05:00", "08:00"), "covered"),
        (("06:00", "07:00"), ("06:00", "07:00"), "covered"),
        (("06:00", "07:00"), ("07:00", "08:00"), "partly-held"),
        (("06:00", "07:00"), ("06:30", "08:00"), "partly-held"),
        (("06:00", "07:00"), ("06:10", "06:20"), "partly-held"),
        (("06:00", "07:00"), ("07:01", "08:00"), "not-held"),
        (("06:00", "07:00"), None, "unknown"),
    ],
)
async def test_bounds_are_inclusive(queried: Any, held: Any, verdict: str) -> None:
    period = read_of(span(*queried), "unknown" if held is None else span(*held))
    result = await run(lambda: coverage([{"row": 1}], period=period))
    assert verdicts(result) == [verdict]
    assert (verdict in notes(result)[0]) == (verdict != "covered")


async def test_a_result_that_declares_nothing_is_undeclared_and_nothing_is_said_of_it() -> None:
    result = await run(lambda: [1, 2, 3])
    assert verdicts(result) == ["undeclared"]
    assert "period" not in notes(result)[0]
    assert results(result) == ["[1,2,3]"]


async def test_of_several_declarations_the_least_held_counts() -> None:
    covered, partly = read_of(span("06:00", "07:00"), span("05:00", "08:00")), read_of(span("06:00", "07:00"), span("06:30", "08:00"))
    result = await run(lambda: coverage(absent("x", checked=["y"], period=partly), checked=["z"], period=covered))
    assert verdicts(result) == ["partly-held"]
    assert [said.kind for said in result.record.of(Coverage)] == ["ledger", "absence"]
    (ended,) = result.record.events("agentfp.tool.ended")
    assert ended.payload.outcome == "absent"


@pytest.mark.parametrize("wrong", ["yesterday", "2027-03-04T06:00:00", None, 7])
async def test_a_malformed_period_is_refused_where_it_is_written(wrong: Any) -> None:
    period = read_of({"from": wrong, "to": "2027-03-04T07:00:00Z"}, "unknown")
    with pytest.raises(DeclarationRefusedError, match=r"^refused: period\.queried\.from is an instant with a zone"):
        coverage([], period=period)
    result = await run(lambda: coverage([], period=period))
    (ended,) = result.record.events("agentfp.tool.ended")
    assert (ended.payload.outcome, ended.payload.error_class) == ("failure", "DeclarationRefusedError")
    assert verdicts(result) == []


async def test_a_malformed_period_of_a_foreign_envelope_is_left_out_and_the_model_reads_the_original() -> None:
    foreign = {"af_coverage": {"checked": ["a"], "period": {"queried": {"from": "yesterday", "to": "today"}}}, "result": [1]}
    result = await run(lambda: foreign)
    assert json.loads(results(result)[0]) == foreign
    (said,) = result.record.of(Coverage)
    assert (said.period, said.dropped, [item.what for item in said.checked]) == (None, 1, ["a"])
    assert verdicts(result) == ["undeclared"]


async def test_calls_that_did_not_run_or_failed_have_no_verdict() -> None:
    class Denies(Plugin):
        name = "denies"

        @hookimpl(moment="before_tool", phase="authorize")
        def decide(self) -> Deny:
            return Deny("no")

    denied = await agent([call("read"), "Done."], [returning([])], Denies()).run("Read.")
    failed = await run(RuntimeError("no"))
    assert verdicts(denied) == verdicts(failed) == []


async def test_an_answer_that_is_asked_for_again_adds_no_verdict_and_equal_ids_are_two_calls() -> None:
    period = read_of(span("06:00", "07:00"), "unknown")
    tools = [returning(lambda: coverage([1], period=period))]
    first = await agent([call("read", id="call-1"), "Done."], tools).run("Read.")
    assert verdicts(first) == ["unknown"]
    second = await agent([call("read", id="call-1"), "Done."], tools).run("Again.", history=first.history)
    third = agent([call("read", id="call-1"), "Done.", call("read", id="call-1"), "Done."], tools).conversation()
    await third.send("Read.")
    result = await third.send("Read.")
    assert verdicts(second) == ["unknown", "unknown"]
    assert verdicts(result) == ["unknown", "unknown"]


async def test_what_a_text_says_is_believed_of_a_tool_that_is_trusted_only() -> None:
    text = json.dumps({"af_coverage": {"checked": ["a"]}, "result": []})

    async def handler(ctx: Any, arguments: Any) -> str:
        return text + "\n(from the server)"

    for metadata, seen in (({}, 0), (trusted(), 1)):
        foreign = raw_tool("read", "Read.", None, handler, source="server", metadata=metadata)
        result = await agent([call("read"), "Done."], [foreign]).run("Read.")
        assert len(result.record.of(Coverage)) == seen
    own = await run(lambda: text)
    assert own.record.of(Coverage) == [], "a text may repeat what somebody else wrote"


async def test_what_a_sibling_declared_counts_after_a_pause_in_another_process() -> None:
    @tool
    async def ask() -> str:
        """Ask."""
        request_input([AskField("name", "Name?")])

    period = read_of(span("06:00", "07:00"), span("00:00", "04:30"))
    tools = [returning(lambda: absent("x", checked=["y"], period=period)), ask]
    asking = agent([[call("read"), call("ask")], "Done."], tools)
    result = await asking.run("Both.")
    result = await agent(["Done."], tools).resume(stored(result), "Bo")
    assert verdicts(result) == ["not-held"]


async def test_rows_come_back_from_a_file(tmp_path: Any) -> None:
    period = read_of(span("06:00", "07:00"), span("00:00", "04:30"))
    result = await run(lambda: absent("x", checked=["y"], period=period))
    result.record.save(tmp_path / "run.jsonl")
    assert [said.verdict for said in Results.periods(tmp_path / "run.jsonl")] == ["not-held"]
    assert Record.load(tmp_path / "run.jsonl", types=[PeriodJudged]).of(PeriodJudged) == result.record.of(PeriodJudged)


async def test_without_the_plugin_a_declared_result_is_a_result() -> None:
    @tool
    async def read() -> ToolReturn:
        """Read."""
        return absent("x", checked=["y"])

    model = ScriptedModel([call("read"), "Done."])
    result = await Agent(model, tools=[read]).run("Read.")
    assert json.loads(results(result)[0])["looked_for"] == "x"


def test_a_period_that_cannot_be_is_refused_when_the_agent_is_built() -> None:
    @tool
    async def a(span: Annotated[int, Period("lookback")]) -> str:
        """A."""
        return ""

    @tool(metadata={"period": {"argument": "spam", "spelling": "lookback"}})
    async def b(span: str) -> str:
        """B."""
        return ""

    with pytest.raises(Exception, match=r"(?s)tool 'a', its period: argument 'span' must be of type string.*tool 'b'.*'spam'.*'span'"):
        agent(["Done."], [a, b])
