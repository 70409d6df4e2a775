"""What becomes of a judged answer: the table that every gate decides by, whatever drives the model."""

from __future__ import annotations

from typing import Any, Literal

from agentfp_evidence.events import Action, EvidenceChecked
from agentfp_evidence.ledger import rows_of
from agentfp_evidence.report import EvidenceReport, EvidenceValue


def acting_values(report: EvidenceReport, act_on: Literal["strong", "any"]) -> tuple[EvidenceValue, ...]:
    """The unsupported values that a gate acts on.

    Args:
        report: the judgement.
        act_on: whether weak findings count too.
    """
    return report.strong if act_on == "strong" else (*report.strong, *report.weak)


def decide(
    report: EvidenceReport,
    *,
    on_unsupported: Literal["flag", "revise", "refuse"],
    act_on: Literal["strong", "any"] = "strong",
    asked: int = 0,
    flagged_before: int = 0,
    max_revisions: int = 1,
    may_revise: bool = True,
) -> Action:
    """Say what becomes of an answer: it goes out, is sent back, or is refused.

    Args:
        report: its judgement.
        on_unsupported: what the application wishes.
        act_on: which severities the wish is about.
        asked: revisions asked for in this turn.
        flagged_before: how many values the last of them was about.
        max_revisions: revisions a turn; a further one only when the one before left fewer values.
        may_revise: whether the model can be asked again at all.
    """
    if not report.unsupported:
        return "grounded"
    acting = acting_values(report, act_on)
    if on_unsupported == "flag" or report.truncated or not acting:
        return "flagged"
    better = asked == 0 or len(acting) < flagged_before
    if may_revise and asked < max_revisions and better:
        return "revision-asked"
    return "refused" if on_unsupported == "refuse" else "flagged"


def checked_event(
    report: EvidenceReport,
    action: Action,
    *,
    on_unsupported: Literal["flag", "revise", "refuse"],
    act_on: Literal["strong", "any"],
    after_revision: bool,
    turns: tuple[int, int] = (0, 0),
) -> EvidenceChecked:
    """The event that puts a judgement on a record.

    Args:
        report: the judgement.
        action: what becomes of the answer.
        on_unsupported: what the application wishes.
        act_on: which severities the wish is about.
        after_revision: whether the answer is one that was asked for anew.
        turns: supported values whose newest carrier is a result of this turn, and of turns before.
    """
    counts = report.counts
    values: dict[str, Any] = rows_of(report)
    return EvidenceChecked(
        action=action,
        on_unsupported=on_unsupported,
        act_on=act_on,
        profile=report.profile,
        after_revision=after_revision,
        supported=counts["supported"],
        unverifiable=counts["unverifiable"],
        unsupported=counts["unsupported"],
        strong=len(report.strong),
        from_this_turn=turns[0],
        from_prior_turns=turns[1],
        results=report.results,
        calls=report.calls,
        truncated=report.truncated,
        is_data=report.is_data,
        **values,
    )
