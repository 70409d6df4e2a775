"""The limits of a run, and what a reply costs."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from agentfp_core.errors import LimitsError
from agentfp_core.prices import Prices


@runtime_checkable
class PriceBook(Protocol):
    """Prices that depend on the day."""

    def find(self, provider: str | None, model: str, day: datetime.date | None = None) -> Prices | None:
        """Prices of a model.

        Args:
            provider: name of the provider; None where it is not known.
            model: name of the model.
            day: when the call was made, by UTC; the prices that hold last when None.
        """


PriceTable: TypeAlias = PriceBook | Mapping[str, Prices] | Callable[[str], Prices | None]
"""Prices by ``provider:name`` or name of the model, as a mapping, by name as a function, or such as change from day to day."""

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


def unpriced(model: str) -> str:
    """Words for a limit in dollars on a model that nobody knows the prices of."""
    return f"Limits.usd needs to know what a token costs, and model {model!r} states no prices; pass prices={{...}} to the agent"
