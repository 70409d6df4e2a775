"""An agent that reads meters, and short ways to say what is on its record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from agentfp import Agent, Pause, RunResult, tool
from agentfp.plugin import Plugin
from agentfp.testing import ScriptedModel
from agentfp_inputs import Assume, Choice, FromPerson, Inputs

SPANS = [Choice("30d", said=["past month"]), "6h", "1d"]


@tool
async def read_meter(
    site: str,
    span: Annotated[str, FromPerson("How far back should the readings go?", choices=SPANS)],
    top: Annotated[int, Field(ge=1, le=500), Assume(20)],
) -> str:
    """Read a meter.

    Args:
        site: where it is.
        span: how far back.
        top: how many readings.
    """
    return f"readings of {site} over {span}, {top} at most"


@tool
async def count_meters(site: str, most: Annotated[int, Field(ge=1, multiple_of=2), FromPerson("How many at most?")]) -> str:
    """Count meters."""
    return f"{most} meters at {site}"


@tool
async def find_site(name: str) -> dict[str, Any]:
    """Find a site."""
    return {"name": name, "id": "S-17", "meters": 4}


TOOLS = [read_meter, count_meters, find_site]


def agent(script: Any, *others: Plugin, tools: Sequence[Any] = TOOLS, **settings: Any) -> Agent[Any, str]:
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
    return Agent(model, tools=list(tools), plugins=[Inputs(**settings), *others])


def sources(result: RunResult[Any], argument: str) -> list[str | None]:
    """Of each row of an argument, its source, or why a person was asked."""
    return [row.source or f"asked:{row.asked}" for row in Inputs.rows(result) if row.argument == argument]


def row(result: RunResult[Any], argument: str) -> Any:
    """The last row of an argument."""
    return [one for one in Inputs.rows(result) if one.argument == argument][-1]


def results(result: RunResult[Any]) -> list[str]:
    """The tools' own results."""
    return [message.content for message in result.history if message.role == "tool"]


def stored(result: RunResult[Any]) -> Pause:
    """The pause as another process gets it."""
    assert result.pause is not None
    return Pause.from_json(result.pause.to_json())


def prompts(result: RunResult[Any]) -> list[str]:
    assert result.pause is not None
    return [question.prompt for question in result.pause.questions]
