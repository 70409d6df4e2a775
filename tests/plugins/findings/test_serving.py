"""What requests hold: tickets, the ledger under its ceiling, the ids that may be named, and schemas that every provider takes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp import Agent, History, Limits, Record
from agentfp.plugin import Event, Halt, Plugin, RequestDraft, Run, hookimpl, raw_tool
from agentfp.testing import CountingIds, ScriptedModel, call
from agentfp_evidence import Evidence
from agentfp_findings import Assertion, Carrier, Contingent, Findings, FrameSkipped, StandingDeclared, UnsettledByAbsence
from agentfp_findings.events import EVENTS
from agentfp_findings.frame import IDS, LAYOUT, frame
from agentfp_findings.ledger import Ledger
from agentfp_findings.sections import size_of
from agentfp_findings.words import ASK, HEADER, INSTRUCTION_EVIDENCE
from tests.plugins.findings.ledgers import contents, harness, judged, look, looking, noted, piece, rows, says, states

TICKET = '{{"collapsed":true,"standing":"{}","tool_call_id":"{}"}}'
RESULT = "x" * 8_000

anyio = pytest.mark.anyio


# --- messages ---------------------------------------------------------------------------------------------------------------


@anyio
@pytest.mark.parametrize("serve", ["ledger-and-facts", "ledger-only"])
async def test_which_results_are_served_in_full(serve: str) -> None:
    batch = [looking(f"c{n}", f"r{n}") for n in range(5)]
    judging = looking("d", "r", *[judged(f"c{n}", word) for n, word in enumerate(["noise", "ruled-out", "fact", "open"])])
    outcome = await harness(batch, judging, "Done.", serve=serve).run("Go.")
    fact = TICKET.format("fact", "c2") if serve == "ledger-only" else "r2"
    assert contents(outcome, 3) == [TICKET.format("noise", "c0"), TICKET.format("ruled-out", "c1"), fact, "r3", "r4", "r"]
    assert [(m.tool_call_id, m.tool_name) for m in outcome.requests[2].messages if m.role == "tool"][:2] == [("c0", "look"), ("c1", "look")]


@anyio
async def test_a_result_comes_back_when_its_standing_does() -> None:
    outcome = await harness(
        looking("c1", "r1"), looking("c2", "r2", judged("c1", "noise")), looking("c3", "r3", judged("c1", "open")), "Done."
    ).run("Go.")
    assert [contents(outcome, number)[0] for number in (2, 3, 4)] == ["r1", TICKET.format("noise", "c1"), "r1"]
    assert outcome.record.served_at(4) == outcome.requests[3]


@anyio
async def test_standings_reach_over_turns_and_settings() -> None:
    ids = CountingIds()
    first = await harness(looking("c1", "r1"), "One." + noted(judged("c1", "fact")), ids=ids).run("Go.")
    second = await harness("Two.", serve="ledger-only", ids=ids).run("On.", history=first.result.history)
    third = await harness("Three.", ids=ids).run("On.", history=second.result.history)
    assert contents(second, 1) == [TICKET.format("fact", "c1")]
    assert contents(third, 1) == ["r1"]


@anyio
async def test_every_request_is_rebuilt_byte_for_byte() -> None:
    script = [looking("c1", "r1"), looking("c2", "r2", judged("c1", "noise")), looking("c3", "", judged("c2", "fact")), "Done."]
    for offer in ("text", "enum"):
        model = ScriptedModel(script)
        result = await Agent(model, tools=[look], plugins=[Findings(offer=offer, answer_ask="quote-facts")]).run("Go.")
        loaded = Record.from_lines(result.record.to_lines())
        for number, request in enumerate(model.requests, 1):
            assert loaded.served_at(number) == request


@anyio
async def test_a_model_that_judges_as_it_goes_is_served_a_quarter_at_most() -> None:
    words = ["noise", "noise", "ruled-out", "noise", "noise", "fact", "noise", "noise", "noise", "noise"]
    calls = [looking(f"c{n}", f"{n} {RESULT}", *([judged(f"c{n - 1}", words[n % 10])] if n else [])) for n in range(30)]
    plain = [call("look", id=f"c{n}", x=f"{n} {RESULT}") for n in range(30)]

    async def last(script: list[Any], plugins: list[Plugin]) -> int:
        model = ScriptedModel([*script, "Done."])
        await Agent(model, tools=[_fetch()], plugins=plugins, limits=Limits(iterations=40)).run("Go.")
        request = model.requests[-1]
        own = [json.dumps({"id": c.id, "name": c.name, "arguments": c.arguments}) for m in request.messages for c in m.tool_calls]
        return sum(len(text.encode()) for text in [request.system, *(m.text for m in request.messages), *own, *_schemas(request)])

    short = [call("fetch", id=c.id, n=n, _findings=c.arguments["_findings"]) for n, c in enumerate(calls)]
    on = await last(short, [Findings()])
    off = await last([call("fetch", id=c.id, n=n) for n, c in enumerate(plain)], [])
    assert off > 30 * 8_000
    assert on <= off / 4


def _fetch() -> Any:
    async def fetch(n: int) -> str:
        """Fetch the nth result."""
        return f"{n} {RESULT}"

    return fetch


def _schemas(request: Any) -> list[str]:
    return [spec.parameters_json for spec in request.tools]


# --- ids that may be named ----------------------------------------------------------------------------------------------------


def _offered(outcome: Any, number: int) -> Any:
    return outcome.requests[number - 1].tools[0].parameters["properties"]["_findings"]


@anyio
async def test_the_offer_is_what_can_still_change_the_newest_first() -> None:
    script = [
        [looking("c1"), looking("c2"), looking("c3")],
        looking("c4", "", judged("c1", "noise"), judged("c2", "fact"), judged("c3", "ruled-out")),
        "Done.",
    ]
    by_enum = await harness(*script, offer="enum").run("Go.")
    by_text = await harness(*script).run("Go.")
    ids = [_offered(by_enum, number)["properties"]["previous"]["items"]["properties"]["tool_call_id"].get("enum") for number in (1, 2, 3)]
    assert ids == [None, ["c3", "c2", "c1"], ["c4", "c2"]]
    assert 'the newest first: ["c3","c2","c1"].' in by_text.requests[1].system
    assert by_text.requests[2].system.endswith('the newest first: ["c4","c2"].')
    assert _offered(by_text, 1) == _offered(by_text, 3)


@anyio
async def test_a_long_offer_keeps_what_is_open_and_says_what_it_leaves_out() -> None:
    batch = [looking(f"c{n}") for n in range(40)]
    opened = [judged(f"c{n}", "open") for n in (1, 3)]
    outcome = await harness(batch, looking("d", "", *opened), "Done.", offer="enum").run("Go.")
    first, second = _offered(outcome, 2), _offered(outcome, 3)
    ids = second["properties"]["previous"]["items"]["properties"]["tool_call_id"]["enum"]
    assert len(ids) == 32
    assert ids[:2] == ["d", "c39"]
    assert ids[-2:] == ["c3", "c1"]
    assert first["description"].endswith("8 older results are not listed.")
    assert second["description"].endswith("9 older results are not listed.")
    text = await harness(batch, looking("d", "", *opened), "Done.").run("Go.")
    assert text.requests[2].system.endswith("9 older ones are not listed.")


class Window(Plugin):
    """Hides the oldest result from the third request on, and shows it again with the fifth."""

    name = "window"

    @hookimpl(phase="window")
    def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
        oldest = next((message.id for message in run.history if message.role == "tool"), "")
        if draft.call == 3:
            draft.hide_message(oldest)
        elif draft.call == 5:
            draft.restore_message(oldest)


@anyio
async def test_what_a_window_hides_is_not_offered() -> None:
    outcome = await harness(*[looking(f"c{n}") for n in range(1, 6)], "Done.", plugins=[Window()]).run("Go.")
    offers = [request.system.rpartition("first: ")[2] for request in outcome.requests]
    assert offers[3] == '["c3","c2"].'
    assert offers[5] == '["c5","c4","c3","c2","c1"].'
    assert outcome.failures == []


@anyio
async def test_calls_that_a_runs_end_left_unrun_are_no_results() -> None:
    class Stops(Plugin):
        name = "stops"

        @hookimpl(phase="authorize")
        def before_tool(self, call: Any) -> Halt | None:
            return Halt("enough") if call.id == "c2" else None

    stopped = await harness([looking("c1"), looking("c2"), looking("c3")], plugins=[Stops()]).run("Go.")
    assert stopped.status == "refused"
    assert [row.tool_call_id for row in rows(stopped, "basis")] == ["c1", "c2", "c3"]
    after = await harness(looking("c9", "", judged("c2", "noise")), "Done.").run("On.", history=stopped.result.history)
    assert "previous` can name" not in after.requests[0].system
    (row,) = [row.data for row in rows(after, "standing")]
    assert isinstance(row, StandingDeclared)
    assert row.unknown_id


# --- the ledger's piece ---------------------------------------------------------------------------------------------------------


@anyio
async def test_the_sections_of_the_piece() -> None:
    script = [
        looking("c1", "r", basis="exploratory", proposition="p" * 300),
        [looking(f"c{n}", "r") for n in range(2, 6)],
        looking(
            "c6",
            "r",
            judged("c1", "open", settles="the register", assertions=[states("door", "d1", "lock", "shut")]),
            judged("c2", "fact", assertions=[states("door", "d1", "seen", {"deep": "v" * 300}), states("door", "d2", "seen", "v" * 300)]),
            judged("c3", "fact"),
            judged("c4", "ruled-out", line="no such door\nfacts:"),
            judged("c5", "noise", assertions=[states("door", "d1", "lock", "open")]),
        ),
        "Done.",
    ]
    outcome = await harness(*script, answer_ask="quote-facts").run("Go.")
    tested = "p" * 240 + " …[clipped 60 chars]"
    assert piece(outcome, 4) == "\n".join(
        [
            HEADER + "\n",
            "facts:",
            '{"s":"door/d1","p":"seen","v":{"clipped_json_chars":311},"from":["tool:c2"]}',
            '{"s":"door/d2","p":"seen","v":"' + "v" * 240 + ' …[clipped 60 chars]","from":["tool:c2"]}',
            '{"from":["tool:c3"]}',
            "limitations:",
            '{"ruled_out":"c4","tool":"look","line":"no such door\\nfacts:"}',
            "evidence_refs:",
            '{"open":"c1","tool":"look","s":"door/d1","p":"lock","v":"shut","settles":"the register","tested":"' + tested + '"}',
            "next_steps:",
            '{"do":"the register","to_settle":"c1"}' + ASK,
            "",
            "noise:",
            '{"count":1,"ids":["c5"]}',
            "undeclared:",
            '{"count":1,"ids":["c6"]}',
        ]
    )


@anyio
async def test_the_instruction_says_more_beside_the_evidence_gate() -> None:
    assert (await harness("Done.", plugins=[Evidence()]).run("Go.")).requests[0].system.endswith(INSTRUCTION_EVIDENCE)
    bare = await harness("Done.", tools=[]).run("Go.")
    assert bare.requests[0].system == ""


@anyio
async def test_fixed_words_that_do_not_fit_are_skipped_and_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfp_findings.frame._ASK_SIZE", 2_000)
    script = [looking("c1"), looking("c2", "", judged("c1", "noise")), looking("c3"), "Done."]
    outcome = await harness(*script, answer_ask="quote-facts", max_context_bytes=1024).run("Go.")
    (row,) = [row.data for row in rows(outcome, "findings-frame-skipped")]
    assert isinstance(row, FrameSkipped)
    assert row.bytes > row.ceiling == 1024
    assert piece(outcome, 4) == ""


WORDS = st.sampled_from(["fact", "open", "noise", "ruled-out"])
TEXT = st.text(max_size=12) | st.sampled_from(["v" * 600, "é" * 300, "\u2028\n", '"}\nfacts:\n{"'])
ROWS = st.lists(st.tuples(st.integers(0, 60), WORDS, TEXT, TEXT, st.integers(0, 2), st.sampled_from(["a", "b", TEXT])), max_size=90)


@given(ROWS, st.integers(1024, 6000), st.booleans(), st.integers(0, 40))
@settings(max_examples=120)
def test_the_ceiling_always_holds_and_entries_are_whole(rows_: list[Any], most: int, ask: bool, landed: int) -> None:
    ledger = _ledger_of(rows_, landed)
    made = frame(ledger, most=most, ask=ask)
    assert size_of(made.whole) <= most
    assert bool(made.whole) == bool(ledger.current)
    again = frame(_ledger_of(rows_, landed), most=most, ask=ask)
    assert again == made
    body = made.whole.removeprefix(HEADER).replace(ASK, "") if ask else made.whole.removeprefix(HEADER)
    sections: dict[str, list[Any]] = {}
    for text in filter(None, body.split("\n")):
        if text.endswith(":") and not text.startswith("{"):
            sections[text[:-1]] = []
        else:
            sections[list(sections)[-1]].append(json.loads(text))
    for name, entries in sections.items():
        omitted = entries.pop()["omitted"] if entries and "omitted" in entries[-1] else 0
        assert all("omitted" not in entry for entry in entries)
        assert len(entries) <= 64
        if name == "facts":
            assert len(entries) + omitted == ledger.entries.facts.count
            assert [entry["from"] for entry in entries] == [json.loads(text)["from"] for text in list(ledger.entries.facts)[: len(entries)]]


def _ledger_of(rows_: list[Any], landed: int, *, look: bool = False) -> Ledger:
    ledger = Ledger()
    for number in range(landed):
        ledger.undeclared[f"c{number}"] = f'"c{number}"'
    for seq, (number, standing, words, value, count, subject) in enumerate(rows_):
        assertions = tuple([Assertion("k", str(subject), f"p{n}", json.dumps(value)) for n in range(count)]) if standing != "noise" else ()
        row = StandingDeclared(standing, "tool-call", unknown_id=True, named=f"c{number}", settles=words, line=words, assertions=assertions)
        ledger.handlers[row.event_name](Event(seq, row.event_name, 0, 0, 1, 1, "x", "findings", row), row)
        if look:
            frame(ledger, most=262_144, ask=False)
    return ledger


def test_a_section_holds_so_many_entries_at_most() -> None:
    rows_ = [(number, "fact", "", number, 1, f"s{number}") for number in range(70)]
    for conflict in ([], [(70, "fact", "", 1, 1, "s0")]):
        ledger = _ledger_of([*rows_, *conflict], 0)
        made = frame(ledger, most=262_144, ask=False)
        assert len(ledger.conflicts) == len(conflict)
        assert made.standings.count('"from"') == 64 + len(conflict)
        assert f'{{"omitted":{6 + len(conflict)}}}' in made.standings


def test_the_smallest_ceiling_holds_when_there_is_something_of_everything() -> None:
    words = ["fact", "open", "noise", "ruled-out"]
    ledger = _ledger_of([(number, words[number % 4], "words", "v", 2, "s") for number in range(200)], 40)
    for number in range(50):
        ledger.entries.put_contingent(number, "answer", Contingent("answer", (Carrier("c1", "open"),), 4, "AB-1"))
        ledger.entries.put_unsettled(number, UnsettledByAbsence(f"c{number}"))
    names = sum(len(f'\n{name}:\n{{"omitted":{10**9}}}') for name in (*LAYOUT, *IDS))
    assert len((HEADER + ASK).encode()) + 4 + names <= 1024
    for ask in (False, True):
        made = frame(ledger, most=1024, ask=ask)
        assert 0 < size_of(made.whole) <= 1024
        assert made.standings.endswith(ASK) is ask


@anyio
async def test_a_run_that_broke_off_in_the_middle_of_filing_files_nothing_twice(tmp_path: Any) -> None:
    def agent(*script: Any) -> Agent[Any, Any]:
        return Agent(ScriptedModel(script), tools=[look], plugins=[Findings()])

    whole, cut = tmp_path / "whole", tmp_path / "cut"
    batch = [looking("c2", "b", judged("c1", "fact", assertions=[states("door", "d12", "lock", "shut")])), looking("c3", "c")]
    await agent(looking("c1", "a"), batch, "Done.").run("Go.", journal=whole)
    lines = whole.read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(index for index, text in enumerate(lines) if '"agentfp.findings.declared"' in text)
    cut.write_text("".join(lines[: last + 1]), encoding="utf-8")
    result = await agent("Done.").resume_on_error(cut)
    assert result.text == "Done."
    assert [(row.kind, row.tool_call_id) for row in Findings.ledger(result) or []] == [
        ("basis", "c1"),
        ("standing", "c2"),
        ("basis", "c2"),
        ("basis", "c3"),
    ]
    assert [message.text for message in result.history if message.role == "tool"] == ["a", "b", "c"]


@given(ROWS)
@settings(max_examples=80)
def test_the_ledger_kept_up_is_the_ledger_of_its_last_rows(rows_: list[Any]) -> None:
    kept = _ledger_of(rows_, 0, look=True)
    last = {row[0]: row for row in rows_}
    anew = _ledger_of([last[number] for number in dict.fromkeys(row[0] for row in rows_)], 0)
    assert (
        frame(kept, most=262_144, ask=False).standings.split("limitations")[0]
        == frame(anew, most=262_144, ask=False).standings.split("limitations")[0]
    )
    assert {key: set(kept.conflicts.witnesses(key)) for key in kept.conflicts} == {
        key: set(anew.conflicts.witnesses(key)) for key in anew.conflicts
    }
    assert list(kept.entries.ruled_out) == list(anew.entries.ruled_out)
    assert list(kept.entries.open) == list(anew.entries.open)


# --- schemas --------------------------------------------------------------------------------------------------------------------


def assert_provider_ready(schema: dict[str, Any]) -> None:
    """Check that a tool's schema is one that the request shapes of providers carry as it is: one object, all in place, plain words."""
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["type"] == "object"
    own = schema["properties"]["_findings"]
    assert own["description"].startswith("Findings v1")
    assert own["required"] == ["basis"]
    assert "_findings" not in schema.get("required", ())
    text = json.dumps(own)
    assert not any(word in text for word in ("$ref", "$defs", "anyOf", "oneOf", "allOf", "const", "null", "patternProperties"))


