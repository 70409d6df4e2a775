"""Sums, means, extremes, differences and ratios over the rows of results."""

from __future__ import annotations

import re
import statistics
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agentfp_evidence.columns import Rows, flat_numbers, is_number, records_of, rows_of
from agentfp_evidence.context import LABELS, label_around, names_field, sentence_around, speaks_of
from agentfp_evidence.entries import words_of_key
from agentfp_evidence.index import Posting
from agentfp_evidence.magnitudes import MAX_ACCIDENTS, accidents, quantum_of, significant
from agentfp_evidence.normalise import MAX_EXACT_DIGITS
from agentfp_evidence.numbers import Number
from agentfp_evidence.reading import Node, json_path
from agentfp_evidence.reckoning import MAX_RISK, NARROW_RISK, Result, first_hit
from agentfp_evidence.sources import Source
from agentfp_evidence.units import PERCENT, Unit, agree, convertible, is_money, unit_of_key
from agentfp_evidence.verdict import Verdict, supported, unverifiable

MAX_AGGREGATES = 50_000
_CERTAIN_DIGITS = 3
_NO_RISK = 0.02
_LOOSE = 0.3
"""Expected accidental hits of a total or a mean that the answer calls so, of a field that it names."""
_FIRST_ROWS = 3
_FEW_MEANS = 3
_MAX_FACTORS = 5
_AMOUNT = re.compile(r"(?:^|_)(?:qty|quantity|count|units|menge|anzahl|stück|quantite|quantité|nombre)$", re.IGNORECASE)


class Aggregate(NamedTuple):
    """A number that rows give."""

    how: str
    value: float
    unit: Unit | None
    origin: str
    keys: str
    source: Source
    node: Node


class Aggregates:
    """Everything that the rows of results give; worked out when first asked for, each result once."""

    def __init__(self) -> None:
        self._pending: list[Source] = []
        self._by_unit: dict[Unit | None, list[Aggregate]] = {}
        self._count = 0
        self.means = 0
        """How many means there are."""
        self.truncated = False

    def add(self, source: Source) -> None:
        """Note a source."""
        if source.ground == "evidence":
            self._pending.append(source)

    def near(self, number: Number, low: float, high: float) -> list[Aggregate]:
        """What measures the same as a number and lies, in the number's unit, between two bounds.

        Args:
            number: the number.
            low: the smallest size, in the number's unit.
            high: the largest.
        """
        self._read()
        found: list[Aggregate] = []
        for unit, aggregates in self._by_unit.items():
            if agree(unit, number.unit) or convertible(number.unit, unit):
                factor = _factor(unit, number)
                first = bisect_left(aggregates, low / factor, key=_size)
                found.extend(aggregates[first : bisect_right(aggregates, high / factor, key=_size)])
        return found

    def _read(self) -> None:
        if not self._pending:
            return
        for source in self._pending:
            for rows in rows_of(source):
                self._take(_of_rows(rows))
            for data, root in records_of(source):
                of_text = isinstance(data, list) and any(data is table.rows for _, table in source.reading.tables if not table.is_record)
                self._take(a for a in _of_objects(data, source, root) if a.how != "sum" or not of_text)
        self._pending.clear()
        for aggregates in self._by_unit.values():
            aggregates.sort(key=_size)

    def _take(self, aggregates: Iterator[Aggregate]) -> None:
        for aggregate in aggregates:
            if self._count >= MAX_AGGREGATES:
                self.truncated = True
                return
            self._count += 1
            self.means += aggregate.how == "mean" and " where " not in aggregate.origin
            self._by_unit.setdefault(aggregate.unit, []).append(aggregate)


def _size(aggregate: Aggregate) -> float:
    return abs(aggregate.value)


def _factor(unit: Unit | None, number: Number) -> float:
    """What an aggregate's value is multiplied by to be in the unit of a number."""
    if number.unit is None or unit is None or not convertible(number.unit, unit):
        return 1.0
    return float(unit.factor / number.unit.factor)


_LABEL_OF = {"sum": "sum", "difference": "difference", "mean": "mean", "median": "mean", "complement": "difference"}


