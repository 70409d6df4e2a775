"""Equations that an answer writes out: what they give, and whether they are wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agentfp_evidence.numbers import Number
from agentfp_evidence.operands import CENTS, Operand, Worked, is_value, worked

_SCALES = (10, 100, 1000, 1_000_000)
"""By which an equation may be off for the units that it does not write: per cent, per thousand, kilo."""
_OPERATOR = re.compile(
    r"[*_`)\]\s]*(?:(?:per|each|für|for|pro|par|x)?\s?(?:[^\W\d_]+[ -]?){0,3}[*_)\s]*)?(?P<op>[-+x\u00d7*/\u00f7=\u2212\u2013]|plus|minus"
    r"|times|mal)(?:(?<=plus)(?:\s[^\W\d_]+){1,4})?[*_`(\[\s]*(?:[$€£]|[A-Z]{3} )?",
    re.IGNORECASE,
)
_OPERATOR_BEFORE = re.compile(r"[\d)*_]\s*[-+x\u00d7*/\u00f7]\s*[*_(]*(?:[$€£]|[A-Z]{3} )?$")
"""The equation begins before, with a number that stands nowhere."""
EQUALS = re.compile(r"=[\s*_]*[$€£]?$")
"""Before the number that an equation comes to."""
_BRACKETS = re.compile(r"\([^()\n=]{1,30}\)")


def contradicts(text: str, number: Number, operands: Sequence[Operand]) -> str | None:
    """The equation right before a number that gives another one, written out; None if there is none.

    Args:
        text: the answer, folded.
        number: the number behind the equals sign.
        operands: the grounded numbers, in order.
    """
    text, operands = _without_remarks(text, number, operands)
    for run in _chains(text, [o for o in operands if o.end <= number.start]):
        between = text[run[-1][1].end : number.start]
        cut = _OPERATOR_BEFORE.search(text[max(0, run[0][1].start - 8) : run[0][1].start]) is not None
        if not cut and re.fullmatch(r"[\s*_`)]*=[\s*_`(]*", between):
            value = _evaluate(run)
            if value is not None and not any(is_value(value / scale, number) for scale in (1, *_SCALES)):
                return " ".join(f"{op} {o.value:g}" for op, o in run).strip() + f" = {value:.12g}"
    return None


def equation(text: str, number: Number, operands: Sequence[Operand]) -> Worked | None:
    """A sum, difference or product that the answer writes out beside the number.

    Args:
        text: the answer, folded.
        number: the number.
        operands: what the equation may hold, in order.
    """
    for run in _chains(text, operands):
        first, last = run[0][1], run[-1][1]
        near = text[last.end : number.start] if last.end <= number.start else text[number.end : first.start]
        if "\n" in near or len(near) > 60:
            continue
        linked = "=" in near or "(" in near or len(near) < 30
        values = [_evaluate(run), _evaluate(run, text)]
        if linked and any(value is not None and is_value(value, number) for value in values):
            written = " ".join(f"{op} {o.value:g}" for op, o in run).strip("= ").strip()
            return worked("equation", number, written, [o for _, o in run])
    return None


def equation_without_remarks(text: str, number: Number, operands: Sequence[Operand]) -> Worked | None:
    """An equation in which a remark in brackets stands: "2 children (9 and 14) x $9.50"."""
    blank, left = _without_remarks(text, number, operands)
    return None if blank is text else equation(blank, number, left)


def _without_remarks(text: str, number: Number, operands: Sequence[Operand]) -> tuple[str, Sequence[Operand]]:
    """The text with blanks in place of remarks in brackets on the line before a number, and the operands that are in none of them."""
    line = text.rfind("\n", 0, number.start) + 1
    if _BRACKETS.search(text, line, number.start) is None:
        return text, operands
    blank = text[:line] + _BRACKETS.sub(lambda m: " " * len(m[0]), text[line : number.start]) + text[number.start :]
    return blank, [o for o in operands if not blank[o.start : o.end].isspace()]


def _chains(text: str, operands: Sequence[Operand]) -> Iterator[list[tuple[str, Operand]]]:
    """Runs of operands with an operator between each two."""
    run: list[tuple[str, Operand]] = []
    for operand in operands:
        if run:
            near = operand.start - run[-1][1].end < 50 and "\n" not in text[run[-1][1].end : operand.start]  # "-" begins items too
            gap = _OPERATOR.fullmatch(text, run[-1][1].end, operand.start) if near else None
            if gap is not None and gap["op"] != "=":
                op = {
                    "\u00d7": "*",
                    "x": "*",
                    "X": "*",
                    "times": "*",
                    "mal": "*",
                    "\u00f7": "/",
                    "\u2013": "-",
                    "plus": "+",
                    "minus": "-",
                }.get(gap["op"], gap["op"])
                run.append((op, operand))
                continue
            if len(run) > 1:
                yield run
        run = [("", operand)]
    if len(run) > 1:
        yield run


def _evaluate(run: list[tuple[str, Operand]], text: str = "") -> float | None:
    """What a run gives; with the text, cents count as hundredths."""
    terms: list[float] = []
    for op, operand in run:
        value = operand.value / 100 if text and CENTS.match(text, operand.end) else operand.value
        if op in ("", "+"):
            terms.append(value)
        elif op == "-":
            terms.append(-abs(value))
        elif op == "*":
            terms[-1] *= value
        elif value:
            terms[-1] /= value
        else:
            return None
    return sum(terms)
