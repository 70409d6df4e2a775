"""Numbers that stand for a served number at another precision, scale or unit."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from agentfp_evidence.index import Posting
from agentfp_evidence.normalise import MAX_EXACT_DIGITS
from agentfp_evidence.numbers import Number
from agentfp_evidence.table import Table
from agentfp_evidence.units import PERCENT, Unit, agree, convertible, unit_of
from agentfp_evidence.verdict import Verdict, supported, unverifiable

MAX_ACCIDENTS = 0.05
"""Expected accidental hits above which a number of one or two digits says nothing."""
_LEAST_BARE_SIZE = 100_000
_LOWER_BOUND = re.compile(r"\b(?:over|more than|at least|mehr als|über|mindestens|plus de|au moins)\s$", re.IGNORECASE)


def quantum_of(number: Number) -> float:
    """The smallest step that a number as written can tell: a hedge takes its trailing zeros away, but for two digits."""
    step = 10.0**-number.decimals
    if not number.hedged:
        return step
    digits = number.readings[0].lstrip("-").replace(".", "").lstrip("0")
    zeros = len(digits) - len(digits.rstrip("0"))
    if "." in number.readings[0]:
        return step
    return max(step, 10.0 ** min(zeros, max(0, len(digits) - 2)))


def significant(number: Number) -> int:
    """Significant digits of a number as written."""
    digits = number.readings[0].lstrip("-").replace(".", "").lstrip("0")
    if number.decimals < 0:
        digits = digits[: max(1, len(digits) + number.decimals)]
    return max(1, len(digits))


def accidents(value: float, quantum: float, among: int) -> float:
    """How many of so many values within a decade would hit a value by accident."""
    if value == 0:
        return float(among)
    return among * quantum / (9 * 10.0 ** math.floor(math.log10(abs(value))))


def find_magnitude(table: Table, number: Number, before: str) -> Verdict | None:
    """A served number, rounded, cut, scaled or converted.

    Args:
        table: the evidence.
        number: the number of the answer.
        before: the text before it.
    """
    if number.digits > MAX_EXACT_DIGITS or (len(number.readings) > 1 and "." not in number.readings[0]):
        return None
    value, quantum = number.value, quantum_of(number)
    for how, factor, unit, written in _ways(number):
        wanted = value * factor
        step = quantum * factor
        low, high = wanted - 0.5 * step * (1 + 1e-9), wanted + 0.5 * step * (1 + 1e-9)
        found = [(x, p) for x, p in table.between(low, high) if _fits(p, unit, how)]
        if how == "rounded":
            found = [(x, p) for x, p in found if x != value]
            if not found and significant(number) >= 3:
                found = [(x, p) for x, p in table.between(wanted, wanted + step * (1 - 1e-9)) if _fits(p, unit, how)]
                how = "truncated"
        if found:
            return _weighed(table, number, found, how, written, step, wanted)
    temperature = _temperature(table, number)
    if temperature is not None:
        return temperature
    if number.hedged and _is_round(number) and number.digits >= 3 and _LOWER_BOUND.search(before):
        lead = 10.0 ** math.floor(math.log10(abs(value))) if value else 1.0
        found = [(x, p) for x, p in table.between(value, value + lead) if agree(p.unit, number.unit)]
        if found:
            return unverifiable("bound", [p for _, p in found[:4]], f"{found[0][0]:g}")
    return None


def _is_round(number: Number) -> bool:
    """Whether a number is one that people set as a bound: two digits and zeros."""
    digits = number.readings[0].lstrip("-").replace(".", "").lstrip("0")
    return significant(number) >= 2 and len(digits.rstrip("0")) <= 2


def _ways(number: Number) -> list[tuple[str, float, Unit | None, str]]:
    """How a served number may have become this one: the name, what to multiply by to get back, the unit there, and how to write it."""
    unit = number.unit
    ways: list[tuple[str, float, Unit | None, str]] = [("rounded", 1.0, unit, "")]
    if unit == PERCENT:
        ways.append(("scaled", 0.01, None, " x 100"))
    elif unit is None and 0 < abs(number.value) < 1:
        ways.append(("scaled", 100.0, PERCENT, " / 100"))
    return ways


def _fits(posting: Posting, unit: Unit | None, how: str) -> bool:
    if how == "scaled" and unit is None:
        return posting.unit is None
    if how == "scaled":
        return posting.unit == unit
    return agree(posting.unit, unit)


def _weighed(
    table: Table, number: Number, found: list[tuple[float, Posting]], how: str, written: str, step: float, wanted: float
) -> Verdict:
    postings = [p for _, p in found[:8]]
    derivation = f"{found[0][0]:.12g}{written}" if how != "scaled" else f"{number.readings[0]} = {found[0][0]:.12g}{written}"
    if significant(number) < 3 and not any(p.unit is not None and p.unit == number.unit for p in postings):
        decade = 10.0 ** math.floor(math.log10(abs(wanted))) if wanted else 1.0
        rivals = [x for x, p in table.between(min(wanted, decade), 10 * decade) if not float(x).is_integer()]
        among = len({round(x, 9) for x in rivals})
        if accidents(wanted, step, among) > MAX_ACCIDENTS and not (among <= 1 and number.decimals > 0):
            return unverifiable("coincidence", postings, derivation)
    return supported(how, postings, derivation)


def find_converted(table: Table, number: Number) -> Verdict | None:
    """A served number of another unit of the same dimension."""
    unit = number.unit
    if unit is None or not unit.factor or unit.dimension.startswith("money"):
        return None
    value, quantum = number.value, quantum_of(number)
    if unit.dimension == "bytes":
        bare = _bare_size(table, number)
        if bare is not None:
            return bare
    for other, postings in table.by_unit(unit.dimension).items():
        if not convertible(unit, other):
            continue
        for factor in _factors(unit, other):
            low, high = (value - 0.5 * quantum) * factor, (value + 0.5 * quantum) * factor
            hits = [(x, p) for x, p in postings if low * (1 - 1e-9) <= x <= high * (1 + 1e-9)]
            if hits:
                x = hits[0][0]
                text = f"{x:.12g} {other.name} = {x / factor:.6g} {unit.name}"
                return supported("converted", [p for _, p in hits[:8]], text)
    return None


def find_ambiguous(table: Table, number: Number) -> Verdict | None:
    """A served number converted to metres or minutes, where the answer writes ``m`` for them.

    Args:
        table: the evidence.
        number: the number of the answer.
    """
    if number.unit is not None or number.word != "m":
        return None
    units = (unit_of("metres"), unit_of("minutes"))
    return next((found for unit in units if (found := find_converted(table, replace(number, unit=unit))) is not None), None)


def _bare_size(table: Table, number: Number) -> Verdict | None:
    """A size that stands somewhere as a bare number of bytes, as ``ls -l`` prints it."""
    for factor in (float(number.unit.factor), 1024.0 ** round(math.log(float(number.unit.factor), 1000))) if number.unit else ():
        wanted, step = number.value * factor, quantum_of(number) * factor
        if wanted < _LEAST_BARE_SIZE:
            continue
        found = [(x, p) for x, p in table.between(wanted - 0.5 * step, wanted + 0.5 * step) if p.unit is None and float(x).is_integer()]
        others = {x for x, p in table.between(wanted / 2, wanted * 2) if p.unit is None} - {x for x, _ in found}
        if found and (len(others) + 1) * step <= MAX_ACCIDENTS * 1.5 * wanted:
            return supported("converted", [p for _, p in found[:8]], f"{found[0][0]:.12g} bytes = {found[0][0] / factor:.4g} {number.word}")
    return None


def _factors(unit: Unit, other: Unit) -> list[float]:
    """By what a number of one unit is multiplied to be in the other; sizes of data are counted in thousands or in 1,024s."""
    factors = [float(unit.factor / other.factor)]
    if unit.dimension == "bytes":
        power = round(math.log(factors[0], 1000)) if factors[0] > 0 else 0
        factors += [1024.0**power, 1000.0**power]
    return factors


def _temperature(table: Table, number: Number) -> Verdict | None:
    if number.unit is None or number.unit.dimension not in ("celsius", "fahrenheit"):
        return None
    to_celsius = number.unit.dimension == "celsius"
    other = "fahrenheit" if to_celsius else "celsius"
    half = 0.5 * quantum_of(number)
    for other_unit, postings in table.by_unit(other).items():
        for x, posting in postings:
            turned = (x - 32) / 1.8 if to_celsius else x * 1.8 + 32
            if abs(turned - number.value) <= half + 1e-9:
                return supported("converted", [posting], f"{x:g} {other_unit.name} = {turned:.4g} {number.unit.name}")
    return None
