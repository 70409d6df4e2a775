"""What is decided without the model: words, what a question names, which tools it speaks of, how a schema is narrowed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp.model import Message, ModelRequest, ToolCall, ToolSpec
from agentfp_local import prompts
from agentfp_local.choosing import choose
from agentfp_local.digest import digest
from agentfp_local.filling import filling
from agentfp_local.turn import turn_of
from agentfp_local.wording import coordinated, grammar, spans, terms


def spec(tool: str, /, about: str = "", required: tuple[str, ...] = (), **properties: Any) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(tool, about, json.dumps(schema))


TEXT = {"type": "string"}
WEATHER = spec("get_weather", "The weather in a city.", ("city",), city=TEXT)
TIME = spec("getTime", "The time of day in a city.", ("city",), city=TEXT)
FLIGHTS = spec("find_flights", "Flights.", ("from_city", "to_city"), from_city=TEXT, to_city=TEXT)
SHUT = spec("shut_port", "Shut a port.", ("port",), port={"type": "integer", "minimum": 1, "maximum": 48})
TASKS = spec("list_tasks", "The tasks on the desk, the next due first.", (), open_only={"type": "boolean"})
FACTS = spec("airport", "Facts of one airport: its elevation.", ("iata",), iata={"type": "string", "pattern": "^[A-Z]{3}$"})
FIND = spec("find_airport", "Find airports by name or city.", ("name",), name=TEXT)


def request(
    question: str, *tools: ToolSpec, after: tuple[Message, ...] = (), before: tuple[Message, ...] = (), **more: Any
) -> ModelRequest:
    return ModelRequest(system="", messages=[*before, Message("q", "user", question), *after], tools=tools, **more)


def ran(tool: str, result: str, **arguments: Any) -> tuple[Message, ...]:
    call = ToolCall.make(tool, arguments, id=f"c_{tool}")
    return (Message("a", "assistant", "", tool_calls=(call,)), Message("t", "tool", result, tool_call_id=call.id, tool_name=tool))


def chosen(wish: ModelRequest) -> list[list[str]]:
    return [[tool.name for tool, _ in choice.options] for choice in choose(wish, turn_of(wish.messages))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What is the weather in Paris?", ["Paris"]),
        ("weather in new york", ["new york"]),
        ("Is it sunny in Rio de Janeiro? Check it.", ["Rio de Janeiro"]),
        ("From Paris to Rome, please", ["Paris", "Rome"]),
        ('Say "to be or not" twice', ["to be or not"]),
        ("What is 12 * 7?", ["12 * 7"]),
        ("Ósló í dag", ["Ósló"]),
        ("", []),
    ],
)
def test_what_a_question_names(text: str, found: list[str]) -> None:
    without = terms("weather city sunny")
    assert spans(text, without)[: len(found)] == found


def test_a_list_is_told_from_two_different_things() -> None:
    assert coordinated("in Paris and in Rome", ["Paris", "Rome"])
    assert coordinated("Paris, Rome or Oslo", ["Paris", "Rome", "Oslo"])
    assert not coordinated("from Paris to Rome", ["Paris", "Rome"])


@pytest.mark.parametrize(
    ("wish", "tools"),
    [
        (request("What is the weather in Paris?", WEATHER, TIME), [["get_weather"]]),
        (request("What TIME is it in Rome?", WEATHER, TIME), [["getTime"]]),
        (request("The weather and the time in Oslo?", WEATHER, TIME), [["get_weather"], ["getTime"]]),
        (request("The weather in Oslo and Rome?", WEATHER), [["get_weather"], ["get_weather"]]),
        (request("Hello!", WEATHER, TIME), []),
        (request("What is weather?", WEATHER), []),  # it names no city
        (request("What is on the desk?", TASKS, SHUT), [["list_tasks"]]),
        (request("Shut port 3.", SHUT), [["shut_port"]]),
        (request("Shut port 99.", SHUT), []),  # it has no such port
        (request("Tell me about the airport KEF", FIND, FACTS), [["airport"]]),
        (request("Which airport is in Oslo?", FIND, FACTS), [["find_airport"]]),
        (request("Hello!", WEATHER, TIME, tool_choice="getTime"), [["getTime"]]),
    ],
)
def test_which_tools_a_question_speaks_of(wish: ModelRequest, tools: list[list[str]]) -> None:
    assert chosen(wish) == tools


def test_after_a_result_it_answers_and_calls_no_tool_twice() -> None:
    assert chosen(request("What is the weather in Paris?", WEATHER, TIME, after=ran("get_weather", "sunny", city="Paris"))) == []


def test_after_a_result_it_goes_on_with_what_the_result_brought() -> None:
    found = ran("find_airport", '[{"iata": "KEF", "name": "Keflavik"}]', name="Reykjavik")
    wish = request("What is the elevation of the airport in Reykjavik?", FIND, FACTS, after=found)
    ((tool, schema),) = choose(wish, turn_of(wish.messages))[0].options
    assert (tool.name, schema["properties"]["iata"]["enum"]) == ("airport", ["KEF"])


def test_after_words_of_a_plugin_it_answers() -> None:
    late = Message("l", "user", "Answer now.", author="library")
    wish = request("The weather and the time in Oslo?", WEATHER, TIME, after=(*ran("get_weather", "sunny", city="Oslo"), late))
    assert chosen(wish) == []
    assert "Answer now." in prompts.from_results(wish, turn_of(wish.messages))[-1]["content"]


def test_a_follow_up_takes_the_last_tool() -> None:
    before = (Message("p", "user", "What is the weather in Paris?"), *ran("get_weather", "sunny", city="Paris"))
    assert chosen(request("And in Rome?", WEATHER, before=before)) == [["get_weather"]]
    assert chosen(request("Thank you.", WEATHER, before=before)) == []


def test_arguments_take_what_was_said() -> None:
    def narrowed(tool: ToolSpec, question: str) -> dict[str, Any]:
        (schema,) = filling(tool, turn_of(request(question).messages)).schemas
        return {name: value.get("enum") for name, value in schema["properties"].items()}

    assert narrowed(FLIGHTS, "Flights to Rome from Paris") == {"from_city": ["Paris"], "to_city": ["Rome"]}
    assert narrowed(SHUT, "Shut ports 3, 99") == {"port": [3]}
    assert narrowed(TASKS, "What is on the desk?") == {}
    assert narrowed(TASKS, "Which open tasks are there?") == {"open_only": None}


def test_a_result_is_shown_by_what_the_question_speaks_of() -> None:
    facts = json.dumps({"iata": "KEF", "city": "Keflavik", "time_zone": "Atlantic/Reykjavik", "elevation": 171})
    assert digest(facts, "In which time zone is KEF?") == "iata: KEF\ntime zone: Atlantic/Reykjavik"
    tasks = json.dumps([{"name": "report", "due": "12"}, {"name": "review", "due": "14"}])
    assert digest(tasks, "When is the review due?") == "name: review, due: 14"
    assert digest(tasks, "What is due first?") == "name: report, due: 12"
    assert digest("[]", "What?") == "nothing"
    assert digest("plain words", "What?") == "plain words"


def test_references_of_a_schema_lead_to_the_root() -> None:
    schema = {
        "type": "object",
        "properties": {"where": {"type": "array", "items": {"$ref": "#/$defs/Place"}}},
        "required": ["where"],
        "$defs": {"Place": {"enum": ["here"]}},
    }
    tool = ToolSpec("go", "Go.", json.dumps(schema))
    made = prompts.call_schema(choose(request("Go", tool, tool_choice="go"), turn_of(request("Go").messages)))
    assert made["properties"]["arguments"]["properties"]["where"]["items"] == {"$ref": "#/$defs/go.Place"}
    assert made["$defs"] == {"go.Place": {"enum": ["here"]}}


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_has_terms_spans_and_a_grammar(question: str, result: str) -> None:
    for span in spans(question):
        assert span in question
    made = grammar(question, result)
    assert made is not None
    assert made.count("\n") == 4
    wish = request(question, WEATHER, TIME, FLIGHTS, SHUT, TASKS, after=ran("get_weather", result, city="Oslo"))
    choose(wish, turn_of(wish.messages))
    prompts.from_results(wish, turn_of(wish.messages))
