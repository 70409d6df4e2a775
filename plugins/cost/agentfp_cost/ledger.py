"""What the record says of the budget of the turn: a fold, the same live, resumed and saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from agentfp.events import CallFailed, CostTick, CostUnpriced, HelperReplied, LlmEnd
from agentfp.plugin import Event, Usage
from agentfp_cost.events import BudgetAllowed, BudgetBlind, BudgetCrossed, BudgetProjected, Charged

USAGE = (LlmEnd.event_name, HelperReplied.event_name, CallFailed.event_name)
READ = (
    *USAGE,
    CostTick.event_name,
    CostUnpriced.event_name,
    Charged.event_name,
    BudgetCrossed.event_name,
    BudgetProjected.event_name,
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
        projected: the limit that it was last warned of; None when it was not.
        limit: what a person allowed; None when nobody was asked.
        refused: whether a person said no.
        replies: calls that used tokens.
        priced: those with a price.
        strange: the first model without one, and its provider.
        blind: whether it was told that some have none.
        last: tokens of the last call of the run's own, of an earlier turn where there was none in this one.
        served: who served that, as provider and model; None where it is not known.
        open: what the last event told of, until its price is known: a call of the run's own, or of another's work.
    """

    turn: int = 0
    charged: Decimal = Decimal(0)
    total: Decimal | None = None
    crossed: Decimal | None = None
    projected: Decimal | None = None
    limit: Decimal | None = None
    refused: bool = False
    replies: int = 0
    priced: int = 0
    strange: str | None = None
    blind: bool = False
    last: Usage | None = None
    served: tuple[str, str] | None = None
    open: Literal["main", "other"] | None = None

    def begin(self, turn: int) -> TurnBudget:
        """The budget of another turn."""
        return self if turn == self.turn else TurnBudget(turn, last=self.last, served=self.served)

    def fold(self, event: Event) -> TurnBudget:
        """What is known after an event."""
        state = self.begin(event.turn)
        payload = event.payload
        if isinstance(payload, LlmEnd):
            usage = Usage(payload.input_tokens, payload.output_tokens, payload.cache_read_tokens, None, payload.thinking_tokens)
            return replace(state, replies=state.replies + 1, last=usage, open="main")
        if event.name in USAGE:
            return replace(state, replies=state.replies + 1, open="other")
        if isinstance(payload, (CostTick, CostUnpriced)):
            return state._told(payload)
        if isinstance(payload, Charged):
            return replace(state, charged=state.charged + Decimal(payload.usd), total=Decimal(payload.total))
        if isinstance(payload, BudgetCrossed):
            return replace(state, crossed=Decimal(payload.limit))
        if isinstance(payload, BudgetProjected):
            return replace(state, projected=Decimal(payload.limit))
        if isinstance(payload, BudgetAllowed):
            return replace(state, refused=True) if payload.limit is None else replace(state, limit=Decimal(payload.limit))
        if isinstance(payload, BudgetBlind):
            return replace(state, blind=True)
        return state

    def _told(self, payload: CostTick | CostUnpriced) -> TurnBudget:
        """A price came, or that there is none; one that tells of no new call is of the calls within a nested run."""
        who = (payload.provider, payload.model)
        served = who if self.open == "main" else self.served
        if isinstance(payload, CostTick):
            return replace(self, priced=self.priced + 1, served=served, open=None)
        more = 0 if self.open else 1
        return replace(self, replies=self.replies + more, strange=self.strange or ":".join(who), served=served, open=None)
