"""Domain ``cost``: what a run costs, and its limits."""

from __future__ import annotations

from typing import Literal

from agentfp_core.events.base import Name, Number, Payload, event


@event("agentfp.cost.tick")
class CostTick(Payload):
    """A reply was priced. Amounts are decimal text, in US dollars."""

    provider: Name[str]
    model: Name[str]
    usd: Number[str]
    cumulative_usd: Number[str]
    purpose: Name[str | None] = None


@event("agentfp.cost.unpriced")
class CostUnpriced(Payload):
    """A reply could not be priced; it counts as unknown, not as free."""

    provider: Name[str]
    model: Name[str]
    reason: Name[Literal["no-usage", "no-price", "bad-price"]]


@event("agentfp.cost.limit_hit")
class LimitHit(Payload):
    """A limit was crossed; once a limit and run."""

    kind: Name[Literal["max_cost", "max_tokens", "max_iterations", "max_wallclock"]]
    limit: Number[float]
    actual: Number[float]
    action: Name[Literal["abort", "warn"]]

    def __str__(self) -> str:
        return f"the limit {self.kind} of {self.limit:g} is hit with {self.actual:g}: {self.action}"
