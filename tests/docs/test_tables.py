"""Tables of the guide that list names say what the code says: nothing is missing and nothing is made up."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from agentfp import Agent, Limits, RefusedError, Run, ToolContext
from agentfp.plugin import PHASES, Plugin, Registry, RequestDraft
from agentfp.testing import check_plugin
from agentfp_core.cli.app import BUILT_IN
from agentfp_core.cli.exits import MEANINGS
from agentfp_core.cli.extension import NOT_INSTALLED
from agentfp_core.config.tables import AgentTable
from agentfp_core.events.tool import Outcome
from agentfp_core.hookspecs import ARGUMENTS, MOMENTS, ON_ERROR
from agentfp_core.starting import CallOptions
from agentfp_core.testing import pytest_plugin
from agentfp_core.tools import ToolOptions
from agentfp_core.verdicts import ALLOWED
from tests.docs.blocks import names_in, pages, tables_of

ROOT = Path(__file__).resolve().parents[2]
TABLES = {label: (path.name, rows) for path in pages(ROOT) for label, rows in tables_of(path.read_text(encoding="utf-8")).items()}


class Quiet(Plugin):
    """Does nothing."""

    name = "quiet"


def _public(cls: type[Any], *, without: str = "") -> set[str]:
    return {name for name in vars(cls) if not name.startswith("_")} - set(without.split())


def _fixtures() -> set[str]:
    return {name for name, value in vars(pytest_plugin).items() if type(value).__name__ == "FixtureFunctionDefinition"}


def _refusals() -> set[str]:
    """What can keep a pause from being resumed; refusals of new messages have a page of their own."""
    others = {"RunInFlightError", "PendingQuestionError", "NoConversationError"}
    return {kind.__name__ for kind in RefusedError.__subclasses__()} - others


NAMES: dict[str, Callable[[], set[str]]] = {
    "Limits": lambda: {field.name for field in dataclasses.fields(Limits)},
    "CallOptions": lambda: {field.name for field in dataclasses.fields(CallOptions)} - {"push", "opened"},
    "Agent": lambda: set(inspect.signature(Agent).parameters),
    "ToolContext": lambda: _public(ToolContext),
    "Outcome": lambda: set(get_args(Outcome)),
    "ToolOptions": lambda: set(ToolOptions.__annotations__),
    "RefusedError": _refusals,
    "AgentTable": lambda: set(AgentTable.model_fields),
    "fixtures": _fixtures,
    "checks": lambda: set(check_plugin(Quiet).checks),
    "commands": lambda: {*BUILT_IN, *NOT_INSTALLED},
    "RequestDraft": lambda: _public(RequestDraft, without="call messages tools pieces model"),
    "Registry": lambda: (_public(Registry) | {"name", "output_type", "limits"}) - {"take_tools", "run_hooks", "check"},
    "Run": lambda: {
        *("emit", "memo", "scratch", "cache", "options", "call_model", "bill", "price_of", "request_stop", "mask_value", "text_mask")
    },
}
"""For each label, the names that the first cells of its table must hold."""


@pytest.mark.parametrize("label", NAMES)
def test_a_table_of_names_is_complete(label: str) -> None:
    page, rows = TABLES[label]
    listed = [re.split(r"[(\s]", name.removeprefix("agent.").removeprefix("run."))[0] for row in rows for name in names_in(row[0])]
    assert sorted(listed) == sorted(NAMES[label]()), page


def test_every_marked_table_is_checked() -> None:
    assert set(TABLES) == {*NAMES, "moments", "phases", "exits"}


def test_what_a_hook_may_do_is_there() -> None:
    assert all(callable(getattr(Run, name)) for name in NAMES["Run"]())


def test_the_moments() -> None:
    rows = {names_in(row[0])[0]: row for row in TABLES["moments"][1]}
    assert list(rows) == list(MOMENTS)
    for moment, row in rows.items():
        assert tuple(names_in(row[1])) == ARGUMENTS[moment, "call"]
        assert set(names_in(row[3])) == {verdict.__name__ for verdict in ALLOWED[moment]}


def test_the_phases_and_what_becomes_of_a_hook_that_raises() -> None:
    listed = [(names_in(row[0])[0], names_in(row[1])[0], " ".join(names_in(row[3]))) for row in TABLES["phases"][1]]
    kernel = {("before_tool", "validate"), ("after_result", "cap"), ("assess_answer", "schema")}
    wanted = [
        (moment, phase, "" if (moment, phase) in kernel else ON_ERROR[moment, phase]) for moment in PHASES for phase in PHASES[moment]
    ]
    assert listed == wanted


def test_the_exit_codes() -> None:
    assert {int(names_in(row[0])[0]): row[1] for row in TABLES["exits"][1]} == {int(code): text for code, text in MEANINGS.items()}
