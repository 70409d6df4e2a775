"""What the rows of results give: along a row, between two of them, against the ends and the sums of their columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from agentfp_evidence.columns import flat_numbers
from agentfp_evidence.context import speaks_of_money
from agentfp_evidence.index import Posting
from agentfp_evidence.magnitudes import significant
from agentfp_evidence.numbers import Number
from agentfp_evidence.reckoning import Result, Term
from agentfp_evidence.row_names import NamedRow
from agentfp_evidence.units import PERCENT, agree, unit_of_key

_MOST_FIELDS = 5
_TELLING_DIGITS = 4
_MANY = 1_000


def from_rows(number: Number, groups: Sequence[Sequence[NamedRow]], compares: bool) -> Iterator[list[Result]]:
    """What the named rows give along themselves, and against each other or the ends of their columns.

    Args:
        number: the number that is looked for.
        groups: the rows that a sentence names.
        compares: the sentence compares.
    """
    unit = number.unit
    if unit is PERCENT:
        return
    for rows in groups:
        along: list[Result] = []
        ends: list[Result] = []
        for row in rows:
            terms = [t for t in of_row(row) if agree(t.unit, unit)]
            terms = [t for t in terms if t.unit is unit] or terms
            if len(terms) >= 3 and len({t.unit for t in terms}) == 1:
                along.append(Result("sum", sum(t.value for t in terms), f"sum of {terms[0].name} to {terms[-1].name}", tuple(terms)))
            if significant(number) >= _TELLING_DIGITS and not number.hedged:
                along.extend(_margins(of_row(row)))
            for term in terms:
                column = [n[term.name] for r in row.rows.rows if term.name in (n := flat_numbers(r))]
                ends.extend(r for end in (max(column), min(column)) for r in _between(term, term._replace(value=end)))
        yield along
        if not compares:
            continue
        across: list[Result] = []
        for a, b in itertools.combinations(rows, 2):
            mine, other = {t.name: t for t in of_row(a)}, {t.name: t for t in of_row(b)}
            shared = [name for name in mine if name in other and agree(mine[name].unit, unit)]
            across.extend(r for name in shared for r in _between(mine[name], other[name]))
        yield across
        yield ends


def discounted(number: Number, few: Sequence[tuple[Term, tuple[str, ...]]]) -> Iterator[Result]:
    """So many at a price, less or more a share in percent: 34 seats of 16.00 with a discount of 10 percent.

    Args:
        number: the amount that is looked for.
        few: the numbers of a conversation that holds only few, and the words that name each.
    """
    pieces = [t for t, words in few if t.unit is None and t.value.is_integer() and 1 < t.value < _MANY and not speaks_of_money(words)]
    prices = [
        t for t, words in few if t.unit is not PERCENT and agree(t.unit, number.unit) and (t.unit is not None or speaks_of_money(words))
    ]
    shares = [t for t, _ in few if t.unit is PERCENT]
    for price, share in itertools.product(prices, shares):
        for count in pieces:
            for sign in (-1, 1):
                factor = 1 + sign * share.value / 100
                written = f"{count.value:g} * {price.value:g} * {factor:g}"
                yield Result("product", count.value * price.value * factor, written, (count, price, share))


def _margins(terms: Sequence[Term]) -> Iterator[Result]:
    """So many times the difference of two others of a row: pieces, price and cost."""
    for count in terms[:_MOST_FIELDS]:
        for a, b in itertools.combinations([t for t in terms[:_MOST_FIELDS] if t is not count], 2):
            if agree(a.unit, b.unit) and a.value != b.value:
                written = f"{count.value:g} * ({a.value:g} - {b.value:g})"
                yield Result("product", count.value * abs(a.value - b.value), written, (count, a, b))


def shares_of(parts: Sequence[Term], wholes: Sequence[Term]) -> Iterator[Result]:
    """Each part as a share in percent of each whole that is larger.

    Args:
        parts: amounts.
        wholes: amounts of which they may be a part.
    """
    for part in parts:
        for whole in wholes:
            if (
                part.value
                and abs(whole.value) > abs(part.value)
                and agree(whole.unit, part.unit)
                and PERCENT not in (part.unit, whole.unit)
            ):
                yield Result("ratio", 100 * part.value / whole.value, f"100 * {part.value:g} / {whole.value:g}", (part, whole))


def column_sums(row: NamedRow) -> list[Term]:
    """The sums of the columns of a row."""
    flat = [flat_numbers(r) for r in row.rows.rows]
    return [Term(sum(n.get(name, 0.0) for n in flat), unit_of_key(name), name=f"sum of {name}") for name in row.numbers]


def of_row(row: NamedRow) -> list[Term]:
    """The numbers of a row."""
    place = Posting(row.rows.source, row.rows.node).where()
    return [Term(value, unit_of_key(key), (place,), key) for key, value in row.numbers.items()]


def _between(a: Term, b: Term) -> Iterator[Result]:
    if a.value != b.value:
        high, low = max(a.value, b.value), min(a.value, b.value)
        yield Result("difference", high - low, f"{high:g} - {low:g}, {a.name}", (a, b))
