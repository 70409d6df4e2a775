"""``Config``: a read configuration, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentfp_core.config.agents import MAIN, agent_tables, effective
from agentfp_core.errors import ConfigError, nearest

if TYPE_CHECKING:
    from agentfp_core.agent import Agent
    from agentfp_core.config.layers import Tree
    from agentfp_core.config.origin import Origin, Problem
    from agentfp_core.discovery import PluginReport


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """One value of a configuration.

    Args:
        path: dotted, such as ``agent.limits.usd``.
        value: JSON data; of a secret where it is looked up, never what it is.
        origin: where it came from.
        secret: whether it is a secret.
    """

    path: str
    value: Any
    origin: Origin
    secret: bool = False


@dataclass(frozen=True, slots=True)
class SecretUse:
    """A secret that a configuration refers to.

    Args:
        path: dotted, of the value it is for.
        reference: ``{ env = "NAME" }`` or ``{ file = "PATH" }``.
        origin: where that stands.
        error: why it cannot be looked up now; None when it can.
    """

    path: str
    reference: str
    origin: Origin
    error: str | None


@dataclass(frozen=True, slots=True)
class Check:
    """What a thorough look at a configuration found.

    Args:
        problems: what keeps an agent from being built.
        notes: what is odd, or not there on this machine (a secret, a plugin that fails to load).
        plugins: what became of each plugin.
    """

    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]
    plugins: tuple[PluginReport, ...]


class Config:
    """A configuration, read and merged. Made by ``load_config``; nothing is imported before a method needs it.

    Attributes:
        path: of the file.
        env: the overlay in force, or None.
        problems: what is wrong with the file as it stands; whatever builds an agent raises these.
        notes: what is odd in it.
    """

    def __init__(self, path: Path, *, env: str | None, tree: Tree, environ: Mapping[str, str], problems: tuple[Problem, ...]) -> None:
        self.path = path
        self.env = env
        self.problems = problems
        self.tree = tree
        self.environ = environ

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents; the table ``[agent]`` is called ``agent``."""
        return tuple(agent_tables(self.tree))

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What is odd: tables of plugins that no list names."""
        from agentfp_core.config.switching import unused_tables

        return tuple(unused_tables(self.tree))

    def agent_name(self, agent: str | None = None) -> str:
        """Which agent is meant.

        Args:
            agent: a name; when None the table ``[agent]``, or the only other one.

        Raises:
            ConfigError: there is no such agent, or several and none is named.
        """
        names = self.agents
        if agent is not None:
            if agent not in names:
                raise ConfigError(f"{self.path}: there is no agent {agent!r}; {nearest(agent, names)}")
            return agent
        if MAIN in names or len(names) == 1:
            return MAIN if MAIN in names else names[0]
        if not names:
            raise ConfigError(f"{self.path}: there is no agent in it; write a table [agent] with model = ...")
        raise ConfigError(f"{self.path}: there are several agents; say which one, agent= one of {', '.join(map(repr, names))}")

    def build(self, agent: str | None = None, **overrides: Any) -> Agent[Any, Any]:
        """Build an agent: everything imported, plugins and models made, secrets looked up.

        Args:
            agent: which agent.
            **overrides: arguments of ``Agent`` that take the place of the file's; ``model`` may be the name of an alias.

        Raises:
            ConfigError: with every problem of the file and of this agent.
        """
        from agentfp_core.agent import Agent
        from agentfp_core.config.assemble import build

        made: Agent[Any, Any] = build(Agent, self, agent, overrides)
        return made

    def check(self, agent: str | None = None) -> Check:
        """Everything that can be found out without a model, a network or a secret. Imports what the file names.

        Args:
            agent: which agent; all of them when None.
        """
        from agentfp_core.config.assemble import check

        return check(self, self.agents if agent is None else (self.agent_name(agent),))

    def plugins(self, agent: str | None = None) -> tuple[PluginReport, ...]:
        """What became of each installed or named plugin; those that are on are imported."""
        from agentfp_core.config.secret import masker
        from agentfp_core.config.switching import discover_for

        if agent is None and not self.agents:
            from agentfp_core.discovery import plugin_reports

            return plugin_reports()
        tree, path = self.table(agent)
        mask = masker(self.tree.secrets)
        return tuple([report.masked(mask) for report in discover_for(tree, path, self.tree, self.environ).reports])

    def explain(self, agent: str | None = None, overrides: Mapping[str, Any] | None = None) -> Sequence[ConfigValue]:
        """Every value that one agent is built of, and where it came from; secrets as references.

        Args:
            agent: which agent.
            overrides: arguments of ``Agent`` that take the place of the file's.
        """
        from agentfp_core.config.explain import explain

        return explain(self, self.agent_name(agent), overrides or {})

    def secrets(self) -> Sequence[SecretUse]:
        """The secrets that the file refers to, and whether they can be looked up."""
        from agentfp_core.config.explain import secrets

        return secrets(self)

    def table(self, agent: str | None = None) -> tuple[Tree, tuple[str | int, ...]]:
        """An agent's table with what it takes from those it extends, and its path in that tree."""
        return effective(self.tree, self.agent_name(agent))

    def __repr__(self) -> str:
        return f"Config({str(self.path)!r}, env={self.env!r}, agents={list(self.agents)})"


def distinct(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems without repetitions, in the order of the file."""
    return tuple(sorted(dict.fromkeys(problems), key=lambda p: (p.origin.line is None, p.origin.line or 0, p.origin.column or 0)))
