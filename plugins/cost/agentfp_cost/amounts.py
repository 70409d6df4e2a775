"""Amounts of dollars: read from text that may come from anywhere, and written as text."""

from __future__ import annotations

from decimal import Context, Decimal, InvalidOperation
from typing import Any

_PLACES = Decimal("1e-9")
_WIDE = Context(prec=100)
_DIGITS = 15
"""Digits before the point that an amount has at most, and five times as many behind it; what has more is no amount of money."""


def amount_in(given: Any) -> Decimal | None:
    """The amount that a number or a text states; None where it is none from 0, or one that no money has."""
    if isinstance(given, bool) or not isinstance(given, (int, float, str, Decimal)):
        return None
    if isinstance(given, str) and len(given) > 200:
        return None
    try:
        amount = Decimal(str(given))
    except (InvalidOperation, ValueError):  # a whole number may have too many digits to be written
        return None
    if not amount.is_finite() or amount < 0:
        return None
    exponent = amount.as_tuple().exponent
    fits = isinstance(exponent, int) and exponent >= -5 * _DIGITS and (not amount or amount.adjusted() < _DIGITS)
    return amount if fits else None


def exact(amount: Decimal) -> str:
    """An amount as plain decimal text, to the last place."""
    return f"{amount.normalize():f}"


def counted(calls: int) -> str:
    """A number of calls, in words."""
    return f"{calls:,} call{'' if calls == 1 else 's'}"


def dollars(amount: Decimal) -> str:
    """An amount as plain decimal text, with at most nine places."""
    text = f"{amount.quantize(_PLACES, context=_WIDE):f}"
    return text.rstrip("0").rstrip(".") or "0"
