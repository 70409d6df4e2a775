"""What a conversation cost: the billed calls of its record, added up, at the prices of then or at others."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from agentfp.model import Prices
from agentfp.plugin import MemoSource, Usage, record_of
from agentfp_cost.amounts import amount_in, counted, dollars
from agentfp_cost.calls import NESTED, BilledCall, billed_calls
from agentfp_cost.prices import PriceFile

Grouping: TypeAlias = Literal["model", "provider", "purpose", "turn"]
GROUPINGS: tuple[Grouping, ...] = ("model", "provider", "purpose", "turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """Calls that belong together.

    Args:
        name: what they have in common: ``provider:model``, a provider, a purpose, a turn.
        calls: how many.
        usage: their tokens; None where no call reported them.
        usd: dollars of those with a known price; None when there are none.
        unpriced: calls without a known price.
    """

    name: str
    calls: int
    usage: Usage
    usd: Decimal | None
    unpriced: int

    def to_json(self) -> dict[str, Any]:
        """The line as JSON data; dollars as decimal text."""
        return {
            "name": self.name,
            "calls": self.calls,
            **_tokens(self.usage),
            "usd": None if self.usd is None else dollars(self.usd),
            "unpriced_calls": self.unpriced,
        }


@dataclass(frozen=True, slots=True)
class CostReport:
    """What was billed. Unknown prices stay unknown: they are counted, and take no part in a sum.

    Args:
        calls: the billed calls.
        prices_date: when the prices were looked up, where they are from a file with a date.
        prices_source: where the prices are from, where the calls were priced anew.
    """

    calls: tuple[BilledCall, ...]
    prices_date: datetime.date | None = None
    prices_source: str = ""
    total: CostLine = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", _line("total", self.calls))

    @property
    def total_usd(self) -> Decimal | None:
        """Dollars of all calls with a known price; None when there are none."""
        return self.total.usd

    @property
    def unpriced_calls(self) -> int:
        """Calls without a known price."""
        return self.total.unpriced

    @property
    def usage(self) -> Usage:
        """Tokens of all calls."""
        return self.total.usage

    def by(self, what: Grouping) -> tuple[CostLine, ...]:
        """The calls in groups, the dearest first.

        Args:
            what: ``model`` (with its provider), ``provider``, ``purpose`` or ``turn``.
        """
        key = _KEYS[what]
        groups: dict[str, list[BilledCall]] = {}
        for call in self.calls:
            groups.setdefault(key(call), []).append(call)
        lines = [_line(name, calls) for name, calls in groups.items()]
        return tuple(lines if what == "turn" else sorted(lines, key=lambda line: (-(line.usd or 0), -line.usage.total, line.name)))

    def priced(self, prices: PriceFile | Mapping[str, Prices]) -> CostReport:
        """The same calls at other prices. What these do not know is unpriced, whatever it cost then.

        Args:
            prices: by ``provider:model`` or name of the model; of a file those that held on the day of each call.
        """
        table = prices if isinstance(prices, PriceFile) else PriceFile(prices)
        calls = tuple(replace(call, usd=_amount(call, table)) for call in self.calls)
        return CostReport(calls, table.date, table.source)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data."""
        total = self.total.to_json()
        del total["name"]
        made: dict[str, Any] = {**total, **{f"by_{what}": [line.to_json() for line in self.by(what)] for what in GROUPINGS}}
        if self.prices_source:
            made["prices"] = {"source": self.prices_source, "date": None if self.prices_date is None else self.prices_date.isoformat()}
        return made

    def __str__(self) -> str:
        rows = []
        for line in (*self.by("model"), self.total):
            usd = "price unknown" if line.usd is None else f"${dollars(line.usd)}"
            rows.append(f"{line.name}: {counted(line.calls)}, {line.usage.total:,} tokens, {usd}")
        if self.total.usd is not None and self.unpriced_calls:
            rows.append(f"not in the sum: {counted(self.unpriced_calls)} without a known price")
        return "\n".join(rows)


def report_of(source: MemoSource, *, prices: PriceFile | Mapping[str, Prices] | None = None, turn: int | None = None) -> CostReport:
    """What a conversation cost, nested runs and calls of plugins included.

    Args:
        source: a result, a record, or the path of a saved one.
        prices: prices in place of those of then.
        turn: one turn of the conversation only, from 1; of nested runs those of its calls.
    """
    report = CostReport(tuple(call for call in billed_calls(record_of(source)) if turn is None or call.turn == turn))
    return report if prices is None else report.priced(prices)


def joined(reports: Iterable[CostReport]) -> CostReport:
    """Several reports as one. A call that stands in several, as in recordings of one conversation, is counted once.

    Args:
        reports: what was billed.
    """
    found = list(reports)
    first = found[0] if found else CostReport(())
    calls = {call.key or id(call): call for report in found for call in report.calls}
    return CostReport(tuple(calls.values()), first.prices_date, first.prices_source)


def _amount(call: BilledCall, table: PriceFile) -> Decimal | None:
    prices = None if call.model is None else table.find(call.provider, call.model, call.day)
    amount = None if prices is None else prices.amount(call.usage, call.purpose)
    return None if amount is None else amount_in(amount)


def _line(name: str, calls: Iterable[BilledCall]) -> CostLine:
    usage, usd, count, unpriced = Usage(), None, 0, 0
    for call in calls:
        count += 1
        usage += call.usage
        if call.usd is None:
            unpriced += 1
        else:
            usd = call.usd if usd is None else usd + call.usd
    return CostLine(name=name, calls=count, usage=usage, usd=usd, unpriced=unpriced)


def _tokens(usage: Usage) -> dict[str, int | None]:
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "thinking_tokens": usage.thinking,
    }


def _model(call: BilledCall) -> str:
    return f"{call.provider or 'unknown'}:{call.model or 'unknown'}"


_KEYS: Mapping[Grouping, Callable[[BilledCall], str]] = {
    "model": _model,
    "provider": lambda call: call.provider or "unknown",
    "purpose": lambda call: NESTED if call.path and call.purpose == "main" else call.purpose,
    "turn": lambda call: str(call.turn),
}
