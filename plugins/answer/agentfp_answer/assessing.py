"""The assessment: a pure function of what the record says. It reads rows, and results where there are none; it never looks elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentfp_answer.arguments import argument_rows, rewritten, rewritten_rows
from agentfp_answer.envelopes import Envelope, envelopes_of, may_declare
from agentfp_answer.hiding import hidden
from agentfp_answer.raw import masked, number, text, texts
from agentfp_answer.reading import Reading, Result, Row
from agentfp_answer.reports import Assessment, Check, Reason, Standing, Value, Witness
from agentfp_answer.shapes import Shape, shape_of
from agentfp_answer.table import PERIODS, REASONS

MOST_WITNESSES = 20
ASKING = ("inputs", "results")
"""Plugins whose questions are about what a call is made with: its arguments, and the person's time zone."""
SETTLED = ("success", "partial", "absent")
_WORDS: Mapping[Standing, Value] = {
    "ask": "unknown",
    "not-sure": "unknown",
    "known": "known",
    "consistent": "unrefuted",
    "not-assessed": "not-applicable",
}


def assess(reading: Reading, *, rows_at: Mapping[str, str] | None = None) -> Assessment:
    """Assess the last turn of a conversation.

    Args:
        reading: what its record says.
        rows_at: where tools' results hold their rows, by tool; beside what the record says of it.
    """
    return _Assessing(reading, {**reading.rows_at, **(rows_at or {})}).made()


def counts(result: Result) -> bool:
    """Whether a call brought something: a result, or the limits of one that was too large to be read."""
    if not result.ran:
        return False
    return result.outcome in SETTLED or (result.outcome == "invalid" and may_declare("", result.private))


