"""Prices of models from a dated file, which its user keeps: also such as changed from a day on, and dearer ones of long requests."""

from __future__ import annotations

import datetime
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

from agentfp.model import Prices
from agentfp.plugin import nearest
from agentfp_cost.amounts import amount_in
from agentfp_cost.errors import PriceFileError

KEYS = ("date", "per", "models")
FIELDS = ("input", "output", "cache_read", "cache_write", "reasoning", "embedding")
UNITS: Mapping[str, int] = {"token": 1, "thousand": 1_000, "million": 1_000_000}
_VERSION = re.compile(r"(?:[-@]\d{4}-\d{2}-\d{2}|[-@]\d{8}|-latest|-preview)\Z")
_MOST = 5_000_000
"""Bytes of a file."""
_EVER = datetime.date.min

Since: TypeAlias = Sequence[tuple[datetime.date | None, Prices]]
"""Prices of a model and the days from which they hold; None of those that held before."""


class PriceFile(Mapping[str, Prices]):
    """Prices by ``provider:model`` or name of the model. A dated name (``small-2026-01-31``) has the price of the undated one.

    As a mapping it holds those that came last; :meth:`find` knows those of a day.

    Args:
        prices: by name; of one whose prices changed, with the days from which they hold.
        date: when they were looked up.
        source: where they are from, for reports.
    """

    def __init__(self, prices: Mapping[str, Prices | Since], *, date: datetime.date | None = None, source: str = "") -> None:
        self._days: dict[str, list[datetime.date]] = {}
        self._prices: dict[str, list[Prices]] = {}
        for name, given in prices.items():
            since: Since = [(None, given)] if isinstance(given, Prices) else given
            held = sorted(((day or _EVER, each) for day, each in since), key=lambda pair: pair[0])
            self._days[name] = [day for day, _ in held]
            self._prices[name] = [each for _, each in held]
        self.date = date
        self.source = source

    @classmethod
    def load(cls, path: str | Path) -> PriceFile:
        """Read a TOML file.

        Such as::

            date = 2026-11-30
            per = "million"          # or "thousand", "token"

            [models."openai:gpt-5-mini"]
            input = 0.25
            output = 2
            cache_read = 0.025

        Args:
            path: the file.

        Raises:
            PriceFileError: it cannot be read, or something in it is wrong; lists everything.
        """
        where = Path(path)
        try:
            with where.open("rb") as file:
                content = file.read(_MOST + 1)
            data = None if len(content) > _MOST else tomllib.loads(content.decode("utf-8"), parse_float=Decimal)
        except (OSError, ValueError, ArithmeticError, RecursionError) as error:  # of TOML as of text; Decimal has limits of its own
            why = str(error) if isinstance(error, (OSError, ValueError)) else type(error).__name__
            raise PriceFileError(f"the prices in {str(path)!r} cannot be read: {why}") from error
        if data is None:
            raise PriceFileError(f"{str(path)!r} is larger than {_MOST // 1_000_000} MB, so it is no file of prices")
        return cls.of(data, source=str(path))

    @classmethod
    def of(cls, data: Mapping[str, Any], *, source: str = "prices") -> PriceFile:
        """Prices from data in the form of a file.

        Args:
            data: ``{"date": ..., "per": ..., "models": {...}}``.
            source: named in problems and reports.

        Raises:
            PriceFileError: something in it is wrong; lists everything.
        """
        problems = [f"{source} has no {key!r}; {nearest(str(key), KEYS)}" for key in data if key not in KEYS]
        date = None if data.get("date") is None else _day(data["date"], f"{source}: date", problems)
        per = data.get("per", "million")
        if not isinstance(per, str) or per not in UNITS:
            problems.append(f"{source}: per must be {', '.join(map(repr, UNITS))}; got {per!r}")
            per = "token"
        models = data.get("models")
        if not isinstance(models, Mapping) or not models:
            problems.append(f'{source}: there is no table [models."NAME"] with input and output')
            models = {}
        found: dict[str, Since] = {}
        for name, entry in models.items():
            if isinstance(name, str) and name.strip():
                found[name] = _since(entry, UNITS[per], f"{source}: models.{name!r}", problems)
            else:
                problems.append(f"{source}: a model must have a name, got {name!r}")
        if problems:
            raise PriceFileError(problems)
        return cls(found, date=date, source=source)

    def __getitem__(self, name: str) -> Prices:
        return self._prices[name if name in self._prices else _VERSION.sub("", name)][-1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._prices)

    def __len__(self) -> int:
        return len(self._prices)

    def find(self, provider: str | None, model: str, day: datetime.date | None = None) -> Prices | None:
        """Prices of a model; what is said of it at this provider goes first.

        Args:
            provider: name of the provider.
            model: name of the model.
            day: when the call was made, by UTC; the prices that came last when None.

        Returns:
            The prices; None where none are known of the model, or none that held on that day.
        """
        qualified = None if provider is None else self._on(f"{provider}:{model}", day)
        return self._on(model, day) if qualified is None else qualified

    def _on(self, name: str, day: datetime.date | None) -> Prices | None:
        name = name if name in self._prices else _VERSION.sub("", name)
        held = self._prices.get(name)
        if held is None:
            return None
        at = len(held) if day is None else bisect_right(self._days[name], day)
        return held[at - 1] if at else None


