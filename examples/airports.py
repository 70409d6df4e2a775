"""An agent over a real data set: the airports of the package `airportsdata`, through three tools, with the evidence gate on."""

from __future__ import annotations

import math
from typing import Annotated, Any

import airportsdata
from pydantic import Field

from agentfp import Agent, RetryTool, tool
from agentfp_evidence import Evidence

AIRPORTS = airportsdata.load("IATA")
Code = Annotated[str, Field(pattern="^[A-Z]{3}$")]


def _known(iata: str) -> airportsdata.Airport:
    try:
        return AIRPORTS[iata]
    except KeyError:
        raise RetryTool(f"there is no airport {iata}; find_airport gives the codes") from None


@tool
def find_airport(name_or_city: str) -> list[dict[str, str]]:
    """Find airports by name or city: their names, cities and IATA codes."""
    wanted = name_or_city.lower()
    found = [a for a in AIRPORTS.values() if wanted in (a["city"].lower(), a["name"].lower()) or f" {wanted} " in f" {a['name'].lower()} "]
    return [{"iata": a["iata"], "name": a["name"], "city": a["city"]} for a in found[:5]]


@tool
def airport(iata: Code) -> dict[str, Any]:
    """Facts of one airport: its city, country, elevation in feet and time zone."""
    known = _known(iata)
    facts = {"city": known["city"], "country": known["country"], "elevation_feet": known["elevation"], "time_zone": known["tz"]}
    return {"iata": iata, "name": known["name"], **facts}


@tool
def distance(origin: Code, destination: Code) -> dict[str, Any]:
    """The distance between two airports in kilometres, on a sphere."""
    a, b = _known(origin), _known(destination)
    north, south, turn = math.radians(a["lat"]), math.radians(b["lat"]), math.radians(a["lon"] - b["lon"])
    angle = math.acos(math.sin(north) * math.sin(south) + math.cos(north) * math.cos(south) * math.cos(turn))
    return {"origin": origin, "destination": destination, "distance_km": round(6371 * angle)}


def airport_agent(model: Any = "local", **settings: Any) -> Agent[Any, str]:
    """The agent.

    Args:
        model: any model; the small one of this machine when left out.
        **settings: of the evidence gate.
    """
    return Agent(model, tools=[find_airport, airport, distance], instructions="You know airports.", plugins=[Evidence(**settings)])
