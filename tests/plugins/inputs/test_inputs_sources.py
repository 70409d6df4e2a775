"""Where the model says a value comes from, and what is found of it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest

from agentfp import Agent, tool
from agentfp.testing import ScriptedModel, call
from agentfp_findings import Findings
from agentfp_inputs import Assume, FromPerson, Inputs
from tests.plugins.inputs.meters import agent, find_site, prompts, read_meter, results, row, stored

pytestmark = pytest.mark.anyio


def said(argument: str, quote: str) -> dict[str, str]:
    return {"argument": argument, "source": "user", "quote": quote}


def reading(*claims: Any, site: str = "A", **arguments: Any) -> Any:
    return call("read_meter", site=site, **arguments, _sources=list(claims))


async def ask(script: Any, message: str = "Meter use for the past month, please.", **more: Any) -> Any:
    return await agent([*script, "Done."], argument_sources=True, **more).run(message)


async def test_the_schema_has_a_place_for_sources_on_ruled_tools_only_and_the_call_runs_without_it() -> None:
    model = ScriptedModel([reading(said("span", "past month"), span="30d", top=20), "Done."])
    result = await agent(model, argument_sources=True).run("Meter use for the past month, please.")
    schemas = {spec.name: spec.parameters["properties"] for spec in model.requests[0].tools}
    assert ["_sources" in schemas[name] for name in ("read_meter", "count_meters", "find_site")] == [True, True, False]
    assert "quote their words in _sources" in schemas["read_meter"]["span"]["description"]
    assert results(result) == ["readings of A over 30d, 20 at most"]
    assert result.history[1].tool_calls[0].arguments["_sources"], "the model's own words stay as they are"


async def test_other_words_for_a_choice_trace_to_the_person() -> None:
    result = await ask([reading(said("span", "for the past month"), span="30d")])
    assert result.status == "answered"
    found = row(result, "span")
    assert (found.source, found.details["matched"], found.details["quote"]) == ("said", "phrase", "for the past month")


async def test_a_value_that_is_read_into_the_person_s_words_is_asked_for() -> None:
    result = await ask([reading(said("span", "for the past month"), span="6h")])
    assert prompts(result) == ["How far back should the readings go?"]
    (question,) = result.pause.questions
    (field,) = question.context["agentfp"]["fields"]
    assert field["quoted"] == "for the past month"
    assert "6h" not in json.dumps(field)
    assert (row(result, "span").asked, row(result, "span").details["proposed"]) == ("unverified", '"6h"')


@pytest.mark.parametrize(
    ("value", "quote", "message", "expected"),
    [
        ("6h", "6h", "Readings over 6h please", {"matched": "quote", "weak_quote": True}),
        ("6h", "over 6H please", "Readings over 6h please", {"matched": "quote"}),
        ("6h", "over 16h", "Readings over 16h", None),
    ],
)
async def test_a_quote_holds_the_value_as_a_whole_word(value: str, quote: str, message: str, expected: Any) -> None:
    result = await ask([reading(said("span", quote), span=value)], message)
    if expected is None:
        assert result.paused
        return
    assert row(result, "span").source == "said"
    assert {name: row(result, "span").details.get(name) for name in expected} == expected


async def test_a_quote_that_nobody_said_is_asked_about_or_flagged() -> None:
    result = await ask([reading(said("span", "for the last six hours"), said("top", "the top seven"), span="6h", top=7)])
    assert row(result, "span").details["failed"] == "quote-not-found"
    assert row(result, "span").asked == "unverified"
    asking = agent(["Done."], argument_sources=True)
    result = await asking.resume(stored(result), "1d")
    assert results(result) == ["readings of A over 1d, 7 at most"]
    assert (row(result, "top").source, row(result, "top").details["failed"]) == ("model", "quote-not-found")
    assert (row(result, "span").source, row(result, "span").details["proposed"]) == ("answered", '"6h"')
    note = result.history[2].notes[0]
    assert "The call had carried a value of its own. A later call may name it as source turn." in note


async def test_a_default_that_is_not_the_person_s_stays_a_default_whatever_is_claimed() -> None:
    claim = {"argument": "top", "source": "app"}
    result = await ask([reading(said("span", "past month"), claim, span="30d", top=20)], grounds=lambda: [("At most 20 rows.", "policy")])
    assert (row(result, "top").source, row(result, "top").details["claimed"]) == ("default", "app")
    result = await ask([reading(said("span", "past month"), said("top", "20"), span="30d", top=20)], "The past month, 20 of them.")
    assert row(result, "top").source == "said"


@pytest.mark.parametrize(
    ("claim", "value", "expected"),
    [
        ({"source": "app"}, 35, ("app", None, "policy")),
        ({"source": "app"}, 36, ("model", "not-in-app-text", None)),
        ({"source": "assumed"}, 35, ("model", None, None)),
        ({"source": "result", "id": "nobody"}, 35, ("model", "unknown-result", None)),
        ({"source": "turn"}, 35, ("model", "no-earlier-turn", None)),
        ({"source": "user", "quote": "..."}, 35, ("model", "uncheckable", None)),
    ],
)
async def test_what_the_application_says_and_what_nobody_does(claim: Any, value: int, expected: Any) -> None:
    script = [reading(said("span", "past month"), {"argument": "top", **claim}, span="30d", top=value)]
    result = await ask(script, grounds=lambda: [("At most 35 rows.", "policy"), ("", "blank"), (7, 8)])
    found = row(result, "top")
    assert (found.source, found.details.get("failed"), found.details.get("app_source")) == expected


async def test_the_instructions_of_the_application_count_and_pieces_of_plugins_do_not() -> None:
    model = ScriptedModel([reading({"argument": "top", "source": "app"}, said("span", "past month"), span="30d", top=42), "Done."])
    asking = Agent(model, tools=[read_meter], plugins=[Inputs(argument_sources=True)], instructions=["Never read more than 42 rows."])
    result = await asking.run("The past month.")
    assert (row(result, "top").source, row(result, "top").details["app_source"]) == ("app", "instructions")


async def test_a_value_of_a_result_and_one_that_is_the_call_s_own_echo() -> None:
    @tool
    async def list_meters(site: Annotated[str, FromPerson("Which site?")]) -> list[str]:
        """List meters."""
        return [f"meter of {site}"]

    def listing(site: str, call_id: str) -> Any:
        return call("list_meters", site=site, _sources=[{"argument": "site", "source": "result", "id": call_id}])

    for site, expected in (("S-17", "result"), ("Mill Lane", "echoed-argument"), ("S-99", "not-in-result")):
        script = [call("find_site", name="Mill Lane", id="c1"), listing(site, "c1")]
        asking = agent([*script, "Done."], tools=[find_site, list_meters], argument_sources=True)
        result = await asking.run("List the meters.")
        found = row(result, "site")
        assert (found.source or found.details["failed"]) == expected
        assert result.paused == (expected != "result")


async def test_a_result_that_lists_what_it_was_asked_for_elsewhere_too_is_a_source() -> None:
    @tool
    async def search(query: str) -> dict[str, Any]:
        """Search."""
        return {"query": query, "customers": [{"name": "Ann", "id": 3}]}

    @tool
    async def orders(customer: Annotated[str, FromPerson("Which customer?")]) -> str:
        """Orders."""
        return "none"

    script = [
        call("search", query="Ann", id="c1"),
        call("orders", customer="Ann", _sources=[{"argument": "customer", "source": "result", "id": "c1"}]),
        "Done.",
    ]
    result = await agent(script, tools=[search, orders], argument_sources=True).run("Orders of whom?")
    assert row(result, "customer").source == "result"


async def test_an_earlier_answer_of_the_person_is_a_source_in_later_turns() -> None:
    turn = {"argument": "span", "source": "turn"}
    chat = agent([call("read_meter", site="A"), "Done.", reading(turn, span="1d", site="B"), "Done."], argument_sources=True).conversation()
    paused = await chat.send("Read A.")
    assert paused.paused
    await chat.resume("1d")
    result = await chat.send("Read B too.")
    found = row(result, "span")
    assert (found.source, found.details.get("earlier")) == ("answered", True)
    assert results(result)[1] == "readings of B over 1d, 20 at most"


async def test_the_note_of_an_answer_grounds_nothing() -> None:
    result = await ask([call("read_meter", site="A", id="c1")])
    asking = agent([reading({"argument": "span", "source": "result", "id": "c1"}, span="1d", top=20), "Done."], argument_sources=True)
    result = await asking.resume(stored(result), "1d")
    assert "1d" in result.history[2].text
    assert row(result, "span").details["failed"] == "echoed-argument"


async def test_a_hint_says_where_a_value_stands_too() -> None:
    result = await ask([reading(said("span", "past month"), span="30d", top=7)], "The past month, 7 rows.")
    assert (row(result, "top").source, row(result, "top").details["coincides"]) == ("model", "person")


@pytest.mark.parametrize(("value", "hint"), [("S-17", "result"), ("17 S", None), ("17", "result"), ("nobody", None), ("list", "person")])
async def test_a_hint_names_a_result_where_the_words_stand_one_after_the_other(value: str, hint: str | None) -> None:
    @tool
    async def show(site: Annotated[str, Assume("all")]) -> str:
        """Show a site."""
        return "shown"

    script = [call("find_site", name="x"), call("find_site", name="y"), call("show", site=value), "Done."]
    result = await agent(script, tools=[find_site, show], argument_sources=True).run("A list, please.")
    assert (row(result, "site").source, row(result, "site").details.get("coincides")) == ("model", hint)


async def test_entries_that_cannot_be_read_are_counted_and_dropped() -> None:
    wrong = [
        "x",
        {"argument": "span"},
        {"argument": "span", "source": "dream"},
        {"argument": 7, "source": "app"},
        {"argument": "span", "source": "user"},
    ]
    result = await ask([reading(*wrong, said("span", "past month"), span="30d", top=20)])
    assert row(result, "span").source == "said"
    assert [found.details.get("malformed") for found in Inputs.rows(result)] == [5, None]
    result = await ask([call("read_meter", site="A", span="30d", _sources="none of it"), "Done."])
    assert row(result, "span").details["malformed"] == 1


async def test_an_argument_without_a_rule_that_is_named_has_one_row() -> None:
    result = await ask([reading(said("span", "past month"), said("site", "A"), span="30d", top=20)], "The past month of A.")
    assert (row(result, "site").source, row(result, "site").details.get("rule")) == ("said", None)


async def test_no_quote_is_shown_where_a_tool_hides_arguments() -> None:
    @tool(redact=("pin",))
    async def unlock(pin: str) -> str:
        """Unlock."""
        return pin

    result = await ask([reading(said("span", "for the past month"), span="6h")], tools=[read_meter, unlock])
    assert row(result, "span").details["quote"] == "REDACTED"
    assert "quoted" not in result.pause.questions[0].context["agentfp"]["fields"][0]


async def test_what_a_nested_agent_is_told_is_not_said_by_a_person() -> None:
    inner = agent([reading(said("span", "past month"), span="30d", top=20), "Inner done."], tools=[read_meter], argument_sources=True)
    outer = Agent(
        ScriptedModel([call("meters", request="Use of the past month"), "Done."]),
        tools=[inner.as_tool("meters", "Reads meters.")],
    )
    result = await outer.run("How much?")
    assert result.paused
    (child,) = result.record.children.values()
    assert [found.details.get("failed") for found in Inputs.rows(child)][:1] == ["composed-message"]


async def test_a_tool_that_has_an_argument_of_that_name_is_refused() -> None:
    @tool
    async def odd(span: Annotated[str, FromPerson("How far?")], _sources: str = "") -> str:
        """Odd."""
        return ""

    with pytest.raises(Exception, match="'_sources'"):
        agent(["Done."], tools=[odd], argument_sources=True)
    agent(["Done."], tools=[odd])


async def test_the_findings_plugin_may_ask_for_sources_too() -> None:
    models = [ScriptedModel([reading(said("span", "past month"), span="30d", top=20), "Done."]) for _ in range(2)]
    plugins = [[Findings(argument_sources=True), Inputs()], [Findings(), Inputs(argument_sources=True)]]
    for model, own in zip(models, plugins, strict=True):
        result = await Agent(model, tools=[read_meter], plugins=own).run("Use of the past month.")
        assert row(result, "span").source == "said"
    assert models[0].requests[0].tools == models[1].requests[0].tools


async def test_a_message_of_an_earlier_turn_counts_and_is_said_to_be_one() -> None:
    script = ["Gladly.", reading(said("span", "past month"), span="30d", top=20), "Done."]
    chat = agent(script, argument_sources=True).conversation()
    await chat.send("I care about the past month.")
    result = await chat.send("Read A.")
    assert (row(result, "span").source, row(result, "span").details.get("earlier")) == ("said", True)


async def test_an_argument_that_the_tool_does_not_have_makes_no_row() -> None:
    made_up = {"argument": "made up by the model", "source": "app"}
    arguments: dict[str, Any] = {"made up by the model": 1, "_sources": [said("span", "past month"), made_up]}
    result = await ask([call("read_meter", site="A", span="30d", top=20, **arguments)])
    assert {found.argument for found in Inputs.rows(result)} == {"span", "top"}
