"""What an agent is made of: the arguments of its constructor, checked and put together once."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias
from weakref import WeakKeyDictionary

import anyio
from anyio.lowlevel import RunVar
from typing_extensions import TypeVar

from agentfp_core import defaults
from agentfp_core.billing import unmet_needs
from agentfp_core.clock import RandomIds, SystemClock
from agentfp_core.configure import Registry, raise_problems
from agentfp_core.conversations import MemoryIndex
from agentfp_core.errors import AgentfpError, ConfigError, describe_type, nearest
from agentfp_core.limits import Limits, unpriced
from agentfp_core.listeners import Listeners
from agentfp_core.model import Model, ModelSettings, resolve_model
from agentfp_core.output import OutputContract
from agentfp_core.patterns import misspelt
from agentfp_core.plugins import Plugin, PluginSet
from agentfp_core.sessions import SessionRegistry
from agentfp_core.thread_lane import ExportThread
from agentfp_core.tool_sources import split

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from agentfp_core.clock import Clock, Ids
    from agentfp_core.conversations import ConversationIndex
    from agentfp_core.delivery import DeliveryOptions
    from agentfp_core.limits import PriceTable
    from agentfp_core.listeners import ListenerSpec
    from agentfp_core.output import Strategy
    from agentfp_core.redaction import RedactionPolicy
    from agentfp_core.run import Run
    from agentfp_core.tools import Tool

Deps = TypeVar("Deps", default=None)
Out = TypeVar("Out", default=str)

Instruction: TypeAlias = "str | Callable[[Run[Any]], str | Awaitable[str | None] | None]"
_limiters: RunVar[WeakKeyDictionary[Blueprint[Any, Any], anyio.CapacityLimiter]] = RunVar("agentfp thread limiters")
"""Of each event loop, the limiters of the agents that live; one of an agent that is gone goes with it."""
CONTEXT_BUDGET: Mapping[str, int] = {"system": 4_000, "messages": 10_000, "tools": 2_000}


class Blueprint(Generic[Deps, Out]):
    """The parts of an agent; :class:`agentfp.Agent` adds the ways to run it. The arguments are described there."""

    def __init__(
        self,
        model: Model | str,
        *,
        name: str | None = None,
        deps_type: type[Deps] | None = None,
        output_type: TypeForm[Out] = str,  # type: ignore[assignment]
        output_retries: int = 1,
        output_strategy: Strategy = "auto",
        output_fallback: Callable[..., Any] | None = None,
        output_canned: Any = None,
        tools: Iterable[Any] = (),
        instructions: Instruction | Sequence[Instruction] = (),
        plugins: Iterable[Plugin] = (),
        limits: Limits | None = None,
        model_settings: ModelSettings | Mapping[str, Any] | None = None,
        prices: PriceTable | None = None,
        listeners: ListenerSpec = None,
        redact: RedactionPolicy | None = None,
        stream: str | None = None,
        tool_concurrency: int = 8,
        tool_threads: int = 40,
        argument_validation: str = "enforce",
        repeated_call_note: bool = True,
        delivery: DeliveryOptions | None = None,
        context_budget: Mapping[str, int] | None = None,
        exclusive: bool = False,
        index: ConversationIndex | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        dev: bool = False,
        plugin_problems: Sequence[str] = (),
        secrets: Iterable[str] = (),
    ) -> None:
        if isinstance(instructions, str) or callable(instructions):
            instructions = (instructions,)
        _refuse_singles(tools=tools, plugins=plugins, instructions=instructions)
        tools, plugins = tuple(tools), tuple(plugins)
        listeners = tuple(listeners) if isinstance(listeners, Iterator) else listeners
        self._given = {key: value for key, value in locals().items() if key not in ("self", "__class__")}
        problems: list[AgentfpError | str] = []
        self._model = model
        self._resolved: list[Model] = []
        self.name = name
        self.agent_id = name or "agent"
        self.deps_type: Any = deps_type
        self.needs_deps = isinstance(deps_type, type) and deps_type not in (object, type(None))
        self.limits = limits or Limits()
        self.prices = prices
        self.listeners = listeners
        self.tool_concurrency = tool_concurrency
        self.argument_validation = argument_validation
        self.repeated_call_note = repeated_call_note
        self.exclusive = exclusive
        self.index: ConversationIndex = index or (MemoryIndex() if ids is not None else defaults.index())
        self.clock: Clock = clock or SystemClock()
        self.ids: Ids = ids or RandomIds()
        self.dev = dev or defaults.current().dev
        self.plugin_problems = tuple(plugin_problems)
        self.secrets = frozenset(value for value in secrets if len(value) >= 4)
        self.delivery = delivery
        self.export_thread = ExportThread()
        self.sessions = SessionRegistry(clock=lambda: self.clock.monotonic_ns() / 1e9)
        self._tool_threads = tool_threads
        self.context_budget = (
            dict(CONTEXT_BUDGET) if context_budget is None else {**(CONTEXT_BUDGET if context_budget else {}), **context_budget}
        )
        self.instructions: tuple[Instruction, ...] = tuple(instructions)
        self.model_settings = ModelSettings()
        self.output: OutputContract[Any] | None = None
        self._check(problems, stream)
        try:
            self.model_settings = ModelSettings.of(model_settings)
        except ConfigError as error:
            problems.append(error)
        try:
            self.output = _contract(output_type, output_retries, output_strategy, output_fallback, output_canned)
        except ConfigError as error:
            problems.append(error)
        try:
            Listeners(listeners)
        except ConfigError as error:
            problems.append(error)
        try:
            self.plugin_set = PluginSet([*defaults.current().plugins, *plugins])
        except ConfigError as error:
            _refuse([*problems, error], tools)
        if os.environ.get("AGENTFP_REQUIRE_PLUGINS"):
            from agentfp_core.discovery import missing_required

            problems += missing_required(self.plugin_set.by_name)
        if listeners is not None or any(plugin.memo_events for plugin in self.plugin_set.plugins):
            problems += _misspelt(listeners, self.plugin_set)
        plain, self.tool_sources = split(tools)
        nameless = [type(source).__name__ for source in self.tool_sources if not isinstance(getattr(source, "name", None), str)]
        problems += [f"tool source {name} needs a name, which messages call it by; set it in the class" for name in nameless]
        output_type_of_answers = None if self.output is None else self.output.output_type
        registry = Registry(name, self.plugin_set, output_type_of_answers, limits if isinstance(limits, Limits) else None)
        registry.problems = problems
        registry.take_tools(plain)
        registry.run_hooks()
        self.price_tables = tuple(table for table in (prices, registry.prices) if table is not None)
        self.price_needs = tuple(registry.price_needs)
        self.cost_watches = tuple(registry.cost_watches)
        problems += _unpriced(model, self.limits, self.price_tables)
        problems += unmet_needs(self.price_needs, model, self.price_tables) if isinstance(model, Model) else []
        self.tools: Mapping[str, Tool[..., Any]] = registry.tools
        self.redact = _policy(redact, self.tools.values(), problems)
        self.capabilities = registry.capabilities
        self.reply_filters = tuple(registry.filters)
        approvals = bool(self.tool_sources) or any(tool.approval is not False for tool in self.tools.values())
        self.gate_plan = self.plugin_set.plan("before_tool", ("screen", "validate", "consent") if approvals else ("screen", "validate"))
        self.reading_plan = self.plugin_set.plan("after_result", ("cap", "note"))
        if self.output is not None and output_strategy == "tool" and (self.tools or self.tool_sources):
            problems.append("output_strategy='tool' does not go with tools, for the model must call the answer's own tool; choose 'auto'")
        registry.check()
        judges = {impl.plugin for impl in self.plugin_set.table["assess_answer"]}
        self.may_replace_answers = self.output is not None or any(self.plugin_set.by_name[name].may_change_answers for name in judges)
        self.stream_mode = stream or ("hold" if self.may_replace_answers else "live")

    def _check(self, problems: list[AgentfpError | str], stream: str | None) -> None:
        if not isinstance(self._model, str) and (isinstance(self._model, type) or not hasattr(self._model, "complete")):
            got = f"the class {self._model.__name__}" if isinstance(self._model, type) else f"a {type(self._model).__name__}"
            problems.append(f"model must be a model or 'provider:name', got {got}")
        if not isinstance(self.limits, Limits):
            problems.append(f"limits takes a Limits, got a {type(self.limits).__name__}; write Limits(iterations=...)")
        for option, value in (("tool_concurrency", self.tool_concurrency), ("tool_threads", self._tool_threads)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                problems.append(f"{option} must be a whole number from 1, got {value!r}")
        if stream not in (None, "hold", "live"):
            problems.append(f"stream must be 'hold' or 'live', got {stream!r}")
        if self.argument_validation not in ("enforce", "warn", "off"):
            problems.append(f"argument_validation must be 'enforce', 'warn' or 'off', got {self.argument_validation!r}")
        unknown = [slot for slot in self.context_budget if slot not in CONTEXT_BUDGET]
        problems += [f"context_budget has no slot {slot!r}; {nearest(slot, CONTEXT_BUDGET)}" for slot in unknown]
        for index, part in enumerate(self.instructions):
            if not isinstance(part, str) and not callable(part):
                problems.append(f"instructions[{index}] must be text or a function of the run, got a {type(part).__name__}")

    # --- parts ---

    @property
    def model(self) -> Model:
        """The model; a name is looked up at first use.

        Raises:
            ModelNotFoundError: no installed provider has it.
            ConfigError: a plugin needs to know what it costs, and nobody does.
        """
        if not self._resolved:
            model = resolve_model(self._model)
            if problems := unmet_needs(self.price_needs, model, self.price_tables):
                raise ConfigError(problems)
            self._resolved.append(model)
        return self._resolved[0]

    def thread_limiter(self) -> anyio.CapacityLimiter:
        """The limiter of this agent's worker threads in the running event loop."""
        try:
            limiters = _limiters.get()
        except LookupError:
            limiters = WeakKeyDictionary()
            _limiters.set(limiters)
        limiter = limiters.get(self)
        if limiter is None:
            limiter = limiters[self] = anyio.CapacityLimiter(self._tool_threads)
        return limiter


