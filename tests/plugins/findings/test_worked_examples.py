"""One run for each rule of the ledger, from the declaration to what is on the record and in the next request."""

from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest

from agentfp import Agent, AgentfpError, ConfigError, Limits, ReservedArgumentError, raw_tool
from agentfp.events import MessageAdded, ToolEnded, VerdictFiled
from agentfp.plugin import ChoiceAnswer, ClassifyRequest, ClassifyResult, Plugin, Replace, ResultView, Run, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_evidence import Evidence
from agentfp_findings import (
    ConflictFound,
    Contingent,
    Declared,
    Findings,
    JudgeFailed,
    Malformed,
    StandingDeclared,
    UnsettledByAbsence,
)
from agentfp_findings.words import INSTRUCTION
from tests.plugins.findings.ledgers import (
    contents,
    harness,
    judged,
    look,
    looking,
    noted,
    piece,
    rows,
    says,
    states,
)

pytestmark = pytest.mark.anyio


async def test_01_a_call_runs_without_its_declaration_and_history_keeps_it() -> None:
    seen: list[dict[str, Any]] = []

    async def take(_ctx: Any, arguments: dict[str, Any]) -> str:
        seen.append(arguments)
        return "taken"

    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": False}
    find = raw_tool("find", "Finds.", schema, take)
    outcome = await harness(call("find", id="c1", q="x", _findings={"basis": "direct"}), "Done.", tools=[find]).run("Go.")
    assert seen == [{"q": "x"}]
    assert outcome.result.history[1].tool_calls[0].arguments == {"q": "x", "_findings": {"basis": "direct"}}
    (row,) = rows(outcome)
    assert (row.kind, row.tool_call_id, row.turn, row.iteration) == ("basis", "c1", 1, 1)
    assert row.data == Declared("direct", "find")
    assert [event.call_id for event in outcome.events("agentfp.findings.declared")] == ["c1"]


async def test_02_a_basis_is_not_made_up() -> None:
    outcome = await harness(call("look", id="c1", _findings={"basis": "sure", "expect": "high"}), "Done.").run("Go.")
    (row,) = rows(outcome)
    assert row.kind == "findings-malformed"
    assert (row.tool_call_id, row.data) == ("c1", Malformed("tool-call", 1))


async def test_03_noise_becomes_a_ticket() -> None:
    outcome = await harness(looking("c1", "long " * 50), looking("c2", "b", judged("c1", "noise")), "Done.").run("Go.")
    assert contents(outcome, 3) == ['{"collapsed":true,"standing":"noise","tool_call_id":"c1"}', "b"]
    assert contents(outcome, 2) == ["long " * 50]
    assert piece(outcome, 2) == ""
    sections = piece(outcome, 3).partition("\n\n")[2].split("\n")
    assert sections == ["noise:", '{"count":1,"ids":["c1"]}', "undeclared:", '{"count":1,"ids":["c2"]}']
    assert [message.text for message in outcome.result.history if message.role == "tool"] == ["long " * 50, "b"]


async def test_04_facts_that_contradict_each_other_are_a_conflict_once() -> None:
    shut, opened = states("door", "d12", "lock", "shut"), states("door", "d12", "lock", "open")
    outcome = await harness(
        looking("c1", "a"),
        looking("c2", "b", judged("c1", "fact", assertions=[shut])),
        looking("c3", "c", judged("c2", "fact", assertions=[opened])),
        looking("c4", "d", judged("c2", "ruled-out", line="an old photo")),
        looking("c5", "e", judged("c2", "fact", assertions=[opened])),
        looking("c6", "f", judged("c2", "ruled-out")),
        "Done.",
    ).run("Is d12 shut?")
    (conflict,) = [row.data for row in rows(outcome, "conflict")]
    assert isinstance(conflict, ConflictFound)
    assert (conflict.kind, conflict.id, conflict.predicate, conflict.witnesses) == ("door", "d12", "lock", ("c1", "c2"))
    standings = [row.data for row in rows(outcome, "standing")]
    assert [isinstance(row, StandingDeclared) and row.conflict_keys for row in standings] == [(), (conflict.key,), (), (), ()]
    assert '{"conflict":"door/d12 · lock","from":["tool:c1","tool:c2"]}' in piece(outcome, 4)
    assert "conflict" not in piece(outcome, 5).partition("\n\n")[2]
    assert '{"ruled_out":"c2","tool":"look","line":"an old photo"}' in piece(outcome, 5)
    assert Findings.standings(outcome).conflicts == ()


