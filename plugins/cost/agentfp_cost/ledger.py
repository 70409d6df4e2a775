"""What the record says of the budget of the turn: a fold, the same live, resumed and saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from agentfp.events import CallFailed, CostTick, CostUnpriced, HelperReplied, LlmEnd
from agentfp.plugin import Event
from agentfp_cost.events import BudgetAllowed, BudgetBlind, BudgetCrossed, Charged

USAGE = (LlmEnd.event_name, HelperReplied.event_name, CallFailed.event_name)
READ = (
    *USAGE,
    CostTick.event_name,
    CostUnpriced.event_name,
    Charged.event_name,
    BudgetCrossed.event_name,
    BudgetAllowed.event_name,
    BudgetBlind.event_name,
)


@dataclass(frozen=True, slots=True)
class TurnBudget:
    """Where the budget of a turn stands.

    Args:
        turn: the turn.
        charged: dollars of it that a store knows.
        total: what the session or principal has spent, as last heard; None before.
        crossed: the limit that was crossed last; None when none was.
        limit: what a person allowed; None when nobody was asked.
        refused: whether a person said no.
        replies: calls that used tokens.
        priced: those with a price.
        blind: whether it was told that some have none.
    """

    turn: int = 0
    charged: Decimal = Decimal(0)
    total: Decimal | None = None
    crossed: Decimal | None = None
    limit: Decimal | None = None
    refused: bool = False
    replies: int = 0
    priced: int = 0
    blind: bool = False

    def fold(self, event: Event) -> TurnBudget:
        """What is known after an event."""
        state = self if event.turn == self.turn else TurnBudget(event.turn)
        payload = event.payload
        if event.name in USAGE:
            return replace(state, replies=state.replies + 1)
        if isinstance(payload, CostTick):
            return replace(state, priced=state.priced + 1)
        if isinstance(payload, Charged):
            return replace(state, charged=state.charged + Decimal(payload.usd), total=Decimal(payload.total))
        if isinstance(payload, BudgetCrossed):
            return replace(state, crossed=Decimal(payload.limit))
        if isinstance(payload, BudgetAllowed):
            return replace(state, refused=True) if payload.limit is None else replace(state, limit=Decimal(payload.limit))
        if isinstance(payload, BudgetBlind):
            return replace(state, blind=True)
        return state
