"""The plugin under check: made anew where a fresh one is needed, put on agents, run, and everything that it emitted kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio.lowlevel

from agentfp_core.agent import Agent
from agentfp_core.clock import StepClock
from agentfp_core.events.base import Event
from agentfp_core.events.hook import PluginFailed
from agentfp_core.messages import ToolCall
from agentfp_core.model import ModelRequest
from agentfp_core.plugins import Plugin
from agentfp_core.result import RunResult
from agentfp_core.testing.records import event_problems, listed, record_problems
from agentfp_core.testing.scenes import Scene
from agentfp_core.testing.scripted import ScriptedModel, ScriptItem

PluginSource = Plugin | Callable[[], Plugin]


class Ids:
    """Ids that count, from a place that can be chosen, so that a run goes on elsewhere with the ids it would have had."""

    def __init__(self, at: int = 0) -> None:
        self.at = at

    def new(self, prefix: str) -> str:
        """The next id."""
        self.at += 1
        return f"{prefix}_{self.at}"


@dataclass
class CheckReport:
    """What a check found.

    Args:
        plugin: the plugin's name.
        checks: the checks that were made.
        problems: what is wrong, each with the check that found it.
        notes: what may be of use to know.
    """

    plugin: str
    checks: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def problem(self, check: str, text: str) -> None:
        """Note a problem, once.

        Args:
            check: which rule is broken.
            text: how, and what to do.
        """
        line = f"[{check}] {text}"
        if line not in self.problems:
            self.problems.append(line)

    def __str__(self) -> str:
        head = f"plugin {self.plugin!r}: {len(self.checks)} checks"
        lines = [listed(head, self.problems)] if self.problems else [f"{head}, no problems"]
        return "\n".join([*lines, *[f"  note: {note}" for note in self.notes]])


@dataclass
class Ran:
    """A run that was made.

    Args:
        events: everything that was filed or delivered, transient events too.
        result: what it gave; None when it raised.
        error: what it raised.
    """

    events: list[Event]
    result: RunResult[Any] | None = None
    error: BaseException | None = None

    def failures(self, plugin: str) -> list[PluginFailed]:
        """Where a plugin failed."""
        return [e.payload for e in self.events if isinstance(e.payload, PluginFailed) and e.payload.plugin == plugin]

    def problems(self) -> list[str]:
        """What does not hold of its record."""
        if self.result is not None:
            return record_problems(self.result.record)
        return event_problems([event for event in self.events if event.seq >= 0])


class Subject:
    """The plugin under check with all that it needs.

    Args:
        source: the plugin, or what makes it.
        others: plugins that it needs, listed before it.
        tools: further tools.
        deps: for the runs.
        options: options of plugins for the runs.
        may_change: attributes of the plugin that may change.
        may_emit: names or patterns of events that it may emit besides its own.
        may_fail: whether its hooks may raise.
        compare_uninterrupted: whether a run with pauses must serve the requests of one without.
        report: where problems go.
    """

    def __init__(
        self,
        source: PluginSource,
        *,
        others: Iterable[Plugin],
        tools: Sequence[Any],
        deps: Any,
        options: Mapping[str, Any] | None,
        may_change: Collection[str],
        may_emit: Collection[str],
        may_fail: bool,
        compare_uninterrupted: bool,
        report: CheckReport,
    ) -> None:
        self._source = source
        self._plugin: Plugin | None = source if isinstance(source, Plugin) else None
        self.others = tuple(others)
        self.tools = tuple(tools)
        self.deps = deps
        self.options = options
        self.may_change = frozenset(may_change)
        self.may_emit = tuple(may_emit)
        self.may_fail = may_fail
        self.compare_uninterrupted = compare_uninterrupted
        self.report = report
        self.emitted: list[Event] = []

    @property
    def plugin(self) -> Plugin:
        """The one object that most runs share, as the runs of an application do."""
        if self._plugin is None:
            self._plugin = self._made()
        return self._plugin

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.plugin.name

    def fresh(self) -> Plugin:
        """Another object with the same settings, as another process would make; the same one where that is not possible."""
        if not isinstance(self._source, Plugin):
            return self._made()
        try:
            return type(self._source)(self._source.settings)
        except Exception:  # a constructor of its own may take whatever it likes
            return self._source

    def _made(self) -> Plugin:
        made: Any = self._source() if not isinstance(self._source, Plugin) else self._source
        if not isinstance(made, Plugin):
            raise TypeError(f"check_plugin takes a Plugin, its class, or a function that makes one; this gave a {type(made).__name__}")
        return made

    def agent(
        self,
        model: Callable[[ModelRequest], ScriptItem],
        tools: Sequence[Any],
        *,
        clock: StepClock,
        ids: Ids | None = None,
        on: bool = True,
        plugin: Plugin | None = None,
        **settings: Any,
    ) -> Agent[Any, Any]:
        """An agent with the plugin on it, or off."""
        plugins = [*self.others, plugin or self.plugin] if on else list(self.others)
        return Agent(
            ScriptedModel(model), tools=[*tools, *self.tools], plugins=plugins, clock=clock, ids=ids or Ids(), context_budget={}, **settings
        )

    async def run(self, agent: Agent[Any, Any], prompt: Any, *, on: bool = True, **call: Any) -> Ran:
        """Run a turn, whatever becomes of it."""
        ran = Ran([])
        options = self.options if on else None
        try:
            ran.result = await agent.run(prompt, on_event=ran.events.append, deps=self.deps, options=options, **call)
        except Exception as error:
            ran.error = error
        finally:
            self.heard(ran.events)
        return ran

    def heard(self, events: list[Event]) -> None:
        """Keep what the plugin emitted."""
        if self._plugin is not None:
            self.emitted += [event for event in events if event.source == self._plugin.name]


def own_scene(script: Sequence[ScriptItem], prompt: Any) -> Scene:
    """The scene that an author adds to the odd ones."""
    items = [ToolCall.make(i.name, i.arguments_json, id=i.id or f"own_{n}") if isinstance(i, ToolCall) else i for n, i in enumerate(script)]
    return Scene("the script given to check_plugin", items, prompt)


async def let_others() -> None:
    """Let other tasks run."""
    await anyio.lowlevel.checkpoint()