async def test_05_a_position_is_no_id() -> None:
    outcome = await harness(looking("c1"), looking("c2", "", judged("0", "fact")), "Done.").run("Go.")
    (row,) = [row.data for row in rows(outcome, "standing")]
    assert row == StandingDeclared("fact", "tool-call", unknown_id=True, named="0")
    assert '{"from":["tool:0"],"unknown_id":true}' in piece(outcome, 3)


async def test_06_the_last_standing_counts() -> None:
    outcome = await harness(looking("c1"), looking("c2", "", judged("c1", "open")), "Yes." + noted(judged("c1", "fact"))).run("Go.")
    fold = Findings.standings(outcome)
    assert {key: row.standing for key, row in fold.standing_of.items()} == {"c1": "fact"}
    assert [(row.data.standing, row.data.declared_on) for row in rows(outcome, "standing")] == [  # type: ignore[attr-defined]
        ("open", "tool-call"),
        ("fact", "answer"),
    ]


@pytest.mark.parametrize("chunk", [1, 3, 7, None])
async def test_07_a_block_of_notes_leaves_the_answer_and_the_stream(chunk: int | None) -> None:
    text = "The door is shut." + noted(judged("c1", "fact"))
    model = ScriptedModel([looking("c1"), text], chunk=chunk or 10_000)
    agent = Agent(model, tools=[look], plugins=[Findings()])
    async with agent.stream("Is it?") as run:
        shown = [piece async for piece in run.text()]
    assert run.result is not None
    assert "".join(shown) == run.result.text == "The door is shut."
    assert run.result.history[-1].own == text
    assert agent.stream_mode == "live"


class Total(pydantic.BaseModel, extra="forbid"):
    total: int
    ok: bool


async def test_08_the_output_type_judges_what_is_left() -> None:
    notes = json.dumps({"previous": [judged("c1", "fact")]})
    first = f'{{"total":"x", "_findings":{notes},"ok":true}}'
    last = f'{{"total": 3,"_findings":{notes},"ok":true}}'
    outcome = await harness(looking("c1"), first, last, output_type=Total).run("How many?")
    assert outcome.text == '{"total": 3,"ok":true}'
    assert outcome.result.output == Total(total=3, ok=True)
    assert len(rows(outcome, "standing")) == 2
    assert '{"total":"x","ok":true}' in outcome.requests[2].messages[-1].text


async def test_09_braces_are_not_notes() -> None:
    outcome = await harness("{see below}").run("Go.")
    assert outcome.text == "{see below}"
    assert Findings.ledger(outcome) is None


async def test_10_a_note_that_breaks_off_is_not_shown() -> None:
    outcome = await harness(looking("c1"), 'It is shut. {"total":3,"_findings":{"prev').run("Go.")
    assert outcome.text == 'It is shut. {"total":3'
    assert [row.data for row in rows(outcome, "findings-malformed")] == [Malformed("answer", 1)]
    assert rows(outcome, "standing") == []


async def test_11_an_argument_that_rests_on_a_set_aside_result() -> None:
    script = [looking("c1", "serial QX-4471"), looking("c2", "QX-4471", judged("c1", "ruled-out")), "Done."]
    outcome = await harness(*script, plugins=[Evidence()]).run("Find it.")
    names = [event.name for event in outcome.record if event.call_id == "c2" or event.name == Contingent.event_name]
    assert names[:4] == ["agentfp.tool.started", StandingDeclared.event_name, Declared.event_name, Contingent.event_name]
    assert names.index(Contingent.event_name) < names.index(ToolEnded.event_name)
    (row,) = rows(outcome, "contingent")
    assert row.tool_call_id == "c2"
    assert isinstance(row.data, Contingent)
    assert row.data.value == "QX-4471"
    assert [(carrier.call_id, carrier.standing) for carrier in row.data.carriers] == [("c1", "ruled-out")]
    assert '{"used":"QX-4471","on":"c2","carriers":[["c1","ruled-out"]]}' in piece(outcome, 3)
    assert rows(await harness(*script).run("Find it."), "contingent") == []


def shelf(place: str) -> str:
    """What stands on a shelf."""
    return {"first": "qx-4471 costs 12,500", "second": "QX-4471"}.get(place, "nothing")


def shelving(call_id: str, place: str, *previous: dict[str, Any]) -> Any:
    return call("shelf", id=call_id, place=place, _findings=says(*previous))


