"""Which plugins a file switches on, and the plugins made of its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentfp_core.config.agents import agent_tables
from agentfp_core.config.layers import Tree
from agentfp_core.config.origin import Origin, Problem
from agentfp_core.config.positions import Path
from agentfp_core.config.settings import ENABLED, Lookup, at, check_settings, plugin_values
from agentfp_core.discovery import REQUIRE, Discovery, Switches, discover, not_installed
from agentfp_core.entrypoints import PLUGINS_GROUP, installed
from agentfp_core.errors import ConfigError, nearest
from agentfp_core.plugins import Plugin


def named_in(tree: Tree, path: Path) -> list[str]:
    """The names in an agent's list of plugins."""
    listed = tree.get((*path, "plugins"))
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


def switched_off(tree: Tree) -> set[str]:
    """Names of plugins with ``enabled = false``."""
    tables = tree.get(("plugins",))
    return {n for n, t in tables.items() if isinstance(t, dict) and t.get(ENABLED) is False} if isinstance(tables, dict) else set()


def unused_tables(tree: Tree) -> list[Problem]:
    """Notes on tables of plugins that no agent's list names."""
    named = {name for path in agent_tables(tree).values() for name in named_in(tree, path)}
    tables = tree.get(("plugins",))
    notes = []
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if name not in named:
            known = {*named, *installed().group(PLUGINS_GROUP)}
            switch = f"; {ENABLED} = true alone does not switch it on" if isinstance(table, dict) and table.get(ENABLED) is True else ""
            hint = "" if name in known else f" No installed plugin is called so; {nearest(name, known)}"
            advice = f"add {name!r} to plugins, or take the table out"
            text = f"[plugins.{name}] is unused, for no list of plugins names it{switch}; {advice}.{hint}"
            notes.append(Problem(tree.origin(("plugins", name)), text))
    return notes


def discover_for(tree: Tree, path: Path, root: Tree, environ: Mapping[str, str]) -> Discovery:
    """Load the plugins that an agent's table switches on."""
    return discover(named_in(tree, path), off=switched_off(root), switches=Switches.of(environ))


class Switchboard:
    """The plugins of one agent.

    Args:
        tree: the agent's table.
        path: where it stands.
        root: all tables.
        lookup: for secrets.
    """

    def __init__(self, tree: Tree, path: Path, root: Tree, lookup: Lookup) -> None:
        self._tree = tree
        self._path = path
        self._root = root
        self._lookup = lookup
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self.causes: list[BaseException] = []
        self.made: list[Plugin] = []
        self.discovery = discover_for(tree, path, root, lookup.environ)

    def switch(self) -> None:
        """Judge the list, then make the plugins that are on."""
        switches = Switches.of(self._lookup.environ)
        self._judge_list()
        for name, error in self.discovery.failures.items():
            origin = self._place(name)
            problem = Problem(origin, f"plugin {name!r} cannot be used: {error}")
            several = len(installed().group(PLUGINS_GROUP)[name]) > 1
            (self.problems if switches.strict or several else self.notes).append(problem)
            self.causes.append(error)
        for name, cls in self.discovery.plugins.items():
            self._make(name, cls)
        self._require(switches)

    def _place(self, name: str) -> Origin:
        """Where the list names a plugin."""
        names = named_in(self._tree, self._path)
        return self._tree.origin((*self._path, "plugins", names.index(name)))

    def _judge_list(self) -> None:
        names = named_in(self._tree, self._path)
        for index, name in enumerate(names):
            if name in names[:index]:
                origin = self._tree.origin((*self._path, "plugins", index))
                self.problems.append(Problem(origin, f"plugins names {name!r} twice; take one out"))
        known = installed().group(PLUGINS_GROUP)
        for report in self.discovery.reports:
            if report.state == "missing" and report.name in names:
                self.problems.append(Problem(self._place(report.name), not_installed(report.name, known)))

    def _make(self, name: str, cls: type[Plugin]) -> None:
        path: Path = ("plugins", name)
        missing = set(self._lookup.missing)
        problems: list[Problem] = []
        values = plugin_values(self._root, path, cls.Settings, self._lookup, problems)
        problems += check_settings(cls.Settings, values, self._root, path, self._lookup)
        if self._root.get(path) is None:
            problems = at(self._place(name), problems)
        self.problems += problems
        if problems or set(self._lookup.missing) != missing:
            return
        try:
            self.made.append(cls(**values))
        except ConfigError as error:
            origin = self._root.origin(path) if self._root.get(path) is not None else self._place(name)
            self.problems += [Problem(origin, self._lookup.masked(text)) for text in error.problems]
        except (Exception, SystemExit) as error:  # the plugin's own code
            said = self._lookup.masked(f"{type(error).__name__}: {error}")
            self.problems.append(Problem(self._place(name), f"plugin {name!r} cannot be made: {said}"))
            self.causes.append(error)

    def _require(self, switches: Switches) -> None:
        """Refuse to go on without plugins that must be there."""
        key = (*self._path, "required_plugins")
        listed: Any = self._tree.get(key)
        on = set(self.discovery.plugins)
        for index, name in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(name, str) and name not in on:
                text = f"plugin {name!r} is required by required_plugins and is not on{self._why(name)}"
                self.problems.append(Problem(self._tree.origin((*key, index)), text))
        for name in switches.required:
            if name not in on:
                text = f"plugin {name!r} is required and not on{self._why(name)}"
                self.problems.append(Problem(Origin("environment", name=REQUIRE), text))

    def _why(self, name: str) -> str:
        for report in self.discovery.reports:
            if report.name == name and report.state != "found":
                return f": {report.error}" if report.error else f" ({report.state})"
        return "; add it to plugins"
