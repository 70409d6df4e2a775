"""What a tool's author may declare, what is refused at their line, and what a reader makes of declarations from elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfp import ImagePart, Record, ResultCeiling, ToolReturn, approve, tool
from agentfp.testing import call
from agentfp_answer import Answer, CoverageDeclared, DeclarationRefusedError, Item, Period, absent, coverage, described_result
from agentfp_answer.envelopes import envelopes_of
from agentfp_answer.periods import instant
from agentfp_answer.wire import served
from tests.plugins.answer.answering import assessed, checks, harness

HOUR = {"queried": {"from": "2030-01-31T06:00:00Z", "to": "2030-01-31T07:00:00Z"}, "held": "unknown"}
PROVENANCE = {"measured_at": "2030-01-31T06:00:00Z", "source": "poller"}
POINT = {"t": 1, "entity": "x", "metric": "m", "value": 1}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: absent(" ", checked=["x"]), "needs 'what'"),
        (lambda: absent("x", checked=[]), "raise an error"),
        (lambda: absent("x", checked=None), "raise an error"),  # type: ignore[arg-type]
        (lambda: absent("x", checked="register"), "in brackets"),
        (lambda: absent("x", checked=[{"why": "y"}]), r"checked\[0\] says nothing of what it is"),
        (lambda: absent("x", checked=[7]), r"checked\[0\] is a text or a mapping"),  # type: ignore[list-item]
        (lambda: absent("x", checked=[{"what": "y", "wyh": "z"}]), "unknown key 'wyh'"),
        (lambda: absent("x", checked=[{"what": "y", "kind": "scope"}]), "not for what was checked"),
        (lambda: absent("x", checked=["y"], not_checked=[{"what": "z", "kind": "odd"}]), "'existence' or 'scope'"),
        (lambda: absent("x", checked=["y"], not_checked=[{"what": "z", "why": " "}]), "blank 'why'"),
        (lambda: absent("x", checked=["y"], cannot_cover=["z"]), r"cannot_cover\[0\] needs 'why'"),
        (lambda: absent("x", checked=["y"], try_instead={"tool": "z"}), "use try_instead_tool"),  # type: ignore[arg-type]
        (lambda: absent("x", checked=["y"], try_instead_tool=["z"]), "one tool's name"),  # type: ignore[arg-type]
        (lambda: absent("x", checked=["y"], try_instead_tool={"tool": " "}), "names no tool"),
        (lambda: absent("x", checked=["y"], try_instead_tool={"tool": "z", "because": "w"}), "'tool' and 'why'"),
        (lambda: absent("x", checked=["y"], provenance="poller"), "provenance is a mapping"),  # type: ignore[arg-type]
        (lambda: coverage([]), "one of checked"),
        (lambda: coverage([], cannot_cover=["guests"]), "needs 'why'"),
        (lambda: coverage([], checked=[{"what": "abc", "short": "abcd"}]), "no longer than 'what'"),
        (lambda: coverage([], checked=[{"what": "a" * 99, "short": "b" * 81}]), "at most 80"),
        (lambda: coverage([], checked=[{"what": "abcdef", "short": "a\nb"}]), "line break"),
        (lambda: coverage([], checked=[{"what": "abcdef", "short": "a\u202eb"}]), "not seen"),
        (lambda: coverage([], checked=[{"what": "abcdef", "short": " "}]), "blank 'short'"),
        (lambda: coverage([], checked=["x"] * 1001), "by groups"),
        (lambda: coverage([], checked=["x"], period={**HOUR, "readAt": "x"}), "'read_at'"),
        (lambda: coverage([], checked=["x"], period={**HOUR, "read_at": "now"}), "instant with a zone"),
        (lambda: coverage([], checked=["x"], period={"queried": {"from": "yesterday", "to": "x"}, "held": "unknown"}), "queried.from"),
        (lambda: coverage([], checked=["x"], period={"queried": HOUR["queried"]}), "write 'unknown'"),
        (
            lambda: coverage(
                [], checked=["x"], period={"queried": {"from": "2030-01-31T07:00Z", "to": "2030-01-31T06:00Z"}, "held": "unknown"}
            ),
            "ends before it begins",
        ),
        (lambda: described_result(), "nothing-described"),
        (lambda: described_result(facts=[], provenance=PROVENANCE), "facts-empty"),
        (lambda: described_result(facts=[{"field": 1}], provenance=PROVENANCE), "needs 'entity'"),
        (lambda: described_result(facts=[{"entity": "x", "n": 1}]), "no-measured-at.*no-source"),
        (
            lambda: described_result(series=[{"t": 1, "entity": "x", "metric": "m", "value": 1}], provenance=PROVENANCE),
            "series-without-grain",
        ),
        (
            lambda: described_result(
                series=[{"t": 1, "entity": "x", "metric": "m", "value": 1}], provenance=PROVENANCE, grain={"aggregation": "sums"}
            ),
            "counter-aggregation-unstated",
        ),
        (lambda: described_result(series=[{"t": 1}], provenance=PROVENANCE, grain={"i": "5m"}), "'entity', 'metric', 'value'"),
        (lambda: described_result(edges=[{"from": "a"}]), "'to', 'kind'"),
        (lambda: described_result(edges=[{"from": "a", "to": "b", "kind": "c"}], grain={"a": ""}), "empty-grain"),
        (lambda: described_result(edges=[{"from": "a", "to": "b", "kind": "c"}], coverage={"cheked": ["x"]}), "no list 'cheked'"),
        (lambda: described_result(edges=[{"from": "a", "to": "b", "kind": "c"}], provenance={"age_seconds": -1}), "bad-age"),
    ],
)
def test_what_is_wrong_is_refused_at_the_line_of_the_author(wrong: Any, words: str) -> None:
    with pytest.raises(DeclarationRefusedError, match=words) as raised:
        wrong()
    assert str(raised.value).startswith("refused: ")


def test_a_discount_is_no_count() -> None:
    point = {"t": 1, "entity": "x", "metric": "m", "value": None}
    made = described_result(series=[point], provenance=PROVENANCE, grain={"aggregation": "discount"})
    assert made.content["series"] == [point]


def test_none_reads_as_not_given() -> None:
    assert coverage([], checked=["x"], not_checked=None).content["af_coverage"].keys() == {"checked", "note"}  # type: ignore[arg-type]


def test_the_model_reads_what_and_why_and_people_the_rest_too() -> None:
    item = {"what": "switch B in hall 2", "why": "it is down", "short": "switch B", "kind": "existence"}
    made = absent("port 3", checked=["switch A"], not_checked=[item], try_instead_tool="other", period=HOUR)
    assert made.outcome == "absent"
    assert made.content["not_checked"] == [{"what": "switch B in hall 2", "why": "it is down"}]
    assert made.content["try_instead_tool"] == {"tool": "other"}
    (read,) = envelopes_of("{}", json.dumps(made.private, separators=(",", ":")))
    assert read.not_checked == (Item(**item),)
    assert read.not_checked[0].line == "switch B — it is down"
    assert isinstance(read.period, Period)


def test_the_projection_of_a_described_result_has_no_marker() -> None:
    made = described_result(
        facts=[{"entity": "x", "n": 1}],
        provenance=PROVENANCE,
        coverage={"checked": ["a"], "not_checked": [{"what": "b", "why": "c"}], "cannot_cover": [{"what": "d", "why": "e"}]},
        clarify=None,
        render="table",
    )
    assert made.content.keys() == {"facts", "provenance", "not_covered", "note"}
    assert made.content["not_covered"] == ["b — c", "d — e"]
    assert described_result(clarify="which one?").content["clarify"] == "which one?"


def test_what_stands_beside_a_result_stays_beside_it() -> None:
    image = ImagePart("image/png", b"x")
    inner = ToolReturn([1], private={"row": 7}, parts=(image,), outcome="partial")
    made = coverage(inner, checked=["a"])
    assert (made.parts, made.outcome, made.private["private"]) == ((image,), "partial", {"row": 7})
    outer = coverage(coverage(absent("x", checked=["b"]), checked=["c"]), checked=["d"])
    assert outer.outcome == "absent"
    assert [e.checked[0].what for e in envelopes_of("", json.dumps(outer.private, separators=(",", ":")))] == ["d", "c", "b"]


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("2030-01-31T06:00:00Z", "2030-01-31t06:00:00.000000001z"),
        ("2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z"),
        ("2030-01-31T06:00:00+02:00", "2030-01-31T06:00:00Z"),
    ],
)
def test_instants_are_compared_as_instants(early: str, late: str) -> None:
    first, second = instant(early), instant(late)
    assert first is not None
    assert second is not None
    assert first < second


@pytest.mark.parametrize("text", ["2030-02-30T00:00:00Z", "2030-01-31T06:00:00", "2030-01-31", "2030-01-31T24:00:00Z", "", None, 7])
def test_what_is_no_instant(text: Any) -> None:
    assert instant(text) is None


# --- from elsewhere -----------------------------------------------------------------------------------------------------------


def foreign(**more: Any) -> dict[str, Any]:
    return {"af_absent": True, "looked_for": "x", "checked": [{"what": "a"}], **more}


@pytest.mark.parametrize(
    "data",
    [
        foreign(af_absent="yes"),
        foreign(checked=[]),
        foreign(looked_for=None),
        foreign(af_coverage={"checked": ["a"]}),
        {"af_coverage": {}, "result": []},
        {"af_coverage": ["a"], "result": []},
        {"af_semantics": True, "series": [{"t": 1, "entity": "x", "metric": "m", "value": 1}], "provenance": PROVENANCE},
        ["af_absent"],
        "af_absent",
    ],
)
def test_what_only_looks_like_a_declaration_is_none(data: Any) -> None:
    assert envelopes_of(json.dumps(data)) == ()


def test_what_is_wrong_of_a_foreign_declaration_is_left_out_and_no_limit_is_lost() -> None:
    wrong = foreign(
        not_checked=[{"what": "b", "short": "too long for it"}, 7, {"what": " "}],
        cannot_cover=[{"what": "c"}, {"what": "d", "kind": "odd"}],
        period={"queried": {"from": "yesterday", "to": "x"}, "held": "unknown"},
    )
    (read,) = envelopes_of(json.dumps(wrong))
    assert [item.what for item in (*read.not_checked, *read.cannot_cover)] == ["b", "c", "d"]
    assert read.not_checked[0].short is None
    assert read.period is None
    assert len(read.faults) == 7


def test_the_model_reads_of_a_foreign_declaration_what_it_may_read() -> None:
    data = foreign(not_checked=[{"what": "bcd", "short": "b"}])
    assert served(data)["not_checked"] == [{"what": "bcd"}]
    assert served(foreign()) == foreign()
    nested = {"af_coverage": {"checked": [{"what": "bcd", "short": "b"}]}, "result": data, "more": 1}
    assert served(nested) == {"af_coverage": {"checked": [{"what": "bcd"}]}, "result": served(data), "more": 1}
    assert served(["x"]) == ["x"]


# --- in a run -----------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_refused_declaration_is_the_failure_of_its_call() -> None:
    async def find() -> Any:
        """Find."""
        return absent("x", checked=[])

    outcome = await harness(call("find"), "It failed.", tools=[find]).run("Go.")
    (one,) = outcome.calls
    assert one.outcome == "failure"
    assert assessed(outcome).checked == ()


@pytest.mark.anyio
async def test_declarations_are_announced_once_with_counts(caplog: pytest.LogCaptureFixture) -> None:
    async def find() -> Any:
        """Find."""
        gap = [{"what": "b", "why": "c"}]
        return coverage(absent("x", checked=["a"]), checked=["d"], not_checked=gap, cannot_cover=gap, period=HOUR)

    async def foreign_one() -> Any:
        """Find."""
        return {"af_absent": True, "looked_for": "x", "checked": ["a", 7], "not_checked": [{"what": "bcd", "short": "b"}]}

    outcome = await harness([call("find", id="c1"), call("foreign_one", id="c2")], "None.", tools=[find, foreign_one]).run("Go.")
    first, second = outcome.record.of(CoverageDeclared)
    assert (first.kinds, first.tool, first.checked, first.not_checked, first.cannot_cover) == (("coverage", "absence"), "find", 2, 1, 1)
    assert (first.has_period, first.minted, first.faults) == (True, True, 0)
    assert (second.minted, second.faults) == (False, 1)
    assert [record.getMessage() for record in caplog.records if record.name == "agentfp.answer"] == [
        "a result of 'foreign_one' declares something that cannot be read (1 faults); the rest of it is read"
    ]
    assert '"short"' not in outcome.requests[1].messages[-1].text
    assert assessed(outcome).kinds == ("coverage-gap", "declared-absent")
    assert checks(assessed(outcome))["tool-coverage"] == (2, 2)


@pytest.mark.anyio
async def test_coverage_is_merged_and_what_is_said_twice_is_said_once() -> None:
    async def find(n: int) -> Any:
        """Find."""
        return coverage([n], checked=[f"place {n}"], cannot_cover=[{"what": "guests", "why": "no access"}], period=HOUR)

    made = harness([call("find", n=n) for n in range(15)], "Done.", tools=[find], limits_travel=True)
    outcome = await made.run("Go.")
    assert "- place 11\n- and 3 more" in outcome.text
    assert outcome.text.count("guests") == 1
    covered = Answer.coverage(outcome)
    assert covered is not None
    assert len(covered.checked) == len(covered.periods) == 15
    assert covered.cannot_cover == (Item("guests", "no access"),)
    assert covered.to_json()["periods"][0]["held"] == "unknown"


@pytest.mark.anyio
async def test_limits_survive_a_result_that_is_too_large() -> None:
    @tool(result_ceiling=ResultCeiling(2_000))
    async def dump() -> Any:
        """Dump."""
        return coverage(["x" * 5_000], checked=["a"], not_checked=[{"what": "b", "why": "c"}])

    outcome = await harness(call("dump"), "Too much.", tools=[dump]).run("Go.")
    assert outcome.calls[0].outcome == "invalid"
    assert assessed(outcome).kinds == ("coverage-gap",)
    assert [item.what for item in (Answer.coverage(outcome) or AssertionError).not_checked] == ["b"]  # type: ignore[union-attr]


@pytest.mark.anyio
async def test_nothing_declared_changes_nothing() -> None:
    async def find() -> Any:
        """Find."""
        return [1]

    outcome = await harness(call("find"), "One.", tools=[find], limits_travel=True).run("Go.")
    assert outcome.text == "One."
    assert Answer.coverage(outcome) is None
    assert outcome.record.of(CoverageDeclared) == []


@pytest.mark.anyio
async def test_coverage_is_the_same_of_a_saved_record() -> None:
    async def find() -> Any:
        """Find."""
        return coverage([1], checked=[{"what": "the whole register", "short": "register"}], period=HOUR)

    outcome = await harness(call("find"), "One.", tools=[find]).run("Go.")
    assert Answer.coverage(Record.from_lines(outcome.record.to_lines())) == Answer.coverage(outcome)


@pytest.mark.anyio
async def test_limits_from_before_a_pause_still_arrive_after_it() -> None:
    @tool(approval=True)
    async def act() -> str:
        """Act."""
        return "done"

    async def find() -> Any:
        """Find."""
        return absent("x", checked=["a"], not_checked=[{"what": "b", "why": "c"}])

    made = harness([call("find"), call("act")], "Done.", tools=[find, act], limits_travel=True)
    paused = await made.run("Go.")
    assert assessed(paused).kinds == ("asked",)
    done = await made.resume(paused, approve())
    assert "- b — c" in done.text
    assert assessed(done).kinds == ("coverage-gap", "declared-absent")
