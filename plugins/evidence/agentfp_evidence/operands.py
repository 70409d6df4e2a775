"""The grounded numbers of an answer, from which others are worked out, and how one was."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agentfp.transcripts import ValueSource
from agentfp_evidence.context import NUMBER_WORDS
from agentfp_evidence.figures import fits
from agentfp_evidence.numbers import Number
from agentfp_evidence.scan import Word
from agentfp_evidence.units import Unit, agree, is_money


@dataclass(frozen=True, slots=True)
class Operand:
    """A number of the answer that is grounded.

    Args:
        value: the number.
        unit: its unit.
        start: where it begins.
        end: where it ends.
        sources: where it comes from.
        is_sum: it is itself a total of others.
        noun: of the length of a list, the key of the list.
    """

    value: float
    unit: Unit | None
    start: int
    end: int
    sources: tuple[ValueSource, ...] = ()
    is_sum: bool = False
    noun: str = ""


@dataclass(frozen=True, slots=True)
class Worked:
    """How a number follows from operands.

    Args:
        how: ``sum``, ``difference``, ``product``, ``ratio`` or ``equation``.
        derivation: written out.
        sources: where the operands come from.
    """

    how: str
    derivation: str
    sources: tuple[ValueSource, ...]


CENTS = re.compile(r"[ -]?(?:cents?|ct|centimes?|c\u00e9ntimos?|centesimi|pence|rappen)\b", re.IGNORECASE)
"""Behind an amount in hundredths of a currency."""
_OF_WHOLE = re.compile(
    r"[*_]*\s(?:out\s)?(?:of|von|sur|de)\s(?:your\s|the\s|its\s|an?\s|Ihren\s|deinen\s|den\s|vos\s|les\s)?[*_]*[$\u20ac\u00a3]?",
    re.IGNORECASE,
)


def with_units_of_wholes(text: str, operands: Sequence[Operand]) -> list[Operand]:
    """The operands, a part of a whole with the unit of the whole: "8.7 of your 15 GB".

    Args:
        text: the answer, folded.
        operands: in order.
    """
    found = list(operands)
    for i, (part, whole) in enumerate(itertools.pairwise(operands)):
        if part.unit is None and whole.unit is not None and _OF_WHOLE.fullmatch(text, part.end, whole.start):
            found[i] = replace(part, unit=whole.unit)
    return found


def words_as_counts(words: Iterable[Word]) -> list[Operand]:
    """Spelled-out numbers that may multiply something.

    Args:
        words: the words of the answer.
    """
    return [Operand(float(value), None, w.start, w.end) for w in words if (value := NUMBER_WORDS.get(w.text.lower())) is not None]


def same_unit(operand: Operand, number: Number) -> bool:
    """Whether an operand measures what a number measures."""
    if is_money(operand.unit) or is_money(number.unit):
        return operand.unit == number.unit
    return agree(operand.unit, number.unit)


def is_value(value: float, number: Number) -> bool:
    """Whether a value is a number, as exactly as it is written."""
    return any(fits(abs(value), abs(float(reading)), number.decimals) for reading in number.readings[:1])


def worked(how: str, number: Number, written: str, operands: Sequence[Operand]) -> Worked:
    """How a number was worked out, with the sources of what it was worked out from."""
    sources = tuple(dict.fromkeys(s for o in operands for s in o.sources[:2]))
    return Worked(how, f"{number.readings[0]} = {written}", sources)
