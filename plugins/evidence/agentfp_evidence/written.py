"""Expressions that an answer writes out, brackets and all: what they come to, and whether they come out as written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agentfp_evidence.numbers import Number, readings_of
from agentfp_evidence.operands import Operand

_FACTOR = re.compile(r"[*_]*\s?[x\u00d7*]\s?")
_WRITTEN = re.compile(r"[(\d][\d.,()\s+*/x\u00d7\u00f7\u2212\u2013-]*[\d)]\s*$")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_SIGN = re.compile(r"[#()+*/x\u00d7\u00f7\u2212\u2013-]")
_SIGNS = {"x": "*", "\u00d7": "*", "\u00f7": "/", "\u2212": "-", "\u2013": "-"}
_CURRENCY = re.compile(r"[$\u20ac\u00a3_]|\*\*|[A-Z]{3}\b")
_MOST_COUNTED = 99
_BEGINS = re.compile(r"[:|=]\s|^\s*[-*+\u2022]\s")
_MOST_FACTOR = 400


def written_factor(text: str, number: Number, operands: Sequence[Operand]) -> bool:
    """Whether a small number multiplies in an equation that comes out as the answer writes it: "4 \u00d7 2.50 = 10.00".

    Args:
        text: the answer, folded.
        number: the small number.
        operands: the grounded numbers of the answer.
    """
    line = text.find("\n", number.end)
    if not number.value.is_integer() or number.value > _MOST_FACTOR or not _FACTOR.match(text, number.end):
        return False
    equals = text.find("=", number.end, line if line >= 0 else len(text))
    result = _DIGITS.search(text, equals) if equals >= 0 else None
    if result is None or result.start() - equals > 6:
        return False
    found = _written(text[number.start : equals])
    if found is None or sum(number.end <= o.start < equals for o in operands) != len(found[0]) - 1:
        return False
    readings, decimals = readings_of(result[0])
    return abs(found[1] - float(readings[0])) <= 0.01 * 10.0**-decimals


def expression(text: str, number: Number, operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """What an expression right before the number comes to; one small count in it may stand nowhere, it is flagged by itself.

    Args:
        text: the answer, folded.
        number: the number behind the equals sign.
        operands: the grounded numbers of the answer.
    """
    line = text.rfind("\n", 0, number.start) + 1
    before = text[line : number.start].rstrip(" *_$\u20ac\u00a3")
    if not before.endswith("="):
        return
    begin = line + max((m.end() for m in _BEGINS.finditer(before)), default=0)
    end = line + len(before) - 1
    found = _written(text[begin:end])
    used = [o for o in operands if begin <= o.start < end]
    if found is None or not used:
        return
    values, value = found
    if len(values) - len(used) <= (1 if min(values) <= _MOST_COUNTED else 0):
        yield "equation", value, text[begin:end].strip(), used


def _written(text: str) -> tuple[list[float], float] | None:
    """The numbers of an expression and what it comes to; None for text that is none."""
    plain = _CURRENCY.sub("", text).strip()
    if _WRITTEN.fullmatch(plain) is None:
        return None
    values = [float(readings_of(m[0])[0][0]) for m in _DIGITS.finditer(plain)]
    rest = iter(values)
    try:
        pieces = [next(rest) if p == "#" else _SIGNS.get(p, p) for p in _SIGN.findall(_DIGITS.sub("#", plain))]
        return (values, _evaluated(pieces)) if len(values) > 1 else None
    except (StopIteration, IndexError, ZeroDivisionError):
        return None


def _evaluated(pieces: list[float | str]) -> float:
    """The value of numbers, signs and brackets; products before sums."""

    def added() -> float:
        total = multiplied()
        while pieces and pieces[0] in ("+", "-"):
            sign = pieces.pop(0)
            total += multiplied() if sign == "+" else -multiplied()
        return total

    def multiplied() -> float:
        product = single()
        while pieces and pieces[0] in ("*", "/"):
            sign = pieces.pop(0)
            product = product * single() if sign == "*" else product / single()
        return product

    def single() -> float:
        piece = pieces.pop(0)
        if piece == "(":
            value = added()
            pieces.pop(0)
            return value
        if isinstance(piece, str):
            raise IndexError(piece)
        return piece

    value = added()
    if pieces:
        raise IndexError
    return value
