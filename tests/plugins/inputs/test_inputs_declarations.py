"""What may be declared: everything else is refused where it is written, or when the agent is built, and nothing is repaired."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from agentfp import Agent, ConfigError, raw_tool, tool
from agentfp.events import VerdictFiled
from agentfp.plugin import Declaration, Plugin, ToolSource
from agentfp.testing import ScriptedModel, call
from agentfp_inputs import Assume, Choice, FromPerson, Inputs
from agentfp_results import Period, Results
from agentfp_results.events import CallWindow
from tests.plugins.inputs.meters import TOOLS, agent, find_site, prompts, read_meter, results, row, sources, stored

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FromPerson(" "), "needs a question"),
        (lambda: FromPerson("x" * 5_000), "of 1 to 4096 characters"),
        (lambda: FromPerson("Which?", choices=[]), "1 to 100"),
        (lambda: FromPerson("Which?", choices="ab"), "1 to 100"),
        (lambda: FromPerson("Which?", choices=list(range(101))), "1 to 100"),
        (lambda: FromPerson("Which?", choices=["a", "a"]), "'a' stands there twice"),
        (lambda: FromPerson("Which?", choices=["a", " "]), "not blank"),
        (lambda: FromPerson("Which?", choices=[float("inf")]), "finite"),
        (lambda: FromPerson("Which?", choices=[None]), "got a NoneType"),  # type: ignore[list-item]
        (lambda: FromPerson("Which?", choices=[Choice("a", said=["one day"]), Choice("b", said=["ONE  day"])]), "one choice only"),
        (lambda: Choice("a", said=["..."]), "with a word"),
        (lambda: Choice("a", said=["x" * 121]), "120"),
        (lambda: Choice("a", said=[f"word {n}" for n in range(17)]), "at most 16"),
        (lambda: Assume([1]), "got a list"),  # type: ignore[arg-type]
        (lambda: Assume(float("nan")), "finite"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_where_it_is_written(make: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make()


class Wide(Declaration):
    """A marker of another plugin that puts a value in."""

    __slots__ = ()
    plugin = "inputs"
    wire_type = str


def ruled(hint: Any, **options: Any) -> Any:
    async def look(value: Any) -> str:
        return ""

    look.__annotations__["value"] = hint
    return tool(look, name="look", description="Look.", **options)


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (Annotated[list[str], FromPerson("Which?")], "its type must be one of string, number, integer, boolean"),
        (Annotated[str | None, FromPerson("Which?")], "without null"),
        (Annotated[str | int, FromPerson("Which?")], "without alternatives"),
        (Annotated[dict[str, str], Assume("x")], "its type must be"),
        (Annotated[str, FromPerson("Which?"), Assume("x")], "it has 2 rules"),
        (Annotated[int, Assume("20")], "the value '20' does not fit its schema: a whole number"),
        (Annotated[int, Field(le=10), Assume(20)], "the value 20 does not fit its schema: a whole number, at most 10"),
        (Annotated[int, Assume(True)], "the value True does not fit"),
        (
            Annotated[Literal["a", "b"], FromPerson("Which?", choices=["a", "c"])],
            'the value \'c\' does not fit its schema: one of "a", "b"',
        ),
        (Annotated[list[dict[str, Any]], Wide(), Assume("x")], "another plugin puts its value in"),
    ],
)
def test_a_rule_that_does_not_go_with_its_argument_is_refused_at_build(hint: Any, words: str) -> None:
    with pytest.raises(ConfigError, match="tool 'look', argument 'value'") as caught:
        agent(["Done."], tools=[ruled(hint)])
    assert words in str(caught.value)


def test_every_problem_of_every_tool_is_said_at_once() -> None:
    one, other = ruled(Annotated[int, Assume("20")]), tool(ruled(Annotated[list[str], Assume("x")]), name="other")
    with pytest.raises(ConfigError) as caught:
        agent(["Done."], tools=[one, other])
    assert len(caught.value.problems) == 2


def test_values_must_be_spelled_as_the_period_says() -> None:
    hint = Annotated[str, FromPerson("How far?", choices=["6h", "a day"]), Period("lookback")]
    with pytest.raises(ConfigError, match="the value 'a day' is not spelled as Period"):
        Agent(ScriptedModel(["Done."]), tools=[ruled(hint)], plugins=[Inputs(), Results()])


def test_a_tool_may_ask_for_so_many_arguments_and_no_more() -> None:
    names = [f"a{number}" for number in range(33)]
    properties = {name: {"type": "string"} for name in names}
    many = raw_tool(
        "many", "Many.", {"properties": properties}, lambda ctx, args: "", metadata={"inputs": {n: {"ask": "?"} for n in names}}
    )
    with pytest.raises(ConfigError, match="asks a person for 33 arguments; at most 32"):
        agent(["Done."], tools=[many])


def test_a_tool_with_rules_needs_the_plugin() -> None:
    with pytest.raises(ConfigError, match=r"FromPerson is read by plugin 'inputs', which is off. Switch it on: pip install agentfp-inputs"):
        Agent(ScriptedModel(["Done."]), tools=[read_meter])


@pytest.mark.parametrize("wrong", [{"argument_sources": "yes"}, {"ask_context": {}}, {"grounds": []}, {"argument_source": True}])
def test_settings_of_another_type_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        Inputs(**wrong)


async def test_an_enum_is_a_plain_type() -> None:
    class Colour(StrEnum):
        RED = "red"
        BLUE = "blue"

    @tool
    async def paint(colour: Annotated[Colour, Assume("red")]) -> str:
        """Paint."""
        return f"painted {colour.value}"

    result = await agent([call("paint"), "Done."], tools=[paint]).run("Paint.")
    assert results(result) == ["painted red"]


# --- tools of servers ---

SCHEMA = {
    "type": "object",
    "properties": {"site": {"type": "string"}, "span": {"type": "string"}, "top": {"type": "integer", "maximum": 500}},
    "required": ["site", "span", "top"],
}
RULES = {"span": {"ask": "How far back?", "choices": [{"value": "30d", "said": ["past month"]}, "6h"]}, "top": {"assume": 20}}


class Server(ToolSource):
    """Lends a tool that is known only in a run."""

    name = "server"

    def __init__(self, metadata: Any) -> None:
        async def handler(ctx: Any, arguments: dict[str, Any]) -> str:
            return json.dumps(arguments, sort_keys=True)

        self._tools = (raw_tool("remote", "Remote.", SCHEMA, handler, source="server", metadata=metadata),)

    @asynccontextmanager
    async def open(self, run: Any) -> AsyncIterator[Any]:
        yield self

    async def tools(self) -> Any:
        return self._tools


async def test_a_tool_of_a_server_has_its_rules_in_its_metadata() -> None:
    model = ScriptedModel([call("remote", site="A"), "Done."])
    asking = agent(model, tools=[Server({"inputs": RULES})])
    result = await asking.run("Read A.")
    assert model.requests[0].tools[0].parameters["required"] == ["site"]
    assert prompts(result) == ["How far back?"]
    result = await asking.resume(stored(result), "6h")
    assert results(result) == ['{"site": "A", "span": "6h", "top": 20}']
    assert sources(result, "top") == ["default"]


@pytest.mark.parametrize(
    "rules",
    [
        {},
        [],
        {"spam": {"ask": "?"}},
        {"span": {"ask": "?", "assume": "6h"}},
        {"span": {"ask": "?", "chioces": []}},
        {"span": {"ask": "?", "choices": [{"val": 1}]}},
        {"span": "6h"},
        {"top": {"assume": "many"}},
        {"top": {"assume": 501}},
        {"span": {"ask": 7}},
        {"span": {"ask": "?", "choices": 7}},
    ],
)
async def test_rules_of_a_server_s_tool_that_cannot_be_read_refuse_its_calls(rules: Any) -> None:
    script = [[call("remote", site="A", span="6h", top=1), call("find_site", name="A")], "Done."]
    result = await agent(script, tools=[find_site, Server({"inputs": rules})]).run("Read A.")
    assert results(result)[0].startswith("The rules for this tool's arguments cannot be read")
    assert "S-17" in results(result)[1]
    verdict = result.record.of(VerdictFiled)[0]
    assert (verdict.rule, "tool 'remote'" in str(verdict.reason)) == ("inputs:unreadable", True)


# --- one answer for two spellings ---


@tool
async def read_power(span: Annotated[str, FromPerson("How far back?", choices=["6h", "1d"]), Period("lookback")]) -> str:
    """Power."""
    return f"power {span}"


@tool
async def read_heat(window: Annotated[str, FromPerson("How far back?", choices=["-6h", "-1d"]), Period("signed-lookback")]) -> str:
    """Heat."""
    return f"heat {window}"


@tool
async def read_water(span: Annotated[str, FromPerson("Since when?", choices=["6h", "2d"]), Period("lookback")]) -> str:
    """Water."""
    return f"water {span}"


def timed(script: Any, *more: Plugin, **settings: Any) -> Agent[Any, str]:
    return Agent(
        ScriptedModel(script), tools=[read_power, read_heat, read_water], plugins=[Inputs(**settings), Results(clock=False), *more]
    )


async def test_one_answer_fills_two_arguments_each_in_its_own_spelling() -> None:
    asking = timed([[call("read_power"), call("read_heat")], "Done."])
    result = await asking.run("Both.")
    assert prompts(result) == ["How far back?"]
    assert result.pause is not None
    assert result.pause.questions[0].context["agentfp"]["fields"][0]["shared_with"] == [{"tool": "read_heat", "argument": "window"}]
    result = await asking.resume(stored(result), "1d")
    assert results(result) == ["power 1d", "heat -1d"]
    assert (row(result, "span").value, row(result, "window").value) == ('"1d"', '"-1d"')
    assert row(result, "window").details["period"] is True


async def test_arguments_with_other_choices_are_asked_for_one_by_one() -> None:
    result = await timed([[call("read_power"), call("read_water")], "Done."]).run("Both.")
    assert prompts(result) == ["How far back?", "Since when?"]


async def test_an_earlier_answer_in_another_spelling_is_a_source() -> None:
    turn = [{"argument": "window", "source": "turn"}]
    chat = timed(
        [call("read_power"), "Done.", call("read_heat", window="-1d", _sources=turn), "Done."], argument_sources=True
    ).conversation()
    await chat.send("Power.")
    await chat.resume("1d")
    result = await chat.send("Heat, the same.")
    assert (row(result, "window").source, row(result, "window").details["matched"]) == ("answered", "spelling")


# --- a period that is set on the screen ---


@pytest.mark.parametrize(("start", "value"), [("2027-03-04T06:00:00Z", "6h"), ("2027-03-04T05:00:00Z", None)])
@pytest.mark.parametrize("first", ["inputs", "results"])
async def test_nobody_is_asked_for_a_period_that_the_screen_has_unless_it_is_none_of_the_choices(
    start: str, value: Any, first: str
) -> None:
    plugins: list[Plugin] = [Inputs(), Results()]
    asking = Agent(
        ScriptedModel([call("read_power"), "Done."]), tools=[read_power], plugins=plugins if first == "inputs" else plugins[::-1]
    )
    options = {"results": {"now": "2027-03-04T12:00:00Z", "window": (start, "2027-03-04T12:00:00Z")}}
    result = await asking.run("Power.", options=options)
    if value is None:
        assert prompts(result) == ["How far back?"]
        return
    assert results(result) == [f"power {value}"]
    assert (row(result, "span").source, row(result, "span").details["app_source"]) == ("app", "results")


# --- off is absent ---


async def test_without_rules_nothing_is_added() -> None:
    plain = [find_site]
    with_it, without = ScriptedModel([call("find_site", name="A"), "Done."]), ScriptedModel([call("find_site", name="A"), "Done."])
    on = await Agent(with_it, tools=plain, plugins=[Inputs(argument_sources=True)]).run("Find A.")
    off = await Agent(without, tools=plain).run("Find A.")
    assert [(r.system, [m.text for m in r.messages], r.tools) for r in with_it.requests] == [
        (r.system, [m.text for m in r.messages], r.tools) for r in without.requests
    ]
    assert [event.name for event in on.record] == [event.name for event in off.record]


async def test_what_is_said_of_arguments_goes_with_the_plugin() -> None:
    first = await agent([call("read_meter", site="A", span="6h"), "Done."]).run("Read.")
    plain = ScriptedModel(["Hello."])
    await Agent(plain, tools=[tool(find_site)]).run("Hello", history=first.history)
    assert [spec.name for spec in plain.requests[0].tools] == ["find_site"]
    assert TOOLS


@tool(metadata={"period": {"argument": "back", "spelling": "lookback"}})
async def read_wind(back: str = "") -> str:
    """Wind."""
    return f"wind {back or 'of all times'}"


@pytest.mark.parametrize(("window", "sent", "why"), [(None, "1d", None), ("2027-03-04T06:00:00Z", "of all times", "several-mentions")])
async def test_of_several_periods_of_the_person_none_is_filled_in(window: Any, sent: str, why: str | None) -> None:
    quote = [{"argument": "span", "source": "user", "quote": "over 1d"}]
    script = [call("read_power", span="1d", _sources=quote), call("read_wind"), "Done."]
    plugins = [Inputs(argument_sources=True), Results()]
    asking = Agent(ScriptedModel(script), tools=[read_power, read_wind], plugins=plugins)
    options: dict[str, Any] = {"now": "2027-03-04T12:00:00Z"}
    if window is not None:
        options["window"] = (window, "2027-03-04T12:00:00Z")
    result = await asking.run("Power over 1d, and the wind.", options={"results": options})
    assert results(result) == ["power 1d", f"wind {sent}"]
    first, second = result.record.of(CallWindow)
    assert (first.how, first.by) == ("bound", "quote")
    assert (second.how, second.why) == ("filled" if why is None else "not-filled", why)
