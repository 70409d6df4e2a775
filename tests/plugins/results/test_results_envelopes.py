"""What a tool may say of its result, what is refused of it, and what the model, the record and the answer get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfp import Agent, Record, ToolReturn, tool
from agentfp.events import ToolEnded
from agentfp.testing import ScriptedModel, call
from agentfp_answer import absent, coverage, described_result
from agentfp_results import Results, emptiness
from agentfp_results.events import Coverage, Facts
from agentfp_results.reading import envelopes_of, served
from tests.plugins.results.stores import agent, notes, results

pytestmark = pytest.mark.anyio
PROVENANCE = {"measured_at": "2027-03-04T06:00:00Z", "source": "diary"}
POINT = {"t": "2027-03-04T06:00:00Z", "entity": "a", "metric": "load", "value": 3}


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
    assert "render" in ended.payload.private, "all of it stays on the record"


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
        result = await run(lambda value=hostile: value)
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
