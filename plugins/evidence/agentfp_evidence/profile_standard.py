"""The standard profile: every value of an answer, judged rung by rung."""

from __future__ import annotations

from typing import Any

from agentfp_evidence.fold import fold, fold_word
from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.lexicon import language_of
from agentfp_evidence.lookup import find_address, find_identifier, find_moment, find_number, unit_differs
from agentfp_evidence.masks import code_blocks, is_common_name, numbering, stands_behind_label, stands_behind_standard
from agentfp_evidence.names import judge_name, name_spans
from agentfp_evidence.nearest import nearest_form
from agentfp_evidence.numbers import Number
from agentfp_evidence.options import EvidenceOptions
from agentfp_evidence.report import EvidenceReport, EvidenceValue
from agentfp_evidence.scan import Mention, Word, scan
from agentfp_evidence.table import Table
from agentfp_evidence.units import PERCENT, is_money
from agentfp_evidence.verdict import Verdict, unsupported

from agentfp.transcripts import Severity


def judge_standard(
    index: EvidenceIndex, answer: str, options: EvidenceOptions, *, output_type: Any = None, is_data: bool = False
) -> EvidenceReport:
    """Judge an answer by the standard profile.

    Args:
        index: the evidence.
        answer: the answer's text.
        options: shapes, exemptions and strictness.
        output_type: the type of a typed answer.
        is_data: the text is JSON that was made of data.
    """
    table = index.facet(Table)
    judging = _Judging(table, fold(answer), answer, options)
    values = judging.text()
    return EvidenceReport(
        answer=answer,
        profile=options.profile,
        values=tuple(sorted(values, key=lambda v: (v.start, v.end))),
        tools=tuple(index.tools),
        calls=index.calls,
        results=index.results,
        truncated=table.truncated,
        is_data=is_data,
    )


class _Judging:
    """One judgement of one text."""

    def __init__(self, table: Table, text: str, original: str, options: EvidenceOptions) -> None:
        self.table = table
        self.folded = text
        self.original = original
        self.options = options
        self.values: list[EvidenceValue] = []

    def text(self) -> list[EvidenceValue]:
        words: list[Word] = []
        mentions = list(scan(self.folded, lambda *word: words.append(Word(*word))))
        numbers = numbering(self.folded)
        code = code_blocks(self.folded)
        for mention in mentions:
            if mention.kind in ("ordinal", "ratio") or self._is_masked(mention, numbers, code):
                continue
            verdict = self._verdict(mention)
            self._say(mention, verdict)
        language = language_of([fold_word(w.text) for w in words])
        for span in name_spans(self.folded, words):
            judged = judge_name(self.table, self.folded, span, language)
            if judged is not None:
                start, end, verdict = judged
                self._add("name", start, end, verdict)
        return self.values

    def _is_masked(self, mention: Mention, numbers: frozenset[int], code: list[tuple[int, int]]) -> bool:
        text, start = self.folded, mention.start
        if mention.number is not None:
            if start in numbers or stands_behind_label(text, start) or stands_behind_standard(text, start):
                return True
            return any(a <= start < b for a, b in code)
        if mention.kind == "version":
            return stands_behind_label(text, start) or start in numbers or stands_behind_standard(text, start)
        if mention.kind == "identifier":
            token = text[start : mention.end]
            return is_common_name(token) or len(token) < 3 or stands_behind_label(text, start)
        return False

    def _verdict(self, mention: Mention) -> Verdict:
        text = self.folded
        if mention.number is not None:
            found = find_number(self.table, mention.number, text)
            if found is not None:
                return found
            why = "unit" if unit_differs(self.table, mention.number) else "absent"
            return unsupported(_number_severity(mention.number, self.options), why)
        if mention.kind == "moment":
            verdicts = [find_moment(self.table, moment) for moment in mention.moments]
            bad = next((v for v in verdicts if v is None or v.verdict == "unsupported"), verdicts[0])
            if bad is not None:
                return bad
            full = all(y is not None and d is not None for m in mention.moments for y, _, d in m.dates) and bool(mention.moments[0].dates)
            return unsupported("strong" if full or self.options.profile == "strict" else "weak")
        if mention.kind in ("email", "url", "phone"):
            return find_address(self.table, mention, text) or unsupported("strong")
        return find_identifier(self.table, text[mention.start : mention.end]) or unsupported("strong")

    def _say(self, mention: Mention, verdict: Verdict) -> None:
        self._add(_kind(mention), mention.start, mention.end, verdict)

    def _add(self, kind: str, start: int, end: int, verdict: Verdict) -> None:
        near = None
        if verdict.verdict == "unsupported" and kind in ("identifier", "email", "url", "phone"):
            near = nearest_form(self.folded[start:end].lower(), (k[2:] for k in self.table.values if k[0] in "ieup"))
        self.values.append(
            EvidenceValue(
                text=self.original[start:end],
                kind=kind,
                start=start,
                end=end,
                verdict=verdict.verdict,
                severity=verdict.severity,
                how=verdict.how,
                derivation=verdict.derivation,
                sources=verdict.sources,
                near=near,
                value=self.folded[start:end].lower(),
            )
        )


def _kind(mention: Mention) -> str:
    if mention.number is not None:
        if mention.kind == "duration":
            return "duration"
        unit = mention.number.unit
        if is_money(unit):
            return "money"
        return "percent" if unit == PERCENT else "quantity" if unit is not None else "number"
    if mention.kind == "moment":
        first = mention.moments[0]
        return "time" if not first.dates else "date" if first.clock is None else "datetime"
    return mention.kind


def _number_severity(number: Number, options: EvidenceOptions) -> Severity:
    if options.profile == "strict" or number.digits >= options.min_digits or is_money(number.unit):
        return "strong"
    significant = len(number.readings[0].lstrip("-0.").replace(".", ""))
    return "strong" if number.unit is not None and significant >= 2 else "weak"
