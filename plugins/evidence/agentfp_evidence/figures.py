"""Numbers with units at the lexical level, and what they may be derived from: a closed set of derivations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentfp.transcripts import ValueSource
from agentfp_evidence.columns import Rows, is_number, rows_in
from agentfp_evidence.normalise import normalise
from agentfp_evidence.reading import Node, json_path
from agentfp_evidence.sources import Source

MAX_CARRIED = 50_000
MAX_DERIVED = 50_000
_UNIT = re.compile(
    r"(?<![\w.,])(-?\d[\d,]*(?:\.\d+)?) ?(?:%|(?:percent|[kmgtp]i?b|iops|mbps|gbps|ms|us)(?:/s)?(?![A-Za-z0-9]))", re.IGNORECASE | re.ASCII
)
_IN_TEXT = re.compile(r"(?<![\w.,])-?\d[\d,]*(?:\.\d+)?(?![\w,]|\.\d)", re.ASCII)
_PERCENT_KEY = re.compile(r"(?:pct|percent|percentage)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Derived:
    """How a number follows from others.

    Args:
        how: the derivation in one word.
        origin: the operands and their place, written out.
        sources: where they stand.
        value: the number itself.
    """

    how: str
    origin: str
    sources: tuple[ValueSource, ...]
    value: float = 0.0


def figure_values(text: str) -> frozenset[str]:
    """Canonical forms of the numbers that wear a unit in a text."""
    return frozenset(normalise(match[1]) for match in _UNIT.finditer(text))


class FiguresFacet:
    """The numbers that results carry, with their keys, and the rows they stand in."""

    def __init__(self) -> None:
        self.carried: list[tuple[float, str, Source, Node]] = []
        self.rows: list[Rows] = []
        self.truncated = False

    def add(self, source: Source) -> None:
        """Index a source; only results carry numbers."""
        if source.ground != "evidence":
            return
        for leaf in source.reading.leaves:
            if leaf.is_key:
                continue
            if is_number(leaf.value):
                self._carry(float(leaf.value), leaf.key, source, leaf.node)
            elif isinstance(leaf.value, str):
                for match in _IN_TEXT.finditer(leaf.value):
                    self._carry(float(match[0].replace(",", "")), "", source, leaf.node)
        for i, data in enumerate(source.reading.data):
            if isinstance(data, (dict, list)):
                self.rows.extend(rows_in(data, source, None if i == 0 else (None, i)))

    def _carry(self, value: float, key: str, source: Source, node: Node) -> None:
        if len(self.carried) >= MAX_CARRIED:
            self.truncated = True
        elif is_number(value):
            self.carried.append((value, key, source, node))


class Figures:
    """Derivations over what a conversation carries; each is made when first asked for."""

    def __init__(self, facet: FiguresFacet) -> None:
        self._facet = facet
        self._derived: list[Derived] | None = None

    def derive(self, number: str) -> Derived | None:
        """The first derivation that gives a number, at the number's own precision.

        Args:
            number: canonical decimal.
        """
        try:
            wanted = float(number)
        except ValueError:
            return None
        if not is_number(wanted):
            return None
        decimals = len(number.partition(".")[2])
        for derived in self._carried():
            if fits(derived.value, wanted, decimals):
                return derived
        if self._derived is None:
            self._derived = list(self._columns())
        return next((d for d in self._derived if fits(d.value, wanted, decimals)), None)

    def _carried(self) -> Iterator[Derived]:
        carried = self._facet.carried
        for value, _, source, node in carried:
            yield _one("rounded", value, source, node, f"{value:g}")
        for value, _, source, node in carried:
            yield from _scales(value, f"{value:g}", source, node)
        for value, key, source, node in carried:
            if _PERCENT_KEY.search(key):
                yield _one("complement", 100 - value, source, node, f"100 - {value:g}")

    def _columns(self) -> Iterator[Derived]:
        for count, derived in enumerate(self._all_columns(), 1):
            if count > MAX_DERIVED:
                self._facet.truncated = True
                return
            yield derived

    def _all_columns(self) -> Iterator[Derived]:
        sums = [(rows, _column_sums(rows)) for rows in self._facet.rows]
        for rows, columns in sums:
            for label, total in columns:
                yield _one("column-sum", total, rows.source, rows.node, f"sum of {label}")
        for rows, columns in sums:
            plain = [(label, total) for label, total in columns if "(" not in label]
            for a_label, a in plain:
                for b_label, b in plain:
                    if a_label != b_label and _comparable(a_label, b_label):
                        if b:
                            ratio = 100 * a / b
                            yield _one("column-ratio", ratio, rows.source, rows.node, f"100 * sum of {a_label} / sum of {b_label}")
                            if 0 <= ratio <= 100:
                                origin = f"100 - 100 * sum of {a_label} / sum of {b_label}"
                                yield _one("column-ratio", 100 - ratio, rows.source, rows.node, origin)
                        if b - a > 0:
                            origin = f"sum of {b_label} - sum of {a_label}"
                            yield _one("column-difference", b - a, rows.source, rows.node, origin)
        for rows, columns in sums:
            for label, total in columns:
                yield from _scales(total, f"sum of {label}", rows.source, rows.node)


def fits(value: float, wanted: float, decimals: int) -> bool:
    """Whether a value, rounded to some decimals, is the wanted number."""
    return abs(value - wanted) <= 0.5 * 10.0**-decimals * (1 + 1e-9) + 1e-12


def _column_sums(rows: Rows) -> list[tuple[str, float]]:
    name = json_path(rows.node).removeprefix("$").lstrip(".")
    fields = rows.numeric_fields()
    found = [(f"{name}[].{f}", float(sum(v)), len(v)) for f in fields if (v := _numbers(rows.rows, f))]
    for key, value, group in rows.groups():
        found.extend((f"{name}[].{f} ({key}={value})", float(sum(v)), len(v)) for f in fields if (v := _numbers(group, f)))
    return [(label, total) for label, total, count in found if count >= 2]


def _numbers(rows: Sequence[Mapping[str, Any]], field: str) -> list[float]:
    return [row[field] for row in rows if is_number(row.get(field))]


def _comparable(a: str, b: str) -> bool:
    a, b = a.rpartition(".")[2], b.rpartition(".")[2]
    suffix_a, suffix_b = re.split(r"[_-]", a)[-1], re.split(r"[_-]", b)[-1]
    return suffix_a == suffix_b and not _PERCENT_KEY.search(a) and not _PERCENT_KEY.search(b)


def _scales(value: float, what: str, source: Source, node: Node) -> Iterator[Derived]:
    if abs(value) < 1000:
        return
    for base in (1000, 1024):
        for k in range(1, 6):
            yield _one("unit-scale", value / base**k, source, node, f"{what} / {base}^{k}")


def _one(how: str, value: float, source: Source, node: Node, origin: str) -> Derived:
    path = json_path(node)
    return Derived(how, f"{origin}, {path}", (ValueSource(source.index, path, source.call_id),), value)
