"""Numbers worked out from a few others, accepted only where that is hardly an accident.

Among enough numbers some two always give a third one. So what a set of terms can give is counted first: a number is called derived
where so few results of the set are of its size, and it is stated so exactly, that a made-up number would hardly have hit one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from agentfp.transcripts import ValueSource
from agentfp_evidence.magnitudes import quantum_of
from agentfp_evidence.normalise import MAX_EXACT_DIGITS
from agentfp_evidence.numbers import Number
from agentfp_evidence.units import PERCENT, Unit, agree, convertible, is_money

MAX_TERMS = 14
MAX_RISK = 0.03
"""How probable it may be that a made-up number passes for a derived one."""
NARROW_RISK = 0.05
"""The same where the words around the number say how it is derived, or from which field."""


_TRIFLE = 0.005
"""Nobody adds so small a part to so large a whole without saying both."""
_TELLING = 100
"""A smaller number that stands somewhere may be anything, so it is no part of a sum that names it nowhere."""
_SIGNED = frozenset({"celsius", "fahrenheit"})
"""What is measured from a point that is no nothing, so that differences of unlike signs are usual."""
_EXACT = frozenset({"sum", "difference"})
"""What is not rounded, unless the answer says so."""


class Term(NamedTuple):
    """A number that others may be worked out from.

    Args:
        value: the number.
        unit: its unit.
        sources: where it comes from.
        name: what it is called, for the derivation.
        counting: it only counts something, so it multiplies and divides, and nothing is added to it.
        stated: the answer states it; amounts of money wear their unit there.
    """

    value: float
    unit: Unit | None
    sources: tuple[ValueSource, ...] = ()
    name: str = ""
    counting: bool = False
    stated: bool = False


class Result(NamedTuple):
    """What some terms give."""

    how: str
    value: float
    written: str
    terms: tuple[Term, ...]


def reckon(
    number: Number, terms: Sequence[Term], hows: frozenset[str], others: Sequence[Term] = (), *, max_risk: float = MAX_RISK
) -> Result | None:
    """How a number follows from some terms, where that is no accident.

    Args:
        number: the number of the answer.
        terms: what it may be worked out from; the first :data:`MAX_TERMS` are used.
        hows: the ways to ask: ``sum``, ``difference``, ``product``, ``ratio``, ``proportion``, ``percent``; and
            ``change``: a share may be added, taken off or left over.
        others: numbers that one of the terms may be taken together with, but no two of them.
        max_risk: how probable it may be that a made-up number passes.
    """
    return first_hit(number, _results(number, terms[:MAX_TERMS], others, hows), max_risk=max_risk)


def first_hit(number: Number, results: Iterable[Result], *, max_risk: float = MAX_RISK) -> Result | None:
    """The first of some results that is a number, where so few are of its size that this is no accident.

    Args:
        number: the number of the answer.
        results: all that there is to choose from.
        max_risk: how probable it may be that a made-up number is one of them.
    """
    size, quantum = abs(number.value), quantum_of(number)
    if not size or number.digits > MAX_EXACT_DIGITS:
        return None
    step = _step(number)
    if is_money(number.unit) and number.decimals <= 0:
        max_risk /= 2 if max_risk >= NARROW_RISK else 4  # prices in whole units are round, and meet each other more often
    hit: Result | None = None
    rivals: set[int] = set()
    allowed = max_risk * 1.5 * size / step
    if allowed < 1:
        return None
    for result in results:
        value = abs(result.value)
        if not size / 2 <= value <= 2 * size:
            continue
        rivals.add(round(value / quantum))
        near_enough = 0.5 * quantum * (1 + 1e-9) if result.how not in _EXACT or number.hedged else min(1e-9 * size, 0.25 * quantum)
        if hit is None and abs(value - size) <= near_enough + 1e-9:
            hit = result
        if len(rivals) > allowed:
            return None
    return hit


def _step(number: Number) -> float:
    """How exactly a number is stated: 600 is one of the round numbers, which people set and which meet each other by chance."""
    quantum = quantum_of(number)
    if number.decimals > 0 and not is_money(number.unit):
        return quantum
    digits = round(abs(number.value) / quantum)
    while digits > 99 and digits % 10 == 0:
        digits //= 10
        quantum *= 10
    return quantum


def _results(number: Number, terms: Sequence[Term], others: Sequence[Term], hows: frozenset[str]) -> Iterator[Result]:
    unit = number.unit
    distinct = list({(t.value, t.unit): t for t in reversed(terms) if t.value}.values())[::-1]
    for a, b in itertools.combinations(distinct, 2):
        yield from _of_two(a, b, unit, hows)
    for a, b in itertools.product(distinct, [t for t in others if t.value]):
        yield from _of_two(a, b, unit, hows if min(abs(a.value), abs(b.value)) >= _TELLING else hows - {"sum"})
    if "sum" in hows:
        yield from _sums(terms, unit)
    if "difference" in hows:
        yield from _remainders(distinct, unit)
    if "proportion" in hows:
        yield from _proportions(distinct, unit)


def _of_two(a: Term, b: Term, unit: Unit | None, hows: frozenset[str]) -> Iterator[Result]:
    if is_money(unit) and a.unit is b.unit is None and a.stated and b.stated:
        return
    if unit is PERCENT:
        if "percent" in hows:
            yield from _percentages(a, b, hows)
        if a.unit is PERCENT and b.unit is PERCENT:
            yield Result("difference", abs(a.value - b.value), f"|{a.value:g} - {b.value:g}|", (a, b))
        return
    pair = _in_one_unit(a, b, unit)
    alike = (a.value < 0) == (b.value < 0) or _dimension(a) in _SIGNED
    bare = is_money(unit) and any(t.stated and t.unit is None for t in (a, b))  # the answer says what is money
    if pair is not None and alike and not a.counting and not b.counting and not bare:
        x, y = pair
        if "sum" in hows and min(abs(x), abs(y)) > _TRIFLE * abs(x + y):
            yield Result("sum", x + y, f"{x:g} + {y:g}", (a, b))
        if "difference" in hows and x != y and min(abs(x), abs(y)) > _TRIFLE * max(abs(x), abs(y)):
            yield Result("difference", abs(x - y), f"{max(x, y):g} - {min(x, y):g}", (a, b))
    for p, q in ((a, b), (b, a)) if min(a.value, b.value) > 0 else ():
        if "product" not in hows and "ratio" not in hows:
            break
        if p.unit is PERCENT and q.unit is not PERCENT:
            share = p.value / 100
            for factor, sign in ((share, ""), (1 + share, "+"), (1 - share, "-")) if "change" in hows else ((share, ""),):
                if "product" in hows and _wears(q.unit, unit):
                    yield Result("product", q.value * factor, f"{q.value:g} {sign}{p.value:g} %".replace("  ", " "), (q, p))
        elif q.unit is not PERCENT and abs(q.value) != 1:
            yield from _product_and_ratio(p, q, unit, hows, p is a)


def _product_and_ratio(p: Term, q: Term, unit: Unit | None, hows: frozenset[str], once: bool) -> Iterator[Result]:
    """A term times another, and divided by it; the result has the unit of the first."""
    worth = _turned(p.value, p.unit, unit)
    if worth is None and p.unit is not None and unit is None and not is_money(p.unit):
        worth = p.value
    if (worth is not None and p.unit is not None) or (worth is not None and (unit is None or p.unit is None)):
        if (
            "product" in hows
            and (once or p.unit is not q.unit)
            and (q.unit is None or p.unit is None or ("rate" in hows and not agree(p.unit, q.unit)))
        ):
            yield Result("product", worth * q.value, f"{worth:g} x {q.value:g}", (p, q))
        if "ratio" in hows and (q.unit is None or unit is None or is_money(unit) or ("rate" in hows and q.unit is not p.unit)):
            yield Result("ratio", worth / q.value, f"{worth:g} / {q.value:g}", (p, q))
    if "ratio" in hows and unit is not None and unit.dimension == "time" and agree(p.unit, q.unit) and _dimension(p) != "time":
        hours = p.value / q.value * 3600 / float(unit.factor)  # so much at so much an hour
        if unit.name in ("h", "min"):
            yield Result("ratio", hours, f"{p.value:g} / {q.value:g} an hour", (p, q))


def _dimension(term: Term) -> str:
    return "" if term.unit is None else term.unit.dimension


def _proportions(terms: Sequence[Term], unit: Unit | None) -> Iterator[Result]:
    """The rule of three: as much more as one term is than another of its kind."""
    measured = [t for t in terms[:8] if t.unit not in (None, PERCENT) and abs(t.value) != 1]
    for a, c in itertools.permutations(measured, 2):
        if a.unit is c.unit and a.value != c.value:
            for b in terms[:8]:
                if is_money(a.unit) and b.unit is a.unit:
                    continue  # no price is to a second as a third to a fourth
                if b is not a and b is not c and b.unit is not PERCENT and (b.unit is unit if unit is not None else not is_money(b.unit)):
                    yield Result("product", b.value * a.value / c.value, f"{b.value:g} x {a.value:g} / {c.value:g}", (b, a, c))


def _percentages(a: Term, b: Term, hows: frozenset[str]) -> Iterator[Result]:
    if a.unit is PERCENT or b.unit is PERCENT or not (agree(a.unit, b.unit) or convertible(a.unit, b.unit)):
        return
    low, high = sorted((abs(a.value), abs(b.value)))
    if low == high:
        return
    yield Result("ratio", 100 * low / high, f"100 * {low:g} / {high:g}", (a, b))
    if "change" in hows:
        yield Result("ratio", 100 - 100 * low / high, f"100 - 100 * {low:g} / {high:g}", (a, b))
    yield Result("percent-change", 100 * (high - low) / low, f"100 * ({high:g} - {low:g}) / {low:g}", (a, b))


def _sums(terms: Sequence[Term], unit: Unit | None) -> Iterator[Result]:
    """Three terms or more of one unit that stand together."""
    kinds = {kind: [t for t in terms if t.unit is kind and not t.counting] for kind in {t.unit for t in terms}}
    if unit is not None and not is_money(unit):  # "35 hours, ahead of 31 and 30"
        kinds[unit] = [t for t in terms if t.unit in (unit, None) and not t.counting]
    for kind, same in kinds.items():
        for first in range(len(same) - 2):
            total = same[first].value + same[first + 1].value
            for last in range(first + 2, len(same)):
                total += same[last].value
                run = same[first : last + 1]
                if len({t.value < 0 for t in run}) > 1:
                    break
                amount = _turned(total, kind, unit)
                if amount is not None and min(abs(t.value) for t in run) > _TRIFLE * abs(total):
                    yield Result("sum", amount, " + ".join(f"{t.value:g}" for t in run), tuple(run))


def _remainders(terms: Sequence[Term], unit: Unit | None) -> Iterator[Result]:
    """What two terms leave of a third, and by how much two exceed it."""
    plain = [t for t in terms if not t.counting and t.value > 0][:8]
    for a in plain:
        for b, c in itertools.combinations([t for t in plain if t is not a], 2):
            if a.unit is b.unit is c.unit and _wears(a.unit, unit):
                whole, parts = abs(a.value), abs(b.value) + abs(c.value)
                if whole > parts:
                    yield Result("difference", whole - parts, f"{whole:g} - {abs(b.value):g} - {abs(c.value):g}", (a, b, c))
                elif max(abs(b.value), abs(c.value)) > whole:
                    yield Result("difference", parts - whole, f"{abs(b.value):g} + {abs(c.value):g} - {whole:g}", (b, c, a))


def _in_one_unit(a: Term, b: Term, unit: Unit | None) -> tuple[float, float] | None:
    """Two terms as amounts of the unit of the number: both say what they measure, or neither does."""
    if (a.unit is None) != (b.unit is None):
        return None
    target = unit or a.unit
    x, y = _turned(a.value, a.unit, target), _turned(b.value, b.unit, target)
    return None if x is None or y is None else (x, y)


def _turned(value: float, unit: Unit | None, other: Unit | None) -> float | None:
    if unit is other or unit is None or other is None:
        return None if is_money(unit) and other is None else value
    if convertible(unit, other):
        return value * float(unit.factor / other.factor)
    return None


def _wears(held: Unit | None, stated: Unit | None) -> bool:
    """Whether a result may be stated with a unit: it has that one, or one of the two says none."""
    return held is stated or held is None or (stated is None and not is_money(held))
