"""The model of an agent: a provider's, or an alias with settings for the provider."""

from __future__ import annotations

import inspect
from typing import Any

from agentfp_core.config.layers import Tree, spell
from agentfp_core.config.origin import Origin, Problem
from agentfp_core.config.positions import Path
from agentfp_core.config.settings import Lookup, plain_values
from agentfp_core.discovery import no_provider
from agentfp_core.entrypoints import MODELS_GROUP, Entry, installed, load, the_one
from agentfp_core.errors import PluginLoadError, nearest

_OWN = ("use", "fallback")
"""What a table says to the library; the rest is for the provider."""


class ModelChoice:
    """Finds the model that a table names.

    Args:
        root: all tables.
        lookup: for secrets.
    """

    def __init__(self, root: Tree, lookup: Lookup) -> None:
        self._root = root
        self._lookup = lookup
        self._providers = installed().group(MODELS_GROUP)
        self.problems: list[Problem] = []
        self.causes: list[BaseException] = []

    def find(self, text: str, origin: Origin, *, make: bool) -> Any:
        """The model, or its name where the provider needs no settings and may be looked up at first use.

        Args:
            text: ``provider:name``, or an alias.
            origin: where that stands.
            make: whether a model with settings is made; else everything is checked that needs no secret.
        """
        known = len(self.problems)
        first = self._one(text, origin, make=make)
        names, place = self._fallbacks(text)
        others = [self._one(name, place, make=make) for name in names if self._may_follow(name, place)]
        if not others or not make or first is None or len(self.problems) > known:
            return first
        from agentfp_core.reliability import Fallback

        return Fallback(first, *others)

    def _fallbacks(self, alias: str) -> tuple[list[str], Origin]:
        path: Path = ("models", alias, "fallback")
        names = self._root.get(path)
        if not isinstance(names, list):
            return [], Origin("default")
        return [name for name in names if isinstance(name, str)], self._root.origin(path)

    def _may_follow(self, name: str, origin: Origin) -> bool:
        if not self._fallbacks(name)[0]:
            return True
        self.problems.append(
            Problem(origin, f"fallback names the alias {name!r}, which has fallbacks itself; name them all here, in order")
        )
        return False

    def _one(self, text: str, origin: Origin, *, make: bool) -> Any:
        tables = self._root.get(("models",))
        aliases = tables if isinstance(tables, dict) else {}
        if text not in aliases:
            if text.partition(":")[0] not in self._providers:
                self.problems.append(Problem(origin, self._unknown(text, aliases)))
            elif not make:
                self._factory(text, origin)
            return text
        path: Path = ("models", text)
        use = self._root.get((*path, "use"))
        if not isinstance(use, str):
            return None  # reported already
        origin = self._root.origin((*path, "use"))
        if use.partition(":")[0] not in self._providers:
            alias = f"{spell((*path, 'use'))} names the alias {use!r}; an alias stands for no other one, so write provider:name"
            self.problems.append(Problem(origin, alias if use in aliases else no_provider(use, self._providers)))
            return None
        factory = self._factory(use, origin)
        settings = self._settings(path)
        if factory is None or not self._fits(factory, settings, use, path) or not make or self._lookup.missing:
            return None
        return self._made(factory, use, settings, path)

    def _unknown(self, text: str, aliases: Any) -> str:
        if ":" in text or not aliases:
            return no_provider(text, self._providers)
        return f"{text!r} is no alias under [models] and no installed provider; {nearest(text, {*aliases, *self._providers})}"

    def _factory(self, use: str, origin: Origin) -> Any:
        name = use.partition(":")[0]
        entries: tuple[Entry, ...] = self._providers[name]
        try:
            return load(the_one(name, entries))
        except PluginLoadError as error:
            self.problems.append(Problem(origin, f"provider {name!r} cannot be used: {error}"))
            self.causes.append(error)
            return None

    def _settings(self, path: Path) -> dict[str, Any]:
        return {key: plain_values(self._root, (*path, key), self._lookup) for key in self._root.get(path) if key not in _OWN}

    def _fits(self, factory: Any, settings: dict[str, Any], use: str, path: Path) -> bool:
        """Whether the provider takes settings of these names."""
        try:
            parameters = list(inspect.signature(factory).parameters.values())
        except (TypeError, ValueError):
            return True
        if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
            return True
        known = [p.name for p in parameters[1:] if p.kind is not inspect.Parameter.VAR_POSITIONAL]
        unknown = [name for name in settings if name not in known]
        for name in unknown:
            text = f"{spell((*path, name))}: provider {use.partition(':')[0]!r} has no setting {name!r}; {nearest(name, [*known, *_OWN])}"
            self.problems.append(Problem(self._root.origin((*path, name)), text))
        return not unknown

    def _made(self, factory: Any, use: str, settings: dict[str, Any], path: Path) -> Any:
        provider, _, name = use.partition(":")
        try:
            return factory(name, **settings)
        except (Exception, SystemExit) as error:  # the provider's own code
            said = self._lookup.masked(f"{type(error).__name__}: {error}")
            self.problems.append(Problem(self._root.origin(path), f"provider {provider!r} does not take what {spell(path)} says: {said}"))
            self.causes.append(error)
            return None
