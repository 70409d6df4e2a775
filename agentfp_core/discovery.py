"""Plugins found, switched and loaded: each in its own guard, so that a broken one takes nothing else down.

Environment variables: ``AGENTFP_DISABLE_PLUGINS`` (comma list; files cannot switch these on), ``AGENTFP_REQUIRE_PLUGINS``
(comma list; no agent is built without these), ``AGENTFP_STRICT=1`` (what fails to load is an error).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

from agentfp_core.entrypoints import MODELS_GROUP, PLUGINS_GROUP, Entry, Installed, at_odds, installed, load, the_one
from agentfp_core.errors import ModelNotFoundError, PluginLoadError, nearest
from agentfp_core.plugins import Plugin
from agentfp_core.sisters import PLUGINS, PROVIDERS, what_to_do

State: TypeAlias = Literal["found", "on", "off", "blocked", "failed", "missing"]
"""``found``: installed, not switched on. ``off``: named, ``enabled = false``. ``blocked``: by ``AGENTFP_DISABLE_PLUGINS``.
``failed``: it could not be loaded. ``missing``: named, not installed."""

DISABLE = "AGENTFP_DISABLE_PLUGINS"
REQUIRE = "AGENTFP_REQUIRE_PLUGINS"
STRICT = "AGENTFP_STRICT"
_FALSE = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class PluginReport:
    """What became of one plugin.

    Args:
        name: its name.
        distribution: what brings it; None when nothing installed does.
        version: of the distribution.
        state: what became of it.
        error: why it failed or is missing, or what is odd about it.
    """

    name: str
    distribution: str | None
    version: str | None
    state: State
    error: str | None = None

    def masked(self, mask: Callable[[str], str]) -> PluginReport:
        """The same with its texts masked: what a list names may have come from a variable.

        Args:
            mask: masks a text.
        """
        return replace(self, name=mask(self.name), error=None if self.error is None else mask(self.error))

    def __str__(self) -> str:
        where = "" if self.distribution is None else f" ({self.distribution} {self.version})"
        return f"plugin {self.name!r}{where}: {self.state}" + ("" if self.error is None else f": {self.error}")


@dataclass(frozen=True, slots=True)
class Switches:
    """What the environment says about plugins.

    Args:
        disabled: names that are kept off.
        required: names without which no agent is built.
        strict: what fails to load is an error.
    """

    disabled: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    strict: bool = False

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> Switches:
        """Read them.

        Args:
            environ: the environment; that of the process when None.
        """
        env = os.environ if environ is None else environ
        strict = env.get(STRICT, "").strip().lower() not in _FALSE
        return cls(_names(env.get(DISABLE, "")), _names(env.get(REQUIRE, "")), strict)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for part in (piece.strip() for piece in text.split(",")) if part))


def missing_required(on: Collection[str], environ: Mapping[str, str] | None = None) -> list[str]:
    """Problems for required plugins that an agent does not have.

    Args:
        on: names of the plugins that are on.
        environ: the environment; that of the process when None.
    """
    switches = Switches.of(environ)
    return [
        f"plugin {name!r} is required by {REQUIRE} and not on; switch it on, or take it off that list"
        for name in switches.required
        if name not in on
    ]


def load_provider(model: str) -> Any:
    """Import the provider of a model's name: a callable ``(model_name: str, **settings) -> Model``.

    Args:
        model: ``provider:name``, or ``provider``.

    Raises:
        ModelNotFoundError: no installed provider has the name, and what to install; or it cannot be loaded, and why.
    """
    name = model.partition(":")[0]
    entries = installed().group(MODELS_GROUP)
    if name not in entries:
        raise ModelNotFoundError(no_provider(model, entries))
    try:
        return load(the_one(name, entries[name]))
    except PluginLoadError as error:
        raise ModelNotFoundError(f"provider {name!r} cannot be used: {error}") from error


def no_provider(model: str, known: Collection[str]) -> str:
    """Words for a model whose provider is not installed."""
    provider, colon, _ = model.partition(":")
    if not colon and known and provider not in PROVIDERS and not get_close_matches(provider, [*known, *PROVIDERS], n=1):
        return f"no installed provider is called {model!r}; write 'provider:{model}', with one of {', '.join(map(repr, sorted(known)))}"
    of = f" (of model {model!r})" if colon else ""
    form = "" if colon else ". A model is written 'provider:name'"
    return f"no installed provider is called {provider!r}{of}; {what_to_do(provider, known, PROVIDERS)}{form}"


def load_plugin(name: str, entries: Sequence[Entry]) -> type[Plugin]:
    """Import a plugin's class.

    Raises:
        PluginLoadError: several distributions bring it, it cannot be imported, or it is no plugin of that name.
    """
    entry = the_one(name, entries)
    found = load(entry)
    if not (isinstance(found, type) and issubclass(found, Plugin)):
        got = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise PluginLoadError(
            f"{entry.value!r} of {entry.origin} must be a class derived from agentfp.plugin.Plugin, got {got}", entry=entry
        )
    if found.name != name:
        msg = f"{entry.value!r} of {entry.origin} is the entry point {name!r}, but the class has name = {found.name!r}; make them equal"
        raise PluginLoadError(msg, entry=entry)
    return found


@dataclass(frozen=True, slots=True)
class Discovery:
    """The plugins of one agent, loaded.

    Args:
        plugins: the classes of those that are on, in order.
        reports: one for each plugin that is installed or named, the named ones first and in order.
        failures: by name, of plugins that are named and cannot be used.
        problems: what the run's manifest tells: plugins that were named and are not there. Others leave no trace in a record.
    """

    plugins: Mapping[str, type[Plugin]]
    reports: tuple[PluginReport, ...]
    failures: Mapping[str, PluginLoadError]
    problems: tuple[str, ...] = ()


def discover(
    named: Sequence[str] = (), *, off: Collection[str] = (), switches: Switches | None = None, found: Installed | None = None
) -> Discovery:
    """Load the plugins that are switched on, and report on all of them. Nothing else is imported.

    Args:
        named: names that are switched on, in order.
        off: those of them with ``enabled = false``.
        switches: what the environment says; that of the process when None.
        found: what is installed; looked up when None.
    """
    switches = Switches.of() if switches is None else switches
    entries = (installed() if found is None else found).group(PLUGINS_GROUP)
    plugins: dict[str, type[Plugin]] = {}
    failures: dict[str, PluginLoadError] = {}
    reports = [_bring(name, entries, off, switches, plugins, failures) for name in dict.fromkeys(named)]
    problems = tuple([str(report) for report in reports if report.error is not None])
    rest = {*entries, *switches.disabled, *switches.required} - set(named)
    reports += [_report_unnamed(name, entries, switches) for name in sorted(rest)]
    return Discovery(plugins, tuple(reports), failures, problems)


def _bring(
    name: str,
    entries: Mapping[str, tuple[Entry, ...]],
    off: Collection[str],
    switches: Switches,
    plugins: dict[str, type[Plugin]],
    failures: dict[str, PluginLoadError],
) -> PluginReport:
    """Load a named plugin unless it is off."""
    mine = entries.get(name, ())
    distribution, version = (mine[0].distribution, mine[0].version) if mine else (None, None)
    if name in off:
        return PluginReport(name, distribution, version, "off")
    if name in switches.disabled:
        return PluginReport(name, distribution, version, "blocked", f"switched off by {DISABLE}")
    if not mine:
        return PluginReport(name, None, None, "missing", not_installed(name, entries))
    try:
        plugins[name] = load_plugin(name, mine)
    except PluginLoadError as error:
        failures[name] = error
        return PluginReport(name, distribution, version, "failed", str(error))
    return PluginReport(name, distribution, version, "on")


def _report_unnamed(name: str, entries: Mapping[str, tuple[Entry, ...]], switches: Switches) -> PluginReport:
    mine = entries.get(name, ())
    if not mine:
        variable = REQUIRE if name in switches.required else DISABLE
        return PluginReport(name, None, None, "missing", f"named in {variable}; {not_installed(name, entries)}")
    odd = at_odds(name, mine) if len(mine) > 1 else None
    state: State = "blocked" if name in switches.disabled else "found"
    return PluginReport(name, mine[0].distribution, mine[0].version, state, odd)


def not_installed(name: str, known: Collection[str]) -> str:
    """Words for a plugin that nothing installed brings."""
    if not name.isidentifier():
        return f"{name!r} is no name of a plugin; {nearest(name, known)}. A plugin is named as its entry point names it"
    return f"no installed plugin is called {name!r}; {what_to_do(name, known, PLUGINS)}"


def plugin_reports(*, switches: Switches | None = None, found: Installed | None = None) -> tuple[PluginReport, ...]:
    """What is installed, with nothing switched on and nothing imported."""
    return discover(switches=switches, found=found).reports
