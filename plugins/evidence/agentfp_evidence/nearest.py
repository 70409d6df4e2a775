"""The grounded value nearest to one that is not: a hint for people, never a reason to accept it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

MAX_EDITS = 2
_MAX_COMPARED = 5_000
_LONGEST_NUMBER = 9


def nearest_form(value: str, forms: Iterable[str]) -> str | None:
    """The form at most two edits away; of several the nearest, then the first.

    Args:
        value: an unsupported value.
        forms: grounded values.
    """
    best, best_edits = None, MAX_EDITS + 1
    compared = 0
    for form in forms:
        if abs(len(form) - len(value)) > MAX_EDITS or len(form) < 3 or not any(c.isdigit() for c in form):
            continue
        compared += 1
        if compared > _MAX_COMPARED:
            break
        edits = _edits(value, form, best_edits - 1)
        if edits is not None and edits < best_edits and edits < len(value) / 2:
            best, best_edits = form, edits
            if edits == 1:
                break
    return best


def swapped(value: str, is_grounded: Callable[[str], bool]) -> str | None:
    """The grounded number of three digits or more that a number is when two neighbours change places.

    Args:
        value: a number without marks, as the answer has it.
        is_grounded: whether a number stands somewhere.
    """
    if not (value.isdecimal() and 3 <= len(value) <= _LONGEST_NUMBER):
        return None
    for i in range(len(value) - 1):
        form = value[:i] + value[i + 1] + value[i] + value[i + 2 :]
        if form != value and form[0] != "0" and is_grounded(form):
            return form
    return None


def _edits(a: str, b: str, at_most: int) -> int | None:
    """Edit distance where two neighbours that changed places count as one; None beyond a bound."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > at_most:
            return None
    return row[-1] if row[-1] <= at_most else None
