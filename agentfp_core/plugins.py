"""Plugins: the base class, their settings, and the table of their hooks, sorted once when an agent is built."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pluggy
import pydantic

from agentfp_core.callables import is_async
from agentfp_core.errors import ConfigError, PluginDefinitionError, UnknownOptionError, describe_type, likely, nearest
from agentfp_core.events.catalog import CATALOG
from agentfp_core.hookspecs import ARGUMENTS, MOMENTS, ON_ERROR, PHASES, PROJECT, SYNC_ONLY, Granularity, OnError, Specs, mark_of
from agentfp_core.sisters import to_install

if TYPE_CHECKING:
    from agentfp_core.events.base import Event, Payload
    from agentfp_core.memos import MemoSource
    from agentfp_core.run import Run

RESERVED = frozenset({"kernel", "tool", "app"})
"""Names that stand for others than plugins on the record."""


class Plugin:
    """Base of all plugins. A plugin object holds settings and no state of any run; one object serves many runs at once.

    Subclasses set ``name``, may define ``class Settings(Plugin.Settings)``, and mark methods with ``hookimpl``.

    Args:
        settings: the settings, or
        **values: their fields.

    Raises:
        ConfigError: fields are unknown or do not fit; lists all of them.
    """

    name: ClassVar[str] = ""
    version: ClassVar[str] = "0"
    requires: ClassVar[tuple[str, ...]] = ()
    """Names of plugins that must be on too."""
    events: ClassVar[tuple[type[Payload], ...]] = ()
    """Event types that it emits."""
    memo_events: ClassVar[tuple[str, ...]] = ()
    """Names (or ``domain.*`` patterns) of the events that ``fold`` reads; empty for no memo."""
    transient: ClassVar[bool] = False
    """Whether its ``export_event`` gets transient events too, such as tokens; they are built for it then."""

    exports_in_thread: ClassVar[bool] = False
    """Whether its ``export_event`` may be called on a thread of the agent's, one event at a time and in order, and costs the event loop
    nothing then. It is not async and must be quick; what it leaves to be awaited is awaited on the event loop, at the end of the run.
    Agents that share the plugin object call it from a thread each."""

    class Settings(pydantic.BaseModel):
        """Settings of a plugin; unknown fields are refused."""

        model_config = pydantic.ConfigDict(
            extra="forbid", frozen=True, arbitrary_types_allowed=True, hide_input_in_errors=True, defer_build=True
        )

    class RunOptions(pydantic.BaseModel):
        """Options of one run, passed as ``agent.run(..., options={"plugin_name": {...}})``; unknown ones are refused."""

        model_config = pydantic.ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, defer_build=True)

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        if settings is not None and values:
            raise ConfigError(f"plugin {self.name!r}: pass settings or their fields, not both")
        if settings is not None and not isinstance(settings, self.Settings):
            name = type(self).__name__
            raise ConfigError(f"{name} takes its settings by name, got {describe_type(settings)}; write {name}(setting=value)")
        self.settings: Any = settings if settings is not None else validated(self.Settings, values, f"plugin {self.name!r}")

    @property
    def sees_content(self) -> bool:
        """Whether ``export_event`` gets what people, models and tools wrote: the setting ``content``, off by default."""
        return bool(getattr(self.settings, "content", False))

    def exports(self, name: str) -> bool:
        """Whether ``export_event`` gets events of a name; asked once a run and name. What nobody wants is not queued.

        Args:
            name: of the event.
        """
        return True

    @property
    def refuse_on_failure(self) -> bool:
        """Whether an answer is refused when this plugin fails to judge it: the setting of that name, off by default."""
        return bool(getattr(self.settings, "refuse_on_failure", False))

    @property
    def may_change_answers(self) -> bool:
        """Whether its ``assess_answer`` may answer with a verdict.

        Text is held back from streams until such a plugin has seen it; one that only looks says False, and a verdict of it is refused.
        """
        return True

    def initial(self) -> Any:
        """The memo before the first event."""
        return None

    def fold(self, state: Any, event: Event) -> Any:
        """The memo after an event. Called at append, on resume and on saved recordings alike; reads nothing else.

        Args:
            state: the memo up to now; it is not to be changed, but replaced.
            event: the event; of what ``memo_events`` names, where that is set.
        """
        return state

    def masked_values(self, run: Run[Any]) -> Iterable[str]:
        """Values that are masked from the first moment of every run, resumed ones too; see ``Run.mask_value(on_record=True)``."""
        return ()

    @classmethod
    def memo_of(cls, source: MemoSource) -> Any:
        """The memo of this plugin over a result, a record, a checkpoint or a saved recording."""
        from agentfp_core.memos import memo_of

        return memo_of(cls, source)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def validated(model: type[pydantic.BaseModel], values: Mapping[str, Any], owner: str) -> Any:
    """Validate settings.

    Raises:
        ConfigError: with one problem for each field at fault; never with a value.
    """
    try:
        return model.model_validate(dict(values))
    except pydantic.ValidationError as error:
        problems = []
        accepted = [field.alias or name for name, field in model.model_fields.items()]
        for issue in error.errors(include_url=False):
            path = ".".join(map(str, issue["loc"]))
            if issue["type"] == "extra_forbidden":
                problems.append(f"{owner} has no setting {path!r}; {nearest(path, accepted)}")
                continue
            meant = likely(issue["input"], issue["msg"]) if issue["type"] == "literal_error" else ""
            problems.append(f"{owner}: setting {path!r} is refused: {issue['msg'].removeprefix('Value error, ')}{meant}")
        raise ConfigError(problems) from error


def run_options(plugins: PluginSet, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Validate the ``options`` of a run against each plugin's ``RunOptions``.

    Raises:
        UnknownOptionError: an option is for no plugin that is on.
        ConfigError: an option does not fit its plugin.
    """
    given = dict(options or {})
    known = plugins.by_name
    for name in given:
        if name not in known:
            raise UnknownOptionError(f"options has {name!r}, but no plugin of that name is on; {nearest(name, known)}")
    result: dict[str, Any] = {}
    for name, plugin in known.items():
        value = given.get(name, {})
        result[name] = value if isinstance(value, plugin.RunOptions) else validated(plugin.RunOptions, value, f"options of plugin {name!r}")
    return result


