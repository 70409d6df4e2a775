"""One window into a tool's arguments: exactly where a form holds it, wider where it must be, never narrower, or refused."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from agentfp_results.forms import Day, Form, Lookback, Reading, Window, Written, as_range
from agentfp_results.grammar import SECOND, Gap, Range, wall
from agentfp_results.period import ToolPeriod

Refusal: TypeAlias = Literal["time-future", "time-past", "beyond-retention", "over-max-range", "multi-day", "no-form-holds", "dst-gap"]
STEP = 60 * SECOND
"""How near to now a range may end to be told as a look-back, where the tool states no granularity."""


class Converted(NamedTuple):
    """A window in a tool's arguments.

    Args:
        arguments: by name.
        form: the form.
        sent: the window that they say.
        rounded: it is a little longer than what was asked for.
        widened: it is wider, for no form holds what was asked for.
        partly_beyond_retention: the tool keeps only a part of it.
    """

    arguments: Mapping[str, Any]
    form: Form
    sent: Window
    rounded: bool = False
    widened: bool = False
    partly_beyond_retention: bool = False


class Refused(NamedTuple):
    """Why a window cannot be said to a tool; ``argument`` is the one at fault."""

    why: Refusal
    argument: str


def convert(window: Window, period: ToolPeriod, by: Reading) -> Converted | Refused:
    """Say a window in a tool's own way.

    Args:
        window: what was asked for.
        period: the tool's period.
        by: the run's now, and the zone for times without one.
    """
    asked = as_range(window, by.now)
    refused = _refused(asked, period, by)
    if refused is not None:
        return Refused(refused, period.argument)
    partly = period.retention is not None and asked.start < by.now - period.retention.ns
    for form in period.forms:
        written = form.write(window, by)
        if written is not None:
            return Converted(written.arguments, form, window, written.rounded, partly_beyond_retention=partly)
        if isinstance(form, Lookback) and isinstance(window, Range) and abs(by.now - window.end) <= _step(period):
            covering = form.covering(window, by)
            if covering is not None and _fits(covering[1].ns, period):
                return Converted(covering[0].arguments, form, covering[1], covering[0].rounded, partly_beyond_retention=partly)
    for form in period.forms:
        wider = _wider(form, asked, by)
        if wider is not None and _fits(as_range(wider[1], by.now).end - as_range(wider[1], by.now).start, period):
            return Converted(wider[0].arguments, form, wider[1], widened=True, partly_beyond_retention=partly)
    return Refused(_why_not(period, by), period.argument)


def _refused(asked: Range, period: ToolPeriod, by: Reading) -> Refusal | None:
    if period.direction == "past" and asked.start >= by.now:
        return "time-future"
    if period.direction == "future" and asked.end <= by.now:
        return "time-past"
    if period.retention is not None and asked.end <= by.now - period.retention.ns:
        return "beyond-retention"
    if period.max_range is not None and asked.end - asked.start > period.max_range.ns:
        return "over-max-range"
    return None


def _step(period: ToolPeriod) -> int:
    return period.granularity.ns if period.granularity is not None else STEP


def _fits(length: int, period: ToolPeriod) -> bool:
    return period.max_range is None or length <= period.max_range.ns


def _wider(form: Form, asked: Range, by: Reading) -> tuple[Written, Window] | None:
    if isinstance(form, Day):
        return form.around(asked, by)
    if isinstance(form, Lookback) and asked.end <= by.now:
        return form.covering(asked, by)
    return None


def _why_not(period: ToolPeriod, by: Reading) -> Refusal:
    if all(isinstance(form, Day) for form in period.forms):
        return "multi-day" if by.zone is not None else "no-form-holds"
    return "no-form-holds"


def read_back(arguments: Mapping[str, Any], period: ToolPeriod, by: Reading) -> tuple[Window, Form] | None:
    """The window that a call's arguments say, and the first form whose arguments are all there and can be read."""
    for form in period.forms:
        if all(arguments.get(name) is not None for name in form.arguments):
            found = form.read(arguments, by)
            if found is not None:
                return found, form
    return None


def skipped(arguments: Mapping[str, Any], period: ToolPeriod, in_zone: datetime.tzinfo | None) -> str | None:
    """The argument whose wall time the zone skips; None when there is none."""
    if in_zone is None:
        return None
    for form in period.forms:
        if getattr(form, "as_", None) != "wall":
            continue
        for name in form.arguments:
            value = arguments.get(name)
            ends = value.values() if isinstance(value, Mapping) else str(value).split(getattr(form, "joiner", "\0"))
            for end in ends:
                try:
                    wall(end, in_zone)
                except Gap:
                    return name
    return None


def says_something(arguments: Mapping[str, Any], period: ToolPeriod) -> bool:
    """Whether a call says anything of its period."""
    for name in period.arguments:
        value = arguments.get(name)
        if value is not None and not (isinstance(value, str) and not value.strip()):
            return True
    return False