class _Assessing:
    def __init__(self, reading: Reading, rows_at: Mapping[str, str]) -> None:
        self.turn = reading.turn
        self.rows_at = rows_at
        self.fired: dict[str, list[Witness]] = {}
        self.counts: dict[str, int] = {}
        self.checks: list[Check] = []
        self.support: list[Witness] = []
        self.kept_out: dict[str, None] = {}

    def made(self) -> Assessment:
        self._questions()
        self._arguments()
        self._results()
        self._nested()
        self._periods()
        self._conflicts()
        self._values()
        self._ends()
        self._validated()
        self._claims()
        reasons = tuple(
            Reason(kind, entry.layer, entry.asks, self.counts[kind], tuple(self.fired[kind][:MOST_WITNESSES]))
            for kind, entry in REASONS.items()
            if kind in self.fired
        )
        standing = self._standing(reasons)
        return Assessment(
            _WORDS[standing],
            standing,
            self.turn.number,
            reasons,
            tuple(self.checks),
            tuple(self.support[:MOST_WITNESSES]) if standing == "known" else (),
            "person" if self.turn.number else "whole-history",
            tuple(self.kept_out),
        )

    def _standing(self, reasons: tuple[Reason, ...]) -> Standing:
        if self.kept_out:
            return "not-assessed"
        if reasons:
            return "ask" if any(reason.asks for reason in reasons) else "not-sure"
        if self.support:
            return "known"
        return "consistent" if any(check.ran for check in self.checks) else "not-assessed"

    def fire(self, kind: str, row: Row | Result, path: str = "") -> None:
        """Note that a reason shows somewhere."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        places = self.fired.setdefault(kind, [])
        if len(places) < MOST_WITNESSES:
            places.append(Witness(row.seq, row.name, path, row.call_id))

    def check(self, layer: int, name: str, ran: int, of: int, rows: Iterable[Row | Result]) -> None:
        """Note a check that there was something to look at for."""
        if of:
            places = [Witness(row.seq, row.name, "", row.call_id) for row in rows]
            self.checks.append(Check(layer, name, ran, of, tuple(places[:MOST_WITNESSES])))

    def keep_out(self, what: str) -> None:
        """Note that something would have been needed and is masked."""
        self.kept_out.setdefault(what)

    # --- questions, arguments ---

    def _questions(self) -> None:
        pause = self.turn.pause
        if pause is None:
            return
        listed = pause.data.get("questions")
        questions = [question for question in listed if isinstance(question, dict)] if isinstance(listed, list) else []
        for index, question in enumerate(questions):
            about = "argument-asked" if question.get("plugin") in ASKING else "asked"
            self.fire(about, pause, f"/questions/{index}")
        if not questions:
            self.fire("asked", pause)

    def _arguments(self) -> None:
        rows = argument_rows(self.turn)
        ruled = [row for row in rows if row.data.get("rule") is not None]
        sourced = [row for row in rows if row.data.get("claimed") is not None]
        for row in rows:
            data = row.data
            if masked(row.call_id) or masked([data.get(name) for name in ("argument", "rule", "source", "asked", "failed")]):
                self.keep_out("agentfp.inputs.argument")
            source = data.get("source")
            if data.get("asked") is not None and source is None:
                if self.turn.pause is not None and not any(reason == "argument-asked" for reason in self.fired):
                    self.fire("argument-asked", row, "/asked")
                continue
            if source == "default":
                self.fire("argument-assumed", row, "/source")
            elif source == "model" and (data.get("rule") is not None or data.get("period")):
                self.fire("argument-unverified", row, "/source")
            elif data.get("failed") is not None:
                self.fire("argument-unverified", row, "/failed")
            elif source == "said" and data.get("reading"):
                self.fire("argument-read", row, "/reading")
            elif source == "result" and data.get("set_aside") is not None:
                self.fire("value-contingent", row, "/set_aside")
        told = rewritten_rows(self.turn)
        for row in told.values():
            if row.data.get("origin") is None:
                self.fire("argument-assumed", row, "/by")
        for seq, row, kept in rewritten(self.turn, [row for row in ruled if (row.call_id, str(row.data.get("argument"))) not in told]):
            if kept:
                self.fire("argument-assumed", Row(seq, "agentfp.hook.verdict", row.call_id, {}), "/arguments")
            else:
                self.keep_out("agentfp.hook.verdict.arguments")
        for row in self.turn.of("agentfp.findings.contingent"):
            self.fire("value-contingent", row)
        self.check(2, "argument-rules", len(ruled), len(ruled), ruled)
        ran = [row for row in sourced if row.data.get("failed") != "uncheckable"]
        self.check(2, "argument-sources", len(ran), len(sourced), ran)

    # --- results ---

    def _results(self) -> None:
        results = [result for result in self.turn.results if counts(result)]
        readable, declaring = [], []
        for result in results:
            if masked(result.call_id):
                self.keep_out("agentfp.tool.ended.call_id")
            found = envelopes_of(result.content, result.private) if may_declare(result.content, result.private) else ()
            shape = shape_of(result.outcome, result.content, rows_at=self.rows_at.get(result.tool or ""))
            if hidden(result.content, result.private, rows_at=self.rows_at.get(result.tool or "")):
                self.keep_out("agentfp.tool.ended.content")
            if found:
                declaring.append(result)
                self._limits(result, found, shape)
            elif shape.kind == "declared-absent":
                self.fire("declared-absent", result, "/outcome" if result.outcome == "absent" else f"/content{shape.path}")
            elif shape.kind == "undeclared-empty":
                self.fire("empty-undeclared", result, f"/content{shape.path}")
            if shape.kind != "unknown":
                readable.append(result)
        self.check(3, "result-shape", len(readable), len(results), readable)
        self.check(3, "tool-coverage", len(declaring), len(results), declaring)

    def _limits(self, result: Result, found: tuple[Envelope, ...], shape: Shape) -> None:
        for envelope in found:
            under = "/coverage" if envelope.kind == "semantics" else ""
            for name in ("not_checked", "cannot_cover"):
                for index in range(len(getattr(envelope, name))):
                    self.fire("coverage-gap", result, f"{envelope.path}{under}/{name}/{index}")
        absence = next((envelope for envelope in found if envelope.kind == "absence"), None)
        if absence is not None:
            self.fire("declared-absent", result, absence.path)
        elif shape.kind in ("declared-absent", "undeclared-empty"):
            self.fire("declared-absent", result, f"/content{shape.path}")

    def _nested(self) -> None:
        for row in self.turn.of("agentfp.answer.nested"):
            for index, kind in enumerate(texts(row.data.get("reasons"))):
                if kind in REASONS and not REASONS[kind].asks:
                    self.fire(kind, row, f"/reasons/{index}")

    def _periods(self) -> None:
        rows = self.turn.of("agentfp.results.period")
        for row in rows:
            verdict = text(row.data.get("verdict")) or ""
            if masked(verdict):
                self.keep_out("agentfp.results.period")
            if verdict in PERIODS:
                self.fire(PERIODS[verdict], row, "/verdict")
            if _said(row.data.get("differs")):
                self.fire("period-differs-from-asked", row, "/differs")
            if _said(row.data.get("beyond_retention")):
                self.fire("period-beyond-retention", row, "/beyond_retention")
        ran = [row for row in rows if row.data.get("verdict") != "undeclared"]
        self.check(3, "result-period", len(ran), len(rows), ran)

    def _conflicts(self) -> None:
        calls = {result.call_id for result in self.turn.results}
        for row in self.turn.of("agentfp.findings.conflict"):
            witnesses = texts(row.data.get("witnesses"))
            if any(masked(witness) for witness in witnesses):
                self.keep_out("agentfp.findings.conflict.witnesses")
            elif calls.intersection(witnesses):
                self.fire("sources-conflict", row, "/witnesses")

    # --- the answer ---

    def _values(self) -> None:
        rows = self.turn.of("agentfp.evidence.checked")
        if rows:
            row = rows[-1]
            flagged = number(row.data.get("unsupported")) > 0
            if flagged:
                after = row.data.get("after_revision") is True
                self.fire("value-survived-revision" if after else "value-unsupported", row, "/unsupported")
            looked_up = number(row.data.get("supported")) + number(row.data.get("unsupported"))
            whole = looked_up + number(row.data.get("unverifiable"))
            self.check(4, "names-and-numbers", looked_up, whole, [row])
        for derived in self.turn.of("agentfp.time.derived"):
            self.fire("derived-from-reading", derived)

    def _ends(self) -> None:
        turn = self.turn
        if turn.early is not None:
            self.fire("stopped-early", turn.early, "/reason")
        for name in ("agentfp.skill.steps_unfinished", "agentfp.skills.steps_unfinished"):
            for row in turn.of(name):
                if row.data.get("action") in ("accepted", "cut-short"):
                    self.fire("steps-unfinished", row, "/action")
        for row in turn.of("agentfp.answer.not_assessed"):
            self.fire("check-unreachable", row, "/plugin")
        if turn.ended is not None and turn.ended.data.get("status") in ("failed", "cancelled"):
            self.fire("answer-missing", turn.ended, "/status")

    def _validated(self) -> None:
        rows = self.turn.of("agentfp.answer.validated")
        if not rows:
            return
        row = rows[-1]
        status = row.data.get("status")
        checks = row.data.get("checks")
        found = [check.get("disposition") for check in checks if isinstance(check, dict)] if isinstance(checks, list) else []
        if status == "failed":
            self.fire("answer-check-failed", row, "/status")
        elif status != "passed":
            self.fire("check-unreachable", row, "/status")
        elif (later := [verdict for verdict in self.turn.of("agentfp.hook.verdict") if verdict.seq > row.seq]) != []:
            self.fire("check-unreachable", later[0], "/verdict")  # what went out is not what was checked
        elif row.data.get("mode") == "enforce":
            self.support.append(Witness(row.seq, row.name, "/digest"))
        ran = sum(disposition in ("checked-pass", "checked-fail") for disposition in found)
        self.check(4, "answer-checks", ran, len(found), [row])

    def _claims(self) -> None:
        latest = {str(row.data.get("field")): row for row in self.turn.of("agentfp.answer.claim")}
        rows = list(latest.values())
        ran = [row for row in rows if text(row.data.get("disposition")) in ("checked-pass", "checked-fail")]
        for row in rows:
            if row.data.get("disposition") == "checked-fail":
                self.fire("claim-contradicted", row, "/disposition")
        if rows and all(row.data.get("disposition") == "checked-pass" and not row.data.get("advisory") for row in rows):
            self.support += [Witness(row.seq, row.name, "/disposition") for row in rows]
        self.check(4, "claims", len(ran), len(rows), rows)


def _said(value: Any) -> bool:
    """Whether a row's optional mark is set."""
    return value is not None and value is not False and value != "" and value != 0
