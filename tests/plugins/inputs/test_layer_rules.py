"""The rules of plugins, for inputs and results together: a resume reads what the live run read, and order decides nothing."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp import Agent, Pause, Record, RunResult, tool
from agentfp.plugin import Event, ExportedEvent, Plugin, hookimpl, memo_of
from agentfp.testing import ScriptedModel, StepClock, call, check_plugin
from agentfp_answer import absent, coverage
from agentfp_evidence import Evidence
from agentfp_findings import Findings
from agentfp_inputs import Assume, Choice, FromPerson, Inputs
from agentfp_inputs.ledger import Ledger
from agentfp_results import Bounds, Joined, Period, Results, period
from agentfp_results.ledger import Ledger as ResultsLedger
from tests.plugins.results.stores import NOON, NOW, read_of, span

HELD = read_of(span("06:00", "07:00"), span("00:00", "04:30"))


@tool
async def backups(
    site: str, age: Annotated[str, FromPerson("How old?", choices=[Choice("30d", said=["past month"]), "6h"]), Period("lookback")]
) -> Any:
    """Backups."""
    return absent(f"backup of {site}", checked=["the list"], not_checked=["tape"], period=HELD)


@tool(metadata=period(Joined("between"), Bounds("start", "end", edge="exclusive"), retention="60d"))
async def readings(top: Annotated[int, Assume(20)], between: str = "", start: str = "", end: str = "") -> Any:
    """Readings."""
    return coverage([top, between, start, end], checked=["east"], period=HELD)


TOOLS = [backups, readings]
SOURCES = [{"argument": "age", "source": "user", "quote": "past month"}]
SCRIPT: list[Any] = [
    [call("backups", site="A", id="c1"), call("readings", id="c2")],
    [call("backups", site="B", age="30d", _sources=SOURCES, id="c3"), call("readings", top=7, between="soon", id="c4")],
    [call("backups", site="C", age="6h", _sources=SOURCES, id="c5")],
    "Nothing is there.",
]
MESSAGE = "Backups of the past month, please."
OPTIONS = {"results": {"now": NOW, "zone": "UTC", "window": ("2027-03-04T06:00:00Z", "2027-03-04T07:00:00Z")}}


async def _read(site: str = "", age: str = "", top: int = 0) -> Any:
    """Read something."""
    return absent(f"{site} of {age}", checked=["the list"], period=HELD)


RULES = {"age": {"ask": "How old?", "choices": ["30d", "6h"]}, "top": {"assume": 20}}
DECLARED = {"inputs": RULES, "period": {"argument": "age", "spelling": "lookback"}}
MAKERS = [Inputs, lambda: Inputs(argument_sources=True), Results]


@pytest.mark.parametrize("make", MAKERS)
def test_they_keep_the_rules_of_plugins(make: Any) -> None:
    """What a tool declares in its metadata, an agent without the plugin passes over; a marker it refuses."""
    reads = [tool(_read, name=name, metadata=DECLARED) for name in ("backups", "readings")]
    other: Plugin = Results() if isinstance(make(), Inputs) else Inputs()
    check_plugin(make, tools=reads, script=SCRIPT, message=MESSAGE, others=[other])


# --- order ---


async def _run_to_the_end(plugins: list[Plugin], script: list[Any] = SCRIPT) -> tuple[RunResult[str], ScriptedModel]:
    model = ScriptedModel(script)
    agent = Agent(model, tools=TOOLS, plugins=plugins, clock=StepClock(NOON))
    result = await agent.run(MESSAGE, options=OPTIONS)
    while result.pause is not None:
        result = await agent.resume(Pause.from_json(result.pause.to_json()), {question.id: "6h" for question in result.pause.questions})
    return result, model


def _judged(result: RunResult[str]) -> Any:
    """What was found, whoever was asked first."""
    rows = sorted((str(row.call_id), row.argument, str(row.source), str(row.asked), str(row.details)) for row in Inputs.rows(result))
    verdicts = [(said.tool, said.verdict, said.differs, said.missing, said.extra) for said in Results.periods(result)]
    windows = sorted(str(event.payload) for event in result.record.events("agentfp.results.call_window"))
    texts = [message.content for message in result.history]
    noted = [sorted(message.notes) for message in result.history]
    return rows, verdicts, windows, texts, noted, result.text


def test_the_order_of_the_plugins_changes_no_verdict() -> None:
    made = {"inputs": lambda: Inputs(argument_sources=True), "results": Results, "findings": Findings, "evidence": Evidence}
    found = {}
    for order in itertools.permutations(made):
        result, _ = anyio.run(_run_to_the_end, [made[name]() for name in order])  # type: ignore[operator]
        found[order] = _judged(result)
        assert result.plugin_failures == {}
    first = next(iter(found.values()))
    for order, one in found.items():
        assert one == first, order


# --- the model's words ---


def test_no_layer_changes_the_model_s_words() -> None:
    plugins: list[Plugin] = [Inputs(argument_sources=True), Results()]
    result, model = anyio.run(_run_to_the_end, plugins)
    said = [message for message in result.history if message.role == "assistant"]
    assert said[-1].content == result.text == "Nothing is there."
    proposed = [[(one.name, one.arguments) for one in message.tool_calls] for message in said[:-1]]
    batches = [item if isinstance(item, list) else [item] for item in SCRIPT[:-1]]
    assert proposed == [[(one.name, one.arguments) for one in batch] for batch in batches]
    for request in model.requests:
        assert all(message.author in ("person", "model", "tool", "plugin:results") for message in request.messages)
    assert all(message.author in ("person", "model", "tool") for message in result.history)


# --- another process ---


def test_a_pause_goes_on_in_another_process_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    async def begin() -> RunResult[str]:
        agent = Agent(ScriptedModel(SCRIPT), tools=TOOLS, plugins=[Inputs(), Results()], clock=StepClock(NOON))
        return await agent.run(MESSAGE, options={"results": {"now": NOW, "zone": "UTC"}})

    paused = anyio.run(begin)
    assert paused.pause is not None
    (tmp_path / "pause.json").write_text(paused.pause.to_json(), encoding="utf-8")
    code = f"""
