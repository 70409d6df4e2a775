"""The clock of a run: where now and zone come from, what stands still, and what a tool and the model read of it."""

from __future__ import annotations

import datetime
import json
from typing import Annotated, Any

import pytest

from agentfp import Agent, AskField, CapabilityMissingError, ConfigError, ToolContext, approve, request_input, tool
from agentfp.events import ToolEnded
from agentfp.testing import ScriptedModel, StepClock, call
from agentfp_answer import coverage
from agentfp_results import Bounds, Joined, Lookback, Period, Results, period
from agentfp_results.events import CallWindow, Clock, ClockOnResume, Dispatched
from tests.plugins.results.stores import NOON, NOW, agent, notes, read_of, results, stored, verdicts

pytestmark = pytest.mark.anyio


@tool
async def what_time(ctx: ToolContext[Any]) -> dict[str, Any]:
    """Tell the time."""
    time = ctx.time
    return {"now": time.now.isoformat(), "zone": time.zone, "unknown": time.zone_unknown, "from": time.now_source}


@tool
async def local_log(window: Annotated[str, Period("wall-range")]) -> str:
    """Read a log."""
    return f"log of {window}"


@tool(metadata=period(Bounds("start", "end", as_="wall", edge="exclusive", zone="tz")))
async def zoned_log(start: str = "", end: str = "", tz: str = "") -> str:
    """Read a log."""
    return f"log from {start} to {end} in {tz}"


WALL = "2027-03-04T09:15..2027-03-04T11:00"


def time_of(result: Any) -> dict[str, Any]:
    return dict(json.loads(results(result)[-1]))


async def test_the_clock_is_what_the_caller_says() -> None:
    model = ScriptedModel([call("what_time"), "Done."])
    result = await agent(model, [what_time]).run("Time?", options={"results": {"now": "2030-06-01T10:15:00Z", "zone": "Europe/Paris"}})
    assert time_of(result) == {"now": "2030-06-01T12:15:00+02:00", "zone": "Europe/Paris", "unknown": False, "from": "app"}
    last = model.requests[0].messages[-1]
    assert last.text == "[note from the library, not from the person] It is Saturday 2030-06-01 12:15 in Europe/Paris."
    assert model.requests[1].messages[-1].text == last.text
    assert len(result.record.of(Clock)) == 1
    assert "library" not in "".join(message.text for message in result.history)


async def test_without_a_zone_there_is_only_utc() -> None:
    model = ScriptedModel([call("what_time"), "Done."])
    result = await agent(model, [what_time]).run("Time?")
    assert time_of(result)["unknown"] is True
    assert time_of(result)["now"].startswith("2027-03-04T12:00:00")
    assert "in UTC; the person's time zone is not known" in model.requests[0].messages[-1].text
    (clock,) = result.record.of(Clock)
    assert (clock.zone, clock.zone_source, clock.now_source) == (None, "unknown", "default")


