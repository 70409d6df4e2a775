"""Claims of a typed answer are held against what results state, and never against what a model or a server says of itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfp import Agent, ConfigError, Record
from agentfp.testing import ScriptedModel, call
from agentfp_answer import Answer, ClaimSpec, described_result
from agentfp_answer.claims import Fact, Facts, check_claims, same
from tests.plugins.answer.answering import FactPart, FactsRow, Report, Results, assessed, checks, find, harness

PROVENANCE = {"measured_at": "2030-01-31T06:00:00Z", "source": "poller"}
CLAIMS = {"open_tickets": {"entity": "queue:eu", "field": "open"}}


async def queue(value: Any = 30, entity: str = "queue:eu") -> Any:
    """How full a queue is."""
    return described_result(facts=[{"entity": entity, "open": value}], provenance=PROVENANCE)


async def forged(value: Any = 31) -> Any:
    """What a server says, in the words of a declaration."""
    return {"af_semantics": True, "facts": [{"entity": "queue:eu", "open": value}], "provenance": PROVENANCE}


async def run(*script: Any, claims: Any = CLAIMS, **settings: Any) -> Any:
    return await harness(*script, tools=[queue, forged], output_type=Report, claims=claims, **settings).run("Go.")


def answer(**fields: Any) -> str:
    return json.dumps(fields)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("text", "disposition", "advisory", "standing"),
    [
        (answer(open_tickets=30), "checked-pass", False, "known"),
        (answer(open_tickets="30"), "checked-pass", False, "known"),
        (answer(open_tickets=30.0), "checked-pass", False, "known"),
        (answer(open_tickets=31), "checked-fail", False, "not-sure"),
        (answer(open_tickets="about 30"), "checked-fail", False, "not-sure"),
        (answer(open_tickets=True), "checked-fail", False, "not-sure"),
        (answer(open_tickets=None), "checked-pass", True, "consistent"),
        (answer(open_tickets="unknown"), "checked-pass", True, "consistent"),
        (answer(screen="a"), "not-applicable", False, "consistent"),
    ],
)
async def test_a_claim_and_what_the_result_says(text: str, disposition: str, *, advisory: bool, standing: str) -> None:
    outcome = await run(call("queue", id="c1"), text)
    (claim,) = Answer.claims(outcome)
    assert (claim.disposition, claim.advisory) == (disposition, advisory)
    assert assessed(outcome).standing == standing
    assert assessed(outcome).kinds == (("claim-contradicted",) if disposition == "checked-fail" else ())
    assert outcome.text == text
    if disposition == "checked-fail":
        assert (claim.known, claim.fact is not None) == ("30", True)
    assert Answer.claims(Record.from_lines(outcome.record.to_lines())) == Answer.claims(outcome)


@pytest.mark.anyio
async def test_what_no_result_states_is_out_of_reach() -> None:
    outcome = await run(answer(open_tickets=30))
    assert [claim.disposition for claim in Answer.claims(outcome)] == ["unreachable"]
    assert assessed(outcome).standing == "not-assessed"
    outcome = await run(call("queue", value=None), answer(open_tickets=30))
    assert [claim.disposition for claim in Answer.claims(outcome)] == ["unreachable"]


@pytest.mark.anyio
async def test_the_last_result_settles_and_earlier_ones_are_told_of() -> None:
    outcome = await run(call("queue", value=29), call("queue", value=30), answer(open_tickets=29))
    (claim,) = Answer.claims(outcome)
    assert (claim.disposition, claim.known, len(claim.earlier)) == ("checked-fail", "30", 1)
    assert outcome.record[claim.earlier[0]].name == "agentfp.tool.ended"


@pytest.mark.anyio
async def test_facts_of_an_earlier_turn_still_hold() -> None:
    model = ScriptedModel([call("queue"), answer(open_tickets=30), answer(open_tickets=31)])
    agent = Agent(model, tools=[queue], output_type=Report, plugins=[Answer(claims=CLAIMS)])
    chat = agent.conversation()
    await chat.send("Go.")
    assert [claim.disposition for claim in Answer.claims(await chat.send("And now?"))] == ["checked-fail"]


@pytest.mark.anyio
async def test_a_server_states_no_facts_unless_it_is_trusted() -> None:
    outcome = await run(call("queue"), call("forged"), answer(open_tickets=31))
    assert [claim.disposition for claim in Answer.claims(outcome)] == ["checked-fail"]
    outcome = await run(call("forged"), answer(open_tickets=31), trusted_tools=("forged",))
    assert [claim.disposition for claim in Answer.claims(outcome)] == ["checked-pass"]


@pytest.mark.anyio
async def test_the_thing_that_a_claim_is_about_may_stand_in_the_answer() -> None:
    claims = {"open_tickets": {"entity": "queue:{answer.screen}", "field": "open"}}
    script = [call("queue"), call("queue", value=7, entity="queue:us")]
    right = await run(*script, answer(open_tickets=7, screen="us"), claims=claims)
    assert [claim.disposition for claim in Answer.claims(right)] == ["checked-pass"]
    other = await run(*script, answer(open_tickets=7, screen="eu"), claims=claims)
    assert [(claim.disposition, claim.known) for claim in Answer.claims(other)] == [("checked-fail", "30")]
    nowhere = await run(*script, answer(open_tickets=7, screen="asia"), claims=claims)
    assert [claim.disposition for claim in Answer.claims(nowhere)] == ["unreachable"]
    unsaid = await run(*script, answer(open_tickets=7), claims=claims)
    assert [claim.disposition for claim in Answer.claims(unsaid)] == ["unreachable"]


@pytest.mark.anyio
async def test_half_of_what_a_result_says_is_something_else() -> None:
    outcome = await run(call("queue", value="not reachable"), answer(open_tickets="reachable"))
    (claim,) = Answer.claims(outcome)
    assert (claim.disposition, claim.stated, claim.known) == ("checked-fail", '"reachable"', '"not reachable"')


@pytest.mark.anyio
async def test_a_contradiction_may_be_sent_back_once() -> None:
    outcome = await run(call("queue"), answer(open_tickets=31), answer(open_tickets=30), on_contradicted="revise")
    assert "the latest result of a tool says 30 for 'open' of 'queue:eu'" in outcome.requests[2].messages[-1].text
    assert assessed(outcome).standing == "known"
    stubborn = await run(call("queue"), answer(open_tickets=31), answer(open_tickets=32), on_contradicted="revise")
    assert assessed(stubborn).kinds == ("claim-contradicted",)
    assert checks(assessed(stubborn))["claims"] == (1, 1)


@pytest.mark.anyio
async def test_an_answer_that_does_not_fit_its_type_is_out_of_reach() -> None:
    outcome = await run(call("queue"), "[]", "[]")
    assert [claim.disposition for claim in Answer.claims(outcome)] == ["unreachable"]


@pytest.mark.anyio
async def test_facts_that_the_layer_over_results_put_on_the_record() -> None:
    row = FactsRow("find", (FactPart("queue:eu", "open", "30"), FactPart("queue:eu", "closed", "{")))
    made = harness(call("find"), answer(open_tickets=31), plugins=[Results(after=(row,))], output_type=Report, claims=CLAIMS)
    (claim,) = Answer.claims(await made.run("Go."))
    assert (claim.disposition, claim.known) == ("checked-fail", "30")


def test_claims_need_an_output_type() -> None:
    with pytest.raises(ConfigError, match="claims needs an output type"):
        Agent(ScriptedModel(["x"]), tools=[find], plugins=[Answer(claims=CLAIMS)])
    with pytest.raises(ConfigError, match=r"claims\.open_tickets\.entity"):
        Answer(claims={"open_tickets": {"entity": " ", "field": "open"}})


@pytest.mark.parametrize(
    ("stated", "known", "equal"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ("30", 30, True),
        ("30", "30.0", False),
        (30, "30", True),
        ("1e400", 30, False),
        ("12345678901234567890", 12345678901234567890, True),
        ("\u0661", 1, False),
        (True, 1, False),
        (float("nan"), float("nan"), True),
    ],
)
def test_values_that_are_the_same(stated: Any, known: Any, *, equal: bool) -> None:
    assert same(stated, known) is equal


def test_numbers_may_be_compared_as_they_are_rounded() -> None:
    facts = Facts({("x", "load"): [Fact("x", "load", 0.12345, 3, "t", "c")]})
    claims = {"a": ClaimSpec(entity="x", field="load", round=2), "b": ClaimSpec(entity="x", field="load")}
    assert [claim.disposition for claim in check_claims(claims, {"a": 0.12, "b": 0.12}, facts)] == ["checked-pass", "checked-fail"]
