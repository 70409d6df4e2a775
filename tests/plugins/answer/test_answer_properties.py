"""What holds of every assessment: live, saved, resumed, masked, damaged, and in whatever order plugins are listed."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp import Agent, Pause, Record, RedactionPolicy, approve, tool
from agentfp.events import UnknownPayload
from agentfp.plugin import Event
from agentfp.testing import CountingIds, ScriptedModel, StepClock, call
from agentfp_answer import Answer, Reading, absent, assess, coverage, described_result
from agentfp_answer.covering import coverage_of, limits_text
from agentfp_answer.line import standing_line
from agentfp_answer.reading import READ
from agentfp_answer.rows import claims_of, validation_of
from agentfp_evidence import Evidence
from agentfp_findings import Findings
from tests.plugins.answer.answering import ArgumentRow, Inputs, PeriodRow, Results

WORDS = st.text('ab [](){}":,.1é\n', max_size=12)
KEYS = ["af_absent", "af_coverage", "af_semantics", "result", "checked", "what", "rows", "x"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**6) | WORDS | st.sampled_from(["[REDACTED]", "af_absent"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["af_absent", "af_coverage", "af_semantics", "result", "checked", "what", "rows", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
SHORT = st.fixed_dictionaries({"what": st.just("hall 22"), "why": WORDS.filter(str.strip), "short": st.just("hall")})
ITEMS = st.lists(st.sampled_from(["switch A", "hall 2"]) | SHORT, max_size=2)


@st.composite
def results(draw: st.DrawFn) -> Any:
    """What a tool returns: data of any form, or a declaration."""
    kind = draw(st.sampled_from(["data", "list", "absent", "coverage", "described", "text"]))
    if kind == "absent":
        return absent("a port", checked=["a"], not_checked=draw(ITEMS))
    if kind == "coverage":
        return coverage(draw(results()), checked=["a"], not_checked=draw(ITEMS))
    if kind == "described":
        return described_result(facts=[{"entity": "x", "n": draw(st.integers(0, 3))}], provenance={"measured_at": "t", "source": "s"})
    if kind == "list":
        return draw(st.lists(JSON, max_size=2))
    return draw(WORDS if kind == "text" else JSON)


ROWS = st.lists(
    st.builds(
        ArgumentRow,
        st.sampled_from(["n", "other"]),
        rule=st.sampled_from([None, "assume", "ask"]),
        source=st.sampled_from([None, "said", "default", "model", "result"]),
        failed=st.sampled_from([None, "quote-not-found", "uncheckable"]),
        value=st.sampled_from([None, "20", "REDACTED"]),
    ),
    max_size=2,
)
PERIODS = st.lists(st.builds(PeriodRow, st.just("fetch"), st.sampled_from(["covered", "not-held", "undeclared", "odd"])), max_size=2)


def agent_of(returned: list[Any], rows: Any, periods: Any, order: tuple[int, ...] = (0, 1, 2, 3, 4)) -> Agent[Any, Any]:
    """An agent whose tool gives these results in turn; a person approves each second one."""

    @tool(approval=lambda ctx, args: args["n"] % 2 == 1)
    async def fetch(n: int) -> Any:
        """Fetch."""
        return returned[n]

    plugins = [
        Answer(limits_travel=True, standing_line=True),
        Inputs(before=tuple(rows)),
        Results(after=tuple(periods)),
        Evidence(),
        Findings(),
    ]
    script = [*[call("fetch", id=f"c{n}", n=n) for n in range(len(returned))], "Port 4711 of hall 2."]
    model = ScriptedModel(script)
    return Agent(model, tools=[fetch], plugins=[plugins[i] for i in order], clock=StepClock(), ids=CountingIds(), repeated_call_note=False)


def finished(agent: Agent[Any, Any], *, anew: Any = None) -> tuple[Any, Agent[Any, Any]]:
    """The result of a run whose questions are all answered; ``anew`` makes the agent of the process that goes on."""
    result = agent.run_sync("Go.")
    while result.paused:
        assessment, pause = Answer.assessment(result), result.pause
        assert assessment is not None
        assert pause is not None
        assert "asked" in assessment.kinds
        assert assessment.standing == "ask" or assessment.kept_out  # the tool itself may have said that it was masked
        if anew is None:
            result = agent.resume_sync(pause, approve())
        else:
            text = pause.to_json()
            agent = anew()
            result = agent.resume_sync(Pause.from_json(text), approve())
    return result, agent


def of_record(record: Record) -> Any:
    return Answer.assessment(record), Answer.coverage(record)


@settings(max_examples=25)
@given(st.lists(results(), min_size=1, max_size=3), ROWS, PERIODS)
def test_an_assessment_is_the_same_live_saved_and_resumed(returned: Any, rows: Any, periods: Any) -> None:
    result, _ = finished(agent_of(returned, rows, periods))
    live = of_record(result.record)
    assert live[0] is not None
    assert Answer.assessment(result) == live[0]
    assert of_record(Record.from_lines(result.record.to_lines())) == live
    twin, _ = finished(agent_of(returned, rows, periods), anew=lambda: agent_of_rest(returned, rows, periods))
    assert of_record(twin.record) == live
    assert result.text.startswith("Port 4711 of hall 2.")
    (event,) = result.record.events("agentfp.answer.assessed")
    assert (event.payload.standing, event.payload.reasons) == (live[0].standing, live[0].kinds)


def agent_of_rest(returned: list[Any], rows: Any, periods: Any) -> Agent[Any, Any]:
    """The same agent in another process: its model goes on where the conversation is."""
    agent = agent_of(returned, rows, periods)

    def reply(request: Any) -> Any:
        done = sum(message.role == "tool" for message in request.messages)
        return call("fetch", id=f"c{done}", n=done) if done < len(returned) else "Port 4711 of hall 2."

    return agent.replace(model=ScriptedModel([reply] * (len(returned) + 1)))


POLICIES = st.builds(
    RedactionPolicy,
    keys=st.lists(st.sampled_from(["af_coverage", "result", "what", "rows", "x", "facts", "af_envelopes", "n"]), max_size=2),
    patterns=st.lists(st.sampled_from([r"\[\]", r"\d+", "switch", r'"checked":', "a", r"\{", "note", r'"af_\w+"']), min_size=1, max_size=2),
) | st.just(RedactionPolicy(content=True))


@settings(max_examples=60)
@given(st.lists(results(), min_size=1, max_size=2), ROWS, PERIODS, POLICIES)
def test_a_masked_copy_gives_the_same_or_says_what_was_kept_out(returned: Any, rows: Any, periods: Any, policy: RedactionPolicy) -> None:
    result, _ = finished(agent_of(returned, rows, periods))
    live = Answer.assessment(result)
    masked = Answer.assessment(Record.from_lines(result.record.to_lines(policy=policy)))
    assert live is not None
    assert masked is not None
    assert masked == live or masked.kept_out
    assert not masked.kept_out or masked.standing == "not-assessed"


ODD_WORDS = ["checked-fail", "default", "model", "asked", "paused", "failed", "[REDACTED]"]
ODD_KEYS = ["plugin", "tool", "key", "disposition", "id", "refs", "x"]
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(ODD_WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(ODD_KEYS), inner, max_size=3),
    max_leaves=6,
)
NAMES = """argument rule source asked failed reading set_aside verdict differs witnesses unsupported supported action status checks mode
    field disposition advisory earlier fact questions rows_at minted result outcome ran content private tool tool_calls arguments"""
FIELDS = st.dictionaries(st.sampled_from(NAMES.split()), ODD, max_size=6)
EVENTS = st.lists(st.tuples(st.sampled_from(READ), FIELDS | ODD, st.none() | st.sampled_from(["c1", "[REDACTED]", ""])), max_size=12)


class Odd:
    """A payload with any fields at all."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)


