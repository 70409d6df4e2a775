"""The run clock: one now and one zone for a turn, from the caller, the settings, the person, or not known."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, NamedTuple

import pydantic

from agentfp.plugin import Plugin, nearest
from agentfp_results.events import Clock, Span
from agentfp_results.grammar import MILLISECOND, Range, instant, iso, of_datetime, to_datetime, zone

ZONE_WORDS = "an IANA name such as 'Europe/Paris' or 'UTC'"


class RunTime(NamedTuple):
    """The time of a call, as a tool reads it: ``ctx.time``.

    Args:
        now: the turn's now; aware, in the zone where that is known, else in UTC.
        zone: the zone's IANA name; None where it is not known.
        zone_unknown: whether it is not known, so that no wall time can be told.
        now_source: ``app`` where the caller set it, else ``default``.
        window: the range that the person set on the screen, as two instants; None for none.
    """

    now: datetime.datetime
    zone: str | None
    zone_unknown: bool
    now_source: str
    window: tuple[datetime.datetime, datetime.datetime] | None = None


def read_now(value: Any) -> str:
    """A now as text: an aware datetime, or an instant with a zone.

    Raises:
        ValueError: it is neither; says what to do.
    """
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError("a datetime needs a time zone; pass an aware one, such as datetime.now(timezone.utc)")
        return value.isoformat().replace("+00:00", "Z")
    if instant(value, strict=True) is None:
        raise ValueError("it is an instant with a zone, such as '2027-03-04T09:15:00Z', or an aware datetime")
    return str(value)


def read_zone(value: Any) -> str:
    """The name of a zone, as it is written.

    Raises:
        ValueError: it is none.
    """
    if zone(value) is None:
        raise ValueError(f"it is {ZONE_WORDS}; abbreviations and offsets name no zone")
    return str(value)


def read_window(value: Any) -> tuple[str, str]:
    """A window of time: two instants, the second of them not in it.

    Raises:
        ValueError: it is none; says what to do.
    """
    if isinstance(value, Mapping):
        wrong = next((key for key in value if key not in ("from", "to")), None)
        if wrong is not None:
            raise ValueError(f"window has no key {wrong!r}; {nearest(str(wrong), ('from', 'to'))}")
        value = (value.get("from"), value.get("to"))
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError("it is a pair of instants, or a mapping with `from` and `to`")
    start, end = (read_now(one) for one in value)
    if _ns(start) >= _ns(end):
        raise ValueError("its beginning must be before its end")
    return start, end


def _ns(text: str) -> int:
    found = instant(text, strict=True)
    return 0 if found is None else found.ns


class TimeOptions(Plugin.RunOptions):
    """The time of one run: ``options={"results": {"now": ..., "zone": ..., "window": ...}}``."""

    now: Any = None
    zone: Any = None
    window: Any = None

    @pydantic.field_validator("now")
    @classmethod
    def _read_now(cls, value: Any) -> Any:
        return None if value is None else read_now(value)

    @pydantic.field_validator("zone")
    @classmethod
    def _read_zone(cls, value: Any) -> Any:
        return None if value is None else read_zone(value)

    @pydantic.field_validator("window")
    @classmethod
    def _read_window(cls, value: Any) -> Any:
        return None if value is None else read_window(value)


def clock_of(options: Any, settings_zone: str | None, answered: str | None, begun: datetime.datetime) -> Clock:
    """The clock of a turn.

    Args:
        options: what the caller of the run passed.
        settings_zone: the zone of the plugin's settings.
        answered: the zone that the person gave in an earlier turn.
        begun: the beginning of the turn.
    """
    named = (("run", options.zone), ("settings", settings_zone), ("answered", answered))
    source, name = next(((source, name) for source, name in named if name is not None), ("unknown", None))
    start = of_datetime(begun.astimezone(datetime.UTC))
    now = iso(start - start % MILLISECOND, step=MILLISECOND) if options.now is None else options.now
    window = None if options.window is None else Span(*options.window)
    return Clock(now, "default" if options.now is None else "app", name, source, window)  # type: ignore[arg-type]


def now_of(clock: Clock) -> int:
    """The clock's now in nanoseconds."""
    return _ns(clock.now)


def window_of(span: Span | None) -> Range | None:
    """A range of the record; None where there is none, or it cannot be read."""
    if span is None:
        return None
    start, end = instant(span.start, strict=True), instant(span.end, strict=True)
    return None if start is None or end is None else Range(start.ns, end.ns)


def span_of(window: Range | None) -> Span | None:
    """A range for the record."""
    if window is None:
        return None
    try:
        return Span(iso(window.start), iso(window.end))
    except (OverflowError, ValueError):
        return None


def run_time(clock: Clock, answered: str | None = None) -> RunTime:
    """The clock as tools read it.

    Args:
        clock: the turn's clock.
        answered: the zone that the person gave in this turn; it serves the calls from then on.
    """
    name = clock.zone or answered
    in_zone = zone(name) or datetime.UTC
    window = window_of(clock.window)
    ends = None if window is None else (to_datetime(window.start, in_zone), to_datetime(window.end, in_zone))
    return RunTime(to_datetime(now_of(clock), in_zone), name, name is None, clock.now_source, ends)
