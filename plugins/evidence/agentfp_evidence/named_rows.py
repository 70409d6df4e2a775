"""Numbers that follow from the rows which the answer names: the sum of their prices, a price for several, what is left of one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from agentfp_evidence.columns import flat_numbers
from agentfp_evidence.context import is_labelled, label_around, speaks_of
from agentfp_evidence.entries import words_of_key
from agentfp_evidence.figures import fits
from agentfp_evidence.index import Posting
from agentfp_evidence.magnitudes import MAX_ACCIDENTS, accidents, significant
from agentfp_evidence.numbers import Number
from agentfp_evidence.operands import Operand
from agentfp_evidence.reading import Node, data_at
from agentfp_evidence.sources import Source
from agentfp_evidence.table import Table
from agentfp_evidence.units import is_money
from agentfp_evidence.verdict import Verdict, supported

MAX_NAMED = 8
_OBJECTS_EACH = 4
_BLOCK = re.compile(r"\n\s*\n|\n(?=(?:\d{1,2}[.)]|#{1,6}|[-*])\s)")


class Named(NamedTuple):
    """An identifier that the answer names, and its place there."""

    key: str
    start: int
    end: int


class _Row(NamedTuple):
    numbers: Mapping[str, float]
    source: Source
    node: Node


def find_named(table: Table, text: str, number: Number, named: Sequence[Named], counts: Sequence[Operand]) -> Verdict | None:
    """A number that the rows named beside it give.

    Args:
        table: the evidence.
        text: the answer, folded.
        number: the number.
        named: identifiers of the answer that stand in the results.
        counts: numbers by which a price may be multiplied.
    """
    label = label_around(text, number.start, number.end)
    total = is_labelled(text, number.start, number.end, "sum")
    for scope, is_whole in _scopes(text, number, named):
        keys = list(dict.fromkeys(n.key for n in scope))
        if not keys or len(keys) > MAX_NAMED or (is_whole and not total):
            continue
        rows = [_rows_of(table, key) for key in keys]
        rows = [options for options in rows if options]
        if not rows or len(rows) < len(keys):
            continue
        for field, values, chosen in _fields(rows):
            about = speaks_of(label, words_of_key(field)) or (is_money(number.unit) and speaks_of("total price", words_of_key(field)))
            if not about:
                continue
            whole = sum(values)
            if len(values) > 1 and fits(whole, number.value, number.decimals):
                return _verdict("sum", number, " + ".join(f"{v:g}" for v in values), field, chosen)
            if total:
                for count in counts:
                    if fits(whole * count.value, number.value, number.decimals):
                        return _verdict("product", number, f"{count.value:g} x {whole:g}", field, chosen)
    return None


def find_remainder(table: Table, text: str, number: Number, operands: Sequence[Operand]) -> Verdict | None:
    """The difference of a number that the answer states and one that only the results hold, where that is no accident.

    Args:
        table: the evidence.
        text: the answer, folded.
        number: the number.
        operands: the grounded numbers of the answer.
    """
    if significant(number) < 3 or not is_money(number.unit) or not is_labelled(text, number.start, number.end, "difference"):
        return None
    mine = [o for o in operands if o.unit == number.unit]
    rivals = table.count_around(number.value)
    if not mine or accidents(number.value, 10.0**-number.decimals, rivals * len(mine)) > MAX_ACCIDENTS:
        return None
    half = 0.5 * 10.0**-number.decimals
    for operand in mine:
        for sign in (1, -1):
            base = operand.value + sign * number.value
            for x, posting in table.between(base - half, base + half):
                if posting.source.ground == "evidence":
                    written = f"{x:g} - {operand.value:g}" if sign > 0 else f"{operand.value:g} - {x:g}"
                    return supported("difference", [posting], f"{number.readings[0]} = {written}")
    return None


def _scopes(text: str, number: Number, named: Sequence[Named]) -> Iterator[tuple[list[Named], bool]]:
    """The identifiers of the number's own item of a list or paragraph, then those of the whole answer."""
    starts = [0, *(m.end() for m in _BLOCK.finditer(text))]
    first = max(s for s in starts if s <= number.start)
    last = min((s for s in starts if s > number.start), default=len(text))
    own = [n for n in named if first <= n.start < last]
    if own:
        yield own, False
    paragraphs = [0, *(m.end() for m in re.finditer(r"\n\s*\n", text))]
    first = max(s for s in paragraphs if s <= number.start)
    before = [n for n in named if first <= n.start < number.start]
    if before and before != own:
        yield before, True
    if named:
        yield list(named), True


def _rows_of(table: Table, key: str) -> list[_Row]:
    """The objects that hold an identifier, the latest first, each set of numbers once."""
    found: list[_Row] = []
    for posting in reversed(table.find(key)):
        if posting.source.ground != "evidence" or posting.node is None or posting.part:
            continue
        numbers = flat_numbers(data_at(posting.source.reading, posting.node[0]))
        if numbers and all(numbers != row.numbers for row in found):
            found.append(_Row(numbers, posting.source, posting.node[0]))
        if len(found) == _OBJECTS_EACH:
            break
    return found


def _fields(rows: list[list[_Row]]) -> Iterator[tuple[str, list[float], list[_Row]]]:
    """Each field that every row has, with its values; where an identifier has several rows, each in turn."""
    for choice in itertools.islice(itertools.product(*rows), 64):
        shared = set(choice[0].numbers)
        for row in choice[1:]:
            shared &= set(row.numbers)
        for field in sorted(shared):
            yield field, [row.numbers[field] for row in choice], list(choice)


def _verdict(how: str, number: Number, written: str, field: str, rows: Sequence[_Row]) -> Verdict:
    postings = [Posting(row.source, row.node) for row in rows]
    return supported(how, postings, f"{number.readings[0]} = {written}, {field}")
