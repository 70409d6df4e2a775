"""What a reply costs, and whether a limit was crossed by it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from agentfp_core.events.cost import CostTick, CostUnpriced, LimitHit
from agentfp_core.events.stream import CallFailed
from agentfp_core.messages import Usage
from agentfp_core.model import Prices
from agentfp_core.retrying import status_of

if TYPE_CHECKING:
    from agentfp_core.events.agent import EarlyReason
    from agentfp_core.limits import PriceTable
    from agentfp_core.model import Model
    from agentfp_core.run import Run


def price_of(usage: Usage, prices: Prices) -> Decimal | None:
    """Dollars of a reply, or None when tokens or prices are not known, or the prices make no amount.

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
    """Prices of a model: of the agent's table or of a plugin's, else what the provider states."""
    for table in run.agent.price_tables:
        prices = _looked_up(table, model.provider, name)
        if prices is not None:
            return prices
    return model.features.prices


def _looked_up(table: PriceTable, provider: str, name: str) -> Prices | None:
    if not isinstance(table, Mapping):
        return table(name)
    prices = table.get(f"{provider}:{name}")
    return table.get(name) if prices is None else prices


def bill(run: Run[Any], model: Model, name: str, usage: Usage, *, purpose: str | None = None) -> None:
    """Price one reply, file it, and file the limits that it crosses."""
    if not run.agent.price_tables and model.features.prices is None:
        if run.limits.tokens is not None:
            check_crossed(run)
        return
    amount: Decimal | None = None
    reason: Literal["no-usage", "no-price", "bad-price"] = "bad-price"
    try:
        prices = prices_for(run, model, name)
        if prices is None or prices.input is None or prices.output is None:
            reason = "no-price"
        elif usage.input is None or usage.output is None:
            reason = "no-usage"
        else:
            amount = price_of(usage, prices)
    except Exception:  # a price table is the user's code; a run must not fail over it
        amount = None
    if amount is None:
        run.emit(CostUnpriced(model.provider, name, reason))
    else:
        total = (run.state.usd or Decimal(0)) + amount
        run.emit(CostTick(model.provider, name, str(amount), str(total), purpose), source=run.source)
    check_crossed(run)


def bill_failure(run: Run[Any], model: Model, error: BaseException) -> None:
    """File and price what a failed call used, where the provider said so."""
    used = getattr(error, "usage", None)
    if isinstance(used, Usage) and used != Usage():
        run.report(failed_call(model, error))


def failed_call(model: Model, error: BaseException) -> CallFailed:
    """The event of a failed call with usage. Wrappers that go on after a failure report it too, so that its tokens count."""
    used: Usage = getattr(error, "usage", None) or Usage()
    return CallFailed(
        getattr(error, "provider", None) or model.provider,
        getattr(error, "model", None) or model.name,
        type(error).__name__,
        status_of(error),
        getattr(error, "request_id", None),
        used.input,
        used.output,
        used.cache_read,
        used.cache_write,
        used.thinking,
    )


def usage_of(payload: CallFailed) -> Usage:
    """The tokens of a failed call."""
    return Usage(
        payload.input_tokens, payload.output_tokens, payload.cache_read_tokens, payload.cache_write_tokens, payload.thinking_tokens
    )


def check_crossed(run: Run[Any]) -> None:
    """File the limits of money and tokens that a run has crossed by now."""
    limits, state = run.limits, run.state
    if limits.usd is not None and state.usd is not None and "max_cost" not in state.limits_hit and state.usd > Decimal(str(limits.usd)):
        action: Literal["abort", "warn"] = "abort" if limits.on_usd == "halt" else "warn"
        run.emit(LimitHit("max_cost", float(limits.usd), float(state.usd), action), source=run.source)
    if limits.tokens is not None and "max_tokens" not in state.limits_hit and state.usage.total > limits.tokens:
        run.emit(LimitHit("max_tokens", limits.tokens, state.usage.total, "abort"), source=run.source)


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
                run.emit(LimitHit("max_wallclock", limits.seconds, spent, "abort"), source=run.source)
            return "max-wallclock"
    return "requested" if state.stop_requested else None
