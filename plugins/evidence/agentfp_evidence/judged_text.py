"""One text judged: its mentions found, each taken up the ladder of support until a rung holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from agentfp_evidence.context import gives_advice, is_threshold
from agentfp_evidence.counting import find_count
from agentfp_evidence.fold import fold, fold_word
from agentfp_evidence.in_words import shaped, weekdays_of
from agentfp_evidence.index import Posting, places
from agentfp_evidence.ladder import Found, Ladder, find_in
from agentfp_evidence.lexicon import language_of
from agentfp_evidence.lookup import find_address, find_day, find_identifier, find_moment, find_number, unit_differs
from agentfp_evidence.magnitudes import find_ambiguous, find_converted, find_magnitude
from agentfp_evidence.masks import (
    code_blocks,
    is_basis,
    is_common_name,
    is_numbering,
    numbering,
    stands_behind_label,
    stands_behind_standard,
)
from agentfp_evidence.moments import Moment
from agentfp_evidence.names import judge_name, name_spans
from agentfp_evidence.narrow import find_narrow
from agentfp_evidence.nearest import nearest_form, swapped
from agentfp_evidence.numbers import Number, in_language
from agentfp_evidence.quotes import judge_quote, plain, quotes_in
from agentfp_evidence.report import EvidenceValue
from agentfp_evidence.scan import Mention, Word
from agentfp_evidence.shifts import age, shifted, time_between
from agentfp_evidence.spans import time_as_clock
from agentfp_evidence.spelled import Spelled, is_measured, is_number_word, length_behind, spelled_in
from agentfp_evidence.timing import reckon_time
from agentfp_evidence.units import PERCENT, is_money, unit_of
from agentfp_evidence.verdict import Verdict, supported, unsupported, unverifiable
from agentfp_evidence.working_out import WorkingOut, is_same, is_version, left_over, operands_of, severity_of

SMALL_WORD = 12
"""Up to here a number in words may be a turn of phrase."""
_COUNTED = frozenset({"number", "quantity", "money"})
_MARKS = re.compile(r"[^\d.]|\.(?!\d)")
_ZERO = re.compile(r"[-+$€£]?0(?!\d|[.,]\d|e-?\d)|[$€£]?0[.,]0+(?=\s?(?:%|[A-Z]{3}\b|[$€£]))|[$€£]0\.0+", re.IGNORECASE)
"""Nothing, as it is said; 0.0 of a measure is a reading."""


class JudgedText:
    """One judgement of one text.

    Args:
        ladder: what it is judged by.
        text: the text, folded.
        original: the text as it came.
    """

    def __init__(self, ladder: Ladder, text: str, original: str) -> None:
        self._ladder = ladder
        self._table = ladder.table
        self._options = ladder.options
        self._text = text
        self._original = original
        self._stated: set[tuple[int | None, int, int | None]] = set()
        self._language = "en"
        self._words: list[Word] = []
        self.postings: dict[tuple[int, int], tuple[Posting, ...]] = {}
        """Where the values that stand in the evidence stand there, by their place in the text."""

    def values(self, found: Found | None = None, *, in_words: bool = True) -> list[EvidenceValue]:
        """Every value and its verdict, in the order of the text.

        Args:
            found: what there is to judge; the text is scanned for it unless given.
            in_words: it is prose: numbers in words, weekdays and quotes are judged too, numbers of lists and code are not.
        """
        found = found or find_in(self._text)
        self._words = found.words
        language = language_of([fold_word(w.text) for w in found.words])
        self._language = language = language or ("" if in_words else "en")  # data has hardly a word by which to tell
        judged = self._verdicts(found.mentions, masks=in_words)
        values = [self._value(_kind(m), m.start, m.end, v) for m, v in judged]
        for span in name_spans(self._text, found.words):
            named = judge_name(self._table, self._text, span, language)
            if named is not None:
                values.append(self._value("name", *named))
        if not in_words:
            return sorted(values, key=lambda v: (v.start, v.end))
        taken = [(v.start, v.end) for v in values]
        for kind, start, end, verdict in self._in_words(judged):
            if not any(a < end and start < b for a, b in taken):
                values.append(self._value(kind, start, end, verdict))
        for quote in quotes_in(self._text):
            if quote.is_code and not quote.reported and not self._ladder.quotes.has_like(quote.text):
                continue
            values.append(self._value("quote", quote.start, quote.end, judge_quote(self._ladder.quotes, quote)))
        return sorted(values, key=lambda v: (v.start, v.end))

    def _in_words(self, judged: list[tuple[Mention, Verdict]]) -> Iterator[tuple[str, int, int, Verdict]]:
        """Numbers in words, weekdays of dates, and tokens of a declared shape."""
        for spelled in spelled_in(self._text) if any(is_number_word(w.text) for w in self._words) else ():
            held = self._table.find(f"n:{spelled.value}")
            if held:
                yield "number", spelled.start, spelled.end, supported("exact", held)
                continue
            counted = find_count(self._table, self._text, spelled.start, spelled.end, spelled.value, self._language)
            if counted is not None:
                yield "number", spelled.start, spelled.end, counted
            elif (length := self._spelled_length(spelled, judged)) is not None:
                yield "number", spelled.start, spelled.end, length
            elif spelled.value <= SMALL_WORD and not (spelled.value > 2 and is_measured(self._text, spelled.start, spelled.end)):
                yield "number", spelled.start, spelled.end, unverifiable("small-word")
            else:
                yield "number", spelled.start, spelled.end, unsupported("weak")
        yield from weekdays_of(self._text, self._table, [m for m, _ in judged])
        if self._options.shapes:
            yield from shaped(self._text, self._table, self._options)

    def _spelled_length(self, spelled: Spelled, judged: list[tuple[Mention, Verdict]]) -> Verdict | None:
        """A length of time in words that follows from others: "two days later"."""
        word = length_behind(self._text, spelled.end)
        unit = unit_of(word) if word else None
        if unit is None and word not in ("night", "nights"):
            return None
        number = Number((str(spelled.value),), 0, len(str(spelled.value)), unit, word, False, spelled.start, spelled.end + 1 + len(word))
        asked = [*judged, (Mention("number", number.start, number.end, number), unsupported("weak"))]
        operands = operands_of(self._text, asked, len(judged))
        found = (
            time_between(self._table, number)
            or find_converted(self._table, number)
            or reckon_time(self._ladder, self._text, asked, len(judged), operands)
        )
        return found or find_narrow(self._table, self._text, number, operands, ())

    def numbers(self) -> list[tuple[Mention, Verdict]]:
        """The verdicts on everything but names."""
        found = find_in(self._text)
        self._words = found.words
        self._language = language_of([fold_word(w.text) for w in found.words])
        return self._verdicts(found.mentions)

    def _verdicts(self, mentions: list[Mention], *, masks: bool = True) -> list[tuple[Mention, Verdict]]:
        numbering_here = numbering(self._text) if masks else frozenset()
        code = code_blocks(self._text) if masks else []
        self._stated = {date for m in mentions for moment in m.moments for date in moment.dates}
        if self._language != "en":
            mentions = [m if m.number is None else replace(m, number=in_language(m.number, self._language)) for m in mentions]
        judged = [(m, self._first_look(m)) for m in mentions if not self._is_masked(m, numbering_here, code)]
        if left_over(judged):
            WorkingOut(self._ladder, self._text, words=self._words, language=self._language, restated=self._restated).run(judged)
        return judged

    def _is_masked(self, mention: Mention, numbers: frozenset[int], code: list[tuple[int, int]]) -> bool:
        text, start = self._text, mention.start
        if mention.kind in ("ordinal", "ratio"):
            return True
        if self._options.exempt and self._options.is_exempt(text[start : mention.end].lower()):
            return True
        if mention.number is not None:
            digits = mention.number.digits if mention.number.unit is None else 99
            if start in numbers or (digits <= 3 and stands_behind_label(text, start)):
                return True
            if is_basis(text, start, mention.end) or (digits <= 5 and stands_behind_standard(text, start)):
                return True
            return any(a <= start < b for a, b in code)
        if mention.kind == "version":
            return stands_behind_label(text, start) or start in numbers or stands_behind_standard(text, start)
        if mention.kind == "compound":
            token = text[start : mention.end]
            return not self._table.is_shaped(token) or bool(self._table.find(f"i:{token.lower()}"))
        if mention.kind == "identifier":
            token = text[start : mention.end]
            return is_common_name(token) or len(token) < 3 or (is_numbering(token) and stands_behind_label(text, start))
        return False

    def _first_look(self, mention: Mention) -> Verdict:
        """Whether a value stands somewhere, or is reckoned from one served value."""
        text, table = self._text, self._table
        if mention.number is not None:
            number = mention.number
            before = text[max(0, number.start - 24) : number.start]
            found = find_number(table, number, text) or find_magnitude(table, number, before) or find_converted(table, number)
            if found is None and self._language == "de":
                found = find_day(table, number, text)
            found = found or time_between(table, number) or age(table, number, before) or time_as_clock(table, number)
            if found is not None:
                return found
            if number.unit is not None and number.unit.dimension == "time" and gives_advice(text, number.start, number.end):
                return unverifiable("advice")
            if number.readings[0] == "0" and _ZERO.match(text, number.start):
                return unverifiable("zero")
            if is_threshold(text, number.start, mention.end):
                return unverifiable("bound")
            found = find_ambiguous(table, number)
            return found or unsupported(
                severity_of(number, self._options), "unit" if not number.hedged and unit_differs(table, number) else "absent"
            )
        if mention.kind == "moment":
            fixed = is_version(text, mention, self._language)
            verdicts = [find_moment(table, m) or (None if fixed else self._shifted(m)) for m in mention.moments]
            bad = next((v for v in verdicts if v is None or v.verdict == "unsupported"), verdicts[0])
            if bad is not None:
                return bad
            full = all(m.dates and all(y is not None and d is not None for y, _, d in m.dates) for m in mention.moments)
            return unsupported("strong" if full or self._options.profile == "strict" else "weak")
        if mention.kind in ("email", "url", "phone"):
            return find_address(table, mention, text) or unsupported("strong")
        if mention.kind == "compound":
            return unsupported("weak")
        return find_identifier(table, text[mention.start : mention.end]) or unsupported("strong")

    def _shifted(self, moment: Moment) -> Verdict | None:
        return shifted(self._table, self._ladder.offsets, moment, self._stated)

    def _restated(self, mention: Mention) -> Verdict | None:
        """How an earlier answer worked the value out; its own words ground nothing, its operands do."""
        token = self._text[mention.start : mention.end].strip("*_ ")
        for at, text in self._ladder.earlier(token):
            earlier = Ladder(self._ladder.index, self._options, at)
            for other, verdict in JudgedText(earlier, fold(text), text).numbers():
                if verdict.verdict != "unsupported" and other.kind == mention.kind and is_same(other, mention):
                    return replace(verdict, how="restated", derivation=f"{verdict.derivation or verdict.how} (message {at})")
        return None

    def _in_failed(self, folded: str, verdict: Verdict) -> Verdict:
        """A value that only the result of a failed call holds: no evidence, but worth saying; an error may be quoted."""
        held = [source for source in self._ladder.index.failed if folded in plain(source.text)]
        if not held:
            return verdict
        postings = [Posting(source, None) for source in held]
        if verdict.how == "misquoted":
            return unverifiable("failed", postings)
        return replace(verdict, how="failed", sources=places(postings))

    def _value(self, kind: str, start: int, end: int, verdict: Verdict) -> EvidenceValue:
        near = None
        folded = self._text[start:end].lower()
        if verdict.verdict == "unsupported" and verdict.how in ("absent", "unproven", "misquoted"):
            verdict = self._in_failed(folded, verdict)
        if verdict.verdict == "unsupported" and verdict.how in ("absent", "unproven", "misquoted", "unit") and self._ladder.index.unseen:
            verdict = replace(verdict, how="unseen", severity="weak")
        if verdict.verdict == "unsupported" and kind in _COUNTED and verdict.how in ("absent", "unproven"):
            bare = _MARKS.sub("", folded)
            near = swapped(bare, lambda form: bool(self._table.find(f"n:{form}")))
            if near is not None:  # a number that stands nowhere, and nearly is one that does
                verdict = replace(verdict, severity="strong", how="absent")
        if verdict.verdict == "unsupported" and kind in ("identifier", "email", "url", "phone"):
            near = nearest_form(folded, (k[2:] for k in self._table.values if k[0] in "ieup"))
        if verdict.postings and not verdict.derivation:
            self.postings[start, end] = verdict.postings
        return EvidenceValue(
            text=self._original[start:end],
            kind=kind,
            start=start,
            end=end,
            verdict=verdict.verdict,
            severity=verdict.severity,
            how=verdict.how,
            derivation=verdict.derivation,
            sources=verdict.sources,
            near=near,
            value=folded,
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
    return "identifier" if mention.kind == "compound" else mention.kind
