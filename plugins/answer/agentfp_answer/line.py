"""The standing line: one line after an answer in prose, built of fixed words and rebuilt, not searched for, by who reads it."""

from __future__ import annotations

from agentfp_answer.covering import assumed_line
from agentfp_answer.reports import Assessment, AssumedValue, Standing
from agentfp_answer.table import REASONS

MOST_CLAUSES = 12
_OPENING: dict[Standing, str] = {
    "known": "Known",
    "consistent": "Nothing speaks against it",
    "not-sure": "Not sure",
    "ask": "A question is open",
    "not-assessed": "Not assessed",
}
_SINGLE: dict[Standing, str] = {
    "known": "every check that was made of this answer passed",
    "consistent": "the checks that ran found nothing, and none of them shows that it is so",
    "not-assessed": "nothing of it was checked",
}


def standing_line(assessment: Assessment, assumed: tuple[AssumedValue, ...] = ()) -> str:
    """The line of an assessment.

    Args:
        assessment: the assessment.
        assumed: values that nobody chose; each of them is named, and none is folded away.
    """
    clauses = [assumed_line(value) for value in assumed]
    others = [kind for kind in assessment.kinds if kind != "argument-assumed" or not assumed]
    clauses += [_clause(kind, assessment) for kind in others[:MOST_CLAUSES]]
    if len(others) > MOST_CLAUSES:
        clauses.append(f"and {len(others) - MOST_CLAUSES} more")
    if not clauses:
        clauses = [_SINGLE[assessment.standing]]
    return f"{_OPENING[assessment.standing]} — {'; '.join(clauses)}."


def _clause(kind: str, assessment: Assessment) -> str:
    count = next(reason.count for reason in assessment.reasons if reason.kind == kind)
    return REASONS[kind].clause + (f" ({count} times)" if count > 1 else "")