async def test_12_a_value_that_an_undeclared_result_carries_too_stands() -> None:
    aside = [shelving("c1", "second"), shelving("c2", "third", judged("c1", "noise"))]
    more = {"tools": [shelf], "plugins": [Evidence()]}
    alone = await harness(*aside, "It is QX-4471.", **more).run("Find it.")
    both = await harness(*aside, shelving("c3", "first"), "It is QX-4471.", **more).run("Find it.")
    said = await harness(*aside, "It is QX-4471.", **more).run("Is it QX-4471?")
    told = await harness(*aside, "It is QX-4471.", **more, instructions="The spare part is QX-4471.").run("Find it.")
    assert [row.data.declared_on for row in rows(alone, "contingent")] == ["answer"]  # type: ignore[attr-defined]
    assert rows(both, "contingent") == rows(said, "contingent") == rows(told, "contingent") == []


async def test_12_a_value_is_filed_once_and_only_those_that_the_gate_found_grounded() -> None:
    aside = [shelving("c1", "first"), shelving("c2", "third", judged("c1", "open"))]
    answer = "QX-4471, that is qx-4471, costs 12500, not QX-4472."
    outcome = await harness(*aside, answer, tools=[shelf], plugins=[Evidence()]).run("Find it.")
    assert [row.data.value for row in rows(outcome, "contingent")] == ["QX-4471", "12500"]  # type: ignore[attr-defined]


class Denies(Plugin):
    """Puts another sentence in the place of results."""

    name = "denies"

    @hookimpl(phase="rewrite")
    def after_result(self, result: ResultView) -> Replace:
        return Replace("not for you")


async def test_13_what_was_ruled_out_because_nothing_was_found() -> None:
    def script(kind: str) -> list[Any]:
        return [
            call("search", id="c1", kind=kind, _findings=says()),
            looking("c2", "", judged("c1", "ruled-out")),
            looking("c3", "", judged("c1", "open")),
            "Done.",
        ]

    outcome = await harness(*script("absent")).run("Go.")
    assert [row.kind for row in rows(outcome)][1:3] == ["standing", "unsettled-by-absence"]
    (row,) = [row.data for row in rows(outcome, "unsettled-by-absence")]
    assert isinstance(row, UnsettledByAbsence)
    assert [(gap.what, gap.why) for gap in row.not_checked] == [("archive", "closed")]
    assert [(gap.what, gap.why) for gap in row.cannot_cover] == [("private doors", "no access")]
    assert row.try_instead == "ask the porter"
    assert '{"id":"c1","tool":"search","not_checked":[{"what":"archive","why":"closed"}]' in piece(outcome, 3)
    assert "unsettled_by_absence:" not in piece(outcome, 4)
    assert Findings.standings(outcome).unsettled == {}

    assert rows(await harness(*script("absent"), plugins=[Denies()]).run("Go."), "unsettled-by-absence") == []
    assert rows(await harness(*script("bare")).run("Go."), "unsettled-by-absence") == []
    (covered,) = [row.data for row in rows(await harness(*script("covered")).run("Go."), "unsettled-by-absence")]
    assert isinstance(covered, UnsettledByAbsence)
    assert [gap.what for gap in covered.not_checked] == ["attic"]


class Unsure:
    """A judge that answers with a word of its own."""

    name = "unsure"

    async def classify(self, request: ClassifyRequest, run: Run[Any]) -> ClassifyResult:
        return ClassifyResult({"standing": ChoiceAnswer("maybe")})


async def test_14_a_judge_with_a_word_of_its_own() -> None:
    outcome = await harness(looking("c1"), looking("c2", "", judged("c1", "fact")), "Done.", judge=Unsure()).run("Go.")
    failed = [row.data for row in rows(outcome, "judgment-error")]
    assert [(row.judge, row.message) for row in failed if isinstance(row, JudgeFailed)] == [
        ("unsure", "an answer outside of the four standings")
    ] * 2
    (row,) = [row.data for row in rows(outcome, "standing")]
    assert isinstance(row, StandingDeclared)
    assert row.agrees is None
    outcome.assert_answered("Done.")


async def test_15_a_model_that_declares_nothing() -> None:
    script = [call("look", id="c1", x="a"), call("look", id="c2", x="b"), "Done."]
    on, off = await harness(*script, offer="enum").run("Go."), ScriptedModel(script)
    await Agent(off, tools=[look]).run("Go.")
    assert Findings.ledger(on) is None
    assert on.events("agentfp.findings.*") == []
    for ours, theirs in zip(on.requests, off.requests, strict=True):
        assert ours.system == INSTRUCTION
        assert [message.text for message in ours.messages] == [message.text for message in theirs.messages]
        for ours_tool, their_tool in zip([tool for tool in ours.tools if tool.name == "look"], theirs.tools, strict=True):
            schema = ours_tool.parameters
            schema["properties"].pop("_findings")
            assert schema == their_tool.parameters
    assert rows(on, "basis") == []
    assert on.events(VerdictFiled.event_name) == []


