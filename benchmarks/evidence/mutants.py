"""Answers with one value made wrong: each kind of mistake that models make, and none that happens to be true."""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.evidence.answers import Case
from benchmarks.evidence.domains import OTHER_FIRST, OTHER_LAST
from benchmarks.evidence.styles import Value, date

_FRACTION = re.compile(r"(?<=\d)([.,])(\d{1,2})(?!\d)")
_UNITS = {"GB": "TB", "ms": "s", "€": "$", "$": "€", "kg": "g", "km": "m", "kWh": "MWh", "mg": "g"}


class Mutant(NamedTuple):
    """A case with one value replaced.

    Args:
        case: the honest case.
        mistake: the class of the mistake.
        piece: which piece was replaced.
        text: by what.
        kind: class of the value.
    """

    case: Case
    mistake: str
    piece: int
    text: str
    kind: str


def mutants_of(case: Case) -> Iterator[Mutant]:
    """One mutant of each mistake that the answer has room for."""
    rng = random.Random(f"mutants {case.name}")
    made: set[str] = set()
    values = case.values
    rng.shuffle(values)
    for piece, value in values:
        for mistake, text in _mistakes(case, value, rng):
            if mistake in made or text == value.text or _is_true(case, text):
                continue
            made.add(mistake)
            yield Mutant(case, mistake, piece, text, value.kind)


def _is_true(case: Case, text: str) -> bool:
    """Whether the text stands in the results or the honest answer anyway."""
    return text in case.messages[-1]["content"] or text in case.text()


def _mistakes(case: Case, value: Value, rng: random.Random) -> Iterator[tuple[str, str]]:
    text = value.text
    if value.kind == "id":
        digits = [i for i, c in enumerate(text) if c.isdigit()]
        at = rng.choice(digits)
        yield "sibling id", text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]
        yield "transposed id", _transposed(text, rng)
        if case.form != "json":
            yield "invented row", f"{text}, {_transposed(_digit(text, rng), rng)}"
    elif value.kind in ("money", "quantity", "percent", "count"):
        if sum(c.isdigit() for c in text) > 3:
            yield "digit", _digit(text, rng)
            yield "transposition", _transposed(text, rng)
        elif case.form != "json":
            yield "digit, 1-3 digits", _digit(text, rng)
        if case.form != "json":
            yield "over-rounding", _FRACTION.sub(lambda m: m[1] + "0" * len(m[2]), text, count=1)
            yield "ten times", re.sub(r"(\d)(?=\D*$)", r"\g<1>0", text, count=1) if not re.search(r"[.,]", text) else _digit(text, rng)
            if value.unit in _UNITS:
                yield "unit swap", text.replace(value.unit, _UNITS[value.unit])
    elif value.kind == "date":
        shifted = datetime.date.fromisoformat(str(value.raw)) + datetime.timedelta(days=rng.choice((-9, -4, 3, 11)))
        yield "date shift", shifted.isoformat() if case.form == "json" else date(shifted, case.language)
    elif value.kind == "time":
        yield "time shift", re.sub(r"(?<=[:h])(\d)(\d)", lambda m: f"{(int(m[1]) + 2) % 6}{(int(m[2]) + 3) % 10}", text, count=1)
    elif value.kind == "person":
        yield "first name", f"{rng.choice(OTHER_FIRST)} {text.split()[1]}"
        yield "whole name", f"{rng.choice(OTHER_FIRST)} {rng.choice(OTHER_LAST)}"
    elif value.kind == "company":
        yield "company", rng.choice(("Zephyrant", "Mandrakor", "Ulvestad")) + " " + text.split()[1]
    elif value.kind == "row count":
        yield "off by one", str(int(text) + rng.choice((-1, 1, 2)))
    elif value.kind == "sum":
        yield "wrong sum", _digit(text, rng)
    elif value.kind == "difference":
        yield "wrong difference", _digit(text, rng)


def swaps_of(case: Case) -> Iterator[Mutant]:
    """A value of one row stated for another; advisory, since every value is real."""
    if case.form == "json":
        return
    rng = random.Random(f"swaps {case.name}")
    values = [(i, v) for i, v in case.values if v.entity and v.kind in ("money", "quantity", "percent", "count")]
    rng.shuffle(values)
    for piece, value in values:
        for _, other in values:
            if other.key == value.key and other.entity != value.entity and other.text != value.text:
                yield Mutant(case, "entity swap", piece, other.text, value.kind)
                return


def _digit(text: str, rng: random.Random) -> str:
    places = [i for i, c in enumerate(text) if c.isdigit()]
    at = rng.choice(places[: max(1, len(places) - 1)] if len(places) > 1 else places)
    new = str((int(text[at]) + rng.choice((1, 2, 3, 4))) % 10)
    if at == places[0] and new == "0":
        new = "9" if text[at] != "9" else "8"
    return text[:at] + new + text[at + 1 :]


def _transposed(text: str, rng: random.Random) -> str:
    pairs = [i for i in range(len(text) - 1) if text[i].isdigit() and text[i + 1].isdigit() and text[i] != text[i + 1]]
    if not pairs:
        return _digit(text, rng)
    at = rng.choice(pairs)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
