"""With the plugins that file what results and arguments are, as they are: what a tool declares once is read by both, and told once."""

from __future__ import annotations

from itertools import permutations
from typing import Annotated, Any

import pytest

from agentfp import Agent, tool
from agentfp.plugin import Plugin
from agentfp.testing import ScriptedModel, call
from agentfp_answer import Answer, coverage
from agentfp_inputs import Assume, Inputs
from agentfp_integrity import Integrity
from agentfp_results import Period, Results

pytestmark = pytest.mark.anyio
PERIOD = {
    "queried": {"from": "2027-03-04T06:00:00Z", "to": "2027-03-04T07:00:00Z"},
    "held": {"from": "2027-03-01T00:00:00Z", "to": "2027-03-04T06:30:00Z"},
}


@tool
def bookings(desk: str, span: Annotated[str, Period("lookback")] = "1h", top: Annotated[int, Assume(20)] = 20) -> object:
    """Bookings of a desk."""
    return coverage([{"room": 12}], checked=["the book"], not_checked=["the phone list"], period=PERIOD)


def plugins() -> list[Plugin]:
    return [Inputs(), Results(), Answer(limits_travel=True), Integrity()]


async def run(order: list[Plugin]) -> Any:
    model = ScriptedModel([call("bookings", desk="south", span="1h"), "Room 12 is booked."])
    return await Agent(model, tools=[bookings], plugins=order).run("Which rooms are booked?")


async def test_each_says_its_own_and_the_answer_all_of_it_once() -> None:
    result = await run(plugins())
    assert result.plugin_failures == {}
    assert [row.verdict for row in Results.periods(result)] == ["partly-held"]
    found = Answer.coverage(result)
    assert found is not None
    assert [item.what for item in found.not_checked] == ["the phone list"]
    assert len(found.periods) == 1
    assert [value.argument for value in found.assumed] == ["top"]
    assert result.text.startswith("Room 12 is booked.")
    assert result.text.count("the phone list") == 1
    assessment = Answer.assessment(result)
    assert assessment is not None
    assert [reason.kind for reason in assessment.reasons] == [
        "argument-assumed",
        "coverage-gap",
        "period-partly-held",
        "period-differs-from-asked",
    ]


async def test_no_order_of_the_four_changes_what_is_said() -> None:
    said = set()
    for places in permutations(range(4)):
        order = plugins()
        result = await run([order[place] for place in places])
        found = Answer.coverage(result)
        assert found is not None
        assessment = Answer.assessment(result)
        assert assessment is not None
        said.add((result.text, assessment.standing, tuple(reason.kind for reason in assessment.reasons)))
    assert len(said) == 1
