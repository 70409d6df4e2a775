"""What the tokens of a model cost: a price for each kind of token, others for long requests, and the amount of one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from agentfp_core.messages import Usage

EMBED = "embed"
"""The purpose of a call that turns texts into vectors."""
KINDS = ("input", "output", "cache_read", "cache_write", "reasoning", "embedding")
"""The fields of :class:`Prices` that are prices."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a model in US dollars per ONE token; ``None`` where unknown. Other numbers are taken as they are written.

    Args:
        input: of a request's token.
        output: of a reply's token.
        cache_read: of a token read from the provider's cache; the input price where None.
        cache_write: of a token written to it; the input price where None.
        reasoning: of a token that a reply spent on thinking; the output price where None.
        embedding: of a token of a text that is turned into a vector; the input price where None.
        tiers: prices of long requests, as ``(tokens, prices)``: the whole call has those of the last tier whose number of tokens its
            input, cached ones included, is ABOVE. What a tier leaves None costs as without it.
    """

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    reasoning: Decimal | None = None
    embedding: Decimal | None = None
    tiers: Sequence[tuple[int, Prices]] = ()

    def __post_init__(self) -> None:
        for name in KINDS:
            price: Any = getattr(self, name)
            if isinstance(price, (int, float)):
                object.__setattr__(self, name, Decimal(str(price)))
        tiers = sorted(self.tiers, key=lambda tier: tier[0])
        object.__setattr__(self, "tiers", tuple((above, prices._over(self)) for above, prices in tiers))

    def for_request(self, tokens: int) -> Prices:
        """The prices of a call.

        Args:
            tokens: of its input, cached ones included.
        """
        found = self
        for above, prices in self.tiers:
            if tokens > above:
                found = prices
        return found

    def known_for(self, purpose: str | None = None) -> bool:
        """Whether there is a price of everything that a call for a purpose must have."""
        if purpose == EMBED and self.embedding is not None:
            return True
        return self.input is not None and (self.output is not None or purpose == EMBED)

    def amount(self, usage: Usage, purpose: str | None = None) -> Decimal | None:
        """Dollars of one call; None when tokens or prices are not known, or make no amount.

        Args:
            usage: the tokens; ``input`` includes the cached ones, ``output`` those of thinking.
            purpose: what the call was for; one to ``embed`` that gave no tokens back has the price of embeddings.
        """
        counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.thinking)
        if usage.input is None or any(count is not None and count < 0 for count in counts):
            return None  # no count of tokens: priced, it would make what others cost look cheaper
        prices = self.for_request(usage.input)
        try:
            total = prices._embedded(usage.input) if purpose == EMBED and not usage.output else prices._replied(usage)
            return total if total is not None and total.is_finite() and total >= 0 else None
        except ArithmeticError:  # prices that are no numbers
            return None

    def times(self, factor: Decimal) -> Prices:
        """The prices multiplied by a factor, as where a region is dearer.

        Args:
            factor: the factor.
        """
        changed = {name: None if price is None else price * factor for name in KINDS if (price := getattr(self, name)) is not None}
        return dataclasses.replace(self, **changed, tiers=tuple((above, prices.times(factor)) for above, prices in self.tiers))

    def _over(self, base: Prices) -> Prices:
        """This tier, its gaps filled from the prices it belongs to."""
        return Prices(**{name: getattr(base, name) if getattr(self, name) is None else getattr(self, name) for name in KINDS})

    def _embedded(self, tokens: int) -> Decimal | None:
        price = self.input if self.embedding is None else self.embedding
        return None if price is None else tokens * price

    def _replied(self, usage: Usage) -> Decimal | None:
        if usage.input is None or usage.output is None or self.input is None or self.output is None:
            return None
        read, write = usage.cache_read or 0, usage.cache_write or 0
        fresh = max(usage.input - read - write, 0)
        at_read = self.input if self.cache_read is None else self.cache_read
        at_write = self.input if self.cache_write is None else self.cache_write
        thought = 0 if self.reasoning is None else min(usage.thinking or 0, usage.output)
        spoken = (usage.output - thought) * self.output + thought * (self.reasoning or 0)
        return fresh * self.input + read * at_read + write * at_write + spoken
