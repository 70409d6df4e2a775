"""What plugins see and contribute while an agent is built."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from agentfp_core.errors import AgentfpError, ConfigError, ReservedArgumentError, ToolNameError
from agentfp_core.limits import Limits
from agentfp_core.sisters import to_install
from agentfp_core.tool_context import ToolContext
from agentfp_core.tools import Tool

if TYPE_CHECKING:
    from agentfp_core.limits import PriceTable
    from agentfp_core.plugins import Plugin, PluginSet
    from agentfp_core.replies import ReplyFilter
    from agentfp_core.run import Run

FilterFactory: TypeAlias = "Callable[[Run[Any]], ReplyFilter]"
CostWatch: TypeAlias = "Callable[[Run[Any]], None]"
ToolsCheck: TypeAlias = "Callable[[Mapping[str, Tool[..., Any]]], None]"
CapabilityFactory: TypeAlias = "Callable[[ToolContext[Any]], Any] | Callable[[ToolContext[Any], Run[Any]], Any]"


class Registry:
    """The agent in the making, as ``configure`` hooks see it. Every problem is reported, and all of them together.

    Attributes:
        name: the agent's name, or None.
        output_type: the type that its answers must have; None for text.
        limits: how far its runs may go, where a run says nothing else.
    """

    def __init__(self, name: str | None, plugins: PluginSet, output_type: Any = None, limits: Limits | None = None) -> None:
        self.name = name
        self.output_type = output_type
        self.limits = limits or Limits()
        self._plugins = plugins
        self._plugin = "kernel"
        self._tools: dict[str, tuple[Tool[..., Any], str]] = {}
        self._checks: list[tuple[str, ToolsCheck]] = []
        self._reserved: dict[str, str] = {}
        self.filters: list[tuple[str, FilterFactory]] = []
        self.capabilities: dict[str, Callable[[ToolContext[Any], Run[Any]], Any]] = {}
        self._capability_owner: dict[str, str] = {}
        self.problems: list[AgentfpError | str] = []
        self.prices: PriceTable | None = None
        self.price_needs: list[str] = []
        self.cost_watches: list[tuple[str, CostWatch]] = []

    # --- reading ---

    @property
    def tools(self) -> Mapping[str, Tool[..., Any]]:
        """The tools so far, by name; :meth:`when_complete` sees those of plugins further down the list too."""
        return {name: tool for name, (tool, _) in self._tools.items()}

    def owner_of(self, tool: str) -> str:
        """Who contributed a tool: ``app`` or a plugin's name."""
        return self._tools[tool][1]

    @property
    def plugins(self) -> Mapping[str, Plugin]:
        """The plugins that are on, by name; for asking whether one is, not for calling it."""
        return self._plugins.by_name

    # --- contributing ---

    def add_tool(self, tool: Any, *, deferred: bool = False) -> None:
        """Contribute a tool.

        Args:
            tool: a tool or a callable.
            deferred: keep it off the wire until a ``serve_context`` hook of this plugin adds it.
        """
        try:
            made = Tool.of(tool, deferred=True) if deferred else Tool.of(tool)
        except AgentfpError as error:
            self.problems.append(error)
            return
        self._take(made, self._plugin)

    def _take(self, tool: Tool[..., Any], owner: str) -> None:
        known = self._tools.get(tool.name)
        if known is None:
            self._tools[tool.name] = (tool, owner)
        elif known[0] is not tool and known[0].function is not tool.function:
            self.problems.append(
                ToolNameError(f"two tools are called {tool.name!r} (of {known[1]} and of {owner}); give one of them another name=...")
            )

    def add_capability(self, name: str, factory: CapabilityFactory) -> None:
        """Give the tool context an attribute.

        Args:
            name: its name: ``ctx.NAME``.
            factory: makes it for one call, when the call first reads it: of the context, or of the context and the run.
        """
        if not name.isidentifier() or name.startswith("_") or hasattr(ToolContext, name):
            self.problem(f"ctx.{name} cannot be provided: it is the tool context's own, or no name; take another")
            return
        if name in self.capabilities:
            self.problem(f"ctx.{name} is provided by plugin {self._capability_owner[name]!r} already")
            return
        self.capabilities[name] = _with_run(factory)
        self._capability_owner[name] = self._plugin

    def add_reply_filter(self, factory: FilterFactory) -> None:
        """Register a reply filter.

        Args:
            factory: makes a new filter for each reply.
        """
        self.filters.append((self._plugin, factory))

    def add_prices(self, table: PriceTable) -> None:
        """Say what the tokens of models cost; what ``prices=`` of the agent says of a model goes before it.

        Args:
            table: prices by model name, as for the agent.
        """
        if self.prices is not None:
            self.problem("another plugin states prices already; switch one of them off")
            return
        self.prices = table

    def need_prices(self, what: str) -> None:
        """Say that something works with what calls cost: an agent of whose models nobody knows a price is not built then.

        Where the model is given by its name, it is looked up and checked when the agent is first used.

        Args:
            what: what could never work, for the error, such as ``the budget``.
        """
        self.price_needs.append(f"plugin {self._plugin!r}: {what}")

    def watch_costs(self, watch: CostWatch) -> None:
        """Be called whenever a call of a model was billed to a run, priced or not, before anything is done with its reply.

        Args:
            watch: a function of the run; ``run.cost_usd`` is what the turn cost by then. It may emit events and ask for the end of the
                turn; one that raises is filed as a failure of the plugin.
        """
        self.cost_watches.append((self._plugin, watch))

    def when_complete(self, check: ToolsCheck) -> None:
        """Look at the tools once every plugin has contributed its own, wherever it stands in the list.

        Args:
            check: called with all tools by name, while the agent is built; it may report problems, and contributes nothing.
        """
        self._checks.append((self._plugin, check))

    def reserve_argument(self, name: str) -> None:
        """Claim an argument name that no tool may use, and no other plugin."""
        if self._reserved.setdefault(name, self._plugin) != self._plugin:
            self.problem(f"it reserves the argument {name!r}, which plugin {self._reserved[name]!r} reserves already")

    def problem(self, text: str) -> None:
        """Report something that keeps the agent from being built; other problems are looked for nevertheless."""
        self.problems.append(f"plugin {self._plugin!r}: {text}")

    # --- for the kernel ---

    def take_tools(self, tools: Iterable[Any]) -> None:
        """The application's tools."""
        for item in tools:
            try:
                self._take(Tool.of(item), "app")
            except AgentfpError as error:
                self.problems.append(error)

    def run_hooks(self) -> None:
        """Call every ``configure``."""
        for impl in self._plugins.table["configure"]:
            self._guarded(impl.plugin, partial(impl.call, self))
        tools = self.tools
        for plugin, check in self._checks:
            self._guarded(plugin, partial(check, tools))

    def _guarded(self, plugin: str, call: Callable[[], Any]) -> None:
        self._plugin = plugin
        try:
            call()
        except AgentfpError as error:
            self.problems.append(error)
        except Exception as error:
            self.problems.append(f"plugin {plugin!r} failed in configure with {type(error).__name__}: {error}")
        self._plugin = "kernel"

    def check(self) -> None:
        """Look for declarations of plugins that are off, and for arguments with reserved names.

        Raises:
            AgentfpError: with all problems; of its own class when there is only one.
        """
        for tool, _ in self._tools.values():
            for parameter, declarations in tool.declarations.items():
                for declaration in declarations:
                    if declaration.plugin not in self._plugins.by_name:
                        self.problems.append(_missing_plugin(tool.name, parameter, type(declaration).__name__, declaration.plugin))
            for parameter in tool.parameters:
                owner = self._reserved.get(parameter)
                if owner is not None:
                    self.problems.append(
                        ReservedArgumentError(
                            f"tool {tool.name!r} has a parameter {parameter!r}, which plugin {owner!r} reserves; rename it"
                        )
                    )
        raise_problems(self.problems)


def _missing_plugin(tool: str, parameter: str, declaration: str, plugin: str) -> str:
    return (
        f"tool {tool!r}, parameter {parameter!r}: {declaration} is read by plugin {plugin!r}, which is off. "
        f'Switch it on: {to_install(plugin)}, then plugins = ["{plugin}"] in the config file or plugins=[...] in code'
    )


def _with_run(factory: Any) -> Callable[[ToolContext[Any], Run[Any]], Any]:
    try:
        inspect.signature(factory).bind(None, None)
    except TypeError:
        return lambda context, _: factory(context)
    made: Callable[[ToolContext[Any], Run[Any]], Any] = factory
    return made


def raise_problems(problems: list[AgentfpError | str]) -> None:
    """Raise all problems together; a single error as it is.

    Raises:
        AgentfpError: when there is any.
    """
    if not problems:
        return
    if len(problems) == 1 and isinstance(problems[0], AgentfpError):
        raise problems[0]
    texts: list[str] = []
    for problem in problems:
        texts += problem.problems if isinstance(problem, ConfigError) else (str(problem),)
    causes = [problem for problem in problems if isinstance(problem, AgentfpError)]
    raise ConfigError(texts) from (causes[0] if causes else None)