def find_aggregate(aggregates: Aggregates, number: Number, text: str) -> Verdict | None:
    """A number that the rows of a result give, and that the answer speaks of as such.

    Args:
        aggregates: what rows give.
        number: the number.
        text: the answer, folded.
    """
    if number.value == 0 or number.digits > MAX_EXACT_DIGITS:
        return None
    size, half = abs(number.value), 0.5 * 10.0**-number.decimals * (1 + 1e-9) + 1e-12
    label = label_around(text, number.start, number.end)
    found = aggregates.near(number, size - half, size + half)
    if not found:
        return None
    rivals = Counter(a.how for a in aggregates.near(number, size / 10, size * 10))
    lone = aggregates.means <= _FEW_MEANS  # there is hardly anything else that "the average" could be of
    hits = [(a, _is_called(a, number, label), _is_about(a, number, label) or (lone and a.how in ("mean", "median"))) for a in found]
    risks = {how: accidents(number.value, quantum_of(number), rivals[how]) for how in {h[0].how for h in hits}}
    if significant(number) > _CERTAIN_DIGITS:
        sure = {how for how, risk in risks.items() if how == "sum" and risk < _NO_RISK}
        hits = [(a, called or a.how in sure, about or a.how in sure) for a, called, about in hits]
    hits = [h for h in hits if h[2] and (h[1] or h[0].unit == number.unit is not None)]
    if not hits:
        return _by_odds(aggregates, number, text, label)
    best, called, _ = max(hits, key=lambda h: (h[1], -risks[h[0].how]))
    risk = risks[best.how]
    posting = Posting(best.source, best.node)
    derivation = f"{number.readings[0]} = {best.origin}"
    if significant(number) < _CERTAIN_DIGITS and risk > MAX_ACCIDENTS:
        listed = best.how == "sum" and speaks_of(label, words_of_key(best.keys.partition(" ")[0]))
        return unverifiable("coincidence", [posting], derivation) if called or listed else None
    if risk > (_LOOSE if best.how in ("sum", "mean", "median") else NARROW_RISK):
        return None
    return supported(best.how, [posting], derivation)


def _by_odds(aggregates: Aggregates, number: Number, text: str, label: str) -> Verdict | None:
    """A number that rows give, where few others are of its size: of a field that the sentence names, as the label says, or a sum."""
    first, last = sentence_around(text, number.start, number.end)
    sentence = text[first:last]
    fit = aggregates.near(number, abs(number.value) / 2, abs(number.value) * 2)
    kinds = {how for how, name in _LABEL_OF.items() if LABELS[name].search(label)}
    adds_up = "sum" in kinds or not is_money(number.unit)  # a price that nothing calls a total is meant to stand somewhere
    measured = number.unit is not None and not is_money(number.unit) and significant(number) > _CERTAIN_DIGITS
    narrow = (
        [a for a in fit if a.how in ("sum", "mean") and names_field(sentence, words_of_key(a.keys))] if adds_up else [],
        [a for a in fit if a.how in kinds],
        [a for a in fit if a.how == "sum"] if adds_up else [],
        [a for a in fit if a.how == "difference" and a.unit is not None] if measured else [],
    )
    for chosen, risk in zip(narrow, (NARROW_RISK, NARROW_RISK, MAX_RISK, _NO_RISK), strict=True):
        results = (Result(a.how, a.value * _factor(a.unit, number), a.origin, ()) for a in chosen)
        found = first_hit(number, results, max_risk=risk)
        if found is not None:
            best = next(a for a in chosen if a.origin == found.written)
            return supported(best.how, [Posting(best.source, best.node)], f"{number.readings[0]} = {best.origin}")
    return None


def _is_about(aggregate: Aggregate, number: Number, label: str) -> bool:
    if aggregate.how == "complement" or (aggregate.unit is not None and aggregate.unit is number.unit and number.unit is not PERCENT):
        return True
    return speaks_of(label, words_of_key(aggregate.keys))


def _is_called(aggregate: Aggregate, number: Number, label: str) -> bool:
    name = _LABEL_OF.get(aggregate.how)
    if name is None:
        return number.unit == PERCENT
    return LABELS[name].search(label) is not None


