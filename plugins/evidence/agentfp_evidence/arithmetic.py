"""Numbers that follow from other numbers of the same answer: written-out equations, totals, differences, rates.

The operands are grounded themselves, so the answer shows its own working. A number is only taken for a total or a difference where
the answer calls it one: among a few prices some two always add up to something.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from agentfp_evidence.context import cells_above, is_labelled, same_noun, sentence_around
from agentfp_evidence.entries import words_of_key
from agentfp_evidence.equations import EQUALS, equation, equation_without_remarks
from agentfp_evidence.magnitudes import quantum_of, significant
from agentfp_evidence.numbers import Number
from agentfp_evidence.operands import Operand, Worked, is_value, same_unit, worked
from agentfp_evidence.reckoning import NARROW_RISK, Result, first_hit
from agentfp_evidence.units import PERCENT, agree, convertible, is_money

MAX_OPERANDS = 60
_WINDOW = 12
_NEAR = 4
_NO_ACCIDENT = 3
"""Significant digits that one sum or difference which is to be expected does not have by accident."""
_TELLING_DIGITS = 5
"""A number of so many digits is no product of two others by accident."""
_POINTS = re.compile(r"pp|pps|ppt|ppts|pts?|points?|percentage|prozentpunkte?n?|punkte?n?|puntos?|punti|pontos?", re.IGNORECASE)
_OF_ALL = re.compile(r"\b(?:new|whole|full|entire|round-trip|final) (?:fare|price|amount)\b[^.\n]{0,12}$", re.IGNORECASE)
_RATE = re.compile(
    r"[*_]*(?:\s[^\W\d_]+){0,4}\s?(?:/|per\b|each\b|apiece\b|an?\s(?=[^\W\d_])|pro\b|je\b|jeweils\b|par\b|chacun)", re.IGNORECASE
)
_NOUN_BEHIND = re.compile(r"[*_]*[ -]([^\W\d_]{3,})")
_RATE_NOUN = re.compile(r"[*_]*(?:\s[^\W\d_]+){0,4}?\s?(?:/|per|pro|je|par|a|each)\s?([^\W\d_]{3,})", re.IGNORECASE)


def work_out(
    text: str, number: Number, operands: Sequence[Operand], counts: Sequence[Operand], unsure: Sequence[Operand] = ()
) -> Worked | None:
    """How a number follows from the others of its answer.

    Args:
        text: the answer, folded.
        number: the number that stands nowhere.
        operands: the grounded numbers, in order.
        counts: further small numbers that may multiply: spelled out, or lengths of lists.
        unsure: numbers that are not called unsupported, and could not be verified.
    """
    around = [o for o in operands if o.end <= number.start or o.start >= number.end]
    return (
        equation(text, number, around)
        or equation_without_remarks(text, number, around)
        or _whole(text, number, around)
        or _converted(text, number, around)
        or _total(text, number, around)
        or _column_total(text, number, around)
        or _rest_of_sum(text, number, around)
        or _difference(text, number, around)
        or _share(text, number, around)
        or _product(text, number, around, counts)
        or _line_product(text, number, around)
        or _points(text, number, [*around, *unsure])
        or _basket(text, number, around, counts)
    )


def _whole(text: str, number: Number, operands: list[Operand]) -> Worked | None:
    """The whole of which two parts stand in the sentence: "14 of 15 pass, 1 fails"."""
    first, last = sentence_around(text, number.start, number.end)
    if not re.search(r"\d[*_]*\s(?:out of|of(?: the| all)?|von|sur|des)\s[*_]*$", text[first : number.start]):
        return None
    near = [o for o in operands if first <= o.start < last and agree(o.unit, number.unit)]
    for i, a in enumerate(near):
        for b in near[i + 1 :]:
            if is_value(a.value + b.value, number):
                return worked("sum", number, f"{a.value:g} + {b.value:g}", [a, b])
    return None


def _converted(text: str, number: Number, operands: list[Operand]) -> Worked | None:
    """A number that the same sentence has in another unit."""
    unit = number.unit
    if unit is None:
        return None
    first, last = sentence_around(text, number.start, number.end)
    for operand in operands:
        if operand.unit is None or not first <= operand.start < last:
            continue
        if convertible(unit, operand.unit):
            value = operand.value * float(operand.unit.factor / unit.factor)
        elif (unit.dimension, operand.unit.dimension) == ("fahrenheit", "celsius"):
            value = operand.value * 1.8 + 32
        elif (unit.dimension, operand.unit.dimension) == ("celsius", "fahrenheit"):
            value = (operand.value - 32) / 1.8
        else:
            continue
        if abs(value - number.value) <= 0.5 * quantum_of(number) * (1 + 1e-9):
            return worked("converted", number, f"{operand.value:g} {operand.unit.name}", [operand])
    return None


def _total(text: str, number: Number, operands: list[Operand]) -> Worked | None:
    """The sum of numbers that stand together before or behind it, when it is called a total."""
    if not is_labelled(text, number.start, number.end, "sum") and _OF_ALL.search(text, max(0, number.start - 40), number.start) is None:
        return None
    above = cells_above(text, number.start)
    column = [o for o in operands if any(a < o.start < b for a, b in above) and same_unit(o, number)] if above else []
    if 1 < len(column) == len(above) and is_value(sum(o.value for o in column), number):
        return worked("sum", number, " + ".join(f"{o.value:g}" for o in column), column)
    ways: list[list[Operand]] = []
    for same in _of_one_unit(operands, number):
        listed = [o for o in same if not _in_brackets(text, o)]
        results = [o for o in same if EQUALS.search(text, max(0, o.start - 6), o.start)]
        ways += [same, listed, results, _last_of_lines(text, same), [o for o in same if o.is_sum], [o for o in same if not o.is_sum]]
    for chosen in [way for i, way in enumerate(ways) if way not in ways[:i]]:
        before = [o for o in chosen if o.end <= number.start][-_WINDOW:]
        behind = [o for o in chosen if o.start >= number.end][:_WINDOW]
        for run in (before[::-1], behind):
            for skip in range(min(3, len(run))):
                total = 0.0
                for count, operand in enumerate(run[skip:], 1):
                    total += operand.value
                    if count > 1 and is_value(total, number):
                        parts = run[skip : skip + count]
                        return worked("sum", number, " + ".join(f"{o.value:g}" for o in parts), parts)
    return None


def _last_of_lines(text: str, operands: Sequence[Operand]) -> list[Operand]:
    """The last amount of each line, which is what the line comes to: "Labor: 14.5 hours at $62 = $899"."""
    last: dict[int, Operand] = {}
    for operand in operands:
        last[text.rfind("\n", 0, operand.start)] = operand
    return list(last.values())


def _column_total(text: str, number: Number, operands: list[Operand]) -> Worked | None:
    """What the amounts above it in its column of a table add up to: all of them, or those from the last total on."""
    above = cells_above(text, number.start) if number.unit is not None and number.unit is not PERCENT else []
    column = [o for o in operands if any(a < o.start < b for a, b in above) and o.unit is number.unit]
    last = max((i for i, o in enumerate(column) if o.is_sum), default=0)
    for parts in (column, column[last:]):
        if len(parts) >= 2 and significant(number) >= _NO_ACCIDENT and is_value(sum(o.value for o in parts), number):
            return worked("sum", number, " + ".join(f"{o.value:g}" for o in parts), parts)
    return None


def _rest_of_sum(text: str, number: Number, operands: list[Operand]) -> Worked | None:
    """What is left of a total that the answer states beside the part that its sentence states."""
    if number.unit is None or number.unit is PERCENT or significant(number) < _NO_ACCIDENT:
        return None
    first, last = sentence_around(text, number.start, number.end)
    parts = [o for o in operands if o.unit is number.unit and (first <= o.start < last or (o.is_sum and o.end <= number.start))]
    for whole in [o for o in operands if o.is_sum and o.unit is number.unit]:
        for part in parts:
            if part is not whole and whole.value > part.value and is_value(whole.value - part.value, number):
                return worked("difference", number, f"{whole.value:g} - {part.value:g}", [whole, part])
    return None


def _share(text: str, number: Number, operands: list[Operand]) -> Worked | None:
    """What is left of a total beside its other part: "total 348, of which 150 by voucher and 198 by card"."""
    if not is_money(number.unit):
        return None
    same = [o for o in operands if o.unit == number.unit]
    at = sum(o.end <= number.start for o in same)
    beside = [same[i] for i in (at - 1, at) if 0 <= i < len(same)]
    for whole in same:
        if is_labelled(text, whole.start, whole.end, "sum"):
            for part in beside:
                if part is not whole and is_value(whole.value - part.value, number):
                    return worked("difference", number, f"{whole.value:g} - {part.value:g}", [whole, part])
    return None


def _difference(text: str, number: Number, operands: list[Operand]) -> Worked | None:
    """The difference of two numbers, when it is called one; or their percent change."""
    if not is_labelled(text, number.start, number.end, "difference"):
        return None
    if number.unit == PERCENT:
        return _by_odds(number, _percent_changes(operands))
    same = [o for o in operands if same_unit(o, number)][-MAX_OPERANDS:]
    first, last = sentence_around(text, number.start, number.end)
    own = [o for o in same if first <= o.start < last]
    before = [o for o in same if o.end <= number.start][-_NEAR:]
    for chosen in (own, before, same):
        found = _by_odds(number, _differences(chosen))
        if found is not None:
            return found
    return None


def _by_odds(number: Number, ways: Iterable[tuple[str, float, str, list[Operand]]]) -> Worked | None:
    """The way that gives a number, where there are so few that this is no accident."""
    every = list(ways)
    hit = first_hit(number, [Result(how, value, written, ()) for how, value, written, _ in every], max_risk=NARROW_RISK)
    if hit is None:
        return None
    return next(worked(how, number, written, used) for how, _, written, used in every if written == hit.written)


def _differences(operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    for a, b in itertools.combinations(operands, 2):
        if a.value != b.value:
            high, low = (a, b) if a.value > b.value else (b, a)
            yield "difference", high.value - low.value, f"{high.value:g} - {low.value:g}", [high, low]


def _of_one_unit(operands: list[Operand], number: Number) -> list[list[Operand]]:
    """Operands that may add up to a number: all of its unit; of a number without one, those of any one unit."""
    if number.unit is not None:
        same = [o for o in operands if o.unit == number.unit]
        return [same] if len(same) > 1 or is_money(number.unit) else [[o for o in operands if o.unit is None]]
    units = list(dict.fromkeys(o.unit for o in operands))
    return [[o for o in operands if o.unit == unit] for unit in units if not is_money(unit)]


def _percent_changes(operands: list[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    plain = [o for o in operands if o.unit != PERCENT and o.value][-_WINDOW:]
    for a, b in itertools.permutations(plain, 2):
        if agree(a.unit, b.unit) and a.value != b.value:
            change = abs(100 * (b.value - a.value) / a.value)
            yield "percent-change", change, f"100 * ({b.value:g} - {a.value:g}) / {a.value:g}", [b, a]


def _product(text: str, number: Number, operands: list[Operand], counts: Sequence[Operand]) -> Worked | None:
    """A rate times a count that both stand in the answer, or a price for several."""
    small = [o for o in operands if o.unit is None and 2 <= o.value <= 50 and float(o.value).is_integer()]
    rates = [o for o in operands if same_unit(o, number) and _RATE.match(text, o.end)]
    priced = [o for o in operands if same_unit(o, number) and is_money(o.unit)]
    total = is_labelled(text, number.start, number.end, "sum")
    more = is_labelled(text, number.start, number.end, "difference")
    equals = EQUALS.search(text, max(0, number.start - 8), number.start) is not None
    for rate in [*rates, *(priced if total else ())]:
        beside = 0 <= rate.start - number.end < 40 and "(" in text[number.end : rate.start]
        for count in (*small, *counts):
            named = _counts_rate(text, count, rate)
            called = (total or more or beside or equals) and (number.digits >= 3 or is_money(number.unit))
            if (called or named) and count is not rate and is_value(rate.value * count.value, number):
                return worked("product", number, f"{count.value:g} x {rate.value:g}", [rate, count])
    for share in [o for o in operands if o.unit == PERCENT] if number.digits >= 3 else ():
        for whole in [o for o in operands if same_unit(o, number) and o.unit != PERCENT]:
            if is_value(share.value * whole.value / 100, number):
                return worked("product", number, f"{share.value:g} % of {whole.value:g}", [share, whole])
    if more and number.digits >= 3 and number.unit != PERCENT:
        near = [o for o in operands if same_unit(o, number)][-10:]
        for i, a in enumerate(near):
            for b in near[i + 1 :]:
                for count in (*small, *counts):
                    if a.value != b.value and is_value(abs(a.value - b.value) * count.value, number):
                        high, low = (a, b) if a.value > b.value else (b, a)
                        return worked("product", number, f"{count.value:g} x ({high.value:g} - {low.value:g})", [high, low, count])
    return None


def _line_product(text: str, number: Number, operands: list[Operand]) -> Worked | None:
    """The product of two numbers of the same line, where it has so many digits that it is no accident."""
    if number.digits < _TELLING_DIGITS or significant(number) < _TELLING_DIGITS - 1:
        return None
    first = text.rfind("\n", 0, number.start) + 1
    last = text.find("\n", number.end)
    line = [o for o in operands if first <= o.start and (last < 0 or o.end <= last)][-_WINDOW:]
    above = cells_above(text, number.start)
    if above:
        line = [o for o in operands if any(a < o.start < b for a, b in above)][-_WINDOW:]
    for i, a in enumerate(line):
        for b in line[i + 1 :]:
            one_priced = not (is_money(a.unit) and is_money(b.unit)) and PERCENT not in (a.unit, b.unit)
            if one_priced and min(abs(a.value), abs(b.value)) != 1 and is_value(a.value * b.value, number):
                return worked("product", number, f"{a.value:g} x {b.value:g}", [a, b])
    return None


def _points(text: str, number: Number, operands: list[Operand]) -> Worked | None:
    """Percentage points between two percentages of its line."""
    if number.unit is not None or _POINTS.fullmatch(number.word) is None:
        return None
    first = text.rfind("\n", 0, number.start) + 1
    shares = sorted((o for o in operands if o.unit is PERCENT and first <= o.start and o.end <= number.start), key=lambda o: o.start)
    ways = _differences(shares[-2:])  # no other two are compared
    return next((worked(how, number, written, used) for how, value, written, used in ways if is_value(value, number)), None)


def _basket(text: str, number: Number, operands: list[Operand], counts: Sequence[Operand]) -> Worked | None:
    """So many of each at its price, both in the sentence and in the same order: "48 an adult, 22 a child: two adults and a child 118"."""
    if not is_money(number.unit) or significant(number) < _NO_ACCIDENT - 1:
        return None
    first, last = sentence_around(text, number.start, number.end)
    near = [o for o in (*operands, *counts) if first <= o.start < last]
    prices = [o for o in near if o.unit == number.unit and o.end <= number.start]
    pieces = sorted((o for o in near if o.unit is None and 1 <= o.value <= 99 and o.value.is_integer()), key=lambda o: o.start)
    for many in (2, 3):
        for dear in _runs(prices, many):
            for some in _runs(pieces, many):
                if is_value(sum(p.value * c.value for p, c in zip(dear, some, strict=True)), number):
                    written = " + ".join(f"{c.value:g} x {p.value:g}" for p, c in zip(dear, some, strict=True))
                    return worked("product", number, written, [*dear, *some])
    return None


def _runs(operands: Sequence[Operand], many: int) -> list[Sequence[Operand]]:
    return [operands[i : i + many] for i in range(max(0, len(operands) - _NEAR), len(operands) - many + 1)]


def _counts_rate(text: str, count: Operand, rate: Operand) -> bool:
    """Whether a count is of what a rate is for: "3 nights" and "per night"."""
    per = _RATE_NOUN.match(text, rate.end)
    if per is None:
        return False
    if count.noun:
        return any(same_noun(per[1].lower(), word) for word in words_of_key(count.noun))
    noun = _NOUN_BEHIND.match(text, count.end) if count.end else None
    return noun is not None and same_noun(per[1].lower(), noun[1].lower())


def _in_brackets(text: str, operand: Operand) -> bool:
    opening = text.rfind("(", max(0, operand.start - 40), operand.start)
    return opening >= 0 and ")" not in text[opening : operand.start]
