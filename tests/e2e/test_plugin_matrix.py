"""Every plugin of the checkout on and off in one scripted conversation: each alone, all pairs, all together, in both orders.

The plugins are found by their entry points. A plugin that is off leaves no trace; two that are on leave what each leaves alone; and
verdicts fall in the documented order of phases, within a phase in the order of the list. Clients of AWS are played here; that real
ones get what they should is tested with those plugins.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from opentelemetry.sdk.trace import TracerProvider

from agentfp import Agent, RunResult, ToolError, approve, tool
from agentfp.plugin import Plugin
from agentfp.testing import ScriptedModel, call
from agentfp_answer import coverage
from agentfp_core.entrypoints import PLUGINS_GROUP, find, load
from agentfp_inputs import FromPerson
from scripts.workshop import distributions, pyproject

ANSWER = "Item 2 costs 149.50 EUR, and order Z-81 is placed. What item 9 costs is not known."
QUESTION = "What do items 2 and 9 cost? Order item 2."


@tool
def price(item: int) -> dict[str, Any]:
    """The price of an item."""
    if item == 9:
        raise ToolError("no such item")
    return {"item": item, "price_eur": 149.5}


@tool
def manual(item: int) -> str:
    """The manual of an item, which is long."""
    return f"Manual of item {item}. " + "Turn the screw, then turn it back. " * 400


@tool(approval=True, mutating=True)
def order(item: int) -> dict[str, str]:
    """Order an item."""
    return {"order": "Z-81"}


class Aws:
    """In the place of a client of boto3: takes everything."""

    def put_log_events(self, **_arguments: Any) -> dict[str, Any]:
        return {}

    def put_trace_segments(self, **_arguments: Any) -> dict[str, Any]:
        return {}


def settings_of(name: str, folder: Path) -> dict[str, Any]:
    """What a plugin cannot do without, and where it may write."""
    given: dict[str, dict[str, Any]] = {
        "agentcore": {"log_group": "g", "client": Aws(), "strict": False, "tracer_provider": TracerProvider(shutdown_on_exit=False)},
        "artifacts": {"max_inline_chars": 2000},
        "audit": {"path": folder / "audit.jsonl"},
        "cloudwatch": {"log_group": "g", "client": Aws()},
        "event_file": {"path": folder / "events.jsonl"},
        "event_log": {"logger": logging.Logger("matrix")},  # noqa: LOG001 - of its own, under no other
        "otel": {"tracer_provider": TracerProvider(shutdown_on_exit=False), "metrics": False},
        "permissions": {"roles": {"all": ["*"]}, "active_role": "all"},
        "recording": {"folder": folder / "recordings"},
        "status_line": {"on_line": lambda _line, _status, _run_id: None},
        "xray": {"client": Aws()},
    }
    return given.get(name, {})


CLASSES: dict[str, Any] = {name: load(entry) for name, entry in sorted(find(PLUGINS_GROUP).items())}
NAMES = tuple(CLASSES)


KERNELS = {"agentfp.context.blob", "agentfp.context.budget_pressure", "agentfp.plugin.slow", "agentfp.hook.verdict"}
"""Events of the kernel that depend on what plugins add to a request or decide, or on how busy the machine is."""


class Outcome:
    """What one conversation left behind.

    Args:
        result: of the leg that answered.
        model: which saw the requests.
    """

    def __init__(self, result: RunResult[Any], model: ScriptedModel) -> None:
        self.result, self.requests = result, model.requests
        events = list(result.record.events())
        self.failed = [event.payload for event in events if event.name == "agentfp.plugin.failed"]
        self.verdicts: list[Any] = [event.payload for event in events if event.name == "agentfp.hook.verdict"]
        self.events = Counter((event.source, event.name) for event in events if event.name not in KERNELS)
        self.tools = {offered.name for request in self.requests for offered in request.tools}
        served: list[Any] = [event.payload for event in events if event.name == "agentfp.context.served"]
        self.touched = {part.plugin for payload in served for part in (*(payload.pieces or ()), *(payload.edits or ()))}

    def of(self, *sources: str) -> Counter[tuple[str, str]]:
        """Events that these filed: the kernel, or a plugin."""
        return Counter({key: number for key, number in self.events.items() if key[0] in sources})


async def converse(on: Iterable[str], folder: Path) -> Outcome:
    """The conversation, with these plugins on in this order."""
    plugins: list[Plugin] = [CLASSES[name](**settings_of(name, folder)) for name in on]
    model = ScriptedModel([[call("price", item=2), call("price", item=9), call("manual", item=2)], call("order", item=2), ANSWER])
    agent = Agent(model, tools=[price, manual, order], plugins=plugins, name="desk", instructions="You sell tools.")
    paused = await agent.run(QUESTION)
    assert paused.pause is not None, paused.status
    result = await agent.resume(paused.pause, {question.id: approve(by="ann") for question in paused.pause.questions})
    await agent.shutdown()
    return Outcome(result, model)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Outcome]:
    """Conversations by who was on; each is held once."""

    @cache
    def outcome(*on: str) -> Outcome:
        return anyio.run(converse, on, tmp_path_factory.mktemp("matrix"))

    return outcome


def sets() -> list[tuple[str, ...]]:
    """Each alone, all pairs, all together in both orders."""
    return [*((name,) for name in NAMES), *itertools.combinations(NAMES, 2), NAMES, NAMES[::-1]]


def test_all_plugins_of_the_checkout_are_here() -> None:
    projects = [pyproject(folder)["project"] for folder in distributions()]
    assert {name for project in projects for name in project.get("entry-points", {}).get(PLUGINS_GROUP, {})} == set(NAMES)


@pytest.mark.parametrize("on", sets(), ids=lambda on: "+".join(on) if len(on) < 3 else f"all, {on[0]} first")
def test_nothing_fails_and_what_is_off_is_absent(on: tuple[str, ...], outcomes: Callable[..., Outcome]) -> None:
    outcome, none = outcomes(*on), outcomes()
    assert outcome.failed == []
    assert (outcome.result.status, outcome.result.text) == ("answered", ANSWER)
    assert {source for source, _ in outcome.events} <= {"kernel", *on}
    assert {verdict.plugin for verdict in outcome.verdicts} <= {"kernel", *on}
    assert outcome.touched <= {"kernel", *on}
    assert outcome.of("kernel") == none.of("kernel")
    assert outcome.tools == none.tools.union(*(outcomes(name).tools for name in on))
    for name in on:
        assert outcome.of(name) == outcomes(name).of(name), "it files what it files alone"
    if all(outcomes(name).requests == none.requests for name in on):
        assert outcome.requests == none.requests, "plugins that only watch change no request, together either"


# --- the order of verdicts --------------------------------------------------------------------------------------------------


@tool
def stock(item: int) -> object:
    """How many of an item there are."""
    return coverage([{"item": item, "left": 3}], checked=["the shop"], not_checked=[{"what": "the warehouse", "why": "it is closed"}])


@tool
def book(desk: Annotated[str, FromPerson("Which desk?", choices=["north", "south"])]) -> dict[str, str]:
    """Book a desk."""
    return {"desk": desk, "booking": "B-17"}


@tool
def wipe(item: int) -> str:
    """Take an item out of the shop."""
    return "gone"


ORDER = [
    ("before_tool", "screen", "permissions", "Deny"),
    ("before_tool", "fill", "inputs", "Allow"),
    ("before_tool", "consent", "kernel", "Allow"),
    ("after_result", "place", "artifacts", "Replace"),
    ("after_result", "note", "inputs", "Note"),
    ("assess_answer", "evidence", "evidence", "Revise"),
    ("assess_answer", "append", "answer", "Replace"),
]
"""By moment and phase, whatever the order of the list."""


async def decide(names: Sequence[str], folder: Path) -> Outcome:
    """A conversation in which six of them have something to say."""
    own: dict[str, dict[str, Any]] = {
        "answer": {"limits_travel": True},
        "evidence": {"on_unsupported": "revise"},
        "permissions": {"roles": {"seller": ["stock", "book", "order", "manual", "present", "read_artifact"]}, "active_role": "seller"},
    }
    plugins = [CLASSES[name](**{**settings_of(name, folder), **own.get(name, {})}) for name in names]
    calls = [call("wipe", item=2), call("book"), call("order", item=2), call("manual", item=2), call("stock", item=2)]
    model = ScriptedModel([calls, "Booking B-18 is made.", "Booking B-17 is made."])
    agent = Agent(model, tools=[stock, book, order, manual, wipe], plugins=plugins, name="desk")
    result = await agent.run("Book a desk, order item 2 and take it out of the shop.")
    while result.pause is not None:
        answers = {one.id: approve(by="ann") if one.kind == "decision" else "north" for one in result.pause.questions}
        result = await agent.resume(result.pause, answers)
    await agent.shutdown()
    return Outcome(result, model)


@pytest.mark.parametrize("turned", range(0, len(NAMES), 3))
@pytest.mark.parametrize("step", [1, -1])
def test_verdicts_fall_in_the_documented_order(turned: int, step: int, tmp_path: Path) -> None:
    outcome = anyio.run(decide, (NAMES[turned:] + NAMES[:turned])[::step], tmp_path)
    assert outcome.failed == []
    assert [(one.moment, one.phase, one.plugin, one.verdict) for one in outcome.verdicts] == ORDER
    assert outcome.result.text.startswith("Booking B-17 is made.\n")
    assert "the warehouse" in outcome.result.text
