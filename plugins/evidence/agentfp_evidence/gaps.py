"""By how much two amounts differ, where the answer compares just these: "12 euros cheaper", "above the limit by 8 mg/dL".

A small difference is hit by accident among many numbers. Between the two amounts that a sentence, a line or a row compares it is not.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from agentfp_evidence.context import LABELS, label_around, sentence_around
from agentfp_evidence.magnitudes import quantum_of
from agentfp_evidence.numbers import Number
from agentfp_evidence.reckoning import NARROW_RISK, Result, Term, first_hit
from agentfp_evidence.units import PERCENT, agree, is_money

MAX_GAPS = 3
"""Differences among which one is meant."""
_LEAST_BARE = 2
"""Digits of a difference that measures nothing."""
_PAIR = 2
_MOST_CHANGE = 60
"""Whole percents of a usual change."""
_FEW = 12
"""Bare numbers up to here count things, and their changes are a few round percentages."""
_COMPARES = re.compile(
    r"\b(?:above|below|over|under|within|older|younger|faster|slower|quicker|better|worse|warmer|colder|larger|smaller|bigger|heavier"
    r"|lighter|taller|stronger|weaker|earlier|later|apart|missing|away|against|than|between|versus|vs|to go|to spare|headroom|exceed\w*"
    r"|beats?|shortfall|surplus|available|unused|unter\w*|\u00fcber\w*|statt|als|fehl\w*|bleib\w*|(?:g\u00fcnstig|teur|billig|l\u00e4ng|k\u00fcrz|schnell"
    r"|langsam|fr\u00fch|sp\u00e4t|h\u00f6h|niedrig|gr\u00f6\u00df|klein|schwer|leicht|w\u00e4rm|k\u00e4lt)er\w*"
    r"|sous|que|manqu\w*|dessus|dessous)\b",
    re.IGNORECASE,
)


def compares(text: str, number: Number) -> bool:
    """Whether the words around a number call it a difference.

    Args:
        text: the answer, folded.
        number: the number.
    """
    if text[number.start] in "+-\u2212" or text[number.start - 1 : number.start] in ("+", "-", "\u2212"):
        return True
    label = label_around(text, number.start, number.end)
    if LABELS["difference"].search(label) or _COMPARES.search(label):
        return True
    first, last = sentence_around(text, number.start, number.end)
    return text[max(first, number.start - 4) : number.start].rstrip(" *_").endswith("by") or (
        _COMPARES.search(text, number.end, min(last, number.end + 24)) is not None
    )


def find_gap(number: Number, groups: Iterable[Sequence[Term]]) -> Result | None:
    """How a number is the difference of two amounts of a group, each of which holds just what is compared.

    Args:
        number: the number of the answer, called a difference.
        groups: the amounts that may be meant, the likeliest group first.
    """
    if number.unit is PERCENT or not number.value or (number.unit is None and number.digits < _LEAST_BARE):
        return None
    size = abs(number.value)
    near = 0.5 * quantum_of(number) if number.hedged else 1e-9 * size
    for group in groups:
        terms = [t for t in group if not t.counting and _same_measure(t, number)]
        found: dict[float, Result] = {}
        for a, b in itertools.combinations(terms, 2):
            gap = round(abs(a.value - b.value), 9)
            if gap and a.unit is b.unit:
                high, low = max(a.value, b.value), min(a.value, b.value)
                found.setdefault(gap, Result("difference", gap, f"{high:g} - {low:g}", (a, b)))
        if len(found) <= MAX_GAPS:
            hit = next((result for gap, result in found.items() if abs(gap - size) <= near + 1e-9), None)
            if hit is not None:
                return hit
    return None


def find_change(number: Number, groups: Iterable[Sequence[Term]]) -> Result | None:
    """How a number of percent is the change from one of two amounts to the other.

    Args:
        number: so many percent, called a difference.
        groups: the amounts that may be meant, the likeliest group first.
    """
    for group in groups:
        terms = [t for t in group if t.unit is not PERCENT and not t.counting and t.value][: MAX_GAPS + 1]
        if number.decimals <= 0 and abs(number.value) > _MOST_CHANGE:
            continue
        found = first_hit(number, _changes(terms), max_risk=2 * NARROW_RISK if len(terms) == _PAIR else NARROW_RISK)
        if found is not None:
            return found
    return None


def _changes(terms: Sequence[Term]) -> Iterator[Result]:
    for one, other in itertools.combinations(terms, 2):
        a, b = abs(one.value), abs(other.value)
        if a == b or one.unit is not other.unit or (max(a, b) <= _FEW and one.unit is None):
            continue
        for base in (a, b):
            yield Result("percent-change", 100 * abs(a - b) / base, f"100 * ({max(a, b):g} - {min(a, b):g}) / {base:g}", (one, other))


_PER = re.compile(r"/|\b(?:per|each|apiece|an? [^\W\d_]+|every|average|pro|je|jeweils|par|chacun\w*)\b", re.IGNORECASE)
_MAX_RATES = 6


def find_rate(text: str, number: Number, groups: Iterable[Sequence[Term]]) -> Result | None:
    """How a number is so much of one amount for each of another, where its label says "per".

    Args:
        text: the answer, folded.
        number: the number.
        groups: the amounts that may be meant, the likeliest group first.
    """
    if number.unit is PERCENT or number.digits < _LEAST_RATE or _PER.search(label_around(text, number.start, number.end)) is None:
        return None
    half = 0.5 * quantum_of(number) * (1 + 1e-9)
    for group in groups:
        rates = [
            Result("ratio", a.value / b.value, f"{a.value:g} / {b.value:g}", (a, b))
            for a, b in itertools.permutations(group, 2)
            if _same_measure(a, number) and b.unit is not number.unit and b.unit is not PERCENT and b.value not in (0, 1)
        ]
        hit = next((rate for rate in rates if abs(rate.value - abs(number.value)) <= half), None)
        if hit is not None and len({round(rate.value, 9) for rate in rates}) <= _MAX_RATES:
            return hit
    return None


_LEAST_RATE = 3
"""Digits of a rate that is none by accident."""


_REST = re.compile(
    r"\b(?:left|remain\w*|rest|free|available|over|to spare|unused|bleib\w*|verbleib\w*|\u00fcbrig\w*|frei\w*|reste\w*|disponible\w*)\b",
    re.IGNORECASE,
)
_MAX_PARTS = 3


def find_rest(text: str, number: Number, before: Sequence[Term]) -> Result | None:
    """How a number is what is left of an amount that the answer states, after those that it states behind that one.

    Args:
        text: the answer, folded.
        number: the number.
        before: the amounts before it that measure the same, in order.
    """
    if _REST.search(label_around(text, number.start, number.end)) is None:
        return None
    near = 0.5 * quantum_of(number) if number.hedged else 1e-9
    for parts in range(2, _MAX_PARTS + 1):
        terms = tuple(before[-parts - 1 :])
        rest = terms[0].value - sum(t.value for t in terms[1:]) if len(terms) == parts + 1 else 0.0
        if rest and abs(rest - abs(number.value)) <= near + 1e-9:
            return Result("difference", rest, " - ".join(f"{t.value:g}" for t in terms), terms)
    return None


def _same_measure(term: Term, number: Number) -> bool:
    """Whether a term may be what a number is a difference of: both measure the same, and money says so."""
    if number.unit is None:
        return not is_money(term.unit) and term.unit is not PERCENT
    return term.unit is number.unit or (term.unit is None and not term.stated and agree(term.unit, number.unit))
