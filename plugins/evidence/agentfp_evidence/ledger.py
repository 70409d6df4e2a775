"""What the gate knows of a run: a fold over its record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agentfp.plugin import Event, Record
from agentfp.transcripts import ValueSource
from agentfp_evidence.events import EvidenceChecked, JudgedRow, MisattachedRow, ToolRow
from agentfp_evidence.report import EvidenceReport, EvidenceValue, Misattachment, ToolNote

OWN = "evidence"
READ = (
    "agentfp.tool.ended",
    "agentfp.hook.verdict",
    "agentfp.context.blob",
    "agentfp.context.served",
    "agentfp.message.added",
    "agentfp.answer.drafted",
    "agentfp.answer.refused",
    "agentfp.evidence.checked",
)
_SERVED = ("success", "partial", "absent")


@dataclass
class Ledger:
    """What the gate knows.

    Args:
        failed: ids of calls whose result is none of the tool's.
        passed: by call id, the arguments that its tool got, where they are not those that the model wrote.
        given: texts of the system prompt, each once.
        reports: the judgements, in order.
        turn: the turn that ``asked`` counts in.
        asked: revisions asked for in this turn.
        flagged: how many values the last revision was about.
        open: whether the text of the last report is not known yet.
    """

    failed: set[str] = field(default_factory=set)
    passed: dict[str, str] = field(default_factory=dict)
    given: list[str] = field(default_factory=list)
    reports: list[EvidenceReport] = field(default_factory=list)
    turn: int = 0
    asked: int = 0
    flagged: int = 0
    open: bool = False
    _blobs: dict[str, str] = field(default_factory=dict)
    _pieces: set[str] = field(default_factory=set)

    def fold(self, event: Event) -> Ledger:
        """Take in an event."""
        step = _STEPS.get(event.name)
        if step is not None:
            step(self, event, event.payload)
        return self

    def asked_in(self, turn: int) -> int:
        """Revisions asked for in a turn."""
        return self.asked if turn == self.turn else 0

    # --- events ---

    def _ended(self, event: Event, payload: Any) -> None:
        if event.call_id is not None and payload.outcome not in _SERVED:
            self.failed.add(event.call_id)

    def _verdict(self, event: Event, payload: Any) -> None:
        if event.call_id is not None and payload.verdict == "Allow" and payload.arguments is not None:
            self.passed[event.call_id] = payload.arguments
        if event.call_id is not None and payload.verdict == "Withhold":
            self.failed.add(event.call_id)  # what stands in its place are the program's words

    def _blob(self, event: Event, payload: Any) -> None:
        self._blobs[payload.digest] = payload.body

    def _was_served(self, event: Event, payload: Any) -> None:
        for piece in payload.pieces or ():
            if piece.slot == "system" and not piece.quoted and piece.plugin != OWN and piece.digest not in self._pieces:
                self._pieces.add(piece.digest)
                self.given.append(self._blobs.get(piece.digest, ""))

    def _message(self, event: Event, payload: Any) -> None:
        if payload.role == "assistant" and payload.content is not None:
            self._text(payload.content)

    def _drafted(self, event: Event, payload: Any) -> None:
        self._text(payload.text)

    def _refused(self, event: Event, payload: Any) -> None:
        if payload.text is not None:
            self._text(payload.text)

    def _text(self, text: str) -> None:
        """The answer of the last judgement: it has its one home in the event that follows."""
        if self.open:
            self.open = False
            self.reports[-1] = replace(self.reports[-1], answer=text)

    def _checked(self, event: Event, payload: EvidenceChecked) -> None:
        if event.turn != self.turn:
            self.turn, self.asked = event.turn, 0
        if payload.action == "revision-asked":
            self.asked += 1
            self.flagged = payload.strong if payload.act_on == "strong" else payload.unsupported
        self.reports.append(report_of(payload))
        self.open = True


_STEPS: Mapping[str, Any] = {
    "agentfp.tool.ended": Ledger._ended,
    "agentfp.hook.verdict": Ledger._verdict,
    "agentfp.context.blob": Ledger._blob,
    "agentfp.context.served": Ledger._was_served,
    "agentfp.message.added": Ledger._message,
    "agentfp.answer.drafted": Ledger._drafted,
    "agentfp.answer.refused": Ledger._refused,
    "agentfp.evidence.checked": Ledger._checked,
}


def failed_calls(record: Record) -> set[str]:
    """Ids of the calls of a record whose result is none of the tool's."""
    ledger = Ledger()
    for event in record:
        if event.name in ("agentfp.tool.ended", "agentfp.hook.verdict"):
            ledger.fold(event)
    return ledger.failed


def rows_of(report: EvidenceReport) -> dict[str, Any]:
    """The values, tools and misattachments of a report as fields of its event."""
    return {
        "values": tuple(_row(value) for value in report.values),
        "tools": tuple(ToolRow(note.standing, note.tool, note.message, note.call_id) for note in report.tools),
        "misattached": tuple(MisattachedRow(m.start, m.end, m.value, m.stated_for, m.served_for) for m in report.misattached),
    }


def _row(value: EvidenceValue) -> JudgedRow:
    sources = [[source.message, source.path, source.call_id] for source in value.sources]
    return JudgedRow(
        value.kind,
        value.verdict,
        value.how,
        value.start,
        value.end,
        value.text,
        value.severity,
        value.derivation or None,
        json.dumps(sources, ensure_ascii=False) if sources else None,
        value.near,
        value.path or None,
    )


def report_of(payload: EvidenceChecked) -> EvidenceReport:
    """The report that an event holds; its answer's text stands in the event that follows."""
    return EvidenceReport(
        answer="",
        profile=payload.profile,
        values=tuple(_value(row) for row in payload.values),
        tools=tuple(ToolNote(tool=row.tool, standing=row.standing, message=row.message, call_id=row.call_id) for row in payload.tools),
        results=payload.results,
        calls=payload.calls,
        misattached=tuple(
            Misattachment(value=m.value, stated_for=m.stated_for, served_for=m.served_for, start=m.start, end=m.end)
            for m in payload.misattached
        ),
        truncated=payload.truncated,
        is_data=payload.is_data,
    )


def _value(row: JudgedRow) -> EvidenceValue:
    return EvidenceValue(
        text=row.text,
        kind=row.kind,
        start=row.start,
        end=row.end,
        verdict=row.verdict,
        severity=row.severity,
        how=row.how,
        derivation=row.derivation or "",
        sources=_sources(row.sources),
        near=row.near,
        path=row.path or "",
    )


def _sources(text: str | None) -> tuple[ValueSource, ...]:
    try:
        return tuple(ValueSource(message, path, call_id) for message, path, call_id in json.loads(text or "[]"))
    except ValueError:  # a masked copy
        return ()
