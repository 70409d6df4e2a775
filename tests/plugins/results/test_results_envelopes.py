"""What a tool may say of its result, what is refused of it, and what the model, the record and the answer get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfp import Agent, Record, ToolReturn, ask_human, tool
from agentfp.events import ToolEnded
from agentfp.testing import ScriptedModel, call
from agentfp_results import EnvelopeError, Limit, Results, absent, coverage, described_result, emptiness
from agentfp_results.events import Coverage, Facts
from agentfp_results.reading import envelopes_of, served
from tests.plugins.results.stores import agent, notes, read_of, results, span, stored

pytestmark = pytest.mark.anyio
PROVENANCE = {"measured_at": "2027-03-04T06:00:00Z", "source": "diary"}
POINT = {"t": "2027-03-04T06:00:00Z", "entity": "a", "metric": "load", "value": 3}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: absent("VM on ds-4", checked=[]), "one place in `checked`"),
        (lambda: absent(" ", checked=["a"]), "`what` was looked for"),
        (lambda: absent("x", checked="a"), "takes a list"),
        (lambda: absent("x", checked=["a"], try_instead={"tool": "b"}), "try_instead_tool"),  # type: ignore[arg-type]
        (lambda: absent("x", checked=["a"], try_instead_tool=["b"]), "one mapping"),  # type: ignore[arg-type]
        (lambda: absent("x", checked=["a"], try_instead_tool={"tool": ""}), "needs the name"),
        (lambda: absent("x", checked=["a"], try_instead_tool={"tool": "b", "y": 1}), "keys tool and why"),
        (lambda: coverage([1]), "needs something"),
        (lambda: coverage([1], cannot_cover=["guests"]), "needs `why`"),
        (lambda: coverage([1], cannot_cover=[{"what": "guests"}]), "needs `why`"),
        (lambda: coverage([1], not_checked=[{"what": "a", "why": " "}]), "blank `why`"),
        (lambda: coverage([1], not_checked=[{"why": "a"}]), "needs `what`"),
        (lambda: coverage([1], not_checked=[" "]), "is blank"),
        (lambda: coverage([1], not_checked=[7]), "is words, or a mapping"),  # type: ignore[list-item]
        (lambda: coverage([1], not_checked=[{"what": "a", "note": "b"}]), "keys what, why, short, kind"),
        (lambda: coverage([1], not_checked=[{"what": "attics", "short": "attics and more"}]), "no longer than `what`"),
        (lambda: coverage([1], not_checked=[{"what": "two\nlines", "short": "a\nb"}]), "plain line"),
        (lambda: coverage([1], not_checked=[{"what": "attics", "short": "a\u202eb"}]), "plain line"),
        (lambda: coverage([1], checked=[{"what": "a", "kind": "scope"}]), "not for `checked`"),
        (lambda: coverage([1], not_checked=[{"what": "a", "kind": "other"}]), "existence or scope"),
        (lambda: described_result(), "needs facts, series, edges"),
        (lambda: described_result(facts=[]), "one item at least"),
        (lambda: described_result(facts=[{"name": "a"}], provenance=PROVENANCE), "needs the `entity`"),
        (lambda: described_result(facts=[{"entity": "a"}]), "need provenance"),
        (lambda: described_result(facts=[{"entity": "a"}], provenance={"source": "s"}), "needs measured_at and source"),
        (lambda: described_result(series=[POINT], provenance=PROVENANCE), "series-without-grain"),
        (lambda: described_result(series=[{"t": 1}], grain={"interval": "1m"}, provenance=PROVENANCE), "needs 'entity'"),
        (lambda: described_result(series=[POINT], grain={"interval": ""}, provenance=PROVENANCE), "must say something"),
        (lambda: described_result(series=[POINT], grain={"aggregation": "sums"}, provenance=PROVENANCE), "counter-aggregation-unstated"),
        (lambda: described_result(edges=[{"from": "a", "to": "b"}]), "needs 'kind'"),
        (lambda: described_result(edges=[{"from": "a", "to": "b", "kind": "k"}], coverage={"seen": []}), "keys checked"),
        (
            lambda: described_result(facts=[{"entity": "a"}], provenance={**PROVENANCE, "age_seconds": -1}),
            "age_seconds",
        ),
    ],
)
def test_what_cannot_be_said_is_refused_where_it_is_written(make: Any, words: str) -> None:
    with pytest.raises(EnvelopeError, match=r"^refused: ") as caught:
        make()
    assert words in str(caught.value)


def test_a_discount_is_no_counter_and_no_question_is_an_answer() -> None:
    described_result(series=[POINT], grain={"aggregation": "discount"}, provenance=PROVENANCE)
    described_result(series=[POINT], grain={"aggregation": "sum", "is_counter": False}, provenance=PROVENANCE)
    assert described_result(edges=[{"from": "a", "to": "b", "kind": "k"}], clarify=None)["clarify"] is None
    assert described_result(clarify="Which A?")["clarify"] == "Which A?"


def giving(make: Any, **options: Any) -> Any:
    @tool(**options)
    async def read() -> Any:
        """Read."""
        return make()

    return read


async def run(make: Any, message: str = "Read.", **settings: Any) -> Any:
    return await agent([call("read"), "Here it is."], [giving(make)], **settings).run(message)


async def test_an_absence_is_an_outcome_and_no_failure() -> None:
    result = await run(lambda: absent("VM 9", checked=["inventory"], not_checked=[{"what": "tape", "why": "slow", "kind": "scope"}]))
    (ended,) = result.record.events("agentfp.tool.ended")
    assert ended.payload.outcome == "absent"
    (said,) = result.record.of(Coverage)
    assert (said.kind, said.looked_for, said.not_checked[0].why, said.not_checked[0].kind) == ("absence", "VM 9", "slow", "scope")
    shown = json.loads(results(result)[0])
    assert shown["not_checked"] == [{"what": "tape", "why": "slow"}], "what is for screens only, the model does not read"
    assert shown["retry_returns_the_same"] is True


async def test_a_described_result_is_served_as_what_it_says() -> None:
    def make() -> Any:
        return described_result(
            facts=[{"entity": "queue:eu", "open": 30, "closed": 2}],
            provenance=PROVENANCE,
            coverage={"checked": ["eu"], "not_checked": ["us"], "cannot_cover": [{"what": "calls", "why": "not logged", "short": "calls"}]},
            render={"as": "table"},
        )

    result = await run(make)
    shown = json.loads(results(result)[0])
    assert set(shown) == {"facts", "provenance", "not_covered", "note"}
    assert shown["not_covered"] == ["us", "calls — not logged"]
    (facts,) = result.record.of(Facts)
    assert [(fact.entity, fact.field, fact.value, fact.measured_at) for fact in facts.facts] == [
        ("queue:eu", "open", "30", PROVENANCE["measured_at"]),
        ("queue:eu", "closed", "2", PROVENANCE["measured_at"]),
    ]
    (said,) = result.record.of(Coverage)
    assert [item.short for item in said.cannot_cover] == ["calls"]
    (ended,) = result.record.events("agentfp.tool.ended")
    assert "render" in ended.payload.content, "the tool's own result stays on the record"


async def test_series_are_facts_of_their_own_time() -> None:
    result = await run(lambda: described_result(series=[POINT], grain={"interval": "1m"}, provenance=PROVENANCE))
    assert [(fact.field, fact.measured_at) for fact in result.record.of(Facts)[0].facts] == [("load", POINT["t"])]


async def test_a_foreign_copy_that_breaks_a_rule_stays_plain_data() -> None:
    foreign = {"af_semantics": True, "series": [POINT], "provenance": PROVENANCE}
    result = await run(lambda: foreign)
    assert json.loads(results(result)[0]) == foreign
    assert result.record.of(Facts) == []


async def test_limits_survive_a_result_that_is_too_large() -> None:
    made = giving(lambda: coverage(["x" * 100] * 100, not_checked=["attic"]), result_ceiling=500)
    result = await agent([call("read"), "Done."], [made]).run("Read.")
    (ended,) = result.record.of(ToolEnded)
    assert "x" * 100 not in ended.content
    if ended.outcome in ("success", "partial", "absent"):
        assert [item.what for item in result.record.of(Coverage)[0].not_checked] == ["attic"]


# --- limits travel with the answer ---

LIMITS: dict[str, Any] = {
    "checked": ["east"],
    "not_checked": [{"what": "west", "why": "closed"}],
    "cannot_cover": [{"what": "guests", "why": "private"}],
}


async def test_the_limits_stand_after_the_answer_where_they_are_wanted() -> None:
    def make() -> Any:
        return coverage(["A"], **LIMITS, period=read_of(span("06:00", "07:00"), span("00:00", "04:30")))

    result = await run(make, limits_in_answer=True, zone="Europe/Paris")
    assert result.text == (
        "Here it is.\n\n---\nWhat this answer rests on, as the tools that were used declare it:\n\n"
        "Checked:\n- east\n\nNot checked:\n- west: closed\n\nCannot cover:\n- guests: private\n\n"
        "Period: read looked at 2027-03-04 07:00:00 CET to 2027-03-04 08:00:00 CET; "
        "its source holds 2027-03-04 01:00:00 CET to 2027-03-04 05:30:00 CET"
    )
    off = await run(make)
    assert off.text == "Here it is."
    assert Results.coverage(off).not_checked == Results.coverage(result).not_checked == (Limit("west", "closed"),)


async def test_nothing_declared_changes_no_answer() -> None:
    result = await run(lambda: [1], limits_in_answer=True)
    assert result.text == "Here it is."
    assert not Results.coverage(result)


async def test_two_tools_with_one_blind_spot_say_it_once_and_a_long_list_ends() -> None:
    items = [f"place {number}" for number in range(15)]
    tools = [
        giving(lambda: coverage([1], checked=items, **{k: LIMITS[k] for k in ("cannot_cover",)})),
        tool(giving(lambda: coverage([2], **LIMITS)), name="other"),
    ]
    result = await agent([[call("read"), call("other")], "Done."], tools, limits_in_answer=True).run("Both.")
    assert result.text.count("guests: private") == 1
    assert "- place 11\n- and 4 more" in result.text
    assert len(Results.coverage(result).checked) == 16
    assert Results.coverage(result).cannot_cover == (Limit("guests", "private"),)


async def test_a_typed_answer_stays_as_it_is_and_has_its_limits_as_data() -> None:
    made = giving(lambda: coverage([1], **LIMITS))
    plugins = [Results(limits_in_answer=True)]
    typed: Agent[Any, int] = Agent(ScriptedModel([call("read"), "7"]), tools=[made], plugins=plugins, output_type=int)
    result = await typed.run("How many?")
    assert result.output == 7
    assert "Checked" not in result.text
    assert Results.coverage(result).checked == (Limit("east"),)


async def test_limits_of_an_earlier_turn_are_not_this_answer_s() -> None:
    chat = agent([call("read"), "One.", "Two."], [giving(lambda: coverage([1], **LIMITS))], limits_in_answer=True).conversation()
    assert "Checked" in (await chat.send("Read.")).text
    assert (await chat.send("Thanks.")).text == "Two."


async def test_limits_arrive_after_a_pause() -> None:
    @tool
    async def ask() -> str:
        """Ask."""
        ask_human("Go on?")

    tools = [giving(lambda: absent("x", checked=["a"], not_checked=["b"])), ask]
    asking = agent([[call("read"), call("ask")], "Done."], tools, limits_in_answer=True)
    result = await agent(["Done."], tools, limits_in_answer=True).resume(stored(await asking.run("Go.")), "yes")
    assert "Not checked:\n- b" in result.text


# --- reading ---


@pytest.mark.parametrize(
    ("data", "outcome", "rows_at", "shape", "rows"),
    [
        ([], "success", None, "undeclared-empty", 0),
        ([1, 2], "success", None, "non-empty", 2),
        ({"rows": []}, "success", None, "unknown", None),
        ({"rows": []}, "success", "rows", "undeclared-empty", 0),
        ({"af_coverage": {"checked": ["a"]}, "result": []}, "success", None, "declared-absent", 0),
        ({"af_coverage": {"checked": ["a"]}, "result": [1]}, "success", None, "non-empty", 1),
        (None, "absent", None, "declared-absent", 0),
        ([], "failure", None, "unknown", None),
        ({"af_semantics": True, "clarify": "Which?"}, "success", None, "clarify", None),
        ("nothing", "success", None, "unknown", None),
    ],
)
def test_whether_a_result_is_empty(data: Any, outcome: str, rows_at: str | None, shape: str, rows: int | None) -> None:
    assert emptiness(data, outcome, rows_at=rows_at) == (shape, rows)
    deep = data
    for _ in range(9):
        deep = {"af_coverage": {"checked": ["a"]}, "result": deep}
    assert emptiness(deep).shape == "unknown"


async def test_a_hostile_tool_is_contained() -> None:
    loop: dict[str, Any] = {"af_absent": True, "outcome": "nothing_found", "looked_for": "x", "checked": ["a"]}
    loop["provenance"] = loop
    gaps = {"af_coverage": {"not_checked": [f"gap {number}" for number in range(10_000)], "checked": "all"}, "result": []}
    deep: Any = []
    for _ in range(2_000):
        deep = {"af_coverage": {"checked": ["a"]}, "result": deep}
    lying = {"af_coverage": {"checked": [None, {"what": 3}, {"what": "ok"}], "period": {"queried": loop, "held": []}}, "result": 1}
    for hostile in (loop, gaps, deep, lying, {"af_semantics": True, "facts": loop}, {"af_absent": True, "checked": {}}):
        result = await run(lambda value=hostile: value, limits_in_answer=True)
        assert result.status == "answered"
        assert result.plugin_failures == {}
        assert Record.from_lines(result.record.to_lines()).of(Coverage) is not None
    result = await run(lambda: gaps)
    (said,) = result.record.of(Coverage)
    assert (len(said.not_checked), said.dropped) == (2_000, 2)
    result = await run(lambda: lying)
    (said,) = result.record.of(Coverage)
    assert ([item.what for item in said.checked], said.dropped, said.period) == (["ok"], 3, None)


def test_reading_never_raises() -> None:
    samples: list[Any] = [
        None,
        1,
        "x",
        [],
        {},
        {"af_absent": True},
        {"af_coverage": {}, "result": {"af_coverage": 3}},
        {"af_semantics": True},
    ]
    for data in samples:
        envelopes_of(data)
        assert served(data) is data


async def test_without_declarations_the_plugin_adds_its_clock_and_nothing_else() -> None:
    with_it, without = ScriptedModel([call("read"), "Done."]), ScriptedModel([call("read"), "Done."])
    tools = [giving(lambda: ToolReturn([1]))]
    on = await Agent(with_it, tools=tools, plugins=[Results(clock=False)]).run("Go")
    off = await Agent(without, tools=tools).run("Go")
    assert [[m.text for m in r.messages] for r in with_it.requests] == [[m.text for m in r.messages] for r in without.requests]
    assert [event.name for event in on.record] == [event.name for event in off.record]
    assert notes(on) == [""]
