"""What is known of a provider's models, read from a dated data file: context windows, features, prices. Unknown models work without."""

from __future__ import annotations

import dataclasses
import importlib.resources
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agentfp_core.errors import ConfigError, nearest
from agentfp_core.model import ModelFeatures
from agentfp_core.prices import KINDS, Prices

_MILLION = Decimal(1_000_000)
_DATED = re.compile(r"(?:[-@](?:20\d{2}-?\d{2}-?\d{2}|\d{4}|latest|preview))+\Z")
_FEATURES = tuple(f.name for f in dataclasses.fields(ModelFeatures) if f.name != "prices")


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a data file says of one model.

    Args:
        name: the model's id at the provider.
        features: fields of ``ModelFeatures`` in which it differs from the provider's usual ones.
        prices: per token, where known.
    """

    name: str
    features: Mapping[str, Any] = field(default_factory=dict)
    prices: Prices | None = None


class ModelCatalog(Mapping[str, ModelFacts]):
    """The models of one data file.

    The file is a JSON object: ``source`` (where its facts were read), ``date`` (when, ISO), ``default`` (the model taken when none is
    named), and ``models``: an id for each, with fields of ``ModelFeatures`` and ``prices`` in dollars per MILLION tokens as text
    (``input``, ``output``, ``cache_read``, ``cache_write``, ``reasoning``, ``embedding``).

    Args:
        data: the parsed file.

    Raises:
        ConfigError: the data is not of that form; names all that is wrong.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        problems: list[str] = []
        self.source = str(data.get("source", ""))
        self.date = str(data.get("date", ""))
        self.default: str | None = data.get("default")
        self._facts = {name: _facts(name, entry, problems) for name, entry in data.get("models", {}).items()}
        if not self.source or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", self.date):
            problems.append("model data needs a source and a date such as '2026-01-31'")
        if problems:
            raise ConfigError(problems)

    @classmethod
    def of_package(cls, package: str, file: str = "models.json") -> ModelCatalog:
        """The catalog that a distribution brings.

        Args:
            package: the package it lies in.
            file: its name.
        """
        return cls(json.loads(importlib.resources.files(package).joinpath(file).read_text(encoding="utf-8")))

    def __getitem__(self, name: str) -> ModelFacts:
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def find(self, name: str) -> ModelFacts | None:
        """The facts of a model: under its own name, or under that name without its date or ``-latest``."""
        return self._facts.get(name) or self._facts.get(undated(name))

    def features(self, name: str, usual: ModelFeatures) -> ModelFeatures:
        """The features of a model.

        Args:
            name: its name.
            usual: those that the provider's models have unless the file says otherwise.
        """
        facts = self.find(name)
        return usual if facts is None else dataclasses.replace(usual, **facts.features, prices=facts.prices)


def undated(name: str) -> str:
    """A model's name without its date, ``-latest`` or ``-preview``."""
    return _DATED.sub("", name)


def _facts(name: str, entry: Mapping[str, Any], problems: list[str]) -> ModelFacts:
    features = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items() if key in _FEATURES}
    problems += [f"model {name!r} has no {key!r}; {nearest(key, _FEATURES)}" for key in entry if key not in (*_FEATURES, "prices")]
    stated = entry.get("prices")
    if stated is None:
        return ModelFacts(name, features)
    problems += [f"prices of {name!r} have no {key!r}; {nearest(key, KINDS)}" for key in stated if key not in KINDS]
    amounts: dict[str, Any] = {key: Decimal(str(value)) / _MILLION for key, value in stated.items() if key in KINDS}
    return ModelFacts(name, features, Prices(**amounts))
