"""Puts a judgement on the current OpenTelemetry span: counts and words of the library, never a value of the answer."""

from __future__ import annotations

from opentelemetry import trace

from agentfp_evidence import Action, EvidenceReport

PREFIX = "agentfp.evidence."


def mark_span(action: Action, report: EvidenceReport, *, after_revision: bool) -> None:
    """Mark the current span, if one is recorded; that of a later judgement on the same span stands.

    Args:
        action: what became of the answer.
        report: the judgement.
        after_revision: whether the answer is one that was asked for anew.
    """
    span = trace.get_current_span()
    if not span.is_recording():
        return
    counts = report.counts
    span.set_attributes(
        {
            f"{PREFIX}action": action,
            f"{PREFIX}standing": report.standing,
            f"{PREFIX}after_revision": after_revision,
            f"{PREFIX}supported": counts["supported"],
            f"{PREFIX}unverifiable": counts["unverifiable"],
            f"{PREFIX}unsupported": counts["unsupported"],
            f"{PREFIX}strong": len(report.strong),
        }
    )
