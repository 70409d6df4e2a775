"""One run for each rule of the assessment, from what a tool or a layer says to the standing."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import Agent, ConfigError, Limits, Message, Record, RedactionPolicy, RunCheckpointError, approve, conversation_redaction, tool
from agentfp.plugin import Allow, AnswerDraft, AskField, AskPerson, CallView, Note, Plugin, Replace, ResultView, Revise, hookimpl
from agentfp.testing import Harness, ScriptedModel, call
from agentfp_answer import Answer, AnswerAssessed
from agentfp_answer.hiding import hidden
from agentfp_evidence import Evidence
from tests.plugins.answer.answering import (
    ArgumentRow,
    ConflictRow,
    ContingentRow,
    DerivedRow,
    Inputs,
    Others,
    PeriodRow,
    Report,
    RewrittenRow,
    StepsRow,
    assessed,
    checks,
    find,
    harness,
)

pytestmark = pytest.mark.anyio


# --- what tools say -------------------------------------------------------------------------------


async def test_rows_and_nothing_declared_is_consistent_and_never_known() -> None:
    found = assessed(await harness(call("find", id="c1"), "Port 3.", plugins=[Evidence()]).run("Go."))
    assert (found.value, found.standing, found.kinds) == ("unrefuted", "consistent", ())
    assert checks(found) == {"result-shape": (1, 1), "tool-coverage": (0, 1), "names-and-numbers": (1, 1)}


async def test_an_answer_of_which_nothing_was_looked_up_is_not_assessed() -> None:
    found = assessed(await harness("Good morning.", plugins=[Evidence()]).run("Go."))
    assert (found.value, found.standing) == ("not-applicable", "not-assessed")


async def test_an_empty_list_that_says_nothing_of_itself() -> None:
    found = assessed(await harness(call("find", id="c1", what="empty"), "None.").run("Go."))
    assert (found.standing, found.kinds) == ("not-sure", ("empty-undeclared",))
    (witness,) = found.reasons[0].witness
    assert (witness.event, witness.path, witness.call_id) == ("agentfp.tool.ended", "/content", "c1")


async def test_rows_under_a_key_are_read_when_the_application_says_so() -> None:
    script = [call("find", id="c1", what="keyed"), "None."]
    blind = await harness(*script).run("Go.")
    assert (assessed(blind).standing, checks(assessed(blind))["result-shape"]) == ("not-assessed", (0, 1))
    assert assessed(blind, rows_at={"find": "rows"}).kinds == ("empty-undeclared",)
    said = await harness(*script, rows_at={"find": "rows"}).run("Go.")
    assert assessed(said).kinds == ("empty-undeclared",)
    assert Answer.assessment(Record.from_lines(said.result.record.to_lines())) == assessed(said)
    with pytest.raises(TypeError, match="one top-level key"):
        Answer.assessment(said, rows_at={"find": ["a", "b"]})  # type: ignore[dict-item]


async def test_an_absence_and_a_gap_and_a_covered_result() -> None:
    async def of(what: str) -> Any:
        return assessed(await harness(call("find", id="c1", what=what), "Done.").run("Go."))

    assert (await of("nothing")).kinds == ("declared-absent",)
    assert (await of("gap")).kinds == ("coverage-gap",)
    assert (await of("covered")).standing == "consistent"
    assert (await of("covered-empty")).kinds == ("declared-absent",)
    assert (await of("prose")).standing == "not-assessed"


async def test_a_gap_of_an_earlier_turn_is_not_read() -> None:
    agent = Agent(ScriptedModel([call("find", what="gap"), "Port 3.", call("find"), "Port 3."]), tools=[find], plugins=[Answer()])
    chat = agent.conversation()
    first = await chat.send("Go.")
    second = await chat.send("And now?")
    kinds = [found.kinds for found in map(Answer.assessment, (first, second)) if found is not None]
    assert kinds == [("coverage-gap",), ()]


class Notes(Plugin):
    """Adds a note to every result."""

    name = "notes"

    @hookimpl(phase="note")
    def after_result(self, result: ResultView) -> Note:
        return Note("A note of the library.")


async def test_an_empty_list_with_a_note_is_read_as_empty() -> None:
    outcome = await harness(call("find", what="empty"), "None.", plugins=[Notes()]).run("Go.")
    assert "A note" in outcome.requests[1].messages[-1].text
    assert assessed(outcome).kinds == ("empty-undeclared",)


async def test_a_failed_call_has_no_shape() -> None:
    async def breaks() -> Any:
        """Breaks."""
        raise ValueError("[]")

    found = assessed(await harness(call("breaks"), "It failed.", tools=[breaks]).run("Go."))
    assert (found.kinds, found.checked) == ((), ())


# --- what a call was made with --------------------------------------------------------------------


def ruled(**fields: Any) -> ArgumentRow:
    return ArgumentRow("what", rule=fields.pop("rule", "assume"), **fields)


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        (ruled(source="default", value="20"), ("argument-assumed",)),
        (ruled(source="default", value="20", proposed="20"), ("argument-assumed",)),
        (ruled(source="model", value="35"), ("argument-unverified",)),
        (ruled(source="default", claimed="app", value="20"), ("argument-assumed",)),
        (ruled(source="model", claimed="user", failed="quote-not-found"), ("argument-unverified",)),
        (ArgumentRow("what", source="model", claimed="result", failed="not-in-result"), ("argument-unverified",)),
        (ArgumentRow("what", source="model"), ()),
        (ArgumentRow("what", source="model", period=True), ("argument-unverified",)),
        (ruled(rule="ask", source="said", matched="phrase", claimed="user"), ()),
        (ruled(rule="ask", source="said", matched="quote", reading=True), ("argument-read",)),
        (ruled(source="result", claimed="result", set_aside="noise"), ("value-contingent",)),
        (ruled(rule="ask", source="answered"), ()),
        (ruled(rule="ask", asked="missing"), ()),
    ],
)
async def test_rows_of_arguments(row: ArgumentRow, kinds: tuple[str, ...]) -> None:
    found = assessed(await harness(call("find", id="c1"), "Port 3.", plugins=[Inputs(before=(row,))]).run("Go."))
    assert found.kinds == kinds
    assert all(reason.witness[0].event == "agentfp.inputs.argument" for reason in found.reasons)
    ran = checks(found)
    assert ran.get("argument-rules") == ((1, 1) if row.rule else None)
    assert ran.get("argument-sources") == ((1, 1) if row.claimed else None)


async def test_a_source_that_cannot_be_checked_did_not_run() -> None:
    row = ruled(source="model", claimed="user", failed="uncheckable")
    found = assessed(await harness(call("find"), "Port 3.", plugins=[Inputs(before=(row,))]).run("Go."))
    assert checks(found)["argument-sources"] == (0, 1)


async def test_the_last_row_of_an_argument_counts() -> None:
    rows = (ruled(rule="ask", asked="invalid-answer"), ruled(rule="ask", source="model"), ruled(rule="ask", source="answered"))
    assert assessed(await harness(call("find"), "Port 3.", plugins=[Inputs(before=rows)]).run("Go.")).kinds == ()


class Sets(Plugin):
    """Changes an argument without saying where the new value is from."""

    name = "sets"

    @hookimpl(phase="rewrite")
    def before_tool(self, call: CallView) -> Allow:
        return Allow({"what": "covered", **{key: value for key, value in call.arguments.items() if key != "what"}})


@pytest.mark.parametrize(("sent", "kinds"), [("rows", ("argument-assumed",)), ("covered", ())])
async def test_a_ruled_argument_that_is_changed_afterwards_counts_as_assumed(sent: str, kinds: tuple[str, ...]) -> None:
    plugins = [Inputs(before=(ruled(rule="ask", source="answered"),)), Sets()]
    found = assessed(await harness(call("find", id="c1", what=sent), "Port 3.", plugins=plugins).run("Go."))
    assert found.kinds == kinds
    assert [(w.event, w.path) for reason in found.reasons for w in reason.witness] == [("agentfp.hook.verdict", "/arguments")] * len(kinds)


@pytest.mark.parametrize(("origin", "kinds"), [(None, ("argument-assumed",)), ("person", ()), ("app", ())])
async def test_what_the_layer_says_of_a_changed_argument_counts(origin: str | None, kinds: tuple[str, ...]) -> None:
    rows = (ruled(rule="ask", source="answered"), RewrittenRow("find", "what", "sets", origin))
    found = assessed(await harness(call("find", what="rows"), "Port 3.", plugins=[Inputs(before=rows), Sets()]).run("Go."))
    assert found.kinds == kinds
    assert [witness.event for reason in found.reasons for witness in reason.witness] == ["agentfp.inputs.rewritten"] * len(kinds)


async def test_an_argument_that_a_person_changed_while_approving_is_theirs() -> None:
    @tool(approval=True)
    async def read(what: str) -> Any:
        """Read."""
        return [what]

    plugins = [Inputs(before=(ruled(rule="ask", source="answered"),))]
    made = harness(call("read", what="a"), "Done.", tools=[read], plugins=plugins)
    paused = await made.run("Go.")
    assert assessed(paused).kinds == ("asked",)
    done = await made.resume(paused, approve(args={"what": "b"}))
    assert assessed(done).kinds == ()


async def test_a_question_that_is_open() -> None:
    class Asks(Inputs):
        """Asks for a value."""

        @hookimpl(moment="before_tool", phase="fill")
        def ask(self, call: CallView) -> AskPerson | None:
            return None if call.answers(self) else AskPerson([AskField("f1", "Which one?")])

    made = harness(call("find", id="c1"), "Port 3.", plugins=[Asks(before=(ruled(rule="ask", asked="missing"),))])
    paused = await made.run("Go.")
    found = assessed(paused)
    assert (found.value, found.standing, found.kinds) == ("unknown", "ask", ("argument-asked",))
    assert found.reasons[0].witness[0].path == "/questions/0"
    done = await made.resume(paused, "rows")
    assert assessed(done).standing == "consistent"


# --- which time a result covers -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "kinds", "ran"),
    [
        (PeriodRow("find", "covered"), (), 1),
        (PeriodRow("find", "not-held"), ("period-not-held",), 1),
        (PeriodRow("find", "partly-held"), ("period-partly-held",), 1),
        (PeriodRow("find", "unknown"), ("period-unknown",), 1),
        (PeriodRow("find", "undeclared"), ("period-undeclared",), 0),
        (PeriodRow("find", "covered", differs=True), ("period-differs-from-asked",), 1),
        (PeriodRow("find", "covered", beyond_retention=True), ("period-beyond-retention",), 1),
        (PeriodRow("find", "of-another-version"), (), 1),
    ],
)
async def test_rows_of_periods(row: PeriodRow, kinds: tuple[str, ...], ran: int) -> None:
    found = assessed(await harness(call("find", id="c1"), "Port 3.", plugins=[Others(after=(row,))]).run("Go."))
    assert (found.kinds, checks(found)["result-period"]) == (kinds, (ran, 1))


async def test_an_absence_about_a_time_that_is_not_held_gives_both_reasons() -> None:
    plugins = [Others(after=(PeriodRow("find", "not-held"),))]
    found = assessed(await harness(call("find", what="nothing"), "None.", plugins=plugins).run("Go."))
    assert found.kinds == ("declared-absent", "period-not-held")


async def test_all_rows_of_periods_count() -> None:
    plugins = [Others(after=(PeriodRow("find", "covered"), PeriodRow("find", "partly-held")))]
    found = assessed(await harness([call("find"), call("find")], "3.", plugins=plugins).run("Go."))
    assert (found.kinds, found.reasons[0].count) == (("period-partly-held",), 2)


# --- the answer -----------------------------------------------------------------------------------


async def test_values_from_nowhere_and_values_that_survive_a_revision() -> None:
    flagged = assessed(await harness(call("find"), "Port 4711.", plugins=[Evidence()]).run("Go."))
    assert flagged.kinds == ("value-unsupported",)
    made = harness(call("find"), "Port 4711.", "Port 4712.", plugins=[Evidence(on_unsupported="revise")])
    assert assessed(await made.run("Go.")).kinds == ("value-survived-revision",)
    made = harness(call("find"), "Port 4711.", "Port 3.", plugins=[Evidence(on_unsupported="revise")])
    assert assessed(await made.run("Go.")).standing == "consistent"


class SendsBack(Plugin):
    """Sends each answer back once."""

    name = "sends_back"

    @hookimpl(phase="claims")
    def assess_answer(self) -> Revise:
        return Revise(["Say nothing."], key="once")


async def test_what_was_found_of_a_draft_goes_with_it() -> None:
    outcome = await harness(call("find"), "Port 4711.", "", plugins=[Evidence(), SendsBack()]).run("Go.")
    assert outcome.text == ""
    assert assessed(outcome).kinds == ()


async def test_an_answer_that_was_refused_is_not_assessed() -> None:
    made = harness(call("find"), "Port 4711.", "Port 4712.", plugins=[Evidence(on_unsupported="refuse")])
    outcome = (await made.run("Go.")).assert_refused(by="evidence")
    assert Answer.assessment(outcome) is None
    assert outcome.record.of(AnswerAssessed) == []


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        (DerivedRow("from"), ("derived-from-reading",)),
        (StepsRow("audit", "accepted"), ("steps-unfinished",)),
        (StepsRow("audit", "cut-short"), ("steps-unfinished",)),
        (StepsRow("audit", "nudged"), ()),
        (ContingentRow("answer"), ("value-contingent",)),
        (ConflictRow(("c1", "c0")), ("sources-conflict",)),
        (ConflictRow(("c0",)), ()),
    ],
)
async def test_rows_about_the_answer(row: Any, kinds: tuple[str, ...]) -> None:
    found = assessed(await harness(call("find", id="c1"), "Port 3.", plugins=[Others(answer=(row,))]).run("Go."))
    assert found.kinds == kinds


async def test_a_turn_that_a_limit_cut_short() -> None:
    outcome = await Harness(
        [Answer()], tools=[find], script=[call("find"), call("find"), "Port 3."], limits=Limits(iterations=2, wrap_up=False)
    ).run("Go.")
    assert assessed(outcome).kinds == ("stopped-early",)


async def test_a_run_that_failed_has_no_answer() -> None:
    agent = Agent(ScriptedModel([call("find"), RuntimeError("gone")]), tools=[find], plugins=[Answer()])
    with pytest.raises(RunCheckpointError) as raised:
        await agent.run("Go.")
    found = Answer.assessment(raised.value.checkpoint)
    assert found is not None
    assert found.kinds == ("answer-missing",)


async def test_reasons_stand_in_the_order_of_the_list_and_a_question_is_stronger_than_doubt() -> None:
    plugins = [
        Inputs(before=(ruled(source="default"),)),
        Others(after=(PeriodRow("find", "unknown"),), answer=(DerivedRow("x"),)),
        Evidence(),
    ]
    found = assessed(await harness([call("find", what="gap"), call("find", what="empty")], "4711.", plugins=plugins).run("Go."))
    assert found.kinds == (
        "argument-assumed",
        "coverage-gap",
        "empty-undeclared",
        "period-unknown",
        "value-unsupported",
        "derived-from-reading",
    )


# --- records --------------------------------------------------------------------------------------


async def test_a_masked_copy_says_what_was_kept_out() -> None:
    outcome = await harness(call("find", what="gap"), "Port 3.").run("Go.")
    copy = Record.from_lines(outcome.record.to_lines(policy=conversation_redaction()))
    found = Answer.assessment(copy)
    assert found is not None
    assert (found.standing, found.kept_out) == ("not-assessed", ("agentfp.tool.ended.content",))


async def test_what_was_kept_out_counts_more_than_what_is_known() -> None:
    outcome = await harness(call("find", what="gap"), "Port 3.", plugins=[Inputs(before=(ruled(source="default"),))]).run("Go.")
    found = Answer.assessment(Record.from_lines(outcome.record.to_lines(policy=conversation_redaction())))
    assert found is not None
    assert (found.standing, found.kinds) == ("not-assessed", ("argument-assumed",))


@pytest.mark.parametrize(
    ("content", "private", "is_hidden"),
    [
        ("[REDACTED]", None, True),
        ("[REDACTED] of it", None, True),
        ("a port of [REDACTED]", None, False),
        ('{"x":"[REDACTED]"}', None, False),
        ('{"rows":"[REDACTED]"}', None, True),
        ('{"[REDACTED]":[]}', None, True),
        ('["[REDACTED]"]', None, False),
        ("[[REDACTED]]", None, True),
        ('{"af_coverage":{"checked":"[REDACTED]"},"result":[]}', None, True),
        ('{"af_coverage":{"checked":[{"what":"[REDACTED]"}]},"result":[]}', None, False),
        ('{"af_coverage":{"checked":[{"[REDACTED]":"a"}]},"result":[]}', None, True),
        ('{"af_coverage":{"checked":["a"]},"result":"[REDACTED]"}', None, True),
        ("[]", '{"af_envelopes":"[REDACTED]"}', True),
        ("[]", '{"[REDACTED]":[]}', True),
        ("[]", '{"row":"[REDACTED]"}', False),
        ("[]", "[REDACTED]", True),
        ("[]", None, False),
    ],
)
async def test_what_may_have_read_otherwise_before_it_was_masked(content: str, private: str | None, *, is_hidden: bool) -> None:
    assert hidden(content, private, rows_at="rows") is is_hidden


async def test_masking_what_is_not_read_changes_nothing() -> None:
    outcome = await harness(call("find", what="gap"), "Port 3.").run("Go.")
    copy = Record.from_lines(outcome.record.to_lines(policy=RedactionPolicy(keys=["port"])))
    assert any("REDACTED" in event.payload.content for event in copy.events("agentfp.tool.ended"))  # type: ignore[attr-defined]
    assert Answer.assessment(copy) == assessed(outcome)


async def test_nothing_is_assessed_before_the_first_turn() -> None:
    assert Answer.assessment(Record()) is None


async def test_the_event_says_kinds_and_counts() -> None:
    outcome = await harness(call("find", what="gap"), "Port 3.").run("Go.")
    (event,) = outcome.record.of(AnswerAssessed)
    assert (event.assessment, event.standing, event.reasons, event.line) == ("unknown", "not-sure", ("coverage-gap",), False)
    assert [(row.layer, row.check, row.ran, row.of) for row in event.checked] == [(3, "result-shape", 1, 1), (3, "tool-coverage", 1, 1)]


# --- words ----------------------------------------------------------------------------------------


async def test_the_standing_line_names_each_assumed_value() -> None:
    plugins = [Inputs(before=(ruled(source="default", value="20"),))]
    outcome = await harness(call("find", what="gap"), "Port 3.", plugins=plugins, standing_line=True).run("Go.")
    head, line = outcome.text.split("\n\n")
    assert head == "Port 3."
    assert line == "Not sure — what = 20, by a rule of find; nobody chose it; something was not looked at."


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("rows", "Nothing speaks against it — the checks that ran found nothing, and none of them shows that it is so."),
        ("prose", "Not assessed — nothing of it was checked."),
    ],
)
async def test_the_standing_line_never_says_that_an_answer_is_true(what: str, line: str) -> None:
    assert (await harness(call("find", what=what), "Port 3.", standing_line=True).run("Go.")).text == f"Port 3.\n\n{line}"


async def test_a_hidden_value_is_not_shown() -> None:
    plugins = [Inputs(before=(ruled(source="default", value="REDACTED"),))]
    outcome = await harness(call("find"), "Port 3.", plugins=plugins, standing_line=True).run("Go.")
    assert "what = a value that the tool hides" in outcome.text


async def test_a_standing_line_does_not_go_with_an_output_type() -> None:
    with pytest.raises(ConfigError, match="standing_line is for answers in prose"):
        harness("{}", output_type=Report, standing_line=True)


async def test_the_model_reads_its_own_answer_and_people_read_the_line_too() -> None:
    model = ScriptedModel([call("find", what="gap"), "Port 3.", "Yes."])
    agent = Agent(model, tools=[find], plugins=[Answer(limits_travel=True)])
    chat = agent.conversation()
    first = await chat.send("Go.")
    assert first.text.startswith(
        "Port 3.\n\n---\n\nWhat this answer rests on\n\nChecked:\n- switch A\n\nNot checked:\n- switch B — it is down"
    )
    second = await chat.send("Sure?")
    assert second.text == "Yes."


async def test_text_that_is_streamed_is_held_only_where_something_may_be_appended() -> None:
    assert Agent(ScriptedModel(["x"]), plugins=[Answer()]).stream_mode == "live"
    assert Agent(ScriptedModel(["x"]), plugins=[Answer(limits_travel=True)]).stream_mode == "hold"


class Rewrites(Plugin):
    """Rewrites answers late."""

    name = "rewrites"

    @hookimpl(phase="append")
    def assess_answer(self, draft: AnswerDraft) -> Replace:
        return Replace(draft.text + "!")


async def test_a_message_of_the_library_begins_no_turn() -> None:
    history = [Message("m1", "user", "Go."), Message("m2", "assistant", "Yes.", author="model")]
    outcome = await harness(call("find", what="gap"), "Port 3.").run("Go.", history=history)
    assert assessed(outcome).turn_from == "person"


async def test_what_speaks_against_a_nested_answer_speaks_against_the_one_that_uses_it() -> None:
    script = [[call("find", what="gap"), call("find", what="empty")], "Port 3."]
    nested = Agent(ScriptedModel(script), tools=[find]).as_tool("network", "Answers questions about switches")
    outcome = await harness(call("network", id="c1", request="Which?"), "Port 3.", tools=[nested]).run("Go.")
    found = assessed(outcome)
    assert found.kinds == ("coverage-gap", "empty-undeclared")
    assert [reason.witness[0].event for reason in found.reasons] == ["agentfp.answer.nested"] * 2
    covered = Answer.coverage(outcome)
    assert covered is not None
    assert [item.line for item in covered.not_checked] == ["switch B — it is down"]
    saved = Record.from_lines(outcome.result.record.to_lines())
    assert (Answer.assessment(saved), Answer.coverage(saved)) == (found, covered)