def _day(given: Any, what: str, problems: list[str]) -> datetime.date | None:
    if isinstance(given, str):
        try:
            return datetime.date.fromisoformat(given)
        except ValueError:
            pass
    elif isinstance(given, datetime.date) and not isinstance(given, datetime.datetime):
        return given
    problems.append(f"{what} must be a day such as 2026-11-30; got {given!r}")
    return None


def _since(entry: Any, per: int, where: str, problems: list[str]) -> Since:
    """The prices of one model: a table, or several with the days from which they hold."""
    if isinstance(entry, Mapping):
        entry = [entry]
    if not isinstance(entry, list) or not entry or not all(isinstance(each, Mapping) for each in entry):
        problems.append(f"{where} must be a table with input and output, or an array of such tables with `from`")
        return []
    found: list[tuple[datetime.date | None, Prices]] = []
    for index, each in enumerate(entry):
        here = where if len(entry) == 1 else f"{where}[{index}]"
        day = None if each.get("from") is None else _day(each["from"], f"{here}: from", problems)
        found.append((day, _prices(each, per, here, problems)))
    days = [day for (day, _), each in zip(found, entry, strict=True) if day is not None or each.get("from") is None]
    for day in sorted({day for day in days if days.count(day) > 1}, key=lambda day: day or _EVER):
        told = "without `from`" if day is None else f"with from = {day}"
        problems.append(f"{where} has several tables {told}, so it is not known which one holds")
    return found


def _prices(entry: Mapping[str, Any], per: int, where: str, problems: list[str]) -> Prices:
    known = (*FIELDS, "from", "tiers")
    problems += [f"{where} has no {key!r}; {nearest(str(key), known)}" for key in entry if key not in known]
    if "embedding" not in entry:
        hint = " (a model of embeddings may have `embedding` alone)"
        problems += [f"{where} lacks {key}{hint}" for key in ("input", "output") if key not in entry]
    tiers = entry.get("tiers", [])
    if not isinstance(tiers, list) or not all(isinstance(tier, Mapping) for tier in tiers):
        problems.append(f"{where}: tiers must be an array of tables with `above`")
        tiers = []
    found = [_tier(tier, per, f"{where}: tiers[{index}]", problems) for index, tier in enumerate(tiers)]
    edges = [above for above, _ in found if above]
    if len(set(edges)) < len(edges):
        problems.append(f"{where}: two tiers are above the same number of tokens")
    return Prices(**_amounts(entry, per, where, problems), tiers=found)


def _tier(entry: Mapping[str, Any], per: int, where: str, problems: list[str]) -> tuple[int, Prices]:
    known = ("above", *FIELDS)
    problems += [f"{where} has no {key!r}; {nearest(str(key), known)}" for key in entry if key not in known]
    if not any(key in entry for key in FIELDS):
        problems.append(f"{where} states no price")
    above = entry.get("above")
    if isinstance(above, bool) or not isinstance(above, int) or above < 1:
        problems.append(f"{where}: above must be a whole number of input tokens from 1; got {above!r}")
        above = 0
    return above, Prices(**_amounts(entry, per, where, problems))


def _amounts(entry: Mapping[str, Any], per: int, where: str, problems: list[str]) -> dict[str, Any]:
    amounts: dict[str, Any] = {}
    for key in FIELDS:
        if key in entry:
            amount = amount_in(entry[key])
            if amount is None:
                problems.append(f"{where}: {key} must be a number of dollars from 0; got {_shown(entry[key])}")
            else:
                amounts[key] = amount / per
    return amounts


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a number of many digits"
    return text if len(text) <= 60 else f"{text[:57]}..."
