"""What the tests of answers share: tools that give what they are told to, and plugins that file the rows of other layers."""

from __future__ import annotations

from typing import Any

import pydantic

from agentfp import tool
from agentfp.plugin import AnswerDraft, CallView, Content, Name, Number, Payload, Plugin, Run, event, hookimpl, part
from agentfp.testing import Harness, Outcome
from agentfp_answer import Answer, Assessment, absent, coverage


@event("agentfp.inputs.argument")
class ArgumentRow(Payload):
    """A row of the layer over arguments, with the fields that are read."""

    argument: Name[str]
    rule: Name[str | None] = None
    period: Number[bool | None] = None
    source: Name[str | None] = None
    asked: Name[str | None] = None
    claimed: Name[str | None] = None
    matched: Name[str | None] = None
    failed: Name[str | None] = None
    reading: Number[bool | None] = None
    set_aside: Name[str | None] = None
    value: Content[str | None] = None
    proposed: Content[str | None] = None


@event("agentfp.inputs.rewritten")
class RewrittenRow(Payload):
    """A judged argument was changed."""

    tool: Name[str]
    argument: Name[str]
    by: Name[str]
    origin: Name[str | None] = None


@part
class FactPart:
    """A fact, as the layer over results files it."""

    entity: Content[str]
    field: Content[str]
    value: Content[str]


@event("agentfp.results.facts")
class FactsRow(Payload):
    """Facts of a described result."""

    tool: Name[str]
    facts: tuple[FactPart, ...] = ()


@event("agentfp.results.period")
class PeriodRow(Payload):
    """A row of the layer over results."""

    tool: Name[str]
    verdict: Name[str]
    argument: Name[str | None] = None
    differs: Number[bool | None] = None
    beyond_retention: Number[bool | None] = None


@event("agentfp.time.derived")
class DerivedRow(Payload):
    """A time was derived from a reading."""

    of: Name[str]


@event("agentfp.skills.steps_unfinished")
class StepsRow(Payload):
    """Steps were left out."""

    skill: Name[str]
    action: Name[str]


@event("agentfp.findings.contingent")
class ContingentRow(Payload):
    """A value of a set-aside result was used."""

    declared_on: Name[str]


@event("agentfp.findings.conflict")
class ConflictRow(Payload):
    """Results contradict each other."""

    witnesses: Content[tuple[str, ...]]


class Layer(Plugin):
    """Files rows for a tool's calls, before they run or with the results, as another layer does."""

    class Settings(Plugin.Settings):
        before: tuple[Any, ...] = ()
        after: tuple[Any, ...] = ()
        answer: tuple[Any, ...] = ()

    @property
    def may_change_answers(self) -> bool:
        return False

    @hookimpl(phase="fill")
    def before_tool(self, call: CallView, run: Run[Any]) -> None:
        for row in self.settings.before:
            run.emit(row, call_id=call.id)

    @hookimpl(phase="note")
    def after_result(self, call: CallView, run: Run[Any]) -> None:
        for row in self.settings.after:
            run.emit(row, call_id=call.id)

    @hookimpl(phase="procedure")
    def assess_answer(self, draft: AnswerDraft, run: Run[Any]) -> None:
        for row in self.settings.answer:
            run.emit(row)


class Inputs(Layer):
    """Stands in for the layer over arguments, which is another distribution."""

    name = "inputs"
    events = (ArgumentRow, RewrittenRow)


class Results(Layer):
    """Stands in for the layer over results."""

    name = "results"
    events = (PeriodRow, FactsRow)


class Others(Layer):
    """Stands in for the layers that are other distributions, the ledger of findings among them."""

    name = "others"
    events = (PeriodRow, DerivedRow, StepsRow, ContingentRow, ConflictRow)


@tool
async def find(what: str = "rows") -> Any:
    """Find things."""
    if what == "nothing":
        return absent("a port of this name", checked=["the register"])
    if what == "gap":
        return coverage([{"port": 3}], checked=["switch A"], not_checked=[{"what": "switch B", "why": "it is down"}])
    if what == "covered":
        return coverage([{"port": 3}], checked=["switch A"])
    if what == "covered-empty":
        return coverage([], checked=["switch A"])
    return {"empty": [], "rows": [{"port": 3}], "keyed": {"rows": []}, "prose": "[all] is well"}.get(what, what)


class Report(pydantic.BaseModel):
    """A typed answer."""

    open_tickets: Any = None
    screen: str | None = None


def harness(*script: Any, plugins: Any = (), tools: Any = (find,), output_type: Any = str, **settings: Any) -> Harness:
    """A harness with the plugin on."""
    return Harness([*plugins, Answer(**settings)], tools=tools, script=script, output_type=output_type)


def assessed(outcome: Outcome, **more: Any) -> Assessment:
    """The assessment of an outcome without failed hooks."""
    assert outcome.failures == []
    found = Answer.assessment(outcome, **more)
    assert found is not None
    return found


def checks(found: Assessment) -> dict[str, tuple[int, int]]:
    """The checks that ran."""
    return {check.check: (check.ran, check.of) for check in found.checked}