import json, pathlib
from agentfp import Agent, Pause
from agentfp.testing import ScriptedModel
from agentfp_inputs import Inputs
from agentfp_results import Results
from tests.plugins.inputs.test_layer_rules import SCRIPT, TOOLS
pause = Pause.from_json(pathlib.Path({str(tmp_path / "pause.json")!r}).read_text())
agent = Agent(ScriptedModel(SCRIPT[1:]), tools=TOOLS, plugins=[Inputs(), Results()])
result = agent.resume_sync(pause, {{question.id: "6h" for question in pause.questions}})
print(json.dumps([result.status, [row.source or row.asked for row in Inputs.rows(result) if row.argument == "age"],
                  [clock.now for clock in Results.clocks(result).values()]]))
"""
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["answered", ["missing", "answered", "model", "model"], [NOW]]


# --- sinks ---


class Sink(Plugin):
    """Takes what sinks are given that ask for no content."""

    name = "sink"

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        if event.name.startswith(("agentfp.inputs.", "agentfp.results.")):
            self._lines.append(f"{event.name} {dict(event.data)}")


@pytest.mark.anyio
async def test_sinks_see_no_value_no_quote_and_no_instant() -> None:
    sink = Sink()
    result, _ = await _run_to_the_end([Inputs(argument_sources=True), Results(), sink])
    lines = "\n".join(sink._lines)
    assert len(sink._lines) >= 12
    assert len({line.split()[0] for line in sink._lines}) >= 6
    for word in ("6h", "30d", "past month", "2027-", "the list", "tape", "backup of"):
        assert word not in lines, word
    assert result.status == "answered"


# --- damage ---

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["f1", "c1", "default", "answered", "[", '{"value": 1}']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NAMES = sorted({*Ledger().handlers, *ResultsLedger().handlers})
FIELDS = [
    "tool",
    "argument",
    "index",
    "rule",
    "source",
    "asked",
    "value",
    "claimed",
    "hidden",
    "kept",
    "reading",
    "matched",
    "fields",
    "bound",
    "key",
    "calls",
    "zone",
    "how",
    "person",
    "sent",
    "now",
    "window",
    "moment",
    "verdict",
    "plugin",
    "phase",
    "arguments",
    "questions",
    "answers",
    "id",
    "pieces",
    "digest",
    "body",
    "ran",
    "outcome",
    "result",
    "standing",
    "by",
    "origin",
    "start",
    "end",
    "kind",
    "declared",
    "checked",
    "not_checked",
    "cannot_cover",
    "said",
]
payloads = st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=8).map(lambda fields: types.SimpleNamespace(**fields))
events = st.builds(
    lambda name, payload, turn, iteration, call_id: Event(0, name, 0, 0, turn, iteration, call_id, "x", payload),
    st.sampled_from(NAMES),
    payloads,
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([None, "c1", "c2"]),
)


@given(st.lists(events, max_size=25))
@settings(max_examples=200)
def test_a_fold_never_raises_over_damaged_events(damaged: list[Event]) -> None:
    one, other = Ledger(), ResultsLedger()
    for event in damaged:
        one.take(event)
        other.take(event)


def _lines() -> list[dict[str, Any]]:
    result, _ = anyio.run(_run_to_the_end, [Inputs(argument_sources=True), Results()])
    return [json.loads(line) for line in result.record.to_lines()]


LINES = _lines()
OWN = [place for place, line in enumerate(LINES) if str(line.get("name", "")).startswith(("agentfp.inputs.", "agentfp.results."))]


@given(st.data())
@settings(max_examples=60)
def test_a_damaged_file_is_read_as_far_as_it_goes(data: st.DataObject) -> None:
    lines = json.loads(json.dumps(LINES))
    for place in data.draw(st.lists(st.sampled_from(OWN), min_size=1, max_size=4)):
        body = next(value for key, value in lines[place].items() if isinstance(value, dict))
        if body:
            body[data.draw(st.sampled_from(sorted(body)))] = data.draw(ANYTHING)
    record = Record.from_lines([json.dumps(line) for line in lines])
    Inputs.rows(record)
    Inputs.assumed(record)
    Results.periods(record)
    assert memo_of(Inputs, record) is not None


# --- a hostile model ---

arguments = st.fixed_dictionaries(
    {},
    optional={
        "site": ANYTHING,
        "age": ANYTHING,
        "top": ANYTHING,
        "between": ANYTHING,
        "_sources": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "argument": ANYTHING,
                    "source": st.sampled_from(["user", "result", "turn", "app"]),
                    "quote": ANYTHING,
                    "id": ANYTHING,
                },
            ),
            max_size=3,
        )
        | ANYTHING,
    },
)


@given(st.lists(st.tuples(st.sampled_from(["backups", "readings"]), arguments), min_size=1, max_size=4), st.booleans())
@settings(max_examples=40)
def test_a_hostile_model_is_contained(calls: list[tuple[str, dict[str, Any]]], trio: bool) -> None:
    script: list[Any] = [[call(name, **given) for name, given in calls], "Done."]
    plugins: list[Plugin] = [Inputs(argument_sources=True), Results()]
    result, _ = anyio.run(_run_to_the_end, plugins, script, backend="trio" if trio else "asyncio")
    assert result.status == "answered"
    assert result.plugin_failures == {}
    ended = result.record.events("agentfp.tool.ended")
    assert len(ended) == len(calls), "every call has its one outcome"
    for row in Inputs.rows(result):
        assert (row.source is None) != (row.asked is None)