def _of_rows(rows: Rows) -> Iterator[Aggregate]:
    name = json_path(rows.node)
    flat = [flat_numbers(row) for row in rows.rows]
    fields: dict[str, list[float]] = {}
    for row in flat:
        for key, value in row.items():
            fields.setdefault(key, []).append(value)
    sums = {key: sum(values) for key, values in fields.items() if len(values) >= 2}
    for key, total in list(sums.items())[:64]:
        unit = unit_of_key(key)
        yield Aggregate("sum", total, unit, f"sum of {name}[*].{key}", f"{rows.key} {key}", rows.source, rows.node)
        values = fields[key]
        yield Aggregate("mean", total / len(values), unit, f"mean of {name}[*].{key}", f"{rows.key} {key}", rows.source, rows.node)
        yield Aggregate(
            "median", statistics.median(values), unit, f"median of {name}[*].{key}", f"{rows.key} {key}", rows.source, rows.node
        )
        if len(values) >= 3 and values[0] != values[-1] and values in (sorted(values), sorted(values, reverse=True)):
            origin = f"last - first of {name}[*].{key}"  # a counter, or a course of measurements
            yield Aggregate("difference", abs(values[-1] - values[0]), unit, origin, f"{rows.key} {key}", rows.source, rows.node)
    alike = [key for key in sums if unit_of_key(key) is None]
    if len(alike) >= 3:
        origin = f"sum of {name}[*] over {', '.join(alike)}"
        yield Aggregate("sum", sum(sums[key] for key in alike), None, origin, " ".join(alike), rows.source, rows.node)
    yield from _products(rows, flat, "", name)
    for field, shared, group in rows.groups():
        if len(group) >= 2:
            for key in list(sums)[:32]:
                inner = [float(row[key]) for row in group if is_number(row.get(key))]
                if len(inner) >= 2:
                    origin = f"sum of {name}[*].{key} where {field} = {shared}"
                    unit, keys = unit_of_key(key), f"{rows.key} {key} {shared}"
                    yield Aggregate("sum", float(sum(inner)), unit, origin, keys, rows.source, rows.node)
                    mean = float(sum(inner)) / len(inner)
                    yield Aggregate("mean", mean, unit, origin.replace("sum", "mean", 1), keys, rows.source, rows.node)
            yield from _products(rows, [flat_numbers(row) for row in group], f" where {field} = {shared}", name)
    totals = {f"sum of {name}[*].{key}": (key, value) for key, value in sums.items()}
    yield from _pairs(totals, rows.source, rows.node)


def _products(rows: Rows, flat: list[dict[str, float]], where: str, name: str) -> Iterator[Aggregate]:
    """Sums of one column times another: pieces times price."""
    keys = [key for key in dict.fromkeys(k for row in flat[:_FIRST_ROWS] for k in row) if unit_of_key(key) is not PERCENT][:_MAX_FACTORS]
    amounts = [key for key in keys if _AMOUNT.search(key)][:2] or keys
    for amount in amounts:
        for key in keys:
            if key == amount or (amount not in keys[: keys.index(key)] and key in amounts):
                continue
            products = [row[amount] * row[key] for row in flat if amount in row and key in row]
            origin = f"sum of {name}[*].{amount} x {name}[*].{key}{where}"
            unit = unit_of_key(key) or unit_of_key(amount)
            yield Aggregate("sum", sum(products), unit, origin, f"{rows.key} {key} {amount} price{where}", rows.source, rows.node)


def _of_objects(data: Any, source: Source, root: Node) -> Iterator[Aggregate]:
    stack: list[tuple[Any, Node]] = [(data, root)]
    while stack:
        value, node = stack.pop()
        if isinstance(value, dict):
            numbers = {k: v for k, v in value.items() if isinstance(k, str) and is_number(v)}
            if 2 <= len(numbers) <= 24:
                path = json_path(node)
                named = {f"{path}.{k}": (k, float(v)) for k, v in numbers.items()}
                yield from _pairs(named, source, node)
                units = {unit_of_key(k) for k in numbers}
                if len(units) == 1 and (None not in units or len(numbers) <= 6):
                    yield Aggregate("sum", float(sum(numbers.values())), units.pop(), f"sum of {path}", path, source, node)
            for k, v in numbers.items():
                unit = unit_of_key(k)
                if unit == PERCENT and 0 <= v <= 100:
                    yield Aggregate("complement", 100 - v, unit, f"100 - {json_path(node)}.{k}", k, source, node)
            stack.extend((v, (node, str(k))) for k, v in value.items() if isinstance(v, (dict, list)))
        elif isinstance(value, list):
            stack.extend((v, (node, i)) for i, v in enumerate(value) if isinstance(v, (dict, list)))


def _pairs(named: Mapping[str, tuple[str, float]], source: Source, node: Node) -> Iterator[Aggregate]:
    """Differences and ratios of two numbers that measure the same."""
    items = list(named.items())[:24]
    for i, (a_name, (a_key, a)) in enumerate(items):
        for b_name, (b_key, b) in items[i + 1 :]:
            unit, other = unit_of_key(a_key), unit_of_key(b_key)
            if unit != other or unit == PERCENT or a_key.rpartition(".")[0] != b_key.rpartition(".")[0]:
                continue
            keys = f"{a_key} {b_key}"
            if a != b:
                high, low = (a_name, b_name) if a > b else (b_name, a_name)
                yield Aggregate("difference", abs(a - b), unit, f"{high} - {low}", keys, source, node)
            for top, bottom, x, y in ((a_name, b_name, a, b), (b_name, a_name, b, a)):
                if y > 0 and x > 0:
                    yield Aggregate("ratio", 100 * x / y, PERCENT, f"100 * {top} / {bottom}", keys, source, node)
                    if x < y:
                        yield Aggregate("ratio", 100 - 100 * x / y, PERCENT, f"100 - 100 * {top} / {bottom}", keys, source, node)
