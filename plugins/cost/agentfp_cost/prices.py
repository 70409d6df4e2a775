"""Prices of models from a dated file, which its user keeps."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from agentfp.model import Prices
from agentfp.plugin import nearest
from agentfp_cost.errors import PriceFileError

KEYS = ("date", "per", "models")
FIELDS = ("input", "output", "cache_read", "cache_write")
UNITS: Mapping[str, int] = {"token": 1, "thousand": 1_000, "million": 1_000_000}
_VERSION = re.compile(r"(?:[-@]\d{4}-\d{2}-\d{2}|[-@]\d{8}|-latest|-preview)\Z")
_MOST = 5_000_000
"""Bytes of a file."""


class PriceFile(Mapping[str, Prices]):
    """Prices by ``provider:model`` or name of the model. A dated name (``small-2026-01-31``) has the price of the undated one.

    Args:
        prices: by name.
        date: when they were looked up.
        source: where they are from, for reports.
    """

    def __init__(self, prices: Mapping[str, Prices], *, date: datetime.date | None = None, source: str = "") -> None:
        self._prices = dict(prices)
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
            if where.stat().st_size > _MOST:
                raise PriceFileError(f"{str(path)!r} is larger than {_MOST // 1_000_000} MB, so it is no file of prices")
            data = tomllib.loads(where.read_text(encoding="utf-8"), parse_float=Decimal)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise PriceFileError(f"the prices in {str(path)!r} cannot be read: {error}") from error
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
        problems = [f"{source} has no {key!r}; {nearest(key, KEYS)}" for key in data if key not in KEYS]
        date = _date(data.get("date"), source, problems)
        per = data.get("per", "million")
        if per not in UNITS:
            problems.append(f"{source}: per must be {', '.join(map(repr, UNITS))}; got {per!r}")
        models = data.get("models")
        if not isinstance(models, Mapping) or not models:
            problems.append(f'{source}: there is no table [models."NAME"] with input and output')
            models = {}
        found = {name: _prices(entry, UNITS.get(per, 1), f"{source}: models.{name!r}", problems) for name, entry in models.items()}
        if problems:
            raise PriceFileError(problems)
        return cls(found, date=date, source=source)

    def __getitem__(self, name: str) -> Prices:
        found = self._prices.get(name)
        return self._prices[_VERSION.sub("", name)] if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._prices)

    def __len__(self) -> int:
        return len(self._prices)

    def find(self, provider: str | None, model: str) -> Prices | None:
        """Prices of a model; what is said of it at this provider goes first.

        Args:
            provider: name of the provider.
            model: name of the model.
        """
        qualified = None if provider is None else self.get(f"{provider}:{model}")
        return self.get(model) if qualified is None else qualified


def _date(given: Any, source: str, problems: list[str]) -> datetime.date | None:
    if isinstance(given, str):
        try:
            given = datetime.date.fromisoformat(given)
        except ValueError:
            problems.append(f"{source}: date must be a day such as 2026-11-30; got {given!r}")
            return None
    if isinstance(given, datetime.datetime):
        return given.date()
    if given is None or isinstance(given, datetime.date):
        return given
    problems.append(f"{source}: date must be a day such as 2026-11-30; got {given!r}")
    return None


def _prices(entry: Any, per: int, where: str, problems: list[str]) -> Prices:
    if not isinstance(entry, Mapping):
        problems.append(f"{where} must be a table with input and output")
        return Prices()
    problems += [f"{where} has no {key!r}; {nearest(key, FIELDS)}" for key in entry if key not in FIELDS]
    problems += [f"{where} lacks {key}" for key in ("input", "output") if key not in entry]
    amounts: dict[str, Decimal] = {}
    for key in FIELDS:
        if key in entry:
            amount = _amount(entry[key])
            if amount is None:
                problems.append(f"{where}: {key} must be a number of dollars from 0; got {entry[key]!r}")
            else:
                amounts[key] = amount / per
    return Prices(**amounts)


def _amount(given: Any) -> Decimal | None:
    if isinstance(given, bool) or not isinstance(given, (int, float, str, Decimal)):
        return None
    try:
        amount = Decimal(str(given))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None