@dataclass(frozen=True, slots=True)
class Impl:
    """One implementation of one moment, ready to call with the moment's arguments in their order."""

    plugin: str
    moment: str
    phase: str
    per: Granularity
    call: Callable[..., Any]
    is_async: bool
    on_error: OnError
    sort_key: tuple[int, int, int]


class PluginSet:
    """The plugins of one agent: registered with pluggy, checked, and their hooks sorted by phase, plugin and definition.

    Args:
        plugins: in order.

    Raises:
        ConfigError: with every problem of every plugin.
    """

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        self.plugins: tuple[Plugin, ...] = tuple(plugins)
        self.by_name: Mapping[str, Plugin] = {plugin.name: plugin for plugin in self.plugins if isinstance(plugin, Plugin)}
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(Specs)
        problems = self._register()
        table = {moment: self._impls(moment, problems) for moment in MOMENTS}
        problems += [
            f"plugin {plugin.name!r} needs plugin {name!r}; switch it on too ({to_install(name)})"
            for plugin in self.plugins
            if isinstance(plugin, Plugin)
            for name in plugin.requires
            if name not in self.by_name
        ]
        problems += self._event_clashes()
        if problems:
            raise ConfigError(problems)
        self.table: Mapping[str, tuple[Impl, ...]] = table
        self.phases: Mapping[str, Mapping[str, tuple[Impl, ...]]] = {
            moment: {phase: tuple(i for i in table[moment] if i.phase == phase) for phase in phases} for moment, phases in PHASES.items()
        }

    def watch(self, wrap: Callable[[Impl], Callable[..., Any]]) -> None:
        """Put a function in the place of each hook's call; for those who test plugins, before the agent's first run.

        Args:
            wrap: makes it, of the implementation as it is; an async one must stay async.
        """
        for impls in self.table.values():
            for impl in impls:
                object.__setattr__(impl, "call", wrap(impl))  # in place, for the agent keeps it in plans of its own

    def plan(self, moment: str, own: Collection[str]) -> tuple[tuple[int, str, tuple[Impl, ...]], ...]:
        """The phases of a moment in which anything happens: their places, names and hooks.

        Args:
            moment: the moment.
            own: the phases in which the kernel acts too.
        """
        phases = self.phases[moment]
        return tuple([(index, phase, impls) for index, (phase, impls) in enumerate(phases.items()) if impls or phase in own])

    def _register(self) -> list[str]:
        problems: list[str] = []
        for plugin in self.plugins:
            if isinstance(plugin, type) and issubclass(plugin, Plugin):
                problems.append(f"plugins takes objects, got the class {plugin.__name__!r}; write {plugin.__name__}()")
                continue
            if not isinstance(plugin, Plugin):
                problems.append(f"plugins takes Plugin objects, got a {type(plugin).__name__}; derive its class from agentfp.plugin.Plugin")
                continue
            if not plugin.name.isidentifier() or plugin.name in RESERVED:
                problems.append(
                    f"plugin class {type(plugin).__name__!r} needs a class attribute `name` that is an identifier "
                    f"and none of {', '.join(sorted(RESERVED))}, got {plugin.name!r}"
                )
                continue
            try:
                self._manager.register(plugin, plugin.name)
            except ValueError:
                problems.append(f"two plugins are called {plugin.name!r}; leave one of them out")
            except pluggy.PluginValidationError as error:
                problems.append(f"plugin {plugin.name!r}: " + " ".join(str(error).split()))
            problems += self._unmarked(plugin)
        try:
            self._manager.check_pending()
        except pluggy.PluginValidationError as error:
            problems.append(f"plugin {getattr(error.plugin, 'name', error.plugin)!r}: " + " ".join(str(error).split()))
        return problems

    def _event_clashes(self) -> list[str]:
        """Event names that stand for two classes: no record that holds both could be read."""
        owners: dict[str, tuple[type[Payload], str]] = {name: (kind, "the kernel") for name, kind in CATALOG.items()}
        problems = []
        for plugin in self.by_name.values():
            for kind in plugin.events:
                first, owner = owners.setdefault(kind.event_name, (kind, f"plugin {plugin.name!r}"))
                if first is not kind:
                    problems.append(
                        f"plugin {plugin.name!r}: its event {kind.event_name!r} is one of {owner} already; give it another name"
                    )
        return problems

    def _unmarked(self, plugin: Plugin) -> list[str]:
        """Methods that look like hooks and are not marked: they would silently never run."""
        return [
            f"plugin {plugin.name!r}: method {moment!r} is not marked; put @hookimpl(...) over it"
            for moment in MOMENTS
            if callable(getattr(plugin, moment, None)) and self._manager.parse_hookimpl_opts(plugin, moment) is None
        ]

    def _impls(self, moment: str, problems: list[str]) -> tuple[Impl, ...]:
        order = {plugin.name: index for index, plugin in enumerate(self.plugins) if isinstance(plugin, Plugin)}
        found = []
        for raw in getattr(self._manager.hook, moment).get_hookimpls():
            try:
                impl = _compile(moment, raw, order[raw.plugin_name])
            except PluginDefinitionError as error:
                problems += error.problems
                continue
            if moment == "export_event" and impl.is_async and raw.plugin.exports_in_thread:
                problems.append(
                    f"plugin {impl.plugin!r}: its export_event is async, and no thread awaits it; leave `exports_in_thread` out"
                )
            found.append(impl)
        return tuple(sorted(found, key=lambda impl: impl.sort_key))


