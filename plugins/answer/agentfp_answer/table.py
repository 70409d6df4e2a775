"""The closed list of reasons, in the order in which they are given, and the layer that each belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Entry(NamedTuple):
    """What is fixed of a reason.

    Args:
        layer: 0 the run, 1 what the model chose, 2 what a tool was called with, 3 what a result covers, 4 the answer.
        clause: what it says in a line for people.
        asks: whether it is a question to a person.
    """

    layer: int
    clause: str
    asks: bool = False


REASONS: Mapping[str, Entry] = {
    "asked": Entry(0, "a person is asked before it goes on", asks=True),
    "argument-asked": Entry(2, "a person is asked for a value that a tool needs", asks=True),
    "argument-assumed": Entry(2, "a value was assumed that nobody chose"),
    "argument-unverified": Entry(2, "the model chose a value, and nothing shows where it is from"),
    "argument-read": Entry(2, "a value was read out of the person's words and does not stand in them"),
    "value-contingent": Entry(2, "it uses a value from a result that was set aside"),
    "coverage-gap": Entry(3, "something was not looked at"),
    "declared-absent": Entry(3, "a search found nothing where it looked"),
    "empty-undeclared": Entry(3, "a result is empty and does not say what was looked at"),
    "period-not-held": Entry(3, "the source does not hold the time that was asked for"),
    "period-partly-held": Entry(3, "the source holds only a part of the time that was asked for"),
    "period-unknown": Entry(3, "it is not known which time the source holds"),
    "period-undeclared": Entry(3, "a result does not say which time it covers"),
    "period-differs-from-asked": Entry(3, "another time was read than was asked for"),
    "period-beyond-retention": Entry(3, "the time that was asked for is no longer kept"),
    "sources-conflict": Entry(3, "sources contradict each other"),
    "value-unsupported": Entry(4, "values in it stand in no result"),
    "value-survived-revision": Entry(4, "values in it stand in no result, also after a revision"),
    "derived-from-reading": Entry(4, "a time in it was derived from a reading of words"),
    "stopped-early": Entry(4, "a limit cut the work short"),
    "steps-unfinished": Entry(4, "steps of the procedure were not taken"),
    "answer-check-failed": Entry(4, "a check of the answer failed"),
    "check-unreachable": Entry(0, "a check of the answer could not be made"),
    "claim-contradicted": Entry(4, "it contradicts what a tool measured"),
    "answer-missing": Entry(0, "there is no answer"),
}

PERIODS: Mapping[str, str] = {
    "not-held": "period-not-held",
    "partly-held": "period-partly-held",
    "unknown": "period-unknown",
    "undeclared": "period-undeclared",
}
"""The reason for each verdict over a period that is not ``covered``."""
