"""An answer whose values were all read in earlier turns."""

from __future__ import annotations

from typing import NamedTuple

from agentfp_integrity.findings import CEILINGS, Disposition, Finding

KIND = "prior-turn-evidence"


class Grounded(NamedTuple):
    """Where the values of an answer were read.

    Args:
        turn: the turn of the answer, from 1.
        from_this_turn: values whose newest carrier is a result of this turn.
        from_prior_turns: values whose newest carrier is older.
        newest: the newest turn that any of the latter was read in; None when that is not known.
        results: results of this turn.
        truncated: whether not everything could be looked at.
    """

    turn: int
    from_this_turn: int
    from_prior_turns: int
    newest: int | None
    results: int
    truncated: bool


def judge(grounded: Grounded) -> tuple[Disposition, Finding | None]:
    """Whether an answer stands on this turn.

    Args:
        grounded: where its values were read.
    """
    if grounded.truncated:
        return "not-applicable", None
    if grounded.turn <= 1 or not (grounded.from_this_turn or grounded.from_prior_turns):
        return "unreachable", None
    if grounded.from_this_turn:
        return "checked-pass", None
    count = grounded.from_prior_turns
    newest = "an earlier turn" if grounded.newest is None else f"turn {grounded.newest}"
    back = "" if grounded.newest is None else f", at least {grounded.turn - grounded.newest} turns back"
    drawn = "no tool brought anything in this turn" if not grounded.results else f"none is from the {grounded.results} results of this turn"
    ceiling = CEILINGS[KIND].capitalize()
    message = f"All {count} values of the answer that results carry were last read in {newest}{back}; {drawn}. {ceiling}."
    return "checked-fail", Finding(KIND, "claim", (("answer", "final"),), "grounding", message, advisory=True)
