"""The gate in live runs: what ships, what is sent back, what is refused, and what stands on the record of it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from agentfp import Agent, ConfigError, Limits, Pause, RunCheckpointError, approve, conversation_redaction, tool
from agentfp.model import ModelFeatures
from agentfp.plugin import Message
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp.transcripts import Transcript
from agentfp_evidence import Evidence, EvidenceChecked, RecoveryContext, UnsupportedValuesError
from agentfp_evidence.transcript_judge import EvidenceJudge
from agentfp_transcripts import Readers, read_data

pytestmark = pytest.mark.anyio
ROWS = {"ports": [{"name": "fc2/4", "fcid": "0x7a0100", "iops": 41200}, {"name": "fc2/6", "fcid": "0x7a0400", "iops": 18450}]}
BAD = "Port fc2/4 has FCID 0x7a9999."
GOOD = "Port fc2/4 has FCID 0x7a0100."


@tool
def ports() -> dict[str, Any]:
    """All ports."""
    return ROWS


@tool
def broken(name: str) -> str:
    """Look up a serial number."""
    raise ValueError(f"no serial {name}")


@tool
def nothing() -> list[str]:
    """Find people."""
    return []


def agent(*script: Any, tools: Any = (ports, broken, nothing), **settings: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel([call("ports"), *script]), tools=list(tools), plugins=[Evidence(**settings)])


def actions(result: Any) -> list[str]:
    return [payload.action for payload in result.record.of(EvidenceChecked)]


def model_of(agent: Agent[Any, Any]) -> ScriptedModel:
    model = agent.model
    assert isinstance(model, ScriptedModel)
    return model


# --- what becomes of an answer ---------------------------------------------------------------------------------------------------


async def test_an_answer_from_results_is_grounded_and_each_value_has_its_source() -> None:
    result = await agent(GOOD).run("Which FCID?")
    report = Evidence.report(result)
    assert report is not None
    assert (actions(result), report.standing, report.answer) == (["grounded"], "supported", GOOD)
    by_text = {value.text: value for value in report.values}
    source = by_text["0x7a0100"].sources[0]
    assert source.message is not None
    assert (source.path, result.history[source.message].role) == ("$.ports[0].fcid", "tool")
    assert source.call_id == result.history[source.message].tool_call_id


async def test_flag_ships_the_answer_with_the_verdict_on_its_record() -> None:
    result = await agent(BAD).run("Which FCID?")
    report = Evidence.report(result)
    assert (result.text, actions(result)) == (BAD, ["flagged"])
    assert report is not None
    assert report.unsupported == ("0x7a9999",)
    payload = result.record.of(EvidenceChecked)[0]
    assert (payload.unsupported, payload.strong, payload.after_revision, payload.from_this_turn) == (1, 1, False, 1)


async def test_revise_sends_a_draft_back_once_and_nothing_of_it_enters_the_history() -> None:
    asked = agent(BAD, GOOD, "You are welcome.", on_unsupported="revise")
    chat = asked.conversation()
    result = await chat.send("Which FCID?")
    assert (result.text, actions(result)) == (GOOD, ["revision-asked", "grounded"])
    assert [message.role for message in result.history] == ["user", "assistant", "tool", "assistant"]
    told = model_of(asked).requests[2].messages[-1].content
    assert "0x7a9999" in told
    assert "not from the person" in told
    await chat.send("Thanks.")
    assert not any("0x7a9999" in message.content for message in model_of(asked).requests[3].messages)


async def test_a_lookup_in_the_revision_may_ground_the_same_sentence() -> None:
    asked = Agent(ScriptedModel([GOOD, call("ports"), GOOD]), tools=[ports], plugins=[Evidence(on_unsupported="revise")])
    result = await asked.run("Which FCID?")
    assert (result.text, actions(result)) == (GOOD, ["revision-asked", "grounded"])
    assert [payload.after_revision for payload in result.record.of(EvidenceChecked)] == [False, True]


async def test_revise_ships_what_survives_the_revision() -> None:
    result = await agent(BAD, BAD, on_unsupported="revise").run("Which FCID?")
    assert (result.status, result.text, actions(result)) == ("answered", BAD, ["revision-asked", "flagged"])


async def test_refuse_refuses_what_survives_the_revision() -> None:
    asked = agent(BAD, 'It says: "0x7a9999".', on_unsupported="refuse")
    result = await asked.run("Which FCID?")
    assert (result.status, actions(result), len(model_of(asked).requests)) == ("refused", ["revision-asked", "refused"], 3)
    with pytest.raises(UnsupportedValuesError) as caught:
        result.raise_for_status()
    error = caught.value
    assert (error.code, error.revised, [value.text for value in error.values][-1]) == ("ERR_UNSUPPORTED_VALUES", True, "0x7a9999")
    assert "0x7a9999" in str(error)
    assert "invented values only" in str(error)
    assert pickle.loads(pickle.dumps(error)).values == error.values
    report = Evidence.report(result)
    assert report is not None
    assert "0x7a9999" in report.answer


@pytest.mark.parametrize(("wish", "status"), [("revise", "answered"), ("refuse", "refused")])
async def test_after_a_limit_nothing_is_sent_back(wish: str, status: str) -> None:
    asked = Agent(ScriptedModel([call("ports"), BAD]), tools=[ports], plugins=[Evidence(on_unsupported=wish)], limits=Limits(iterations=2))
    result = await asked.run("Which FCID?")
    assert len(model_of(asked).requests) == 2
    assert (result.status, actions(result)[-1]) == (status, "flagged" if wish == "revise" else "refused")


@pytest.mark.parametrize("wish", ["revise", "refuse"])
async def test_what_was_not_read_whole_is_flagged_and_never_sent_back_or_refused(monkeypatch: pytest.MonkeyPatch, wish: str) -> None:
    monkeypatch.setattr("agentfp_evidence.table.MAX_FORMS", 3)  # in earnest 200,000
    asked = agent(BAD, on_unsupported=wish)
    result = await asked.run("Which FCID?")
    (payload,) = result.record.of(EvidenceChecked)
    assert (result.status, payload.action, payload.truncated, len(model_of(asked).requests)) == ("answered", "flagged", True, 2)


async def test_weak_findings_act_only_when_told_to() -> None:
    weak = "There are 3 ports down."
    result = await agent(weak, on_unsupported="refuse").run("How many?")
    assert (result.status, actions(result)) == ("answered", ["flagged"])
    result = await agent(weak, weak, on_unsupported="refuse", act_on="any").run("How many?")
    assert (result.status, actions(result)) == ("refused", ["revision-asked", "refused"])


async def test_a_further_revision_is_asked_for_only_when_the_first_one_helped() -> None:
    worse = "FCIDs 0x7a9999 and 0x7a8888."
    better = "FCID 0x7a9999."
    result = await agent(worse, better, GOOD, on_unsupported="revise", max_revisions=2).run("Which?")
    assert actions(result) == ["revision-asked", "revision-asked", "grounded"]
    result = await agent(worse, worse, on_unsupported="revise", max_revisions=2).run("Which?")
    assert actions(result) == ["revision-asked", "flagged"]


async def test_each_turn_has_its_own_revision() -> None:
    chat = agent(BAD, GOOD, BAD, GOOD, on_unsupported="revise").conversation()
    await chat.send("Which FCID?")
    result = await chat.send("Once more?")
    assert actions(result) == ["revision-asked", "grounded"] * 2
    payload = result.record.of(EvidenceChecked)[-1]
    assert (payload.from_this_turn, payload.from_prior_turns) == (0, 2)


async def test_an_empty_answer_is_not_judged() -> None:
    result = await agent("").run("Which FCID?")
    assert actions(result) == []
    assert Evidence.report(result) is None


# --- what grounds, and what does not ---------------------------------------------------------------------------------------------


async def test_what_the_person_and_the_program_said_grounds_values() -> None:
    asked = Agent(
        ScriptedModel(["INC-4711 is for desk EU-9921, code RX-7734, ref AB-5566."]),
        instructions="You are desk EU-9921.",
        plugins=[Evidence(given=["RX-7734"])],
    )
    result = await asked.run("What of INC-4711?", options={"evidence": {"given": ["AB-5566"]}})
    report = Evidence.report(result)
    assert report is not None
    assert [value.verdict for value in report.values if "-" in value.text] == ["supported"] * 4


async def test_a_failed_result_is_never_evidence_and_the_report_tells_failed_empty_and_not_called_apart() -> None:
    script = [[call("broken", name="SN-88123"), call("nothing")], "The serial is SN-88123, says SN-99177."]
    result = await Agent(ScriptedModel(script), tools=[broken, nothing], plugins=[Evidence()]).run("Which serial?")
    report = Evidence.report(result)
    assert report is not None
    assert set(report.unsupported) == {"SN-88123", "SN-99177"}
    assert [(note.tool, note.standing) for note in report.tools] == [("broken", "failed"), ("nothing", "empty")]
    alone = await Agent(ScriptedModel(["Created ticket T-1042."]), plugins=[Evidence()]).run("Create one.")
    report = Evidence.report(alone)
    assert report is not None
    assert (report.unsupported, report.calls) == (("T-1042",), 0)


async def test_what_the_revision_quotes_and_what_the_model_said_before_ground_nothing() -> None:
    chat = agent(BAD, BAD).conversation()
    await chat.send("Which FCID?")
    result = await chat.send("Sure?")
    assert actions(result) == ["flagged", "flagged"]


async def test_a_nested_answer_grounds_only_what_its_own_run_grounds() -> None:
    inner = Agent(ScriptedModel([call("ports"), "fc2/4 has FCID 0x7a0100 and serial SN-55512; you asked for ZX-90001."]), tools=[ports])
    outer = Agent(
        ScriptedModel([call("network", request="Look up ZX-90001."), "FCID 0x7a0100, serial SN-55512, id ZX-90001."]),
        tools=[inner.as_tool("network", "Answers questions about ports.")],
        plugins=[Evidence()],
    )
    result = await outer.run("Which FCID?")
    report = Evidence.report(result)
    assert report is not None
    verdicts = {value.text: value.verdict for value in report.values}
    assert verdicts == {"0x7a0100": "supported", "SN-55512": "unsupported", "ZX-90001": "unsupported"}
    transcript, below = read_data([json.loads(line) for line in result.record.to_lines()], id="r", readers=Readers())
    assert isinstance(transcript, Transcript)
    (saved,) = EvidenceJudge().reports(transcript, [len(transcript.messages) - 1])
    assert {value.text: value.verdict for value in saved.values} == verdicts, "a recording is judged as the run was"
    assert isinstance(below, Transcript)


def test_several_nested_runs_of_one_call_ground_together() -> None:
    def transcript(id: str, *messages: Message, nested: dict[str, Transcript] | None = None) -> Transcript:
        return Transcript(id=id, messages=messages, nested=nested or {})

    def nested(number: int) -> Transcript:
        row = Message("t", "tool", f'{{"fcid": "0x7a010{number}"}}', tool_call_id="p")
        return transcript(f"n{number}", row, Message("a", "assistant", f"0x7a010{number} and SN-5551{number}"))

    said = "0x7a0101 and SN-55511; 0x7a0102 and SN-55512"
    answered = Message("t", "tool", said, tool_call_id="c")
    whole = transcript("r", answered, Message("a", "assistant", said), nested={"c": nested(1), "c#2": nested(2)})
    (report,) = EvidenceJudge().reports(whole, [1])
    assert report.unsupported == ("SN-55511", "SN-55512")


async def test_a_nested_gate_is_understood_after_a_resume_from_json() -> None:
    @tool(approval=True)
    def note(text: str) -> str:
        """Note something."""
        return "noted"

    inner = Agent(ScriptedModel([call("ports"), "fc2/4 has FCID 0x7a0100 and serial SN-55512."]), tools=[ports], plugins=[Evidence()])
    outer = Agent(
        ScriptedModel([call("network", request="Which?"), call("note", text="x"), "FCID 0x7a0100, serial SN-55512."]),
        tools=[inner.as_tool("network", "Answers questions about ports."), note],
        plugins=[Evidence()],
    )
    paused = await outer.run("Which FCID?")
    assert paused.pause is not None
    pause = Pause.from_json(paused.pause.to_json())
    result = await outer.resume(pause, {pause.questions[0].id: approve()})
    assert result.plugin_failures == {}
    report = Evidence.report(result)
    assert report is not None
    assert {value.text: value.verdict for value in report.values} == {"0x7a0100": "supported", "SN-55512": "unsupported"}


async def test_what_another_plugin_withheld_is_no_evidence() -> None:
    from agentfp.plugin import Plugin, Withhold, hookimpl

    class Guard(Plugin):
        name = "guarding"

        @hookimpl(phase="check")
        def after_result(self) -> Withhold:
            return Withhold("secret", tell_model="Withheld under rule QX-7788.")

    asked = Agent(ScriptedModel([call("ports"), "Rule QX-7788 and FCID 0x7a0100."]), tools=[ports], plugins=[Guard(), Evidence()])
    report = Evidence.report(await asked.run("Which?"))
    assert report is not None
    assert set(report.unsupported) == {"QX-7788", "0x7a0100"}


# --- typed answers, streams, resuming --------------------------------------------------------------------------------------------


class Port(BaseModel):
    name: str
    fcid: str
    iops: int


async def test_a_typed_answer_is_judged_by_field_after_its_schema() -> None:
    script = [call("ports"), "no json", Port(name="fc2/4", fcid="0x7a9999", iops=41200)]
    asked = Agent(ScriptedModel(script), tools=[ports], output_type=Port, plugins=[Evidence()])
    result = await asked.run("Which port?")
    report = Evidence.report(result)
    assert report is not None
    assert actions(result) == ["flagged"]
    found = {value.path: (value.text, value.verdict) for value in report.values}
    assert found["$.fcid"] == ("0x7a9999", "unsupported")
    assert found["$.iops"] == ("41200", "supported")
    assert all(report.answer[v.start : v.end] == v.text for v in report.values)


@pytest.mark.parametrize("mode", [None, "hold", "live"])
@pytest.mark.parametrize("strategy", ["native", "instruct", "tool"])
async def test_each_way_to_ask_for_a_typed_answer_is_judged_by_field(strategy: Any, mode: Any) -> None:
    bad, good = Port(name="fc2/4", fcid="0x7a9999", iops=41200), Port(name="fc2/4", fcid="0x7a0100", iops=41200)
    own = [] if strategy == "tool" else [ports]  # that strategy goes with no other tools; the application gives the rows then
    script = [bad, good] if strategy == "tool" else [call("ports"), bad, good]
    features = ModelFeatures(streaming=True, parallel_tool_calls=True, forced_tool_choice=True, json_schema=True)
    gate = Evidence(on_unsupported="revise", given=[] if own else [ROWS])
    asked = Agent(ScriptedModel(script, features=features), tools=own, output_type=Port, output_strategy=strategy, plugins=[gate])
    if mode is None:
        result = await asked.run("Which port?")
    else:
        async with asked.stream("Which port?", stream=mode) as run:
            async for _ in run:
                pass
        result = run.result
    assert (result.output, actions(result)) == (good, ["revision-asked", "grounded"])
    before, after = Evidence.reports(result)
    assert [(v.path, v.text) for v in before.values if v.verdict == "unsupported"] == [("$.fcid", "0x7a9999")]
    assert before.is_data
    assert after.standing == "supported"


@pytest.mark.parametrize("mode", ["hold", "live"])
async def test_streams_give_the_same_verdicts_and_a_draft_is_never_shown_as_an_answer(mode: Any) -> None:
    whole = await agent(BAD, GOOD, on_unsupported="revise").run("Which FCID?")
    asked = agent(BAD, GOOD, on_unsupported="revise")
    shown: list[Any] = []
    async with asked.stream("Which FCID?", stream=mode) as run:
        shown.extend([event async for event in run])
    result = run.result
    assert (result.text, actions(result)) == (whole.text, actions(whole))
    names = [event.name.removeprefix("agentfp.") for event in shown]
    if mode == "live":
        assert names.index("stream.draft_discarded") < len(names) - 1 - names[::-1].index("stream.token")
    else:
        text = "".join(event.payload.text for event in shown if event.name == "agentfp.stream.token")
        assert "0x7a9999" not in text


def test_only_what_may_change_an_answer_holds_streams_back() -> None:
    assert not Evidence().may_change_answers
    assert Evidence(on_unsupported="revise").may_change_answers
    assert Evidence(refuse_on_failure=True).may_change_answers


async def test_a_crash_in_the_revision_is_resumed_with_its_note_and_without_a_second_revision() -> None:
    from agentfp import ModelError

    asked = agent(BAD, ModelError("down", status=503), BAD, on_unsupported="refuse")
    with pytest.raises(RunCheckpointError) as caught:
        await asked.run("Which FCID?")
    result = await asked.resume_on_error(caught.value)
    assert "0x7a9999" in model_of(asked).requests[-1].messages[-1].content
    assert (result.status, actions(result)) == ("refused", ["revision-asked", "refused"])


@pytest.mark.parametrize("in_revision", [False, True])
async def test_an_approval_in_between_loses_neither_the_evidence_nor_the_revision(in_revision: bool) -> None:
    asking = tool(lambda: ROWS, name="ports", description="All ports.", approval=True)

    def made(*script: Any) -> Agent[Any, Any]:
        return Agent(ScriptedModel(list(script)), tools=[asking], plugins=[Evidence(on_unsupported="refuse")])

    paused = await made(*[BAD][:in_revision], call("ports")).run("Which FCID?")
    assert paused.pause is not None
    elsewhere = made(*[BAD][: not in_revision], BAD)
    result = await elsewhere.resume(Pause.from_json(paused.pause.to_json()), approve(by="ann"))
    assert (result.status, actions(result)) == ("refused", ["revision-asked", "refused"])
    assert len(Evidence.reports(result)) == 2


async def test_a_masked_copy_keeps_its_verdicts_and_marks_no_other_words(tmp_path: Path) -> None:
    result = await agent(BAD).run("Which FCID?")
    result.record.save(tmp_path / "run.jsonl", policy=conversation_redaction())
    report = Evidence.report(tmp_path / "run.jsonl")
    assert report is not None
    assert [(v.verdict, v.severity) for v in report.values] == [("supported", None), ("unsupported", "strong")]
    assert "0x7a9999" not in report.to_html()
    assert "<mark" not in report.to_html()


async def test_the_report_is_the_same_of_a_result_a_record_and_a_saved_file(tmp_path: Path) -> None:
    result = await agent(BAD, GOOD, on_unsupported="revise").run("Which FCID?")
    result.record.save(tmp_path / "run.jsonl")
    assert Evidence.reports(result) == Evidence.reports(result.record) == Evidence.reports(tmp_path / "run.jsonl")
    assert [report.answer for report in Evidence.reports(result)] == [BAD, GOOD]


# --- settings --------------------------------------------------------------------------------------------------------------------


async def test_the_applications_own_words_go_with_a_revision() -> None:
    seen: list[RecoveryContext] = []

    def words(context: RecoveryContext) -> str:
        seen.append(context)
        return "Ask the desk."

    asked = agent(BAD, GOOD, on_unsupported="revise", recovery_instruction=words)
    await asked.run("Which FCID?")
    (context,) = seen
    assert (context.attempt, context.iteration, context.original_request, context.rejected_draft) == (1, 2, "Which FCID?", BAD)
    assert [value.text for value in context.unsupported] == ["0x7a9999"]
    assert model_of(asked).requests[2].messages[-1].content.endswith("Ask the desk.")


async def _late(context: RecoveryContext) -> str:
    return "late"


@pytest.mark.parametrize("words", [lambda context: 7, lambda context: "x" * 5000, _late])
@pytest.mark.parametrize(("wish", "status"), [("revise", "answered"), ("refuse", "refused")])
async def test_words_that_are_none_are_a_failure_of_the_gate(words: Any, wish: str, status: str) -> None:
    result = await agent(BAD, on_unsupported=wish, recovery_instruction=words).run("Which FCID?")
    assert result.status == status
    assert result.plugin_failures == {"evidence": 1}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"on_unsupported": "rewise"}, "on_unsupported"),
        ({"act_on": "all"}, "act_on"),
        ({"profile": "strikt"}, "profile"),
        ({"max_revisions": 4}, "max_revisions"),
        ({"shapes": {"t": "("}}, "shape 't'"),
        ({"exempt": ["re:("]}, "exempt"),
        ({"recovery_instruction": "x" * 4001}, "recovery_instruction"),
        ({"onunsupported": "flag"}, "on_unsupported"),
        ({"min_digits": 0}, "min_digits"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Evidence(**settings)


def test_all_that_is_wrong_with_the_settings_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Evidence(min_digits=0, exempt=["re:("], shapes={"t": "("}, act_on="all")
    assert all(name in str(caught.value) for name in ("min_digits", "exempt", "shapes", "act_on"))


@pytest.mark.parametrize(("old", "new"), [("assist", "flag"), ("guard", "revise"), ("rails", "refuse")])
def test_the_older_words_are_understood(old: str, new: str) -> None:
    assert Evidence(on_unsupported=old).settings.on_unsupported == new


async def test_declared_shapes_and_exempt_values_hold_in_a_run() -> None:
    asked = agent("Ticket ops-abcd on build-77 at 0x7a9999.", shapes={"ticket": "ops-[a-z]{4}"}, exempt=["re:build-\\d+", "0x7a9999"])
    report = Evidence.report(await asked.run("Which?"))
    assert report is not None
    assert report.unsupported == ("ops-abcd",)


def test_it_keeps_the_rules_of_plugins() -> None:
    check_plugin(Evidence, tools=[ports], script=[call("ports"), GOOD])
    check_plugin(lambda: Evidence(on_unsupported="revise"), tools=[ports], script=[call("ports"), BAD, GOOD])
