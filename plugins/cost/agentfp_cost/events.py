"""What stands on the record of budgets. Amounts are decimal text, in US dollars; who spends is not named."""

from __future__ import annotations

from typing import Literal

from agentfp.plugin import Name, Number, Payload, event

Scope = Literal["run", "session", "principal"]
Action = Literal["warn", "ask", "halt"]


@event("agentfp.cost.charged")
class Charged(Payload):
    """Part of what the turn has cost was added to a store. ``total`` is what the session or the principal has spent by then."""

    scope: Name[Scope]
    usd: Number[str]
    total: Number[str]


@event("agentfp.cost.budget_crossed")
class BudgetCrossed(Payload):
    """More was spent than a budget has. Once a turn, and again where more was allowed and that is spent too."""

    scope: Name[Scope]
    limit: Number[str]
    actual: Number[str]
    action: Name[Action]


@event("agentfp.cost.budget_projected")
class BudgetProjected(Payload):
    """The next call would spend more than a budget has, if it is like the last one. Before it is made, once a turn and limit."""

    scope: Name[Scope]
    limit: Number[str]
    spent: Number[str]
    projected: Number[str]


@event("agentfp.cost.budget_allowed")
class BudgetAllowed(Payload):
    """A person allowed the turn to go on. ``limit`` is what it may spend now; None where they did not."""

    scope: Name[Scope]
    limit: Number[str | None]


@event("agentfp.cost.budget_blind")
class BudgetBlind(Payload):
    """A call has no known price, so the budget does not see it. Once a turn; ``model`` is the first such one, with its provider."""

    scope: Name[Scope]
    calls: Number[int]
    model: Name[str | None] = None
