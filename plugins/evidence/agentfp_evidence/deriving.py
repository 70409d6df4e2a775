"""From what the numbers of an answer may be worked out: its sentence, the rows and fields that the sentence names, what stands near."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agentfp_evidence.columns import flat_numbers
from agentfp_evidence.context import (
    LABELS,
    cells_above,
    column_header,
    label_around,
    names_field,
    sentence_around,
    speaks_of_money,
    words_naming,
)
from agentfp_evidence.entries import words_of_key
from agentfp_evidence.magnitudes import significant
from agentfp_evidence.moments import MONTHS
from agentfp_evidence.numbers import Number
from agentfp_evidence.operands import Operand
from agentfp_evidence.reckoning import MAX_RISK, MAX_TERMS, NARROW_RISK, Result, Term, first_hit, reckon
from agentfp_evidence.row_names import NamedRow, RowNames
from agentfp_evidence.row_results import column_sums, discounted, from_rows, of_row, shares_of
from agentfp_evidence.table import Table
from agentfp_evidence.units import PERCENT, Unit, agree, is_money, unit_of_key
from agentfp_evidence.verdict import Verdict

MAX_ROWS_NAMED = 4
_JUST_BEFORE = 3
_NEAR_BEFORE, _NEAR_BEHIND = 6, 2
_CHANGED = 4
_PARAGRAPH = 300
_FEW = 30
"""Where the conversation holds no more numbers than that, each may be one that the answer reckons with."""
_EACH = re.compile(
    r"\b(?:per|each|apiece|every|\d\S*(?: [^\W\d_]+)? an? [^\W\d_]+|an? (?:night|day|week|month|year|glass|person|piece|head)"
    r"|times|x|double|twice|half|share|split"
    r"|je|jeweils|pro|par|chacun\w*|for (?:your|the|all|both))\b|/",
    re.IGNORECASE,
)
_ADDS = re.compile(r"\b(?:makes?|making|pays?|adds?|comes?|bring\w*|plus|zusammen|macht|ergibt)\b", re.IGNORECASE)
_LESS = re.compile(
    r"\b(?:above|below|over|under|within|older|younger|faster|slower|quicker|better|worse"
    r"|warmer|colder|larger|smaller|bigger|heavier|lighter|taller|stronger|weaker"
    r"|earlier|later|apart|missing|away|after|discount\w*|deduct\w*|instead|against|than|between|compared|to go"
    r"|above|unter|\u00fcber|nach|statt|als|fehl\w*|sous|apr\u00e8s|que|manqu\w*)\b",
    re.IGNORECASE,
)
_PER_HUNDRED = re.compile(r"\b(?:per|pro|je|auf|aux?|par) 100\b", re.IGNORECASE)
_RATE = re.compile(r"\b(?:per|pro|je|par)\b|/", re.IGNORECASE)
_FELL = re.compile(
    r"\b(?:lost|lose\w*|fell|fall\w*|drop\w*|decreas\w*|less|lower\w*|cheaper|discount\w*|down|sank|shr[au]nk\w*|sav\w+|below|weniger|gesunken|moins|baiss\w*)\b",
    re.IGNORECASE,
)
_ROSE = re.compile(
    r"\b(?:rose|rise\w*|grew|grow\w*|gain\w*|increas\w*|more|higher|up|over|above|mehr|gestiegen|plus|hauss\w*|augment\w*)\b", re.IGNORECASE
)
_YEARLY = re.compile(r"\b(?:years?|yearly|annual\w*|jahr\w*|j\u00e4hrlich|ans?|ann\u00e9e)\b", re.IGNORECASE)
_DAILY = re.compile(
    r"\b(?:a day|per day|daily|each day|am tag|pro tag|t\u00e4glich|par jour|al d[i\u00ed]a|por d[i\u00ed]a|al giorno|per dag)\b",
    re.IGNORECASE,
)
_MONTH_WORDS = ("month", "monat", "mois", "mes", "mese", "maand")
_ROW = re.compile(r"(?m)^(?:\|\s*|[-*\u2022]\s+)[*_]*([^\W\d_][^|:\n*]{1,40}?)[*_]*\s*[|:][^\n]*$")
_PLAIN = frozenset({"sum", "product", "ratio", "proportion"})
_CERTAIN = 0.004
"""Below that a difference needs no word that calls it one."""
_ANY_RISK = 10.0
"""No bound at all."""
_PRODUCT = frozenset({"product"})
_TELLING_DIGITS = 4
_TELLING_PRICE = 5
_TELLING_BARE = 3
_OTHER = re.compile(
    r"\b(?:remain\w*|left|rest|other|unused|free|off|without|tax\w*|vat|gross|net|incl\w*|markup|tip|service|surcharge|fee|discount\w*|rebate"
    r"|mwst|brutto|netto|rabatt|zuschlag|tva|remise|ttc|ht)\b",
    re.IGNORECASE,
)
"""Words of a share that is added, taken off or left over."""
_PERCENT = frozenset({"percent"})


class Around(NamedTuple):
    """What a sentence stands for."""

    sentence: list[Term]
    fields: list[Term]
    rows: list[list[NamedRow]]


class Deriver:
    """Finds how the numbers of one text follow from others.

    Args:
        table: the evidence.
        names: the rows of the results by their texts.
        text: the answer, folded.
        counts: numbers in words.
    """

    def __init__(self, table: Table, names: RowNames, text: str, counts: Sequence[Operand]) -> None:
        self._table = table
        self._names = names
        self._text = text
        self._counts = counts
        self._rows: dict[tuple[int, int], list[tuple[int, NamedRow]]] = {}
        self._few: list[tuple[Term, tuple[str, ...]]] | None = None

    def find(self, number: Number, operands: Sequence[Operand], guesses: Sequence[Operand] = ()) -> Verdict | None:
        """How a number follows from others, where that is hardly an accident.

        Args:
            number: the number that stands nowhere.
            operands: the grounded numbers of the answer.
            guesses: small numbers that stand nowhere; the answer may still multiply by one, and is flagged for that one only.
        """
        if self._text[max(0, number.start - 1) : number.start] == "#":
            return None  # a reference is no amount
        around = self.around(number, operands)
        if number.unit is PERCENT:
            change = first_hit(number, self._changes(number, around), max_risk=NARROW_RISK)
            if change is not None:
                return verdict_of(number, change)
            for shares in self._shares(number, operands, around):
                share = first_hit(number, shares, max_risk=NARROW_RISK)
                if share is not None:
                    return verdict_of(number, share)
        first, last = sentence_around(self._text, number.start, number.end)
        if _PER_HUNDRED.search(self._text, first, last):
            scaled = Number(
                (f"{number.value / 100:.12g}",), number.decimals + 2, number.digits, None, "", number.hedged, number.start, number.end
            )
            near = [term_of(o)._replace(unit=None) for o in operands if o.end <= number.start][-_NEAR_BEFORE:]
            found = reckon(scaled, near, frozenset({"ratio"}), max_risk=NARROW_RISK)
            if found is not None:
                return verdict_of(number, found._replace(written=f"100 * {found.written}"))
        hows_said = self._hows(number)
        for hows in hows_said:
            risk = NARROW_RISK if hows is not hows_said[-1] else MAX_RISK
            few = self._few_numbers()
            for terms, others in self._rings(number, operands, around):
                wide = 0.5 if few and len(others) == len(few) else 1.0
                found = reckon(number, terms, hows, others, max_risk=wide * risk)
                if found is not None:
                    return verdict_of(number, found)
        if guesses and significant(number) >= _TELLING_DIGITS:
            near = [term_of(o) for o in operands if o.end <= number.start][-_NEAR_BEFORE:]
            some = [term_of(o, counting=True) for o in guesses if o.end <= number.start][-_JUST_BEFORE:]
            found = reckon(number, some, _PRODUCT, near)
            if found is not None:
                return verdict_of(number, found)
        if is_money(number.unit) and number.decimals > 0 and number.digits >= _TELLING_PRICE:
            found = first_hit(number, discounted(number, self._few_numbers()), max_risk=NARROW_RISK)
            if found is not None:
                return verdict_of(number, found)
        everything = hows_said[-1] | {"difference"}
        for terms, others in self._rings(number, operands, around):
            found = reckon(number, terms, everything, others, max_risk=_CERTAIN)
            if found is not None:
                return verdict_of(number, found)
        for rows in around.rows:
            found = reckon(number, of_row(rows[0]), hows_said[-1] - {"proportion"}, max_risk=NARROW_RISK) if len(rows) == 1 else None
            if found is not None:
                return verdict_of(number, found)
        for results in from_rows(number, around.rows, "difference" in hows_said[-1]):
            found = first_hit(number, results, max_risk=NARROW_RISK)
            if found is not None:
                return verdict_of(number, found)
        return None

    def may_follow(self, number: Number, operands: Sequence[Operand]) -> bool:
        """Whether some of the numbers near give a number at all, be it by accident.

        Args:
            number: the number that stands nowhere.
            operands: the grounded numbers of the answer.
        """
        ways = (_PERCENT,) if number.unit is PERCENT else (_PLAIN | {"difference"},)
        few = [term for term, _ in self._few_numbers()]
        around = self.around(number, operands)
        rings = [(terms, others) for terms, others in self._rings(number, operands, around) if terms]
        rings.append((few[:MAX_TERMS], few[MAX_TERMS:]))
        return any(reckon(number, terms, hows, others, max_risk=_ANY_RISK) is not None for terms, others in rings for hows in ways)

    def _shares(self, number: Number, operands: Sequence[Operand], around: Around) -> Iterator[Iterator[Result]]:
        """A share in percent: of the part right before it ("84 in Lyon (55%)"), of a named row, or of a number near; of larger ones."""
        before = [o for o in operands if o.end <= number.start]
        few = [term for term, _ in self._few_numbers()]
        wholes = [*map(term_of, operands[-_FEW:]), *few]
        if before and number.start - before[-1].end < 30 and "." not in self._text[before[-1].end : number.start]:
            yield shares_of([term_of(before[-1])], wholes)
        for rows in around.rows:
            if len(rows) == 1:
                columns = dict(zip(rows[0].numbers, column_sums(rows[0]), strict=True))
                yield (r for part in of_row(rows[0]) for r in shares_of([part], [columns[part.name]]))
                yield shares_of(of_row(rows[0]), wholes)
        near = [term_of(o) for o in before[-_NEAR_BEFORE:]]
        sums = [term_of(o) for o in operands if o.is_sum]
        yield shares_of([term_of(o) for o in self._said_of(number, operands)], sums)
        yield shares_of(near, sums or near)
        yield shares_of(few, sums)

    def _said_of(self, number: Number, operands: Sequence[Operand]) -> list[Operand]:
        """The amounts of the answer's own rows whose heads the sentence of a number names."""
        first, last = sentence_around(self._text, number.start, number.end)
        sentence = self._text[first:last].lower()
        found: list[Operand] = []
        for line in _ROW.finditer(self._text):
            head = line[1].strip(" *_").lower()
            if not line.start() <= number.start < line.end() and re.search(rf"(?<!\w){re.escape(head)}(?!\w)", sentence):
                found.extend(o for o in operands if line.start() <= o.start < line.end())
        return found

    def _changes(self, number: Number, around: Around) -> Iterator[Result]:
        """By how many percent something fell or rose, of two numbers of the sentence."""
        first, last = sentence_around(self._text, number.start, number.end)
        fell, rose = (pattern.search(self._text, first, last) for pattern in (_FELL, _ROSE))
        terms = [t for t in around.sentence if t.unit is not PERCENT and not t.counting and t.value][:_CHANGED]
        for a, b in itertools.combinations(terms, 2):
            low, high = sorted((abs(a.value), abs(b.value)))
            if low != high and agree(a.unit, b.unit):
                if fell:
                    yield Result("percent-change", 100 * (high - low) / high, f"100 * ({high:g} - {low:g}) / {high:g}", (a, b))
                if rose:
                    yield Result("percent-change", 100 * (high - low) / low, f"100 * ({high:g} - {low:g}) / {low:g}", (a, b))

    def _hows(self, number: Number) -> list[frozenset[str]]:
        """The ways of reckoning that the words around a number speak of, and those that need no word; no difference goes without."""
        first, last = sentence_around(self._text, number.start, number.end)
        change = frozenset({"change"} if any(p.search(self._text, first, last) for p in (_FELL, _ROSE, _LESS, _OTHER)) else ())
        if number.unit is PERCENT:
            return [_PERCENT | change]
        label = label_around(self._text, number.start, number.end)
        said = {how for how in ("sum", "difference") if LABELS[how].search(label)}
        if _LESS.search(label):
            said.add("difference")
        if _EACH.search(self._text, first, last):
            said |= {"product", "ratio", "proportion"}
        if _ADDS.search(label):
            said.add("sum")
        all_ = set(_PLAIN)
        if number.unit is None and significant(number) < _TELLING_BARE and not said:
            all_ -= {"product", "ratio", "proportion"}
        if is_money(number.unit) and not (LABELS["sum"].search(label) or _ADDS.search(label)):
            all_.discard("sum")
        if LABELS["difference"].search(self._text, first, last) or _LESS.search(self._text, first, last):
            all_.add("difference")
        rate = {"rate"} if _RATE.search(self._text, first, last) else set()
        return [*(frozenset({how, *rate}) for how in sorted(said)), frozenset(all_ | said | rate | change)]

    def around(self, number: Number, operands: Sequence[Operand]) -> Around:
        """What the sentence of a number stands for: its own values, the fields and the rows that it names."""
        first, last = sentence_around(self._text, number.start, number.end)
        own = [term_of(o) for o in operands if first <= o.start < last]
        counts = [term_of(c, counting=True) for c in self._counts if first <= c.start < last]
        if _YEARLY.search(self._text, first, last):
            counts.append(Term(12, None, name="months of a year", counting=True))
        if _DAILY.search(self._text, first, last) and any(word in self._table.words for word in (*MONTHS, *_MONTH_WORDS)):
            counts += [Term(days, None, name="days of a month", counting=True) for days in (30, 31)]
        named = self._named(first, last)
        if len({at for at, _ in named}) < 2:  # the sentence before may name what this one compares with
            begin = max(self._text.rfind("\n", 0, first) + 1, first - _PARAGRAPH)
            named = [*((at + begin - first, row) for at, row in self._named(begin, first)), *named]
        header = column_header(self._text, number.start)
        if header:
            named = [*((0, row) for _, row in self._names.named_in(header)), *named]
        before = [(at, row) for at, row in named if first + at < number.start]
        behind = [(at, row) for at, row in named if first + at >= number.end]
        rows = [[row for at, row in before if at == before[-1][0]]] if before else []
        rows += [[row for at, row in behind if at == behind[0][0]]] if behind else []
        everything = [row for _, row in named]
        if len(everything) > max((len(group) for group in rows), default=0):
            rows.append(everything)
        sentence = self._text[first:last]
        fields = [term for term, words in self._few_numbers() if names_field(sentence, words)]
        return Around([*own, *counts], fields, [group for group in rows if 0 < len(group) <= MAX_ROWS_NAMED])

    def _rings(self, number: Number, operands: Sequence[Operand], around: Around) -> Iterator[tuple[list[Term], list[Term]]]:
        """The sets of terms to reckon with, what is most likely first."""
        before = [o for o in operands if o.end <= number.start]
        behind = [o for o in operands if o.start >= number.end]
        yield around.sentence, []
        if len(before) > 1:
            yield [term_of(o) for o in before[-_JUST_BEFORE:]], []
        above = cells_above(self._text, number.start) if self._text.count("|", max(0, number.start - 200), number.start) else []
        if above:
            column = [term_of(o) for o in before if any(a < o.start < b for a, b in above)]
            yield column, []
            if significant(number) > _TELLING_DIGITS and number.decimals > 0:
                yield column[-_JUST_BEFORE:], self._priced(number.unit)
        near = [term_of(o) for o in (*before[-_NEAR_BEFORE:], *behind[:_NEAR_BEHIND])]
        for rows in around.rows:
            if len(rows) <= 2:
                yield [t for row in rows for t in of_row(row)], [*around.sentence, *near]
        few = [term for term, words in self._few_numbers() if _may_add_to(number, term, words)]
        yield [*around.sentence, *around.fields], []
        yield [*around.sentence, *around.fields], near
        yield near, []
        yield [*around.sentence, *around.fields], few
        yield near, few
        if few and significant(number) >= _TELLING_DIGITS and not is_money(number.unit):
            yield few[:MAX_TERMS], []

    def _named(self, first: int, last: int) -> list[tuple[int, NamedRow]]:
        found = self._rows.get((first, last))
        if found is None:
            found = self._rows[first, last] = self._names.named_in(self._text[first:last])
        return found

    def _priced(self, unit: Unit | None) -> list[Term]:
        """The numbers with a fraction; none where there are too many to choose from. What says no unit may be of any."""
        values = {value: posting for value, posting in self._table.between(-1e300, 1e300) if not value.is_integer()}
        return [Term(v, p.unit or unit, (p.where(),)) for v, p in values.items()] if len(values) <= 2 * _FEW else []

    def _few_numbers(self) -> list[tuple[Term, tuple[str, ...]]]:
        """The numbers of a conversation that holds only few, and the words that name each."""
        if self._few is None:
            distinct: dict[tuple[float, object], tuple[Term, tuple[str, ...]]] = {}
            heads: dict[float, tuple[str, ...]] = {}
            for rows in self._table.rows:
                for row in rows.rows[:_FEW] if rows.is_text else ():
                    for key, value in flat_numbers(row).items():
                        heads[value] = (*heads.get(value, ()), key)
            for value, posting in self._table.between(-1e300, 1e300):
                if not posting.part and value not in (0, 1):
                    keys = heads.get(value, ())
                    unit = posting.unit or next((u for key in keys if (u := unit_of_key(key)) is not None), None)
                    words = (*words_naming(posting), *(w for key in keys for w in words_of_key(key)))
                    distinct.setdefault((value, unit), (Term(value, unit, (posting.where(),)), words))
                    if len(distinct) > _FEW:
                        break
            self._few = list(distinct.values()) if len(distinct) <= _FEW else []
        return self._few


def _may_add_to(number: Number, term: Term, words: Sequence[str]) -> bool:
    """Whether a number of the conversation may be a part of one: to a price with cents, no bare whole number that nothing calls money."""
    if not is_money(number.unit) or number.decimals <= 0:
        return True
    return term.unit is not None or not term.value.is_integer() or speaks_of_money(words)


def term_of(operand: Operand, counting: bool = False) -> Term:
    """A number that the answer states, to reckon with."""
    return Term(operand.value, operand.unit, operand.sources, counting=counting, stated=True)


def verdict_of(number: Number, found: Result) -> Verdict:
    """That a number is worked out."""
    sources = tuple(dict.fromkeys(s for t in found.terms for s in t.sources[:2]))[:4]
    return Verdict("supported", found.how, f"{number.readings[0]} = {found.written}", sources)
