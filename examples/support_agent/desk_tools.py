"""What the support desk can do: look airports up, and open tickets, which a person approves first."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any

import airportsdata
from pydantic import Field

from agentfp import RetryTool, ToolContext, tool

AIRPORTS = airportsdata.load("IATA")
Code = Annotated[str, Field(pattern="^[A-Z]{3}$", description="an IATA code, such as KEF")]


@dataclass
class Desk:
    """What the tools work on; in earnest a ticket system's client."""

    tickets: list[dict[str, Any]] = field(default_factory=list)


def _known(iata: str) -> airportsdata.Airport:
    try:
        return AIRPORTS[iata]
    except KeyError:
        raise RetryTool(f"there is no airport {iata}; find_airport gives the codes") from None


@tool
def find_airport(name_or_city: str) -> list[dict[str, str]]:
    """Find airports by name or city: their names, cities and IATA codes."""
    wanted = name_or_city.lower()
    found = [one for one in AIRPORTS.values() if wanted == one["city"].lower() or wanted in one["name"].lower().split()]
    return [{"iata": one["iata"], "name": one["name"], "city": one["city"]} for one in found[:5]]


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
    angle = math.acos(min(1.0, math.sin(north) * math.sin(south) + math.cos(north) * math.cos(south) * math.cos(turn)))
    return {"origin": origin, "destination": destination, "distance_km": round(6371 * angle)}


@tool(approval=True, mutating=True)
def open_ticket(ctx: ToolContext[Desk], iata: Code, report: str) -> dict[str, Any]:
    """Open a ticket about a mistake in an airport's data."""
    _known(iata)
    ticket = {"ticket": f"T-{1000 + len(ctx.deps.tickets)}", "iata": iata, "report": report}
    ctx.deps.tickets.append(ticket)
    return ticket
