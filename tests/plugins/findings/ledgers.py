"""What the tests of the ledger share: declarations in short, and a tool that gives what it is told to."""

from __future__ import annotations

from typing import Any

from agentfp import ToolReturn, tool
from agentfp.testing import Harness, Outcome, call
from agentfp_findings import Findings, Row

ABSENT = {
    "af_absent": True,
    "outcome": "nothing_found",
    "looked_for": "door d12",
    "checked": [{"what": "register"}],
    "not_checked": [{"what": "archive", "why": "closed"}, {"what": "archive", "why": "closed"}, {"what": "  "}],
    "cannot_cover": [{"what": "private doors", "why": "no access"}],
    "try_instead": "ask the porter",
}


@tool
async def look(x: str = "") -> str:
    """Look something up."""
    return x or "nothing to see"


@tool
async def search(kind: str) -> Any:
    """Search for something that is not there."""
    if kind == "absent":
        return ToolReturn(ABSENT, outcome="absent")
    return {"af_coverage": {"not_checked": [{"what": "attic"}]}, "result": []} if kind == "covered" else []


def says(*previous: dict[str, Any], basis: Any = "direct", **more: Any) -> dict[str, Any]:
    """A declaration."""
    return {"basis": basis, **({"previous": list(previous)} if previous else {}), **more}


def judged(call_id: str, standing: str, **more: Any) -> dict[str, Any]:
    """A standing of an earlier result."""
    return {"tool_call_id": call_id, "standing": standing, **more}


def states(kind: str, subject: str, predicate: str, value: Any) -> dict[str, Any]:
    """An assertion."""
    return {"subject": {"kind": kind, "id": subject}, "predicate": predicate, "value": value}


def looking(call_id: str, result: str = "", *previous: dict[str, Any], **more: Any) -> Any:
    """A call of ``look`` that declares."""
    return call("look", id=call_id, x=result, _findings=says(*previous, **more))


def noted(*previous: dict[str, Any]) -> str:
    """A block of code at the end of an answer that holds a declaration."""
    import json

    return f"\n\n```json\n{json.dumps({'_findings': {'previous': list(previous)}})}\n```\n"


def harness(*script: Any, tools: Any = (look, search), plugins: Any = (), **settings: Any) -> Harness:
    """A harness with the plugin on."""
    own = {name: settings.pop(name) for name in list(settings) if name in Findings.Settings.model_fields}
    return Harness([Findings(**own), *plugins], tools=tools, script=script, **settings)


def rows(outcome: Outcome, *kinds: str) -> list[Row]:
    """The rows of some kinds."""
    assert outcome.failures == []
    return [row for row in Findings.ledger(outcome) or [] if not kinds or row.kind in kinds]


def piece(outcome: Outcome, number: int) -> str:
    """The ledger's piece in a request, from 1."""
    system = outcome.requests[number - 1].system
    start = system.find("Ledger of findings.")
    return "" if start < 0 else system[start:].partition("\n\nResults that")[0]


def contents(outcome: Outcome, number: int) -> list[str]:
    """What the model reads of results in a request, from 1."""
    return [message.text for message in outcome.requests[number - 1].messages if message.role == "tool"]