def _refuse_singles(**given: Any) -> None:
    """One thing where a list of them belongs, which a person easily writes."""
    single = {name: value for name, value in given.items() if isinstance(value, str) or not isinstance(value, Iterable)}
    if single:
        raise ConfigError([f"{name} takes a list, got {describe_type(value)}; write {name}=[...]" for name, value in single.items()])


def _refuse(problems: list[AgentfpError | str], tools: Iterable[Any]) -> None:
    """Raise the problems of plugins together with those of the tools, which can be told without them."""
    registry = Registry(None, PluginSet(()))
    registry.problems = problems
    registry.take_tools(split(tuple(tools))[0])
    raise_problems(problems)


def _policy(given: RedactionPolicy | None, tools: Iterable[Tool[..., Any]], problems: list[AgentfpError | str]) -> RedactionPolicy | None:
    """What is masked: what the agent's policy names, and the arguments that tools say must not show."""
    if given is not None and not hasattr(given, "joined"):
        problems.append(f"redact takes a RedactionPolicy, got {describe_type(given)}")
        return None
    hidden = {name for tool in tools for name in tool.redact}
    if not hidden:
        return given
    from agentfp_core.redaction import RedactionPolicy

    return RedactionPolicy(keys=hidden).joined(given)


def _unpriced(model: Any, limits: Any, tables: Sequence[PriceTable]) -> list[AgentfpError | str]:
    """A limit in dollars, on a model at hand whose prices nobody states."""
    if not isinstance(limits, Limits) or limits.usd is None or tables or not isinstance(model, Model):
        return []
    return [unpriced(model.name)] if model.features.prices is None else []


def _misspelt(listeners: ListenerSpec, plugins: PluginSet) -> list[AgentfpError | str]:
    """Patterns of events that can never come: of listeners, and of plugins' memos."""
    from agentfp_core.events.catalog import CATALOG

    names = {*CATALOG, *(kind.event_name for plugin in plugins.plugins for kind in plugin.events)}
    found: list[AgentfpError | str] = []
    try:
        patterns = Listeners(listeners).patterns
    except ConfigError:
        patterns = ()
    found += [f"listeners: {wrong}" for pattern in patterns if (wrong := misspelt(pattern, names, domains=True))]
    found += [
        f"plugin {plugin.name!r}: memo_events: {wrong}"
        for plugin in plugins.plugins
        for pattern in plugin.memo_events
        if (wrong := misspelt(pattern, names, domains=False))
    ]
    return found


def _contract(output_type: Any, retries: int, strategy: Strategy, fallback: Any, canned: Any) -> OutputContract[Any] | None:
    if output_type is str:
        if fallback is not None or canned is not None:
            raise ConfigError("output_fallback and output_canned need an output_type; give one, or leave them out")
        return None
    return OutputContract(output_type, retries=retries, strategy=strategy, fallback=fallback, canned=canned)