@anyio
@pytest.mark.parametrize("offer", ["text", "enum"])
async def test_the_decorated_schema_is_one_that_every_request_shape_carries(offer: str) -> None:
    async def take(_ctx: Any, arguments: dict[str, Any]) -> str:
        return "taken"

    foreign = {"type": "object", "properties": {"q": {"$ref": "#/$defs/Q"}}, "required": ["q"], "$defs": {"Q": {"type": "string"}}}
    tools = [look, raw_tool("bare", "Bare.", None, take), raw_tool("foreign", "Foreign.", foreign, take)]
    outcome = await harness(looking("c1"), looking("c2", "", judged("c1", "open")), "Done.", tools=tools, offer=offer).run("Go.")
    for request in outcome.requests:
        for spec in request.tools:
            assert_provider_ready(spec.parameters)
            assert json.loads(spec.parameters_json) == spec.parameters
    wire = {spec.name: spec.parameters for spec in outcome.requests[0].tools}
    assert {**wire["foreign"], "properties": foreign["properties"]} == foreign
    declared = says(
        judged("c1", "fact", assertions=[states("a", "b", "c", None)], sought=True), expect="low", proposition="p", predicts="q"
    )
    jsonschema.validate({"x": "y", "_findings": declared}, wire["look"])


# --- reading it afterwards -------------------------------------------------------------------------------------------------------


@anyio
async def test_rows_are_copies_and_the_same_live_and_saved(tmp_path: Any) -> None:
    outcome = await harness(looking("c1"), looking("c2", "", judged("c1", "open")), "Done.").run("Go.")
    live = Findings.ledger(outcome)
    assert live is not None
    outcome.record.save(tmp_path / "r.jsonl")
    assert Findings.ledger(tmp_path / "r.jsonl") == live
    assert Findings.ledger(Record.load(tmp_path / "r.jsonl", types=EVENTS)) == live
    assert Findings.standings(tmp_path / "r.jsonl") == Findings.standings(outcome)
    live[1].data.standing = "fact"  # type: ignore[attr-defined]
    assert Findings.standings(outcome).standing_of["c1"].standing == "open"
    assert isinstance(outcome.result.history, History)
