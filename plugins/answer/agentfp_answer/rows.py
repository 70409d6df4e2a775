"""Reports as events, and events as reports; and what a model is told of a claim that does not hold."""

from __future__ import annotations

from typing import Any

from agentfp.artifacts import Scope
from agentfp.plugin import Run
from agentfp_answer.claims import ClaimSpec
from agentfp_answer.events import AnswerValidated, CheckRow, ClaimChecked
from agentfp_answer.raw import number, text, texts
from agentfp_answer.reading import Reading
from agentfp_answer.reports import CheckReport, ClaimReport, ValidationReport

CLIP = 240


def claim_event(report: ClaimReport) -> ClaimChecked:
    """The event of a claim."""
    return ClaimChecked(
        report.field,
        report.disposition,
        report.advisory,
        report.fact,
        report.earlier,
        report.entity,
        _clipped(report.stated),
        _clipped(report.known),
    )


def claims_of(reading: Reading) -> tuple[ClaimReport, ...]:
    """The claims of the last answer."""
    found = {}
    for row in reading.turn.of("agentfp.answer.claim"):
        data = row.data
        found[str(data.get("field"))] = ClaimReport(
            str(data.get("field")),
            data.get("disposition", "unreachable"),
            data.get("advisory") is True,
            text(data.get("entity")),
            text(data.get("stated")),
            text(data.get("known")),
            data.get("fact") if isinstance(data.get("fact"), int) else None,
            tuple([seq for seq in data.get("earlier") or () if isinstance(seq, int)]),
        )
    return tuple(found.values())


def contradiction(report: ClaimReport, claim: ClaimSpec) -> str:
    """What a model reads of a claim that a fact contradicts."""
    return (
        f"The field {report.field!r} says {_clipped(report.stated)}, and the latest result of a tool says {_clipped(report.known)} for "
        f"{claim.field!r} of {report.entity!r}. Say what the result says, or why it does not hold."
    )


def validated_event(report: ValidationReport) -> AnswerValidated:
    """The event of a validation."""
    rows = tuple([CheckRow(check.id, check.disposition, check.path, check.refs, check.reason) for check in report.checks])
    return AnswerValidated(
        report.id,
        report.version,
        report.mode,  # type: ignore[arg-type]
        report.status,  # type: ignore[arg-type]
        report.digest,
        report.reasons,
        rows,
        report.reads,
        report.bytes_read,
        report.error_class,
    )


def validation_of(reading: Reading) -> ValidationReport | None:
    """The validation of the last answer."""
    rows = reading.turn.of("agentfp.answer.validated")
    if not rows:
        return None
    data = rows[-1].data
    listed = data.get("checks")
    checks = [_check(entry) for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return ValidationReport(
        str(data.get("id")),
        str(data.get("version")),
        str(data.get("mode")),
        str(data.get("status")),
        str(data.get("digest")),
        texts(data.get("reasons")),
        tuple(checks),
        number(data.get("reads")),
        number(data.get("bytes_read")),
        text(data.get("error_class")),
    )


def _check(entry: dict[str, Any]) -> CheckReport:
    disposition = entry.get("disposition", "unreachable")
    return CheckReport(str(entry.get("id")), disposition, text(entry.get("reason")), text(entry.get("path")), texts(entry.get("refs")))


def scope_of(run: Run[Any]) -> Scope:
    """Whose artifacts a run may read: its conversation's, of the organisation and person that it is for."""
    who = run.identity
    conversation = (None if who is None else who.conversation_id) or run.session_id or run.root_id
    return Scope(conversation) if who is None else Scope(conversation, who.tenant, who.principal)


def _clipped(value: str | None) -> str | None:
    return value if value is None or len(value) <= CLIP else f"{value[:CLIP]}…"
