"""A store of backups and one of readings, and short ways to say what is on a record."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from agentfp import Agent, Pause, RunResult, tool
from agentfp.plugin import Plugin
from agentfp.testing import ScriptedModel, StepClock
from agentfp_results import Period, Results

NOON = datetime.datetime(2027, 3, 4, 12, tzinfo=datetime.UTC)
NOW = "2027-03-04T12:00:00Z"


def agent(script: Any, tools: Sequence[Any], *others: Plugin, clock: Any = None, **settings: Any) -> Agent[Any, str]:
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
    return Agent(model, tools=list(tools), plugins=[Results(**settings), *others], clock=clock or StepClock(NOON))


def returning(value: Any) -> Any:
    """A tool that looks back, and returns this."""

    @tool
    async def read(span: Annotated[str, Period("lookback")] = "1h") -> Any:
        """Read."""
        if isinstance(value, Exception):
            raise value
        return value() if isinstance(value, Callable) else value  # type: ignore[arg-type]

    return read


def span(start: str, end: str) -> Mapping[str, str]:
    return {"from": f"2027-03-04T{start}:00Z", "to": f"2027-03-04T{end}:00Z"}


def read_of(queried: Mapping[str, str], held: Any) -> dict[str, Any]:
    return {"queried": queried, "held": held}


def verdicts(result: RunResult[Any]) -> list[str]:
    return [said.verdict for said in Results.periods(result)]


def notes(result: RunResult[Any]) -> list[str]:
    return [" ".join(message.notes) for message in result.history if message.role == "tool"]


def results(result: RunResult[Any]) -> list[str]:
    return [message.content for message in result.history if message.role == "tool"]


def stored(result: RunResult[Any]) -> Pause:
    """The pause as another process gets it."""
    assert result.pause is not None
    return Pause.from_json(result.pause.to_json())
