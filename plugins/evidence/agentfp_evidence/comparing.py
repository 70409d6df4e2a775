"""Numbers that compare two amounts: which amounts of an answer and of its rows are compared, and so how the number follows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from agentfp_evidence.context import cells_above, sentence_around
from agentfp_evidence.deriving import MAX_ROWS_NAMED, Around, term_of, verdict_of
from agentfp_evidence.gaps import compares, find_change, find_gap, find_rate, find_rest
from agentfp_evidence.numbers import Number
from agentfp_evidence.operands import Operand
from agentfp_evidence.reckoning import Result, Term
from agentfp_evidence.row_names import NamedRow
from agentfp_evidence.row_results import of_row
from agentfp_evidence.units import PERCENT
from agentfp_evidence.verdict import Verdict

_COMPARED = 3
_AMOUNT = re.compile(r"(?:^|_)(?:qty|quantity|count|units|pieces|nights|hours|menge|anzahl|stück|quantite|quantité|nombre)$", re.IGNORECASE)
_PRICE = re.compile(r"price|cost|rate|fee|fare|preis|kosten|satz|prix|tarif", re.IGNORECASE)
_CALLED = re.compile(r"([^\W\d_]{3,})[\s:*_(]{1,4}$")
_BOUND = re.compile(r"\s*[<>\u2264\u2265]=?\s*(\d+(?:\.\d+)?)\D{0,8}")


class Comparer:
    """Finds the two amounts that a number of one text compares.

    Args:
        text: the answer, folded.
        around: what the sentence of a number stands for.
    """

    def __init__(self, text: str, around: Callable[[Number, Sequence[Operand]], Around]) -> None:
        self._text = text
        self._around = around

    def find(self, number: Number, operands: Sequence[Operand]) -> Verdict | None:
        """How a number follows from the two amounts that the answer speaks of: as their difference, rate or product.

        Args:
            number: the number that stands nowhere.
            operands: the grounded numbers of the answer.
        """
        found = find_rate(self._text, number, self._compared(number, operands, alike=False)) or self._row_price(number, operands)
        if found is not None:
            return verdict_of(number, found)
        if not compares(self._text, number):
            return None
        find = find_change if number.unit is PERCENT else find_gap
        found = find(number, self._compared(number, operands))
        if found is None and number.unit is not PERCENT:
            alike = [term_of(o) for o in operands if o.end <= number.start and o.unit is number.unit]
            found = find_rest(self._text, number, alike)
        return None if found is None else verdict_of(number, found)

    def _row_price(self, number: Number, operands: Sequence[Operand]) -> Result | None:
        """What so many pieces of a named row cost, by the row's own amount and price."""
        for rows in self._around(number, operands).rows:
            for row in rows if len(rows) == 1 else ():
                terms = of_row(row)
                for count in [t for t in terms if _AMOUNT.search(t.name)]:
                    for price in [t for t in terms if _PRICE.search(t.name)]:
                        if abs(count.value * price.value - abs(number.value)) < 1e-6 + 1e-9 * abs(number.value):
                            return Result("product", number.value, f"{count.value:g} * {price.value:g}", (count, price))
        return None

    def _compared(self, number: Number, operands: Sequence[Operand], *, alike: bool = True) -> Iterator[list[Term]]:
        """What may be compared: amounts of the sentence, of a column, right before, called the same, of a row, of a field of two rows."""
        first, last = sentence_around(self._text, number.start, number.end)
        around = self._around(number, operands)
        yield [term_of(o) for o in operands if first <= o.start < last]
        above = cells_above(self._text, number.start)
        yield [term_of(o) for o in operands if any(a < o.start < b for a, b in above)]
        before = [o for o in operands if o.end <= number.start]
        if alike and number.unit is not PERCENT:
            before = [o for o in before if o.unit is number.unit]
        yield [term_of(o) for o in before[-_COMPARED:]]
        called: dict[str, list[Term]] = {}
        for operand in before:
            name = _CALLED.search(self._text, max(0, operand.start - 24), operand.start)
            if name is not None:
                called.setdefault(name[1].lower(), []).append(term_of(operand))
        yield from called.values()
        for rows in around.rows:
            if len(rows) == 1:
                yield _bounds_of(rows[0])
            for a, b in itertools.combinations(rows, 2):
                mine, other = {t.name: t for t in of_row(a)}, {t.name: t for t in of_row(b)}
                shared = [key for key in mine if key in other and mine[key].value != other[key].value]
                yield from ([mine[key], other[key]] for key in shared[:MAX_ROWS_NAMED])


def _bounds_of(row: NamedRow) -> list[Term]:
    """The numbers of a row, those among them that are written as a bound: ``"ref": "<200"``."""
    bounds = [
        Term(float(match[1]), None, name=str(key))
        for key, value in row.rows.rows[row.at].items()
        if isinstance(value, str) and (match := _BOUND.fullmatch(value)) is not None
    ]
    return [*of_row(row), *bounds]
