"""What is on the record of results and of time. Words, instants and values are content; verdicts, ids and counts are not."""

from __future__ import annotations

from typing import Literal

from agentfp.plugin import Content, Name, Number, Payload, event, part

How = Literal["filled", "bound", "model-chosen", "model", "unread", "not-filled", "refused"]
WhyNot = Literal["no-window", "several-mentions", "no-zone"]


@part
class LimitItem:
    """Something that was checked, was not, or cannot be; and why."""

    what: Content[str]
    why: Content[str | None] = None
    short: Content[str | None] = None
    kind: Name[Literal["existence", "scope"] | None] = None


@part
class Span:
    """A range of time: instants in UTC, the second of them not in it."""

    start: Content[str]
    end: Content[str]


@part
class PeriodDeclared:
    """A period as a result declares it; ``held`` None is not known. Both ends are in it."""

    queried_from: Content[str]
    queried_to: Content[str]
    held_from: Content[str | None] = None
    held_to: Content[str | None] = None
    read_at: Content[str | None] = None


@event("agentfp.results.coverage")
class Coverage(Payload):
    """What the result of a call says that it covers. One for each envelope, from the outside in."""

    tool: Name[str]
    kind: Name[Literal["absence", "ledger"]]
    checked: tuple[LimitItem, ...] = ()
    not_checked: tuple[LimitItem, ...] = ()
    cannot_cover: tuple[LimitItem, ...] = ()
    looked_for: Content[str | None] = None
    period: PeriodDeclared | None = None
    provenance: Content[str | None] = None
    dropped: Number[int] = 0


@part
class Fact:
    """One value of an entity, as a described result has it. ``value`` is JSON text."""

    entity: Content[str]
    field: Content[str]
    value: Content[str]
    measured_at: Content[str | None] = None


@event("agentfp.results.facts")
class Facts(Payload):
    """The values of a described result, and where they come from."""

    tool: Name[str]
    facts: tuple[Fact, ...] = ()
    source: Content[str | None] = None
    edges: Number[int] = 0
    left_out: Number[int] = 0


@event("agentfp.results.period")
class PeriodJudged(Payload):
    """How much of the period that a call read its tool holds, and whether it read what was asked for."""

    tool: Name[str]
    verdict: Name[Literal["covered", "partly-held", "not-held", "unknown", "undeclared"]]
    argument: Name[str | None] = None
    differs: Number[bool] = False
    shifted: Number[bool] = False
    beyond_retention: Number[bool] = False
    partly_beyond_retention: Number[bool] = False
    missing: tuple[Span, ...] = ()
    extra: tuple[Span, ...] = ()
    declared: PeriodDeclared | None = None


@event("agentfp.results.clock")
class Clock(Payload):
    """The time of a turn. It stands still for the whole turn, over its pauses too."""

    now: Content[str]
    now_source: Name[Literal["app", "default"]]
    zone: Name[str | None] = None
    zone_source: Name[Literal["run", "settings", "answered", "unknown"]] = "unknown"
    window: Span | None = None


@event("agentfp.results.clock_on_resume")
class ClockOnResume(Payload):
    """A resume was given another time than its turn has; the turn's own is kept."""

    passed_now: Content[str | None] = None
    passed_zone: Name[str | None] = None
    passed_window: Span | None = None
    kept_now: Content[str] = ""
    kept_zone: Name[str | None] = None
    kept_window: Span | None = None


@event("agentfp.results.zone_asked")
class ZoneAsked(Payload):
    """The person is asked for their time zone, for these calls."""

    key: Name[str]
    calls: Name[tuple[str, ...]]


@event("agentfp.results.zone_answered")
class ZoneAnswered(Payload):
    """The person said their time zone; the clock of the next turn has it."""

    zone: Name[str]


@event("agentfp.results.call_window")
class CallWindow(Payload):
    """Which period a call was sent with, and whose it is."""

    tool: Name[str]
    how: Name[How]
    argument: Name[str | None] = None
    form: Name[str | None] = None
    by: Name[Literal["quote", "value", "control", "app"] | None] = None
    why: Name[WhyNot | None] = None
    refused: Name[str | None] = None
    asked: Span | None = None
    person: Span | None = None
    sent: Span | None = None
    lookback: Content[str | None] = None
    rounded: Number[bool] = False
    widened: Number[bool] = False
    trimmed_by_tool: Number[bool] = False
    partly_beyond_retention: Number[bool] = False


@event("agentfp.results.dispatched")
class Dispatched(Payload):
    """When a call that looks back from now was really made, where that is later than the turn's now."""

    tool: Name[str]
    dispatched_at: Content[str]
    drift_ms: Number[int]
    outcome: Name[Literal["redrawn", "shifted"]]


EVENTS = (Coverage, Facts, PeriodJudged, Clock, ClockOnResume, ZoneAsked, ZoneAnswered, CallWindow, Dispatched)
