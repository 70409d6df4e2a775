"""The sentences of the plugin: what the model reads of time and of what a result does not settle, what the person is asked."""

from __future__ import annotations

from agentfp_results.clock import now_of
from agentfp_results.events import Clock, Span
from agentfp_results.grammar import instant, to_datetime, zone

MARK = "[note from the library, not from the person]"
ZONE_QUESTION = "Which time zone are you in? Please give a name such as Europe/Paris."
ZONE_AGAIN = "That is no time zone that is known here. Which one is it? A name such as Europe/Paris is needed."
VERDICTS = {
    "not-held": "period.verdict: not-held. The source holds nothing of the period that was read, so this result settles nothing about it.",
    "partly-held": "period.verdict: partly-held. The source holds a part of the period that was read; about the rest this settles nothing.",
    "unknown": "period.verdict: unknown. It is not known what the source holds, so that nothing is there settles nothing.",
}
REFUSALS = {
    "time-future": "the period is in the future, and this tool knows the past only",
    "time-past": "the period is past, and this tool knows the future only",
    "beyond-retention": "the period is older than what this tool keeps",
    "over-max-range": "the period is longer than what this tool takes at once",
    "multi-day": "the period is of several days, and this tool takes one day at a time",
    "no-form-holds": "the period cannot be said in any form that this tool takes",
    "dst-gap": "the clocks of the zone skip that time",
}


def time_line(clock: Clock, window: Span | None) -> str:
    """The line that ends each request: what time it is, and which period the person set."""
    in_zone = zone(clock.zone)
    now = to_datetime(now_of(clock), in_zone) if in_zone is not None else to_datetime(now_of(clock))
    if in_zone is None:
        said = f"It is {now:%A %Y-%m-%d %H:%M} in UTC; the person's time zone is not known."
    else:
        said = f"It is {now:%A %Y-%m-%d %H:%M} in {clock.zone}."
    if window is not None:
        said += f" On the screen, the person has set the period from {window.start} to {window.end}, its end not included."
    return f"{MARK} {said}"


def refused(tool: str, argument: str, why: str) -> str:
    """What the model reads of a period that a tool cannot take."""
    return f"{argument} of {tool}: {REFUSALS[why]} ({why}). The call did not run."


def differs_note(missing: tuple[Span, ...], extra: tuple[Span, ...]) -> str:
    """What the model reads when another period was read than was asked for."""
    said = []
    if missing:
        said.append(f"It did not read {_spans(missing)}.")
    if extra:
        said.append(f"It read {_spans(extra)} besides.")
    return f"This result is not of the period that was asked for. {' '.join(said)}"


def _spans(spans: tuple[Span, ...]) -> str:
    return " and ".join([f"{span.start} to {span.end}" for span in spans])


def local(text: str, name: str | None) -> str:
    """An instant as declared, in a zone where that is known."""
    in_zone, found = zone(name), instant(text, strict=False)
    if in_zone is None or found is None:
        return text
    try:
        return to_datetime(found.ns, in_zone).strftime("%Y-%m-%d %H:%M:%S %Z")
    except (OverflowError, ValueError):
        return text
