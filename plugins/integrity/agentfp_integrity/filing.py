"""Findings as events, and events as findings and reports."""

from __future__ import annotations

from typing import Any

from agentfp.plugin import Event, MemoSource, Run, record_of
from agentfp_integrity.events import DispositionFiled, FindingFiled, SubjectRow, WitnessRow
from agentfp_integrity.findings import CEILINGS, Finding, Witness
from agentfp_integrity.reports import CheckReport


def file_finding(run: Run[Any], finding: Finding) -> None:
    """Put a finding on the record.

    Args:
        run: the run.
        finding: the finding.
    """
    ceiling = CEILINGS[finding.kind]
    quotes = ceiling in finding.message or ceiling.capitalize() in finding.message
    message = finding.message if quotes else f"{finding.message} It has a limit: {ceiling}."
    run.emit(
        FindingFiled(
            finding.kind,
            finding.seam,
            tuple([SubjectRow(kind, name) for kind, name in finding.subjects]),
            message,
            finding.predicate,
            tuple([WitnessRow(w.provenance, w.stratum, w.value) for w in finding.witnesses]),
            finding.advisory,
        ),
        call_id=finding.call_id,
    )


def findings_of(source: MemoSource) -> tuple[Finding, ...]:
    """The findings on a record."""
    record = record_of(source)
    events = [event for event in record if event.name == FindingFiled.event_name]
    return tuple([_finding(event, payload) for event, payload in zip(events, record.of(FindingFiled), strict=True)])


def _finding(event: Event, payload: FindingFiled) -> Finding:
    return Finding(
        payload.kind,
        payload.seam,  # type: ignore[arg-type]
        tuple([(row.kind, row.id) for row in payload.subjects]),
        payload.predicate,
        payload.message,
        tuple([Witness(row.provenance, row.value, row.stratum) for row in payload.witnesses]),
        payload.advisory,
        event.seq,
        event.call_id,
    )


def report_of(source: MemoSource) -> tuple[CheckReport, ...]:
    """What every check did in the last turn of a record."""
    record = record_of(source)
    events = [event for event in record if event.name == DispositionFiled.event_name]
    last = events[-1].turn if events else 0
    found: dict[tuple[str, str], CheckReport] = {}
    for event, payload in zip(events, record.of(DispositionFiled), strict=True):
        for row in payload.rows if event.turn == last else ():
            key = row.check, row.seam
            old = found.get(key, CheckReport(*key))
            found[key] = CheckReport(
                *key,
                old.checked + row.checked,
                old.findings + row.findings,
                old.not_applicable + row.not_applicable,
                old.unreachable + row.unreachable,
                old.synthetic + row.synthetic,
                max([at for at in (old.last_fired_ms, row.last_fired_ms) if at is not None], default=None),
            )
    return tuple(found.values())
