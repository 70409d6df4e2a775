"""Amounts of dollars: of a call, and as text."""

from __future__ import annotations

from decimal import Decimal

from agentfp.model import Prices
from agentfp.plugin import Usage


def amount_of(usage: Usage, prices: Prices) -> Decimal | None:
    """Dollars of a call; None when tokens or prices are not known.

    Args:
        usage: the tokens; ``input`` includes the cached ones, ``output`` those of thinking.
        prices: per token.
    """
    if usage.input is None or usage.output is None or prices.input is None or prices.output is None:
        return None
    read, write = usage.cache_read or 0, usage.cache_write or 0
    if min(usage.input, usage.output, read, write) < 0:
        return None  # no count of tokens: priced, it would make what others cost look cheaper
    fresh = max(usage.input - read - write, 0)
    at_read = prices.input if prices.cache_read is None else prices.cache_read
    at_write = prices.input if prices.cache_write is None else prices.cache_write
    amount = fresh * prices.input + read * at_read + write * at_write + usage.output * prices.output
    return amount if amount.is_finite() and amount >= 0 else None


def exact(amount: Decimal) -> str:
    """An amount as plain decimal text, to the last place."""
    return f"{amount.normalize():f}"


def counted(calls: int) -> str:
    """A number of calls, in words."""
    return f"{calls:,} call{'' if calls == 1 else 's'}"


def dollars(amount: Decimal) -> str:
    """An amount as plain decimal text, with at most nine places."""
    text = f"{amount.quantize(Decimal('1e-9')):f}"
    return text.rstrip("0").rstrip(".") or "0"