@given(EVENTS, st.booleans())
def test_a_damaged_record_raises_nothing(events: Any, raw: bool) -> None:
    reading = Reading()
    for seq, (name, fields, call_id) in enumerate(events):
        payload: Any = UnknownPayload(json.dumps(fields)) if raw or not isinstance(fields, dict) else Odd(fields)
        reading = reading.fold(Event(seq, name, 0, 0, 1, 1, call_id, "kernel", payload))
    found = assess(reading)
    assert found.standing in ("known", "consistent", "not-sure", "ask", "not-assessed")
    covered = coverage_of(reading)
    assert isinstance(limits_text(covered), str)
    assert standing_line(found, covered.assumed).endswith(".")
    claims_of(reading)
    validation_of(reading)
    json.dumps([found.to_json(), covered.to_json()])


def test_no_order_of_plugins_changes_an_assessment() -> None:
    returned = [coverage([{"port": 3}], checked=["a"], not_checked=["b"]), [], "prose"]
    rows, periods = [ArgumentRow("n", rule="assume", source="default", value="0")], [PeriodRow("fetch", "unknown")]
    found = set()
    for order in list(itertools.permutations(range(5)))[::5]:
        result, _ = finished(agent_of(returned, rows, periods, order))
        assessment = Answer.assessment(result)
        assert assessment is not None
        checked = tuple((check.check, check.ran, check.of) for check in assessment.checked)
        found.add((assessment.standing, assessment.kinds, checked, result.text))
    assert len(found) == 1


@pytest.mark.parametrize("name", READ)
def test_every_event_that_is_read_may_be_empty(name: str) -> None:
    assess(Reading().fold(Event(0, name, 0, 0, 1, 1, None, "kernel", UnknownPayload("{}"))))
