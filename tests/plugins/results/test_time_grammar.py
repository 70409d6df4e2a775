"""The one grammar of time: what is an instant, a length, a zone; and a window in every form, there and back."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentfp.plugin import ConfigError
from agentfp_results import Bounds, Day, Joined, Lookback, Object, Period
from agentfp_results.conversion import Converted, Refused, convert, read_back
from agentfp_results.forms import Reading, as_range
from agentfp_results.grammar import SECOND, Gap, Length, Range, day, duration, instant, iso, wall, wall_text, zone
from agentfp_results.period import ToolPeriod, facts_of

PARIS: Any = zone("Europe/Paris")
assert PARIS is not None
NOW = instant("2027-03-04T12:00:00Z", strict=True)
assert NOW is not None
BY = Reading(NOW.ns, PARIS)


def at(text: str) -> int:
    found = instant(text, strict=True)
    assert found is not None
    return found.ns


@pytest.mark.parametrize(
    ("text", "strict", "lenient"),
    [
        ("2027-03-04T09:15:00Z", True, True),
        ("2027-03-04T09:15Z", True, True),
        ("2027-03-04T09:15:00.123456789+05:30", True, True),
        ("2027-03-04t09:15:00z", False, True),
        ("2027-12-31T23:59:60Z", False, True),
        ("2026-02-30T00:00Z", False, False),
        ("2027-03-04T24:00:00Z", False, False),
        ("2027-03-04T09:15:00", False, False),
        ("2027-03-04", False, False),
        ("yesterday", False, False),
        ("2027-03-04T09:15:00.1234567890Z", False, False),
        ("0000-01-01T00:00:00Z", False, False),
        ("2027-03-04T09:15:00+24:00", False, False),
        ("\u0662027-03-04T09:15:00Z", False, False),
        (7, False, False),
        (None, False, False),
    ],
)
def test_an_instant_needs_a_zone_and_a_day_that_there_is(text: Any, strict: bool, lenient: bool) -> None:
    assert (instant(text, strict=True) is not None, instant(text, strict=False) is not None) == (strict, lenient)


@pytest.mark.parametrize(
    ("text", "units", "read"),
    [
        ("45m", "mhdw", True),
        ("30s", "mhdw", False),
        ("30s", "smhdw", True),
        ("0m", "mhdw", False),
        ("1.5h", "mhdw", False),
        ("-1h", "mhdw", False),
        ("9" * 300 + "w", "mhdw", True),
        ("9" * 9_000 + "w", "mhdw", False),
        ("h", "mhdw", False),
        (45, "mhdw", False),
    ],
)
def test_a_length_is_a_whole_number_and_a_unit(text: Any, units: str, read: bool) -> None:
    assert (duration(text, units) is not None) == read


@pytest.mark.parametrize(
    "name", ["PST", "+05:30", "CET+1", "europe paris", "../etc/passwd", "Europe/", "Europe", "America/Argentina", "", 3, None]
)
def test_no_other_name_is_a_zone(name: Any) -> None:
    assert zone(name) is None


@pytest.mark.parametrize("name", ["Europe/Paris", "UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5"])
def test_a_zone_is_an_iana_name(name: str) -> None:
    assert zone(name) is not None


def test_a_time_that_the_clocks_skip_is_none_and_one_that_is_there_twice_is_not_written() -> None:
    with pytest.raises(Gap):
        wall("2027-03-28T02:30", PARIS)
    assert wall_text(at("2027-10-31T00:30:00Z"), PARIS) is None
    assert wall_text(at("2027-10-31T02:30:00Z"), PARIS) == "2027-10-31T03:30:00"


def test_a_day_has_the_hours_that_it_has() -> None:
    short, long = day("2027-03-28", PARIS), day("2027-10-31", PARIS)
    assert short is not None
    assert long is not None
    assert (short.end - short.start, long.end - long.start) == (23 * 3600 * SECOND, 25 * 3600 * SECOND)


def test_an_inclusive_end_is_the_last_instant_at_its_precision() -> None:
    window = Range(at("2027-03-04T09:15:00Z"), at("2027-03-04T11:01:00Z"))
    for edge, end in (("inclusive", "2027-03-04T11:00:59Z"), ("exclusive", "2027-03-04T11:01:00Z")):
        form = Bounds("start", "end", edge=edge)  # type: ignore[arg-type]
        written = form.write(window, BY)
        assert written is not None
        assert written.arguments == {"start": "2027-03-04T09:15:00Z", "end": end}
        assert form.read(written.arguments, BY) == window
    joined = Joined("window").write(window, BY)
    assert joined is not None
    assert joined.arguments == {"window": "2027-03-04T09:15:00Z..2027-03-04T11:00:59Z"}


def test_seconds_are_rounded_outward() -> None:
    window = Range(at("2027-03-04T09:15:00.5Z"), at("2027-03-04T11:00:00.5Z"))
    written = Bounds("a", "b", as_="epoch-s", edge="exclusive").write(window, BY)
    assert written is not None
    assert written.rounded
    assert written.arguments["b"] * SECOND - written.arguments["a"] * SECOND == window.end - window.start + SECOND


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bounds("a", "b"),
        lambda: Bounds("a", "a", edge="inclusive"),
        lambda: Bounds("a", "b", as_="unix", edge="inclusive"),  # type: ignore[arg-type]
        lambda: Object("a"),
        lambda: Joined("a", joiner="-"),
        lambda: Lookback("a", units="x"),
        lambda: Period(),
        lambda: Period("lookbak"),
        lambda: Period("lookback", retention="a month"),
        lambda: Period("lookback", direction="back"),  # type: ignore[arg-type]
    ],
)
def test_a_form_that_says_too_little_or_something_unknown_is_refused(make: Any) -> None:
    with pytest.raises(ConfigError):
        make()


def test_look_backs_are_spelled_as_the_other_parameter_spells_them() -> None:
    plain, signed, exact = Period("lookback"), Period("signed-lookback"), Period("iso-range")
    assert signed.respell("24h", plain) == "-24h"
    assert plain.respell("-24h", signed) == "24h"
    assert plain.respell("-24h", plain) is None
    assert plain.respell("24h", plain) == "24h"
    assert plain.respell("24h", exact) is None
    value = "2027-03-04T09:15:00Z..2027-03-04T11:00:00Z"
    assert exact.respell(value, exact) == value
    assert exact.respell(value, Period("iso-range")) is None, "two ranges are asked for one by one"


FORMS: list[Any] = [
    Bounds("a", "b", edge="inclusive"),
    Bounds("a", "b", edge="exclusive", as_="epoch-ms"),
    Bounds("a", "b", edge="inclusive", as_="epoch-s"),
    Bounds("a", "b", edge="exclusive", as_="wall"),
    Bounds("a", "b", edge="inclusive", as_="date"),
    Joined("w"),
    Joined("w", joiner="/", edge="exclusive", as_="wall"),
    Object("o", edge="inclusive"),
    Day("d"),
    Lookback("l"),
    Lookback("l", signed=True, units="h"),
]
moments = st.integers(at("2020-01-01T00:00:00Z") // SECOND, at("2035-01-01T00:00:00Z") // SECOND)
zones = st.sampled_from(["Europe/Paris", "America/New_York", "Asia/Kolkata", "UTC", "Australia/Lord_Howe", "America/Sao_Paulo"])


@given(st.lists(st.sampled_from(FORMS), min_size=1, max_size=4), moments, st.integers(1, 86_400 * 40), moments, zones)
@settings(max_examples=300)
def test_what_is_sent_is_never_narrower_than_what_was_asked(forms: list[Any], start: int, length: int, now: int, name: str) -> None:
    window = Range(start * SECOND, (start + length) * SECOND)
    by = Reading(now * SECOND, zone(name))
    found = convert(window, ToolPeriod(tuple(forms)), by)
    if isinstance(found, Refused):
        assert found.why in ("no-form-holds", "multi-day")
        return
    sent = as_range(found.sent, by.now)
    step = 60 * SECOND  # a range that ends this near to now may be told as a look-back from it
    assert sent.start <= window.start
    assert sent.end >= window.end - step
    back = read_back(found.arguments, ToolPeriod((found.form,)), by)
    assert back is not None
    assert as_range(back[0], by.now).start <= window.start
    if not (found.rounded or found.widened) and not isinstance(found.form, Lookback):
        assert as_range(back[0], by.now) == window


@given(st.integers(1, 500), st.sampled_from("mhdw"), st.sampled_from(FORMS), moments)
def test_a_length_reads_back_as_it_was_said(number: int, unit: str, form: Any, now: int) -> None:
    by = Reading(now * SECOND, PARIS)
    written = form.write(Length(number, unit), by)
    assume(written is not None)
    back = form.read(written.arguments, by)
    assert back is not None
    asked = Range(by.now - Length(number, unit).ns, by.now)
    read = as_range(back, by.now)
    assert read == asked or (written.rounded and read.start <= asked.start and read.end >= asked.end)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
        lambda x: st.lists(x) | st.dictionaries(st.text(max_size=3), x),
    )
)
def test_no_argument_breaks_the_reading(value: Any) -> None:
    period = ToolPeriod(tuple(FORMS))
    read_back({"a": value, "b": value, "w": value, "o": {"from": value, "to": value}, "d": value, "l": value}, period, BY)


@pytest.mark.parametrize(
    ("facts", "start", "end", "why"),
    [
        ({"direction": "past"}, "2027-03-05T00:00:00Z", "2027-03-06T00:00:00Z", "time-future"),
        ({"direction": "future"}, "2027-03-01T00:00:00Z", "2027-03-02T00:00:00Z", "time-past"),
        ({"retention": "30d"}, "2027-01-01T00:00:00Z", "2027-01-02T00:00:00Z", "beyond-retention"),
        ({"max_range": "1d"}, "2027-03-01T00:00:00Z", "2027-03-03T00:00:00Z", "over-max-range"),
    ],
)
def test_a_period_that_a_tool_cannot_take_is_refused(facts: dict[str, Any], start: str, end: str, why: str) -> None:
    period = ToolPeriod((Joined("w"),), **facts_of(facts))
    found = convert(Range(at(start), at(end)), period, BY)
    assert isinstance(found, Refused)
    assert (found.why, found.argument) == (why, "w")


def test_a_period_of_which_a_part_is_kept_is_sent_and_marked() -> None:
    period = ToolPeriod((Joined("w"),), **facts_of({"retention": "30d"}))
    found = convert(Range(at("2027-01-01T00:00:00Z"), at("2027-03-01T00:00:00Z")), period, BY)
    assert isinstance(found, Converted)
    assert found.partly_beyond_retention


def test_several_days_are_not_said_as_one() -> None:
    window = Range(at("2027-03-01T00:00:00Z"), at("2027-03-03T00:00:00Z"))
    found = convert(window, ToolPeriod((Day("d"),)), BY)
    assert isinstance(found, Refused)
    assert found.why == "multi-day"


def test_a_part_of_a_day_is_widened_to_it_and_a_past_range_to_a_look_back() -> None:
    window = Range(at("2027-03-03T09:00:00Z"), at("2027-03-03T10:00:00Z"))
    found = convert(window, ToolPeriod((Day("d"),)), BY)
    assert isinstance(found, Converted)
    assert (found.arguments, found.widened) == ({"d": "2027-03-03"}, True)
    found = convert(window, ToolPeriod((Lookback("l"),)), BY)
    assert isinstance(found, Converted)
    assert (found.arguments, found.widened) == ({"l": "27h"}, True)


def test_a_range_up_to_now_is_a_look_back() -> None:
    window = Range(at("2027-03-04T11:20:00Z"), at("2027-03-04T12:00:00Z"))
    found = convert(window, ToolPeriod((Lookback("l"), Joined("w"))), BY)
    assert isinstance(found, Converted)
    assert (found.arguments, found.rounded, found.widened) == ({"l": "40m"}, False, False)


@given(st.datetimes(timezones=st.just(datetime.UTC)))
def test_an_instant_reads_back_as_it_was_written(moment: datetime.datetime) -> None:
    ns = at(moment.isoformat().replace("+00:00", "Z"))
    back = instant(iso(ns, step=1), strict=True)
    assert back is not None
    assert back.ns == ns