async def test_16_the_ceiling_holds_and_no_id_is_cut() -> None:
    calls = [
        looking(f"c{n}", "", judged(f"c{n - 1}", "fact", assertions=[states("door", f"d{n}", "lock", "shut " * 20)])) for n in range(1, 42)
    ]
    outcome = await harness(*calls, "Done.", max_context_bytes=1024, limits=Limits(iterations=50)).run("Go.")
    last = piece(outcome, 42)
    assert len(last.encode()) <= 1024
    facts = last.partition("facts:\n")[2].partition("\n")[0]
    lines = last.split("facts:\n", 1)[1].split("\n\n")[0].split("\n")
    closing = json.loads(lines[-1])
    shown = [json.loads(text) for text in lines[:-1]]
    assert closing == {"omitted": 41 - len(shown)}
    assert all(fact["from"][0].startswith("tool:c") for fact in shown)
    assert facts


async def test_17_a_foreign_tool_with_an_argument_of_that_name_keeps_it() -> None:
    seen: list[dict[str, Any]] = []

    async def take(_ctx: Any, arguments: dict[str, Any]) -> str:
        seen.append(arguments)
        return "taken"

    schema = {"type": "object", "properties": {"_findings": {"type": "array"}}}
    theirs = raw_tool("theirs", "Theirs.", schema, take)
    outcome = await harness(call("theirs", id="c1", _findings=[1]), "Done.", tools=[theirs, look]).run("Go.")
    assert seen == [{"_findings": [1]}]
    wire = {spec.name: spec.parameters for spec in outcome.requests[0].tools}
    assert wire["theirs"] == schema
    assert "basis" in wire["look"]["properties"]["_findings"]["properties"]
    assert Findings.ledger(outcome) is None


@pytest.mark.parametrize(
    ("settings", "says_what"),
    [
        ({"keep_ledger_facts": -1}, "keep_ledger_facts"),
        ({"keep_ledger_facts": True}, "keep_ledger_facts"),
        ({"keep_ledger_facts": "4"}, "keep_ledger_facts"),
        ({"keep_ledger_facts": 1.5}, "keep_ledger_facts"),
        ({"serve": "all"}, "serve"),
        ({"answer_ask": "please"}, "answer_ask"),
        ({"offer": "both"}, "offer"),
        ({"max_context_bytes": 1023}, "max_context_bytes"),
        ({"max_context_bytes": 262_145}, "max_context_bytes"),
        ({"max_context_bytes": "2000"}, "max_context_bytes"),
        ({"argument_sources": 1}, "argument_sources"),
        ({"judge": object()}, "judge"),
        ({"judge": Unsure}, "judge"),
        ({"judge": "no.such:thing"}, "judge"),
        ({"servee": "x"}, "did you mean 'serve'"),
    ],
)
async def test_18_settings_that_do_not_fit_are_refused(settings: dict[str, Any], says_what: str) -> None:
    with pytest.raises(ConfigError, match=says_what):
        Findings(**settings)


async def test_18_settings_that_fit() -> None:
    made = Findings(keep_ledger_facts=False, max_context_bytes=1024, judge="tests.plugins.findings.test_worked_examples:Unsure")
    assert made.settings.keep_ledger_facts == 0
    assert made.settings.judge.name == "unsure"
    assert Findings(keep_ledger_facts=0).settings.keep_ledger_facts == 0
    assert Findings(max_context_bytes=262_144).settings.max_context_bytes == 262_144


async def test_an_agent_is_refused_whose_tool_has_an_argument_of_that_name() -> None:
    def mine(_findings: str) -> str:
        """Mine."""
        return _findings

    with pytest.raises(ReservedArgumentError, match="'mine' has a parameter '_findings'"):
        Agent(ScriptedModel([]), tools=[mine], plugins=[Findings()])


async def test_an_agent_is_refused_without_what_the_settings_need() -> None:
    with pytest.raises(AgentfpError, match="argument_sources needs the plugin 'inputs'"):
        Agent(ScriptedModel([]), plugins=[Findings(argument_sources=True)])
    with pytest.raises(AgentfpError, match="two plugins are called 'findings'"):
        Agent(ScriptedModel([]), plugins=[Findings(), Findings()])


async def test_the_history_of_the_conversation_is_what_the_model_wrote() -> None:
    outcome = await harness(looking("c1"), "Yes." + noted(judged("c1", "noise"))).run("Go.")
    stored = [event.payload for event in outcome.events(MessageAdded.event_name)]
    assert isinstance(stored[-1], MessageAdded)
    assert stored[-1].content == "Yes."
    assert stored[-1].own is not None
    assert "_findings" in stored[-1].own
