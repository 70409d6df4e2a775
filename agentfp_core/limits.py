"""The limits of a run, and what a reply costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agentfp_core.errors import LimitsError
from agentfp_core.events.cost import CostTick, CostUnpriced, LimitHit
from agentfp_core.messages import Usage
from agentfp_core.model import Prices

if TYPE_CHECKING:
    from agentfp_core.events.agent import EarlyReason
    from agentfp_core.model import Model
    from agentfp_core.run import Run

PriceTable: TypeAlias = Mapping[str, Prices] | Callable[[str], Prices | None]
"""Prices by model name, as a mapping or a function."""

DEFAULT_CAP = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a run may go. Limits are facts on the record; each is checked before the next model call.

    Args:
        iterations: model calls of a turn.
        hard_cap: raise it together with ``iterations`` to go above 50.
        wrap_up: when the iterations are used up, one more call without tools for a final answer.
        usd: dollars of a turn; needs prices.
        on_usd: ``halt`` stops before the next call, ``warn`` only records it.
        tokens: input and output tokens of a turn together.
        seconds: wall time of a turn's leg, checked between calls (``timeout=`` of a run cuts in the middle).
        tool_result_chars: longest result that the model reads of one call; longer ones are cut and say so.
        tool_results_total_chars: the same for all calls of one reply together.

    Raises:
        LimitsError: a value cannot be a limit; lists all of them.
    """

    iterations: int = 10
    hard_cap: int = DEFAULT_CAP
    wrap_up: bool = True
    usd: float | Decimal | None = None
    on_usd: Literal["halt", "warn"] = "halt"
    tokens: int | None = None
    seconds: float | None = None
    tool_result_chars: int | None = None
    tool_results_total_chars: int | None = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        problems = [
            f"Limits.{name} must be a whole number from 1, got {given[name]!r}"
            for name in ("iterations", "hard_cap")
            if not _count(given[name])
        ]
        for names, fits, what in (
            (("tokens", "tool_result_chars", "tool_results_total_chars"), _count, "a whole number from 1"),
            (("usd", "seconds"), _amount, "a number above 0"),
        ):
            wrong = [name for name in names if given[name] is not None and not fits(given[name])]
            problems += [f"Limits.{name} must be {what} or None, got {given[name]!r}" for name in wrong]
        if self.on_usd not in ("halt", "warn"):
            problems.append(f"Limits.on_usd must be 'halt' or 'warn', got {self.on_usd!r}")
        if not problems and self.iterations > self.hard_cap:
            problems.append(
                f"Limits.iterations={self.iterations} is above the cap of {self.hard_cap}; "
                f"if you mean it, pass hard_cap={self.iterations} too"
            )
        if problems:
            raise LimitsError(problems)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _amount(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def price_of(usage: Usage, prices: Prices) -> Decimal | None:
    """Dollars of a reply, or None when tokens or prices are not known.

    Args:
        usage: the tokens; ``input`` includes the cached ones.
        prices: per token.
    """
    if usage.input is None or usage.output is None or prices.input is None or prices.output is None:
        return None
    read, write = usage.cache_read or 0, usage.cache_write or 0
    fresh = max(usage.input - read - write, 0)
    at_read = prices.input if prices.cache_read is None else prices.cache_read
    at_write = prices.input if prices.cache_write is None else prices.cache_write
    total = fresh * prices.input + read * at_read + write * at_write + usage.output * prices.output
    return total if total.is_finite() and total >= 0 else None


def prices_for(run: Run[Any], model: Model, name: str) -> Prices | None:
    """Prices of a model: the agent's table, else what the provider states."""
    table = run.agent.prices
    if table is None:
        return model.features.prices
    return table.get(name) if isinstance(table, Mapping) else table(name)


def bill(run: Run[Any], model: Model, name: str, usage: Usage, *, purpose: str | None = None) -> None:
    """Price one reply, file it, and file the limits that it crosses."""
    if run.agent.prices is None and model.features.prices is None:
        _check_crossed(run)
        return
    amount: Decimal | None = None
    try:
        prices = prices_for(run, model, name)
        amount = None if prices is None else price_of(usage, prices)
        reason: Literal["no-usage", "no-price"] | Literal["bad-price"] = "no-usage" if prices is not None else "no-price"
    except Exception:  # a price table is the user's code; a run must not fail over it
        reason = "bad-price"
    if amount is None:
        run.emit(CostUnpriced(model.provider, name, reason))
    else:
        total = (run.state.usd or Decimal(0)) + amount
        run.emit(CostTick(model.provider, name, str(amount), str(total), purpose))
    _check_crossed(run)


def _check_crossed(run: Run[Any]) -> None:
    limits, state = run.limits, run.state
    if limits.usd is not None and state.usd is not None and "max_cost" not in state.limits_hit and state.usd > Decimal(str(limits.usd)):
        run.emit(LimitHit("max_cost", float(limits.usd), float(state.usd), "abort" if limits.on_usd == "halt" else "warn"))
    if limits.tokens is not None and "max_tokens" not in state.limits_hit and state.usage.total > limits.tokens:
        run.emit(LimitHit("max_tokens", limits.tokens, state.usage.total, "abort"))


def stop_reason(run: Run[Any]) -> EarlyReason | None:
    """Why the next model call must not be made, iterations apart."""
    state, limits = run.state, run.limits
    if "max_cost" in state.limits_hit and limits.on_usd == "halt":
        return "cost-budget"
    if "max_tokens" in state.limits_hit:
        return "token-budget"
    if limits.seconds is not None:
        spent = (run.clock.monotonic_ns() - run.started_mono_ns) / 1e9
        if spent > limits.seconds:
            if "max_wallclock" not in state.limits_hit:
                run.emit(LimitHit("max_wallclock", limits.seconds, spent, "abort"))
            return "max-wallclock"
    return "requested" if run.stop_requested is not None else None