def _compile(moment: str, raw: Any, index: int) -> Impl:
    """Check one of pluggy's implementations and make its positional adapter."""
    who = f"plugin {raw.plugin_name!r}, hook {raw.function.__qualname__!r}"
    if raw.wrapper or raw.hookwrapper:
        raise PluginDefinitionError(f"{who}: wrappers are not supported, for a hook may be async; use a phase before or after instead")
    mark = mark_of(raw.function)
    if mark is None:
        raise PluginDefinitionError(f"{who}: mark it with agentfp.plugin.hookimpl, not with pluggy's own marker")
    if raw.kwargnames:
        raise PluginDefinitionError(f"{who}: argument {raw.kwargnames[0]!r} has a default and would never be passed; leave the default out")
    allowed = ARGUMENTS[moment, mark.per]
    wrong = [name for name in raw.argnames if name not in allowed]
    if wrong:
        raise PluginDefinitionError(f"{who} with per={mark.per!r} takes {', '.join(map(repr, wrong))}; it may take {', '.join(allowed)}")
    function_is_async = is_async(raw.function)
    if function_is_async and moment in SYNC_ONLY:
        raise PluginDefinitionError(f"{who}: {moment!r} runs while the agent is built and cannot be async")
    phases = PHASES.get(moment, ("",))
    return Impl(
        plugin=raw.plugin_name,
        moment=moment,
        phase=mark.phase,
        per=mark.per,
        call=_adapter(raw.function, tuple(raw.argnames), allowed),
        is_async=function_is_async,
        on_error=ON_ERROR.get((moment, mark.phase), "run-failed"),
        sort_key=(phases.index(mark.phase), index, mark.order),
    )


def _adapter(function: Callable[..., Any], taken: Sequence[str], passed: Sequence[str]) -> Callable[..., Any]:
    """A function of all the moment's arguments that hands on those which the implementation takes.

    Compiled, for it is called for each plugin at each moment of each iteration; the names are the spec's own.
    """
    if tuple(taken) == tuple(passed):
        return function
    adapter: Callable[..., Any] = eval(f"lambda {', '.join(passed)}: function({', '.join(taken)})", {"function": function})
    return adapter
