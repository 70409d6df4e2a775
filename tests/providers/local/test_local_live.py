"""The real model: shapes and bounds by the suite of real models, and whole tool loops that come out the same each time."""

from __future__ import annotations

from typing import Annotated, Any

import airportsdata
import pytest
from pydantic import BaseModel, Field

from agentfp import Agent, RetryTool, tool
from agentfp.model import ContextTooLongError, Model, ModelRequest, ModelSettings, StopReason, resolve_model
from agentfp.testing import LiveModelConformance, assert_record_valid, calls_of
from agentfp_local import LocalModel

pytestmark = [pytest.mark.anyio, pytest.mark.real_model]
AIRPORTS = airportsdata.load("IATA")


class TestLive(LiveModelConformance):
    def make(self) -> Model:
        return resolve_model("local", settings={"context": 1024})


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return "sunny, 21 degrees"


@tool
def get_time(city: str) -> str:
    """The time of day in a city."""
    return "14:05"


@tool
def find_airport(name_or_city: str) -> list[dict[str, str]]:
    """Find airports by name or city: their names, cities and IATA codes."""
    wanted = name_or_city.lower()
    found = [a for a in AIRPORTS.values() if wanted in (a["city"].lower(), a["name"].lower()) or f" {wanted} " in f" {a['name'].lower()} "]
    return [{"iata": a["iata"], "name": a["name"], "city": a["city"]} for a in found[:5]]


@tool
def airport(iata: Annotated[str, Field(pattern="^[A-Z]{3}$")]) -> dict[str, object]:
    """Facts of one airport: its city, country, elevation in feet and time zone."""
    if iata not in AIRPORTS:
        raise RetryTool(f"there is no airport {iata}")
    known = AIRPORTS[iata]
    facts = {"city": known["city"], "country": known["country"], "elevation_feet": known["elevation"], "time_zone": known["tz"]}
    return {"iata": iata, "name": known["name"], **facts}


def asked(*tools: Any, **more: Any) -> Agent[Any, Any]:
    return Agent("local", tools=list(tools), **more)


def told(result: Any) -> list[str]:
    return [str(called).split("  [")[0] for called in calls_of(result)]


LOOPS = [
    ("What is the weather in Paris?", ["get_weather(city='Paris')"], ["sunny", "21"]),
    ("What time is it in New York?", ["get_time(city='New York')"], ["14:05"]),
    ("weather in oslo", ["get_weather(city='oslo')"], ["sunny"]),
    ("What is the weather and the time in Oslo?", ["get_weather(city='Oslo')", "get_time(city='Oslo')"], []),
    ("What is the weather in Paris and in Rio de Janeiro?", ["get_weather(city='Paris')", "get_weather(city='Rio de Janeiro')"], []),
    ("Is it sunny in Madrid? Check the weather.", ["get_weather(city='Madrid')"], ["sunny"]),
    ("Hello, who are you?", [], []),
]


@pytest.mark.parametrize(("question", "calls", "words"), LOOPS, ids=[question for question, _, _ in LOOPS])
async def test_an_agent_with_two_tools_completes_its_loop(question: str, calls: list[str], words: list[str]) -> None:
    result = await asked(get_weather, get_time).run(question)
    assert_record_valid(result)
    assert result.status == "answered"
    assert told(result) == calls
    assert all(word in result.text for word in words), result.text


AIRPORT_LOOPS = [
    ("What is the elevation of the airport KEF?", ["airport(iata='KEF')"], ["171.0"]),
    ("What is the time zone of KEF?", ["airport(iata='KEF')"], ["Atlantic/Reykjavik"]),
    ("What is the IATA code of the airport in Oslo?", ["find_airport(name_or_city='Oslo')"], ["OSL"]),
    ("What is the elevation of the airport in Reykjavik?", ["find_airport(name_or_city='Reykjavik')", "airport(iata='KEF')"], ["171.0"]),
    ("What is the elevation of JFK and of LAX?", ["airport(iata='JFK')", "airport(iata='LAX')"], ["13.0", "127.8"]),
]


@pytest.mark.parametrize(("question", "calls", "words"), AIRPORT_LOOPS, ids=[question for question, _, _ in AIRPORT_LOOPS])
async def test_an_agent_over_a_data_set_finds_its_way(question: str, calls: list[str], words: list[str]) -> None:
    result = await asked(find_airport, airport, instructions="You know airports.").run(question)
    assert told(result) == calls
    assert all(word in result.text for word in words), result.text


async def test_a_follow_up_takes_the_tool_of_the_turn_before() -> None:
    agent = asked(find_airport, airport)
    first = await agent.run("Which airport is in Oslo?")
    second = await agent.run("And in Bergen?", history=first.history)
    assert told(second)[-1] == "find_airport(name_or_city='Bergen')"
    assert "Bergen" in second.text


async def test_the_same_question_gives_the_same_run_each_time() -> None:
    runs = [await asked(get_weather, get_time).run("What is the weather in Paris?") for _ in range(3)]
    assert len({run.text for run in runs}) == 1
    assert [told(run) for run in runs] == [["get_weather(city='Paris')"]] * 3


async def test_usage_and_a_price_of_nothing_are_on_the_result() -> None:
    result = await asked(get_weather).run("What is the weather in Paris?")
    assert (result.usage.input or 0) > 100
    assert (result.usage.output or 0) > 10


async def test_an_answer_streams_and_a_call_does_not() -> None:
    async with asked(get_weather, get_time).stream("What is the weather in Paris?") as run:
        texts = [text async for text in run.text()]
    assert len(texts) > 3
    assert "".join(texts) == run.result.text


class City(BaseModel):
    city: str
    sunny: bool


async def test_a_typed_output_is_decoded_by_its_schema() -> None:
    result = await Agent("local", output_type=City).run("It is sunny in Paris.")
    assert isinstance(result.output, City)


async def test_what_is_too_long_is_typed() -> None:
    with pytest.raises(ContextTooLongError, match="shorten the conversation"):
        await Agent(LocalModel(context=512)).run("word " * 2000)


async def test_a_reply_that_fills_the_context_says_so() -> None:
    request = ModelRequest(system="", messages=[_user("Write a very long story of a king.")], settings=ModelSettings(max_tokens=4000))
    response = await LocalModel(context=256).complete(request)
    assert response.stop in (StopReason.CONTEXT_WINDOW, StopReason.STOP)
    assert response.usage.total <= 257


def _user(text: str) -> Any:
    from agentfp.model import Message

    return Message("m_1", "user", text)