async def test_a_run_s_zone_goes_before_the_settings_one() -> None:
    for options, zone, source in (({}, "Asia/Tokyo", "settings"), ({"zone": "UTC"}, "UTC", "run")):
        result = await agent(["Done."], [], zone="Asia/Tokyo").run("Hello", options={"results": options})
        (clock,) = result.record.of(Clock)
        assert (clock.zone, clock.zone_source) == (zone, source)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"now": datetime.datetime(2026, 5, 1)}, "a datetime needs a time zone"),  # noqa: DTZ001
        ({"now": "2026-05-01T10:00:00"}, "an instant with a zone"),
        ({"zone": "CET+1"}, "an IANA name"),
        ({"zone": "PST"}, "an IANA name"),
        ({"tz": "Europe/Paris"}, "no setting 'tz'"),
        ({"window": ("2027-03-04T10:00:00Z", "2027-03-04T09:00:00Z")}, "before its end"),
        ({"window": {"from": "2027-03-04T10:00:00Z", "until": "2027-03-04T11:00:00Z"}}, "no key 'until'"),
    ],
)
async def test_a_time_that_is_none_is_refused_by_name(options: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        await agent(["Done."], []).run("Hello", options={"results": options})


def test_a_zone_of_the_settings_is_checked_too() -> None:
    with pytest.raises(ConfigError, match=r"'zone'.*IANA"):
        Results(zone="+05:30")


async def test_the_zone_is_asked_for_where_a_call_needs_it_and_the_clock_has_it_from_the_next_turn_on() -> None:
    model = ScriptedModel([[call("local_log", window=WALL), call("what_time")], "Done.", call("what_time"), "Done."])
    asking = agent(model, [local_log, what_time])
    result = await asking.run("The log of this morning.")
    assert result.paused
    (question,) = result.pause.questions  # type: ignore[union-attr]
    assert (question.prompt, question.tool) == ("Which time zone are you in? Please give a name such as Europe/Paris.", "local_log")
    result = await asking.resume(stored(result), "PST")
    assert result.pause is not None
    assert "no time zone that is known here" in result.pause.questions[0].prompt
    result = await asking.resume(stored(result), "Europe/Paris")
    assert results(result)[0] == f"log of {WALL}"
    assert (time_of(result)["zone"], time_of(result)["unknown"]) == ("Europe/Paris", False), "the call that asked, and those with it"
    sent = result.record.of(CallWindow)[0].sent
    assert sent is not None
    assert sent.start == "2027-03-04T08:15:00Z"
    assert [clock.zone_source for clock in result.record.of(Clock)] == ["unknown"]

    after = agent([call("what_time"), "Done."], [what_time])
    result = await after.run("And now?", history=result.history)
    assert [clock.zone_source for clock in Results.clocks(result).values()] == ["unknown", "answered"]
    assert time_of(result)["zone"] == "Europe/Paris"


async def test_three_answers_that_are_no_zone_refuse_the_call() -> None:
    asking = agent([call("local_log", window=WALL), "Done."], [local_log])
    result = await asking.run("The log.")
    for wrong in ("PST", "CET+1", "here"):
        assert result.paused
        result = await asking.resume(stored(result), wrong)
    assert result.status == "answered"
    assert "named none that is known" in results(result)[0]


async def test_the_zone_goes_into_the_argument_that_takes_it() -> None:
    script = [call("zoned_log", start="2027-03-04T09:15", end="2027-03-04T11:00"), "Done."]
    result = await agent(script, [zoned_log], zone="Europe/Paris").run("The log.")
    assert results(result) == ["log from 2027-03-04T09:15 to 2027-03-04T11:00 in Europe/Paris"]
    asking = agent(script, [zoned_log])
    result = await asking.resume(stored(await asking.run("The log.")), "Asia/Tokyo")
    assert results(result) == ["log from 2027-03-04T09:15 to 2027-03-04T11:00 in Asia/Tokyo"]
    kept = [call("zoned_log", start="2027-03-04T09:15", end="2027-03-04T11:00", tz="UTC"), "Done."]
    assert results(await agent(kept, [zoned_log]).run("The log."))[0].endswith("in UTC")


async def test_a_time_that_the_zone_skips_is_refused() -> None:
    script = [call("local_log", window="2027-03-28T02:30..2027-03-28T04:00"), "Done."]
    result = await agent(script, [local_log], zone="Europe/Paris").run("The log.")
    assert results(result) == ["window of local_log: the clocks of the zone skip that time (dst-gap). The call did not run."]


# --- a window -------------------------------------------------------------------------------------------------------------

WINDOW = {"from": "2027-03-04T11:00:00Z", "to": NOW}
FORMS = period(Lookback("back"), Joined("between"), granularity="1m")


@tool(metadata=FORMS)
async def readings(back: str = "", between: str = "") -> str:
    """Readings."""
    return back or between or "all"


def timed(**more: Any) -> dict[str, Any]:
    return {"results": {"now": NOW, "zone": "UTC", **more}}


async def test_the_period_that_the_person_set_goes_into_a_call_that_says_none() -> None:
    model = ScriptedModel([call("readings"), "Done."])
    result = await agent(model, [readings]).run("Readings, please.", options=timed(window=WINDOW))
    assert results(result) == ["1h"]
    (said,) = result.record.of(CallWindow)
    assert (said.how, said.form, said.argument, said.by) == ("filled", "lookback", "back", "control")
    assert "On the screen, the person has set the period from 2027-03-04T11:00:00Z" in model.requests[0].messages[-1].text


@pytest.mark.parametrize(
    ("arguments", "window", "how", "why"),
    [
        ({}, None, "not-filled", "no-window"),
        ({"back": "1h"}, WINDOW, "bound", None),
        ({"back": "2h"}, WINDOW, "model-chosen", None),
        ({"back": "2h"}, None, "model", None),
        ({"back": "a while"}, WINDOW, "unread", None),
    ],
)
async def test_a_period_that_is_sent_is_never_overwritten(arguments: Any, window: Any, how: str, why: str | None) -> None:
    result = await agent([call("readings", **arguments), "Done."], [readings]).run("Go", options=timed(window=window))
    (said,) = result.record.of(CallWindow)
    assert (said.how, said.why) == (how, why)
    assert results(result) == [arguments.get("back", "all")]


async def test_a_period_beyond_what_the_tool_keeps_refuses_the_call() -> None:
    @tool(metadata=period(Joined("between"), retention="5d"))
    async def kept(between: str = "") -> str:
        """Readings."""
        return between

    old = ("2027-01-01T00:00:00Z", "2027-01-02T00:00:00Z")
    result = await agent([call("kept"), "Done."], [kept]).run("Go", options=timed(window=old))
    assert results(result) == ["between of kept: the period is older than what this tool keeps (beyond-retention). The call did not run."]
    (said,) = result.record.of(CallWindow)
    assert (said.how, said.refused) == ("refused", "beyond-retention")
    assert verdicts(result) == []


async def test_what_was_read_is_compared_with_what_was_asked_for() -> None:
    days = ("2027-02-18T12:00:00Z", NOW)
    queried = {"from": "2027-02-27T12:00:00Z", "to": "2027-03-04T11:59:59.999Z"}

    @tool(metadata=period(Joined("between", edge="exclusive")))
    async def store(between: str = "") -> Any:
        """Readings."""
        return coverage([1], period=read_of(queried, {"from": "2027-02-27T12:00:00Z", "to": NOW}))

    result = await agent([call("store"), "Done."], [store]).run("Two weeks.", options=timed(window=days))
    (said,) = Results.periods(result)
    assert (said.verdict, said.differs) == ("covered", True)
    assert [(piece.start, piece.end) for piece in said.missing] == [("2027-02-18T12:00:00Z", "2027-02-27T12:00:00Z")]
    assert said.extra == ()
    assert "It did not read 2027-02-18T12:00:00Z to 2027-02-27T12:00:00Z." in notes(result)[0]


async def test_a_wider_period_reads_more_unless_the_tool_trims_it() -> None:
    window = ("2027-03-03T09:00:00Z", "2027-03-03T10:00:00Z")
    for trims in (False, True):

        @tool(metadata=period(Lookback("back", units="h"), filters_to_asked=trims))
        async def wide(back: str = "") -> str:
            """Readings."""
            return back

        result = await agent([call("wide"), "Done."], [wide]).run("Go", options=timed(window=window))
        assert results(result) == ["27h"]
        (said,) = Results.periods(result)
        assert said.differs != trims
        assert [(piece.start, piece.end) for piece in said.extra] == ([] if trims else [("2027-03-03T10:00:00Z", NOW)])


async def test_a_look_back_that_starts_with_the_next_reading_is_the_same() -> None:
    queried = {"from": "2027-03-04T11:00:30Z", "to": "2027-03-04T11:59:30Z"}

    @tool(metadata=period(Lookback("back"), granularity="1m"))
    async def store(back: str = "") -> Any:
        """Readings."""
        return coverage([1], period=read_of(queried, "unknown"))

    result = await agent([call("store", back="1h"), "Done."], [store]).run("Go", options=timed())
    assert Results.periods(result)[0].differs is False


@tool(metadata=FORMS, approval=True)
async def careful_readings(back: str = "", between: str = "") -> str:
    """Readings."""
    return f"{back or between}"


@pytest.mark.parametrize(
    ("arguments", "sent", "outcome"),
    [({}, "2027-03-04T11:00:00Z..2027-03-04T11:59:59Z", "redrawn"), ({"back": "1h"}, "1h", "shifted")],
)
async def test_a_look_back_that_waited_is_said_anew_or_said_to_be_late(arguments: Any, sent: str, outcome: str) -> None:
    asking = agent([call("careful_readings", **arguments), "Done."], [careful_readings])
    result = await asking.run("Go", options=timed(window=WINDOW))
    later = agent(["Done."], [careful_readings], clock=StepClock(NOON + datetime.timedelta(minutes=45)))
    moved = {"results": {"now": "2027-03-04T12:45:00Z"}}
    result = await later.resume(stored(result), approve(), options=moved)
    assert results(result) == [sent]
    (late,) = result.record.of(Dispatched)
    assert (late.outcome, late.drift_ms // 60_000) == (outcome, 45)
    (said,) = result.record.of(ClockOnResume)
    assert (said.passed_now, said.kept_now) == ("2027-03-04T12:45:00Z", NOW)
    assert len(result.record.of(Clock)) == 1
    assert Results.periods(result)[0].shifted == (outcome == "shifted")


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({}, 0),
        ({"now": NOW}, 0),
        ({"now": NOW, "zone": "UTC"}, 0),
        ({"now": "2027-03-04T12:00:00.000Z"}, 1),
        ({"zone": "Europe/Paris"}, 1),
        ({"window": WINDOW}, 1),
    ],
)
async def test_a_resume_keeps_the_clock_of_its_turn(options: Any, rows: int) -> None:
    @tool
    async def ask() -> str:
        """Ask."""
        request_input([AskField("name", "Name?")])

    asking = agent([call("ask"), "Done."], [ask])
    result = await asking.run("Go", options=timed())
    result = await asking.resume(stored(result), "Bo", options={"results": options})
    assert len(result.record.of(ClockOnResume)) == rows
    assert [clock.now for clock in result.record.of(Clock)] == [NOW]


async def test_without_the_clock_nothing_is_added_and_periods_are_judged_all_the_same() -> None:
    model = ScriptedModel([call("readings", back="1h"), "Done."])
    result = await agent(model, [readings], clock=StepClock(NOON)).run("Go")
    assert len(model.requests[0].messages) == 2
    model = ScriptedModel([call("readings", back="1h"), "Done."])
    off = Agent(model, tools=[readings], plugins=[Results(clock=False)])
    result = await off.run("Go")
    assert len(model.requests[0].messages) == 1
    assert verdicts(result) == ["undeclared"]
    assert result.record.of(Clock) == []
    assert result.record.of(CallWindow) == []


async def test_a_tool_that_wants_the_time_says_so_where_the_clock_is_off() -> None:
    result = await Agent(ScriptedModel([call("what_time"), "Done."]), tools=[what_time]).run("Time?")
    (ended,) = result.record.of(ToolEnded)
    assert ended.error_class == CapabilityMissingError.__name__
    assert "needs ctx.time; switch it on: pip install agentfp-results, then add 'results' to the plugins" in str(ended.error)
