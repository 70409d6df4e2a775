"""What a reply costs, and whether a limit was crossed by it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, cast

from agentfp_core.errors import UsageError, describe_type, nearest
from agentfp_core.events.cost import CostTick, CostUnpriced, LimitHit
from agentfp_core.events.stream import CallFailed, HelperReplied
from agentfp_core.jsonable import without_surrogates
from agentfp_core.limits import PriceBook, PriceTable
from agentfp_core.messages import Usage
from agentfp_core.model import ModelWrapper
from agentfp_core.prices import EMBED, Prices
from agentfp_core.retrying import status_of
from agentfp_core.wellformed import misfit

OWN_PURPOSES = ("main", "failed", "nested")
"""Words that say what the kernel itself calls models for."""

if TYPE_CHECKING:
    from agentfp_core.events.agent import EarlyReason
    from agentfp_core.events.base import Event
    from agentfp_core.model import Model
    from agentfp_core.run import Run


def prices_for(run: Run[Any], provider: str, name: str, stated: Prices | None, day: datetime.date | None = None) -> Prices | None:
    """Prices of a model: of the tables in force, else what is stated with the model."""
    for table in run.price_tables:
        prices = _looked_up(table, provider, name, day)
        if prices is not None:
            return prices
    return stated


def _looked_up(table: PriceTable, provider: str, name: str, day: datetime.date | None) -> Prices | None:
    if hasattr(table, "find"):  # isinstance of a protocol takes longer than all the rest of a bill
        return cast("PriceBook", table).find(provider, name, day)
    if not isinstance(table, Mapping):
        return table(name)
    prices = table.get(f"{provider}:{name}")
    return table.get(name) if prices is None else prices


def unmet_needs(needs: Sequence[str], model: Model, tables: Sequence[PriceTable]) -> list[str]:
    """What could never work because nobody knows a price of any model that serves an agent.

    Args:
        needs: what needs prices, in words.
        model: the agent's model.
        tables: the prices at hand.
    """
    models = models_of(model) if needs else []
    if not models or any(_may_have_price(each, tables) for each in models):
        return []
    names = [f"{each.provider}:{each.name}" for each in models]
    known = [name for table in tables if isinstance(table, Mapping) for name in table]
    hints = [nearest(name, known) for name in (names[0], models[0].name)]
    at_hand = f" ({next((hint for hint in hints if hint.startswith('did')), hints[0])})" if known else ""
    lacking = f"no price is known of {'model' if len(names) == 1 else 'the models'} {', '.join(map(repr, names))}{at_hand}"
    way_out = "state what it costs, 0 where it is free, in the plugin's prices or as prices={...} of the agent"
    return [f"{need} could never work, for {lacking}; {way_out}" for need in needs]


def _may_have_price(model: Model, tables: Sequence[PriceTable]) -> bool:
    if model.features.prices is not None and model.features.prices.known_for():
        return True
    for table in tables:
        try:
            prices = _looked_up(table, model.provider, model.name, None)
        except Exception:  # the user's code; it may know better when a reply is there
            return True
        if prices is not None and prices.known_for():
            return True
        if isinstance(table, Mapping) and _names_dated(table, model):
            return True
    return False


def _names_dated(table: Mapping[str, Prices], model: Model) -> bool:
    """Whether a table knows a model by a dated name, which is the one that replies state."""
    from agentfp_core.model_catalog import undated

    names = (model.name, f"{model.provider}:{model.name}")
    return any(undated(key) in names for key in table)


def day_of(event: Event | None) -> datetime.date | None:
    """The day by UTC on which the call began whose end an event tells."""
    if event is None:
        return None
    began_ns = event.ts_ns - getattr(event.payload, "duration_ms", 0) * 1_000_000
    return datetime.datetime.fromtimestamp(began_ns // 1_000_000_000, datetime.UTC).date()


def bill(
    run: Run[Any], event: Event | None, provider: str, name: str, usage: Usage, *, stated: Prices | None = None, purpose: str | None = None
) -> Decimal | None:
    """Price one call, file it, and file the limits that it crosses.

    Args:
        run: the run.
        event: tells of the call; just filed.
        provider: who bills.
        name: the model that did the work.
        usage: its tokens.
        stated: prices for where no table knows the model.
        purpose: what the call was for; None for a call of the run's own.

    Returns:
        Dollars; None where they are not known.
    """
    if not run.price_tables and stated is None:
        check_crossed(run)
        return None
    amount: Decimal | None = None
    reason: Literal["no-usage", "no-price", "bad-price"] = "bad-price"
    try:
        prices = prices_for(run, provider, name, stated, day_of(event))
        if prices is None or not prices.known_for(purpose):
            reason = "no-price"
        elif usage.input is None or (usage.output is None and purpose != EMBED):
            reason = "no-usage"
        else:
            amount = prices.amount(usage, purpose)
    except Exception:  # a price table is the user's code; a run must not fail over it
        amount = None
    if amount is None:
        run.emit(CostUnpriced(provider, name, reason), source=run.source)
    else:
        total = (run.state.usd or Decimal(0)) + amount
        run.emit(CostTick(provider, name, str(amount), str(total), purpose), source=run.source)
    check_crossed(run)
    return amount


def check_purpose(purpose: Any) -> None:
    """Refuse a purpose that is no word, or one of the kernel's own.

    Raises:
        UsageError: it is.
    """
    if not isinstance(purpose, str) or not purpose.strip():
        raise UsageError(f"purpose must be a word for the record, such as 'embed' or 'judge'; got {describe_type(purpose)}")
    if purpose in OWN_PURPOSES:
        raise UsageError(f"the purpose {purpose!r} is the kernel's own word; take another, such as 'embed' or 'judge'")


@dataclass(frozen=True, slots=True)
class HelperUse:
    """What a call used that a plugin or a tool made for its own work.

    Args:
        who: the plugin or the tool.
        purpose: one word.
        provider: who bills.
        model: the model that did the work.
        usage: its tokens.
        stated: prices for where no table knows the model.
        duration_ms: milliseconds that it took.
    """

    who: str
    purpose: str
    provider: str
    model: str
    usage: Usage
    stated: Prices | None
    duration_ms: int

    @classmethod
    def checked(cls, who: str, purpose: Any, provider: Any, model: Any, usage: Any, stated: Any, duration_ms: Any) -> HelperUse:
        """What somebody says that a call used.

        Raises:
            UsageError: it cannot be billed; says everything that is wrong.
        """
        problems = [
            f"{name} must be a text, got {describe_type(value)}"
            for name, value in (("provider", provider), ("model", model))
            if not isinstance(value, str) or not value.strip()
        ]
        if not isinstance(usage, Usage):
            problems.append(f"usage must be a Usage such as Usage(input=120), got {describe_type(usage)}")
        elif (wrong := misfit(usage)) is not None:
            problems.append(wrong)
        if stated is not None and not isinstance(stated, Prices):
            problems.append(f"prices must be Prices or None, got {describe_type(stated)}")
        if isinstance(duration_ms, bool) or not isinstance(duration_ms, int) or duration_ms < 0:
            problems.append(f"duration_ms must be a whole number from 0, got {describe_type(duration_ms)}")
        if problems:
            raise UsageError(f"this cannot be billed: {'; '.join(problems)}")
        check_purpose(purpose)
        return cls(who, without_surrogates(purpose), without_surrogates(provider), without_surrogates(model), usage, stated, duration_ms)


def bill_helper(run: Run[Any], use: HelperUse, *, source: str, call_id: str | None = None) -> Decimal | None:
    """File and price a call that was made for the work of a plugin or a tool.

    Returns:
        Dollars; None where no price is known.
    """
    used = use.usage
    payload = HelperReplied(
        use.who, use.purpose, use.provider, use.model, use.duration_ms,
        used.input, used.output, used.cache_read, used.cache_write, used.thinking,
    )  # fmt: skip
    event = run.emit(payload, source=source, call_id=call_id)
    return bill(run, event, use.provider, use.model, used, stated=use.stated, purpose=use.purpose)


def price_now(run: Run[Any], usage: Usage, provider: str | None, model: str | None, purpose: str | None) -> Decimal | None:
    """Dollars that a call would cost; None where no price is known."""
    provider, model = provider or run.model.provider, model or run.model.name
    stated = next((each.features.prices for each in models_of(run.model) if (each.provider, each.name) == (provider, model)), None)
    try:
        prices = prices_for(run, provider, model, stated, run.now().date())
        return None if prices is None else prices.amount(usage, purpose)
    except Exception:  # a price table is the user's code
        return None


def bill_failure(run: Run[Any], model: Model, error: BaseException) -> None:
    """File and price what a failed call used, where the provider said so."""
    used = getattr(error, "usage", None)
    if isinstance(used, Usage) and used != Usage():
        payload = failed_call(model, error)
        bill_failed(run, run.emit(payload, source="kernel"), payload, model)


def bill_failed(run: Run[Any], event: Event | None, payload: CallFailed, model: Model) -> None:
    """Price a failed call as the model that failed, which may be one of several behind the one that was called."""
    candidates = [each for each in models_of(model) if each.provider == payload.provider]
    failed = next((each for each in candidates if each.name == payload.model), candidates[0] if candidates else None)
    stated = None if failed is None else failed.features.prices
    bill(run, event, payload.provider, payload.model, usage_of(payload), stated=stated)


def models_of(model: Model) -> list[Model]:
    """The models that may serve a call: one, or those of the wrappers around them."""
    if not isinstance(model, ModelWrapper):
        return [model]
    return [found for each in model.behind for found in models_of(each)]


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
    """File the limits of money and tokens that a run has crossed by now, and tell the plugins that watch its costs."""
    limits, state = run.limits, run.state
    if limits.usd is not None and state.usd is not None and "max_cost" not in state.limits_hit and state.usd > Decimal(str(limits.usd)):
        action: Literal["abort", "warn"] = "abort" if limits.on_usd == "halt" else "warn"
        run.emit(LimitHit("max_cost", float(limits.usd), float(state.usd), action), source=run.source)
    if limits.tokens is not None and "max_tokens" not in state.limits_hit and state.usage.total > limits.tokens:
        run.emit(LimitHit("max_tokens", limits.tokens, state.usage.total, "abort"), source=run.source)
    for plugin, watch in run.agent.cost_watches:
        source, run.source = run.source, plugin
        try:
            watch(run)
        except Exception as error:
            run.plugin_failed(plugin, "configure", "watch_costs", "skipped", error)
        finally:
            run.source = source


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
    return state.stop_requested
