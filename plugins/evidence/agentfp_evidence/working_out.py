"""What stands nowhere, worked out: from the results' rows, from other values of the answer, from an earlier answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from agentfp.transcripts import Severity
from agentfp_evidence.aggregates import find_aggregate
from agentfp_evidence.announced import is_announced
from agentfp_evidence.arithmetic import work_out
from agentfp_evidence.comparing import Comparer
from agentfp_evidence.context import sentence_around
from agentfp_evidence.counting import find_allowance, find_count, list_lengths
from agentfp_evidence.deriving import Deriver
from agentfp_evidence.equations import EQUALS, contradicts, equation
from agentfp_evidence.ladder import Ladder
from agentfp_evidence.magnitudes import significant
from agentfp_evidence.named_rows import Named, find_named, find_remainder
from agentfp_evidence.narrow import find_narrow
from agentfp_evidence.numbers import Number
from agentfp_evidence.operands import Operand, with_units_of_wholes, words_as_counts
from agentfp_evidence.options import EvidenceOptions
from agentfp_evidence.scan import Mention, Word
from agentfp_evidence.shifts import time_stated
from agentfp_evidence.timing import reckon_time
from agentfp_evidence.units import PERCENT, is_money, unit_of
from agentfp_evidence.verdict import Verdict, unverifiable
from agentfp_evidence.written import written_factor

Judged = list[tuple[Mention, Verdict]]
"""The values of a text in their order, and what was found of each so far."""
MAX_WORKED_OUT = 120
"""Values of one text for which a derivation is looked for; an honest answer leaves few to look at."""
MAX_AROUND = 100
"""Values before and behind one that it may be worked out from."""
MAX_STEPS = 4
"""Values worked out from values that are worked out themselves."""
_TELLING = 3
"""Significant digits of a number that an equation gives by no accident."""
_VERSION_LIKE = re.compile(r"\d{1,2}\.\d{1,2}\.\d{2}")
_RACE_TIME = re.compile(r"(\d{1,3}):([0-5]\d\.\d{1,3})")
"""Minutes, seconds and their fraction."""


class WorkingOut:
    """Works out the values of one text that stand nowhere.

    Args:
        ladder: what the text is judged by.
        text: the text, folded.
        words: its words.
        language: its language.
        restated: how an earlier answer worked a value out.
    """

    def __init__(
        self, ladder: Ladder, text: str, *, words: Sequence[Word], language: str, restated: Callable[[Mention], Verdict | None]
    ) -> None:
        self._ladder = ladder
        self._table = ladder.table
        self._options = ladder.options
        self._text = text
        self._language = language
        self._restated = restated
        self._spelled = words_as_counts(words)
        self._counts = [*self._spelled, *list_lengths(self._table)]
        self._deriver = Deriver(self._table, ladder.names, text, self._spelled)
        self._comparer = Comparer(text, self._deriver.around)
        self._unproven = False
        """Whether others may follow from weak findings: those are flagged, and what follows from them is not again."""

    def run(self, judged: Judged) -> None:
        """Give those values a verdict, in place, that follow from others.

        Args:
            judged: the values of the text; those that :func:`left_over` names are looked at.
        """
        left = left_over(judged)
        for i in left:
            mention = judged[i][0]
            if mention.number is not None:
                wrong = contradicts(self._text, mention.number, self._operands(judged, i))
                if wrong is not None:
                    judged[i] = (mention, Verdict("unsupported", "arithmetic", wrong, severity=severity_of(mention.number, self._options)))
                    continue
                found = self._counted(mention) or find_aggregate(self._ladder.aggregates, mention.number, self._text)
                if found is not None:
                    judged[i] = (mention, found)
        left = self._work_all_out(judged, left)
        restated = {i: found for i in left if (found := self._restated(judged[i][0])) is not None}
        for i, found in restated.items():
            judged[i] = (judged[i][0], found)
        if restated:
            left = self._work_all_out(judged, left)
        if self._grade(judged, left):
            self._unproven = True
            rest = [i for i in left if judged[i][1].severity == "strong"]
            self._work_all_out(judged, rest)
            self._unproven = False
            for i in rest:
                mention, verdict = judged[i]
                if verdict.verdict == "supported":
                    judged[i] = (mention, unverifiable("follows", (), verdict.derivation))

    def _grade(self, judged: Judged, left: list[int]) -> bool:
        """Say of what is left how grave it is; gives whether a finding is weak, so that the rest may follow from it."""
        for i in left:
            number = judged[i][0].number
            if number is not None and number.unit == PERCENT and number.value == 100:
                judged[i] = (judged[i][0], unverifiable("idiom"))
            elif number is not None and judged[i][1].severity == "strong" and self._options.profile != "strict":
                operands = self._operands(judged, i)
                if is_announced(self._table, self._text, number, may_follow=self._deriver.may_follow(number, operands)):
                    judged[i] = (judged[i][0], replace(judged[i][1], severity="weak", how="unproven"))
        return any(judged[i][1].severity == "weak" for i in left)

    def _work_all_out(self, judged: Judged, left: list[int]) -> list[int]:
        """Work out what can be, twice where one result serves another; what is left then."""
        for _ in range(MAX_STEPS):
            before = left = [i for i in left if judged[i][1].verdict == "unsupported"]
            for i in left:
                self._work_out(judged, i)
            left = [i for i in left if judged[i][1].verdict == "unsupported"]
            if left == before:
                break
        return left

    def _counted(self, mention: Mention) -> Verdict | None:
        number = mention.number
        if number is None or not number.readings[0].isdigit() or len(number.readings[0]) > 4:
            return None
        end = mention.end
        if number.unit is not None:
            if len(number.word) < 4 or not number.word.isalpha():
                return None
            end = mention.end - len(number.word) - 1  # "4 meters" may be four devices
        return find_count(self._table, self._text, mention.start, end, int(number.readings[0]), self._language)

    def _work_out(self, judged: Judged, at: int) -> None:
        mention, verdict = judged[at]
        if verdict.verdict != "unsupported" or verdict.how == "arithmetic":
            return
        found = self._timed(judged, at) or (self._followed(judged, at, mention, mention.number) if mention.number is not None else None)
        if found is not None:
            judged[at] = (mention, found)

    def _timed(self, judged: Judged, at: int) -> Verdict | None:
        """A date, a time or a length of time that follows from others."""
        mention = judged[at][0]
        if mention.kind not in ("moment", "number", "duration") or is_version(self._text, mention, self._language):
            return None
        return reckon_time(self._ladder, self._text, judged, at, self._operands(judged, at))

    def _followed(self, judged: Judged, at: int, mention: Mention, number: Number) -> Verdict | None:
        """A number that follows from others, by the first of the ways that gives it; those that say most come first."""
        for other, said in judged[max(0, at - MAX_AROUND) : at + MAX_AROUND]:
            if other is not mention and said.verdict == "supported" and said.derivation and is_same(other, mention):
                return said
        if number.unit is not None and time_stated(number, self._clocks_beside(judged, mention)):
            return Verdict("supported", "duration", "between the times beside it")
        text, table, operands = self._text, self._table, self._operands(judged, at)
        worked = work_out(text, number, operands, self._counts, self._operands(judged, at, "unverifiable"))
        if worked is not None:
            return Verdict("supported", worked.how, worked.derivation, worked.sources)
        small = [o for o in operands if o.unit is None and 2 <= o.value <= 50 and o.value.is_integer()]
        guesses = _guesses(judged, mention)
        return (
            find_named(table, text, number, _named(text, judged), [*small, *self._counts])
            or find_remainder(table, text, number, operands)
            or self._written_with_guess(number, operands, guesses)
            or (unverifiable("equation") if written_factor(text, number, operands) else None)
            or find_narrow(table, text, number, operands, self._counts)
            or self._deriver.find(number, operands, guesses)
            or self._comparer.find(number, operands)
            or find_allowance(table, text, number, [*small, *self._spelled])
        )

    def _written_with_guess(self, number: Number, operands: Sequence[Operand], guesses: Sequence[Operand]) -> Verdict | None:
        """An equation that the answer writes out with a small number that stands nowhere, and is flagged for that one only."""
        written_out = EQUALS.search(self._text, max(0, number.start - 8), number.start) is not None
        if not guesses or not (written_out or significant(number) >= _TELLING):
            return None
        written = equation(self._text, number, sorted([*operands, *guesses], key=lambda o: o.start))
        return None if written is None else Verdict("supported", written.how, written.derivation, written.sources)

    def _clocks_beside(self, judged: Judged, mention: Mention) -> list[tuple[int, int]]:
        first, last = sentence_around(self._text, mention.start, mention.end)
        moments = [m.moments[0] for m, v in judged if m.kind == "moment" and v.verdict == "supported" and first <= m.start < last]
        return [moment.clock[:2] for moment in moments if moment.clock is not None]

    def _operands(self, judged: Judged, at: int, verdict: str = "supported") -> list[Operand]:
        return operands_of(self._text, judged, at, verdict, weak=self._unproven)


def _named(text: str, judged: Judged) -> list[Named]:
    """The identifiers of the text that stand somewhere: they name rows."""
    identifiers = [m for m, v in judged if m.kind == "identifier" and v.verdict == "supported" and m.end - m.start >= 4]
    return [Named("i:" + text[m.start : m.end].lower(), m.start, m.end) for m in identifiers]


def _guesses(judged: Judged, mention: Mention) -> list[Operand]:
    """Small whole numbers that stand nowhere, or of which nothing can be said."""
    unsure = [m for m, v in judged if m is not mention and (v.severity == "weak" or v.verdict == "unverifiable")]
    return [
        Operand(m.number.value, None, m.start, m.end)
        for m in unsure
        if m.number is not None and m.number.readings[0].isdigit() and m.number.digits <= 3
    ]


def left_over(judged: Judged) -> list[int]:
    """Which values stand nowhere and may be worked out: numbers, dates and times."""
    found = [i for i, (m, v) in enumerate(judged) if v.verdict == "unsupported" and (v.how in ("absent", "impossible") or _is_share(m, v))]
    return [i for i in found if judged[i][0].number is not None or judged[i][0].kind == "moment"][:MAX_WORKED_OUT]


def is_version(text: str, mention: Mention, language: str) -> bool:
    """Whether what reads as a date may as well be a version, from which nothing is reckoned.

    Args:
        text: the text, folded.
        mention: the value.
        language: of the text.
    """
    return language == "en" and _VERSION_LIKE.fullmatch(text, mention.start, mention.end) is not None


def severity_of(number: Number, options: EvidenceOptions) -> Severity:
    """How grave it is that a number stands nowhere.

    Args:
        number: the number.
        options: of the judgement.
    """
    if options.profile == "strict" or number.digits >= options.min_digits or is_money(number.unit):
        return "strong"
    digits = len(number.readings[0].lstrip("-0.").replace(".", ""))
    return "strong" if number.unit is not None and digits >= 2 else "weak"


def operands_of(text: str, judged: Judged, at: int, verdict: str = "supported", *, weak: bool = False) -> list[Operand]:
    """The numbers around a value that are grounded, or have another verdict.

    Args:
        text: the text, folded.
        judged: its values.
        at: which of them the others stand around.
        verdict: of those that are wanted.
        weak: those with a weak finding, too.
    """
    found = []
    for m, v in judged[max(0, at - MAX_AROUND) : at + MAX_AROUND]:
        if m.number is not None and (v.verdict == verdict or (weak and v.severity == "weak")):
            found.append(Operand(m.number.value, m.number.unit, m.start, m.end, v.sources, _adds_up(v)))
        elif v.verdict == verdict and (race := _RACE_TIME.fullmatch(text, m.start, m.end)) is not None:
            found.append(Operand(60 * int(race[1]) + float(race[2]), unit_of("s"), m.start, m.end, v.sources))
    return with_units_of_wholes(text, found)


def _adds_up(verdict: Verdict) -> bool:
    """Whether a number is a total of others."""
    return verdict.how == "sum" or (verdict.how == "equation" and " + " in verdict.derivation)


def _is_share(mention: Mention, verdict: Verdict) -> bool:
    """Whether a number is so many percent, and stands elsewhere as a measure of something else."""
    return verdict.how == "unit" and mention.number is not None and mention.number.unit is PERCENT


def is_same(a: Mention, b: Mention) -> bool:
    """Whether two mentions state one value."""
    if a.number is not None and b.number is not None:
        return a.number.readings == b.number.readings and a.number.unit == b.number.unit
    return a.moments == b.moments
