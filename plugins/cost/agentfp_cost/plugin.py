"""The plugin: prices for the runs of an agent, and a budget that warns, asks or ends the turn."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pydantic

from agentfp.model import Prices
from agentfp.plugin import (
    AskField,
    AskPerson,
    Batch,
    Deny,
    Event,
    MemoSource,
    Message,
    Plugin,
    Refuse,
    Registry,
    RequestDraft,
    Run,
    hookimpl,
)
from agentfp_cost.amounts import amount_in, dollars, exact
from agentfp_cost.errors import BudgetSpentError, PriceFileError, SpenderUnknownError
from agentfp_cost.events import Action, BudgetAllowed, BudgetBlind, BudgetCrossed, BudgetProjected, Charged, Scope
from agentfp_cost.ledger import READ, TurnBudget
from agentfp_cost.prices import PriceFile
from agentfp_cost.report import CostReport, report_of
from agentfp_cost.spend import MemorySpend, SpendStore, SqliteSpend

KEY, BEFORE = "budget", "before"
NOT_ALLOWED = "The budget is spent and no more was allowed. Answer with what you have."


class Cost(Plugin):
    """Says what runs cost, by model, provider and purpose, and keeps them within a budget."""

    name = "cost"
    version = "0.1.0"
    events = (Charged, BudgetCrossed, BudgetProjected, BudgetAllowed, BudgetBlind)
    memo_events = READ

    class Settings(Plugin.Settings):
        """Settings of prices and budget."""

        prices: str | Path | Mapping[str, Any] | None = None
        """A TOML file of prices, relative to the working directory, or data in its form. What it does not know costs what the provider
        states."""
        usd: Decimal | None = None
        """Dollars that may be spent."""
        scope: Scope = "run"
        """Whose budget it is: of each turn (`run`), of a session, or of a principal. The last two need a store."""
        period: Literal["day", "month"] | None = None
        """How long the budget of a session or principal is for, by UTC's calendar; for ever when left out."""
        on_exceed: Action = "warn"
        """What happens when more is spent: it is told (`warn`), a person is asked before the next tools run (`ask`), or no further model
        call is made (`halt`). `ask` and `halt` begin no run on a budget that is spent already."""
        project: bool = False
        """Tell before a call that it would spend more than there is, if it is like the last one."""
        store: str | Any = "memory"
        """Where it is kept what was spent: `memory`, `sqlite:PATH`, or a store of your own."""

        @pydantic.field_validator("prices", mode="wrap")
        @classmethod
        def _at_hand(cls, given: Any, otherwise: pydantic.ValidatorFunctionWrapHandler) -> Any:
            return given if isinstance(given, PriceFile) else otherwise(given)

        @pydantic.field_validator("usd", mode="before")
        @classmethod
        def _above_nothing(cls, given: Any) -> Decimal | None:
            amount = None if given is None else amount_in(given)
            if given is not None and not amount:
                msg = f"must be a number of dollars above 0; got {given!r:.60}"
                raise ValueError(msg)
            return amount

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        own: Cost.Settings = self.settings
        problems: list[str] = []
        self.prices = _prices(own.prices, problems)
        self.store = _store(own.store, problems)
        if own.period is not None and own.scope == "run":
            problems.append("period is for the budget of a session or principal; set scope, or take period out")
        if own.project and own.usd is None:
            problems.append("project tells before a budget is spent, and there is none; set usd, or take project out")
        if problems:
            raise PriceFileError(problems)

    # --- what it says of a record ---

    def initial(self) -> TurnBudget:
        """Nothing spent."""
        return TurnBudget()

    def fold(self, state: TurnBudget, event: Event) -> TurnBudget:
        """What is known after an event."""
        return state.fold(event)

    @staticmethod
    def report(source: MemoSource, *, prices: PriceFile | Mapping[str, Prices] | None = None, turn: int | None = None) -> CostReport:
        """What a conversation cost, nested runs and calls of plugins included.

        Args:
            source: a result, a record, or the path of a saved one.
            prices: prices in place of those of then.
            turn: one turn of the conversation only, from 1.
        """
        return report_of(source, prices=prices, turn=turn)

    # --- hooks ---

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """Give the agent the prices, and watch what its calls cost."""
        own: Cost.Settings = self.settings
        if self.prices is not None:
            agent.add_prices(self.prices)
        if own.usd is None:
            return
        agent.need_prices(f"the budget of ${dollars(own.usd)}")
        agent.watch_costs(self._watch)
        if own.scope == "run" and own.on_exceed != "warn" and agent.limits.iterations == 1 and not agent.limits.wrap_up:
            agent.problem(f"on_exceed={own.on_exceed!r} has nothing to act on in runs of one model call; set on_exceed to 'warn'")

    @hookimpl
    async def admit_input(self, message: Message, run: Run[Any]) -> Refuse | None:
        """Begin no run on a budget that is spent already, nor on nobody's."""
        own: Cost.Settings = self.settings
        if own.usd is None or own.scope == "run" or run.path:
            return None
        key = self._key(run)
        if key is None:
            return Refuse(SpenderUnknownError(own.scope))
        spent = await self.store.total(key)
        if own.on_exceed != "warn" and spent > own.usd:
            return Refuse(BudgetSpentError(own.scope, own.usd, spent))
        run.cache(self)[BEFORE] = (run.turn, spent)
        return None

    @hookimpl(phase="annotate")
    def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
        """Tell that the next call is likely to cross the budget, before it is made."""
        if self.settings.project and self.settings.usd is not None and not run.path:
            self._project(run)

    @hookimpl(moment="before_tool", phase="consent", per="batch")
    async def before_the_tools(self, batch: Batch, run: Run[Any]) -> AskPerson | Mapping[str, Deny] | None:
        """What the reply cost, before its calls run; the budget is asked for here."""
        own: Cost.Settings = self.settings
        if own.usd is None or run.path:
            return None
        answers = batch.answers.get(self.name)
        if answers is not None and KEY in answers:
            return self._answered(bool(getattr(answers[KEY], "approved", answers[KEY])), batch, run)
        state = await self._settle(run)
        if state.refused:
            return {call.id: Deny("the budget is spent", NOT_ALLOWED, "cost.budget") for call in batch.live}
        if own.on_exceed == "ask" and state.crossed is not None and state.crossed == self._limit(state):
            spent, limit = dollars(self._spent(state, run)), dollars(state.crossed)
            context = {"scope": own.scope, "spent_usd": spent, "limit_usd": limit, "calls": [call.name for call in batch.live]}
            prompt = f"${spent} of ${limit} are spent. Go on, with as much again?"
            return AskPerson([AskField(KEY, prompt, kind="decision")], context=context, component="agentfp.cost.budget")
        return None

    @hookimpl
    async def finish_run(self, run: Run[Any], outcome: Any) -> None:
        """What the last reply cost, however the run ended."""
        if self.settings.usd is not None and not run.path:
            await self._settle(run)

    # --- the budget ---

    def _watch(self, run: Run[Any]) -> None:
        """File that a limit was crossed, by whatever call, as soon as it was billed."""
        own: Cost.Settings = self.settings
        if run.path:
            return
        state = self._state(run)
        if state.replies > state.priced and not state.blind:
            run.emit(BudgetBlind(own.scope, state.replies - state.priced, state.strange))
        limit = self._limit(state)
        spent = self._spent(state, run)
        if spent > limit and state.crossed != limit:
            run.emit(BudgetCrossed(own.scope, exact(limit), exact(spent), own.on_exceed))
            if own.on_exceed == "halt":
                run.request_stop("the budget is spent", limit="cost-budget")

    async def _settle(self, run: Run[Any]) -> TurnBudget:
        """Charge what is new; others may have spent too, so it is looked again whether a limit was crossed."""
        state = self._state(run)
        new = (run.cost_usd or Decimal(0)) - state.charged
        key = self._key(run)
        if key is not None and new > 0:
            total = await self.store.add(key, new)
            run.emit(Charged(self.settings.scope, exact(new), exact(total)))
            self._watch(run)
        return self._state(run)

    def _project(self, run: Run[Any]) -> None:
        state = self._state(run)
        limit = self._limit(state)
        if state.last is None or state.last.input is None or limit in (state.crossed, state.projected):
            return
        said = state.last.output or 0
        likely = dataclasses.replace(state.last, input=state.last.input + said, output=said)
        provider, model = state.served or (None, None)
        cost = run.price_of(likely, provider=provider, model=model) or run.price_of(likely)
        spent = self._spent(state, run)
        if cost is not None and spent + cost > limit:
            run.emit(BudgetProjected(self.settings.scope, exact(limit), exact(spent), exact(spent + cost)))

    def _answered(self, yes: bool, batch: Batch, run: Run[Any]) -> Mapping[str, Deny] | None:
        own: Cost.Settings = self.settings
        assert own.usd is not None
        if yes:
            run.emit(BudgetAllowed(own.scope, exact(self._spent(self._state(run), run) + own.usd)))
            return None
        run.emit(BudgetAllowed(own.scope, None))
        return {call.id: Deny("the budget is spent", NOT_ALLOWED, "cost.budget") for call in batch.live}

    def _state(self, run: Run[Any]) -> TurnBudget:
        state: TurnBudget = run.memo(self)
        return state.begin(run.turn)

    def _limit(self, state: TurnBudget) -> Decimal:
        usd: Decimal = self.settings.usd
        return usd if state.limit is None else state.limit

    def _spent(self, state: TurnBudget, run: Run[Any]) -> Decimal:
        """Dollars of the turn; of a session or principal all there are, as last heard, and what is not charged yet."""
        turn: Decimal = run.cost_usd or Decimal(0)
        if state.total is not None:
            return state.total + turn - state.charged
        at, before = run.cache(self).get(BEFORE, (run.turn, Decimal(0)))
        return turn + before if at == run.turn else turn

    def _key(self, run: Run[Any]) -> str | None:
        """Whose sum it is; None where there is none to be kept."""
        own: Cost.Settings = self.settings
        whose = {"session": run.session_id, "principal": None if run.identity is None else run.identity.principal}.get(own.scope)
        if whose is None:
            return None
        form = {"day": "%Y-%m-%d", "month": "%Y-%m"}.get(own.period or "")
        return f"{own.scope}:{whose}" if form is None else f"{own.scope}:{whose}:{run.now().astimezone(UTC).strftime(form)}"


def _prices(given: str | Path | Mapping[str, Any] | None, problems: list[str]) -> PriceFile | None:
    if given is None or isinstance(given, PriceFile):
        return given
    try:
        return PriceFile.of(given) if isinstance(given, Mapping) else PriceFile.load(given)
    except PriceFileError as error:
        problems += error.problems
        return None


def _store(given: Any, problems: list[str]) -> SpendStore:
    if isinstance(given, str):
        kind, _, path = given.partition(":")
        if given == "memory":
            return MemorySpend()
        if kind == "sqlite" and path:
            return SqliteSpend(path)
        problems.append(f"store must be 'memory', 'sqlite:PATH' or a store of your own; got {given!r}")
        return MemorySpend()
    if isinstance(given, SpendStore):
        return given
    problems.append(f"store must be 'memory', 'sqlite:PATH' or have `add` and `total`; got a {type(given).__name__}")
    return MemorySpend()
