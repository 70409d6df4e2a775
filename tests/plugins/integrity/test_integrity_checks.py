"""Each check by what it finds, what it passes, and what it says that it could not look at."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from agentfp import Agent, ConfigError, Record, tool
from agentfp.events import ToolsStated
from agentfp.model import ModelRequest, ModelResponse
from agentfp.plugin import Plugin, RequestDraft, hookimpl
from agentfp.testing import Harness, Outcome, ScriptedModel, call
from agentfp_answer import Answer, coverage, described_result
from agentfp_answer import absent as absence
from agentfp_evidence import Evidence
from agentfp_integrity import CEILINGS, CheckReport, ExternalGround, ExternalGroundUsed, Finding, FindingFiled, Integrity, declares
from agentfp_integrity.checks import columns, turns
from agentfp_integrity.declaring import Column

pytestmark = pytest.mark.anyio


@tool
async def jobs(what: str = "rows") -> Any:
    """List jobs."""
    return [{"id": "job-44", "host": "alpha 7"}] if what == "rows" else what


@tool(metadata=declares(arguments_from=["jobs"]))
async def log(job: Any, kind: str = "all") -> Any:
    """Read the log of a job."""
    return {"job": job}


def harness(*script: Any, tools: Any = (jobs, log), plugins: Any = (), **settings: Any) -> Harness:
    return Harness([Integrity(**settings), *plugins], tools=tools, script=script)


def found(outcome: Outcome, kind: str | None = None) -> list[Finding]:
    assert outcome.failures == []
    findings = [finding for finding in Integrity.findings(outcome) if kind in (None, finding.kind)]
    assert all(finding.ceiling == CEILINGS[finding.kind] for finding in findings)
    assert all(finding.ceiling.casefold() in finding.message.casefold() for finding in findings)
    return findings


def report(outcome: Any, check: str, seam: str | None = None) -> CheckReport:
    (one,) = [row for row in Integrity.report(outcome) if row.check == check and seam in (None, row.seam)]
    return one


# --- arguments ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ("job-44", None),
        ("JOB-44 ", None),
        ("alpha 7", None),
        ("j44", None),
        (44, None),
        (True, None),
        ("job-45", "nothing in the request carries it"),
        (12345, "nothing in the request carries it"),
        ({"ids": ["job-44", "job-99"]}, "nothing in the request carries it"),
        ("job-4", "only inside of longer words"),
        ("thought", "only the model's own earlier text carries it"),
        ("spoken", None),
        ("house rule", None),
    ],
)
async def test_arguments_and_what_the_request_holds(job: Any, words: str | None) -> None:
    first = ModelResponse(text="I thought so.", tool_calls=(call("jobs", id="c1"),))
    made = Harness([Integrity()], tools=[jobs, log], script=[first, call("log", id="c2", job=job), "Done."], instructions="One house rule.")
    outcome = await made.run("As spoken.")
    findings = found(outcome, "unsupported-argument")
    assert bool(findings) == (words is not None)
    if words is not None:
        (finding,) = findings
        assert words in finding.message
        assert (finding.seam, finding.subjects, finding.call_id) == ("choice", (("tool", "log"),), "c2")
        assert finding.predicate == ("job.ids.1" if isinstance(job, dict) else "job")
        assert finding.advisory == ("longer" in words)


async def test_a_call_is_never_blocked_and_the_same_finding_is_filed_once() -> None:
    outcome = await harness(*[call("log", job=f"job-{n}x") for n in range(8)], "Done.").run("Go.")
    assert [one.outcome for one in outcome.calls] == ["success"] * 8
    assert len(outcome.record.of(FindingFiled)) == 1
    assert report(outcome, "unsupported-argument").findings == 8


async def test_a_place_to_look_does_not_hide_a_fault() -> None:
    outcome = await harness(call("jobs"), call("log", job="job-4"), call("log", job="job-99"), "Done.").run("Go.")
    assert [finding.advisory for finding in found(outcome)] == [True, False]


async def test_what_the_schema_offers_needs_no_ground() -> None:
    from typing import Literal

    @tool(metadata=declares(arguments_from=["jobs"]))
    async def pick(level: Literal["verbose", "terse"]) -> str:
        """Pick."""
        return level

    outcome = await harness(call("pick", level="verbose"), "Done.", tools=[jobs, pick]).run("Go.")
    assert found(outcome) == []
    assert report(outcome, "unsupported-argument").checked == 1


async def test_what_the_application_vouches_for_is_named() -> None:
    grounds = [ExternalGround("the page shows job-77", "page"), ExternalGround(" ", "blank"), ExternalGround("x", ""), "garbage", None]
    outcome = await harness(call("log", id="c1", job="job-77"), "Done.", external_grounds=lambda: grounds).run("Go.")
    assert found(outcome) == []
    assert outcome.record.of(ExternalGroundUsed) == [ExternalGroundUsed("log", "job", "page")]

    def breaks() -> Any:
        raise RuntimeError

    outcome = await harness(call("log", job="job-77"), "Done.", external_grounds=breaks).run("Go.")
    assert len(found(outcome)) == 1


async def test_a_result_that_repeats_its_own_argument_settles_nothing() -> None:
    outcome = await harness(call("log", job="job-77"), call("log", job="job-77"), "Done.").run("Go.")
    row = report(outcome, "unsupported-argument")
    assert (row.findings, row.unreachable) == (1, 1)


class Window(Plugin):
    """Takes results out of the request, as a window does."""

    name = "window"

    class Settings(Plugin.Settings):
        tools: tuple[str, ...] = ("jobs",)
        back_at: int = 99

    @hookimpl(moment="serve_context", phase="window")
    def shrink(self, draft: RequestDraft) -> None:
        for message in draft.messages:
            if message.role == "tool" and message.tool_name in self.settings.tools:
                if draft.call >= self.settings.back_at:
                    draft.restore_message(message.id)
                else:
                    draft.ticket(message.id, "(an earlier result)")


async def test_what_left_the_request_grounds_nothing() -> None:
    script = [call("jobs"), call("log", job="job-44"), "Done."]
    assert found(await harness(*script).run("Go."), "unsupported-argument") == []
    outcome = await harness(*script, plugins=[Window()]).run("Go.")
    assert len(found(outcome, "unsupported-argument")) == 1


async def test_what_came_back_into_the_request_grounds_again() -> None:
    script = [call("jobs", id="c1"), call("jobs", id="c2", what="none"), call("log", job="job-44"), "Done."]
    assert found(await harness(*script, plugins=[Window(back_at=3)]).run("Go."), "unsupported-argument") == []
    assert len(found(await harness(*script, plugins=[Window()]).run("Go."), "unsupported-argument")) == 1


async def test_arguments_of_other_plugins_are_not_the_tools() -> None:
    from agentfp_findings import Findings

    script = [call("jobs"), call("log", job="job-44", _findings={"basis": "exploratory", "proposition": "nowhere to be seen"}), "Done."]
    assert found(await harness(*script, plugins=[Findings()]).run("Go."), "unsupported-argument") == []


# --- references -----------------------------------------------------------------------------------------------------------------------


async def test_a_tool_whose_sources_have_left_the_request() -> None:
    script = [call("jobs"), call("log", job="job-44"), "Done."]
    outcome = await harness(*script, plugins=[Window()]).run("Go.")
    (finding,) = found(outcome, "dangling-reference")
    assert (finding.seam, finding.subjects) == ("compose", (("tool", "log"), ("tool", "jobs")))
    row = report(outcome, "dangling-reference")
    assert (row.checked, row.findings, row.not_applicable) == (2, 2, 1)
    kept = await harness(*script).run("Go.")
    assert (found(kept), report(kept, "dangling-reference").not_applicable) == ([], 3)


async def test_sources_that_were_fetched_again_or_came_back_are_there() -> None:
    again = await harness(call("jobs", id="c1"), call("jobs", id="c2"), "Done.", plugins=[Window(back_at=3)]).run("Go.")
    findings = found(again, "dangling-reference")
    assert (len(findings), report(again, "dangling-reference").findings) == (1, 1)


async def test_a_source_that_never_left_is_silent() -> None:
    outcome = await harness(call("log", job="the one"), call("jobs"), "Done.", plugins=[Window(tools=("log",))]).run("The one.")
    assert found(outcome, "dangling-reference") == []


# --- look-ups -------------------------------------------------------------------------------------------------------------------------


@tool(metadata=declares(arguments_from=["jobs"]))
async def look_up(job: str, how: str = "empty") -> Any:
    """Look a job up."""
    nothing = absence("the job", checked=["the list"])
    return {"empty": [], "rows": [1], "absent": nothing, "covered": coverage(nothing, checked=["x"]), "prose": "nothing"}[how]


@pytest.mark.parametrize(
    ("how", "job", "findings", "disposition"),
    [
        ("empty", "job-44", 1, "checked"),
        ("absent", "job-44", 1, "checked"),
        ("covered", "job-44", 1, "checked"),
        ("rows", "job-44", 0, "checked"),
        ("empty", "job-99", 0, "checked"),
        ("prose", "job-44", 0, "not_applicable"),
    ],
)
async def test_a_look_up_that_found_nothing(how: str, job: str, findings: int, disposition: str) -> None:
    script = [call("jobs"), call("look_up", id="c2", job=job, how=how), "Done."]
    outcome = await harness(*script, tools=[jobs, look_up], notice_empty_lookups=True).run("Go.")
    listed = found(outcome, "empty-lookup")
    assert len(listed) == findings
    assert all(finding.advisory and "call c2" in finding.message for finding in listed)
    assert getattr(report(outcome, "empty-lookup"), disposition) >= 1


async def test_a_look_up_without_any_source_is_out_of_reach() -> None:
    outcome = await harness(call("look_up", job="job-44"), "Done.", tools=[jobs, look_up], notice_empty_lookups=True).run("Go.")
    assert (found(outcome, "empty-lookup"), report(outcome, "empty-lookup").unreachable) == ([], 1)


# --- columns --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "fits"),
    [
        (Column("number"), "1240", False),
        (Column("number"), "", False),
        (Column("number"), 0.0, True),
        (Column("number"), float("nan"), False),
        (Column("number"), float("inf"), False),
        (Column("number"), True, False),
        (Column("number"), None, False),
        (Column("number", True), None, True),
        (Column("string"), "", True),
        (Column("string"), 7, False),
        (Column("boolean"), 1, False),
        (Column("boolean"), False, True),
        (Column("date"), "2030-01-31", True),
        (Column("date"), datetime.date(2030, 1, 31), True),
        (Column("date"), datetime.datetime(2030, 1, 31, tzinfo=datetime.UTC), True),
        (Column("date"), "soon", False),
    ],
)
def test_what_a_column_holds(column: Column, value: Any, *, fits: bool) -> None:
    assert columns.fits(value, column) is fits


def listing(rows: Any, **declared: Any) -> Any:
    @tool(metadata=declares(result_columns=declared or {"lun": "number", "note": {"type": "string", "nullable": True}}))
    async def luns() -> Any:
        """List volumes."""
        return rows

    return luns


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        ([{"lun": 1, "note": None}, {"lun": 2.5, "note": ""}], []),
        ([{"lun": "1240", "note": ""}], ["column-type-mismatch"]),
        ([{"lun": 1}], ["missing-column"]),
        ([{"note": ""}], ["missing-column"]),
        ([{"lun": None, "note": ""}], ["column-type-mismatch"]),
        ([{}], ["missing-column", "missing-column"]),
        ([], None),
        ({"rows": []}, None),
        ("prose", None),
        (None, None),
        ([1], None),
        (coverage([{"lun": "x", "note": ""}], checked=["all"]), ["column-type-mismatch"]),
    ],
)
@pytest.mark.parametrize("mode", ["warn", "enforce"])
async def test_columns_of_a_result(rows: Any, kinds: list[str] | None, mode: str) -> None:
    outcome = await harness(call("luns", id="c1"), "Done.", tools=[listing(rows)], check_column_types=mode).run("Go.")
    assert [finding.kind for finding in found(outcome)] == (kinds or [])
    assert report(outcome, "column-type-mismatch").not_applicable == (1 if kinds is None else 0)
    read = outcome.requests[1].messages[-1].text
    assert ("no data was returned" in read) == (bool(kinds) and mode == "enforce")
    if kinds and mode == "enforce":
        assert "1240" not in read


async def test_a_mismatch_counts_rows_and_hints_at_nullable() -> None:
    rows = [{"lun": None, "note": ""}, {"lun": 1, "note": ""}, {"lun": "x" * 200, "note": ""}]
    outcome = await harness(call("luns"), "Done.", tools=[listing(rows)], check_column_types="warn").run("Go.")
    (finding,) = found(outcome)
    assert "2 of 3 rows" in finding.message
    assert "declared nullable" in finding.message


async def test_at_most_five_columns_are_named_to_the_model() -> None:
    declared = {f"c{n}": "number" for n in range(7)}
    made = harness(call("luns"), "Done.", tools=[listing([{"x": 1}], **declared)], check_column_types="enforce")
    outcome = await made.run("Go.")
    assert "'c4' and 2 more" in outcome.requests[1].messages[-1].text
    assert len(found(outcome)) == 7


# --- turns ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grounded", "disposition", "words"),
    [
        (turns.Grounded(3, 0, 2, 1, 0, True), "not-applicable", None),
        (turns.Grounded(1, 0, 2, 1, 0, False), "unreachable", None),
        (turns.Grounded(3, 0, 0, None, 0, False), "unreachable", None),
        (turns.Grounded(3, 1, 9, 3, 1, False), "checked-pass", None),
        (turns.Grounded(3, 0, 2, 1, 0, False), "checked-fail", "All 2 values .* turn 1, at least 2 turns back; no tool brought anything"),
        (turns.Grounded(3, 0, 2, 1, 4, False), "checked-fail", "none is from the 4 results of this turn"),
    ],
)
def test_where_values_were_read(grounded: turns.Grounded, disposition: str, words: str | None) -> None:
    given, finding = turns.judge(grounded)
    assert given == disposition
    assert (finding is None) == (words is None)
    if finding is not None:
        import re

        assert re.search(words or "", finding.message)


async def test_an_answer_that_stands_on_earlier_turns_only() -> None:
    script = [call("jobs"), "It is job-44.", "It is job-44, still.", call("jobs"), "It is job-44."]
    plugins = [Integrity(notice_prior_turn_evidence=True), Evidence()]
    chat = Agent(ScriptedModel(script), tools=[jobs, log], plugins=plugins).conversation()
    kinds = []
    for words in ("Which?", "And now?", "Look again."):
        result = await chat.send(words)
        kinds.append([finding.kind for finding in Integrity.findings(result)])
    assert kinds == [[], ["prior-turn-evidence"], ["prior-turn-evidence"]]
    assert [(f.advisory, "turn 1, at least 1 turns back" in f.message) for f in Integrity.findings(result)] == [(True, True)]


async def test_looking_back_needs_the_gate() -> None:
    with pytest.raises(ConfigError, match="needs the plugin 'evidence'"):
        Harness([Integrity(notice_prior_turn_evidence=True)], script=["x"])


# --- the wire -------------------------------------------------------------------------------------------------------------------------


class Stating(ScriptedModel):
    """A model whose adapter reads the tools back from its body, as this test wants them to be there."""

    def __init__(self, script: Any, names: tuple[str, ...]) -> None:
        super().__init__(script)
        self.names = names

    async def complete(self, request: ModelRequest) -> ModelResponse:
        request.report(ToolsStated(self.names))
        return await super().complete(request)


@pytest.mark.parametrize(
    ("names", "predicates"),
    [
        (("jobs", "log"), []),
        (("jobs",), ["missing"]),
        (("jobs", "log", "shell"), ["extra"]),
        (("shell",), ["extra", "missing"]),
        ((), ["missing"]),
    ],
)
async def test_the_tools_of_the_body(names: tuple[str, ...], predicates: list[str]) -> None:
    outcome = await Harness([Integrity()], tools=[jobs, log], model=Stating(["Done."], names)).run("Go.")
    assert [finding.predicate for finding in found(outcome)] == predicates
    assert (report(outcome, "invariant-violation").checked, report(outcome, "invariant-violation").unreachable) == (1, 0)


async def test_an_adapter_that_states_nothing() -> None:
    outcome = await harness("Done.").run("Go.")
    row = report(outcome, "invariant-violation")
    assert (row.checked, row.unreachable) == (0, 1)


# --- claims ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "advisory"), [(31, [False]), (None, [True]), (30, [])])
@pytest.mark.parametrize("first", [True, False])
async def test_claims_that_do_not_hold(value: Any, advisory: list[bool], *, first: bool) -> None:
    from tests.plugins.answer.answering import Report

    async def queue() -> Any:
        """How full a queue is."""
        return described_result(facts=[{"entity": "q", "open": 30}], provenance={"measured_at": "t", "source": "s"})

    answer = Answer(claims={"open_tickets": {"entity": "q", "field": "open"}})
    plugins = [answer, Integrity()] if first else [Integrity(), answer]
    script = [call("queue"), json.dumps({"open_tickets": value})]
    outcome = await Harness(plugins, tools=[queue], script=script, output_type=Report).run("Go.")
    assert [finding.advisory for finding in found(outcome, "unsupported-claim")] == advisory
    row = report(outcome, "unsupported-claim")
    assert (row.checked, row.not_applicable) == (1, 0)
    assert Integrity.report(Record.from_lines(outcome.record.to_lines())) == Integrity.report(outcome)
    assert Integrity.findings(Record.from_lines(outcome.record.to_lines())) == Integrity.findings(outcome)
