"""From an agent's table to the arguments of ``Agent``: every value looked up, imported or made, every problem kept with its place."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from agentfp_core.config.agents import source_of
from agentfp_core.config.config import Check, Config, distinct
from agentfp_core.config.imports import ImportPathError, resolve, resolve_tools
from agentfp_core.config.layers import spell
from agentfp_core.config.models import ModelChoice
from agentfp_core.config.origin import OVERRIDE, Origin, Problem
from agentfp_core.config.positions import Path
from agentfp_core.config.settings import Lookup, plain_values
from agentfp_core.config.switching import Switchboard
from agentfp_core.config.tables import PASSED
from agentfp_core.errors import AgentfpError, ConfigError, nearest
from agentfp_core.limits import Limits
from agentfp_core.listeners import Listeners
from agentfp_core.model import ModelSettings
from agentfp_core.prices import Prices
from agentfp_core.redaction import RedactionPolicy
from agentfp_core.tool_sources import ToolSource
from agentfp_core.tools import Tool

if TYPE_CHECKING:
    from agentfp_core.discovery import PluginReport

log = logging.getLogger("agentfp.config")
IMPORTED = ("deps_type", "output_type", "output_fallback", "index")


class Assembly:
    """The arguments of one agent in the making.

    Args:
        config: the configuration.
        agent: the agent's name.
        overrides: arguments that take the place of the file's.
        make: whether models with settings are made; else everything is checked that needs no secret.
    """

    def __init__(self, config: Config, agent: str, overrides: Mapping[str, Any], *, make: bool) -> None:
        self.tree, self.path = config.table(agent)
        self.arguments: dict[str, Any] = {}
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self.reports: tuple[PluginReport, ...] = ()
        self._config = config
        self._name = agent
        self._overrides = overrides
        self._make = make
        self._causes: list[BaseException] = []
        self._lookup = Lookup(config.environ, set(config.tree.secrets))

    # --- reading ---

    def _at(self, *keys: str | int) -> Path:
        return (*self.path, *keys)

    def _value(self, key: str) -> Any:
        """The file's value; None where code says something else."""
        return None if key in self._overrides else self.tree.get(self._at(key))

    def _wrong(self, path: Path, text: str, cause: BaseException | None = None) -> None:
        self.problems.append(Problem(self.tree.origin(path), text))
        if cause is not None:
            self._causes.append(cause)

    def _spell(self, path: Path) -> str:
        """A path in words, as it stands in the table that the value was taken from."""
        return spell(source_of(self._config.tree, self.tree, self._name, path))

    # --- the steps ---

    def assemble(self) -> None:
        """All of them; none stops the others."""
        for key in PASSED:
            if self._value(key) is not None:
                self.arguments[key] = self._value(key)
        if self.path[0] == "agents":
            self.arguments.setdefault("name", self._name)
        self._import_objects()
        self._import_tools()
        self._import_listeners()
        self._read_instructions()
        self._build("limits", self._limits)
        self._build("model_settings", self._model_settings)
        self._build("prices", self._prices)
        self._build("redact", self._redact)
        self._switch_plugins()
        self._choose_model()
        self.arguments |= {k: v for k, v in self._overrides.items() if k != "model"}
        if self._lookup.values:
            self.arguments["secrets"] = (*self._overrides.get("secrets", ()), *sorted(self._lookup.values))
        missing = list(self._lookup.missing.values())
        (self.problems if self._make else self.notes).extend(missing)
        for found in (self.problems, self.notes):
            found[:] = [problem.masked(self._lookup.masked) for problem in found]

    def _import(self, path: Path, text: Any, how: Callable[[str], Any] = resolve) -> Any:
        if not isinstance(text, str):
            return None  # reported already
        try:
            return how(text)
        except ImportPathError as error:
            self._wrong(path, f"{self._spell(path)}: {error}", error.__cause__)
            return None

    def _import_objects(self) -> None:
        for key in IMPORTED:
            if self._value(key) is not None:
                found = self._import(self._at(key), self._value(key))
                if found is not None:
                    self.arguments[key] = found

    def _import_tools(self) -> None:
        listed = self._value("tools")
        if isinstance(listed, list):
            found = [tool for index, text in enumerate(listed) for tool in self._tools_of(self._at("tools", index), text)]
            self.arguments["tools"] = found

    def _tools_of(self, path: Path, text: Any) -> list[Any]:
        """The tools of an item of the list, each judged here, where its place is known."""
        made = []
        for tool in self._import(path, text, resolve_tools) or []:
            try:
                made.append(tool if isinstance(tool, ToolSource) else Tool.of(tool))
            except AgentfpError as error:
                self._wrong(path, f"{self._spell(path)}: {error}", error)
        return made

    def _import_listeners(self) -> None:
        given = self._value("listeners")
        table = {"*": given} if isinstance(given, list) else given
        if not isinstance(table, dict):
            return
        pairs = []
        for pattern, texts in table.items():
            for index, text in enumerate(texts if isinstance(texts, list) else [texts]):
                inner = (index,) if isinstance(given, list) else (pattern, index) if isinstance(texts, list) else (pattern,)
                path = self._at("listeners", *inner)
                found = self._import(path, text)
                if found is None:
                    continue
                try:
                    Listeners([(pattern, found)])
                except ConfigError as error:
                    self._wrong(path, f"{self._spell(path)}: {error}")
                pairs.append((pattern, found))
        self.arguments["listeners"] = pairs

    def _read_instructions(self) -> None:
        texts: list[str] = []
        if "instructions" in self._overrides:
            return
        files = self._value("instructions_file")
        for index, name in enumerate(files if isinstance(files, list) else [files]):
            path = self._at("instructions_file", *([index] if isinstance(files, list) else []))
            if not isinstance(name, str):
                continue
            where = self._config.path.parent / name
            try:
                texts.append(where.read_text("utf-8-sig").strip())
            except (OSError, ValueError) as error:
                said = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text, or no file can have such a name"
                self._wrong(path, f"{self._spell(path)}: {str(where)!r} cannot be read: {said}", error)
        given = self._value("instructions")
        texts += [text for text in (given if isinstance(given, list) else [given]) if isinstance(text, str)]
        if texts:
            self.arguments["instructions"] = texts

    # --- tables of the kernel's own types ---

    def _build(self, key: str, how: Callable[[dict[str, Any]], Any]) -> None:
        """Make an object of a table; its own checks come on top of those of types, which were made before."""
        table = self._value(key)
        if not isinstance(table, dict):
            return
        sound = {name: value for name, value in table.items() if self._sound(self._at(key, name))}
        if table and not sound:
            return
        try:
            self.arguments[key] = how(sound)
        except ConfigError as error:
            for text in error.problems:
                self._place(key, text)

    def _sound(self, path: Path) -> bool:
        """Whether nothing was wrong with a value's types and names."""
        depth = len(path)
        here = {origin for known, origin in self.tree.origins.items() if known[:depth] == path}
        return not any(problem.origin in here for problem in self._config.problems)

    def _place(self, key: str, text: str) -> None:
        """File a problem at the key it names: ``Limits.iterations must be ...``."""
        match = re.match(r"\w+\.(\w+)(?:\['?([^'\]]*)'?\])?", text)
        path = self._at(key)
        if match is not None and match[1] in self.tree.get(path):
            path = (*path, match[1])
            if match[2] is not None and isinstance(self.tree.get(path), dict) and match[2] in self.tree.get(path):
                path = (*path, match[2])
            text = f"{self._spell(path)}{text[match.end() :]}"
        else:
            text = f"{self._spell(path)}: {text}"
        self._wrong(path, text)

    def _limits(self, table: dict[str, Any]) -> Limits:
        return Limits(**table)

    def _model_settings(self, table: dict[str, Any]) -> ModelSettings:
        extra = {key: plain_values(self.tree, self._at("model_settings", "extra", key), self._lookup) for key in table.get("extra", {})}
        return ModelSettings.of({**table, "extra": extra})

    def _prices(self, table: dict[str, Any]) -> dict[str, Prices]:
        made = {}
        for model, row in table.items():
            amounts: dict[str, Any] = {}
            for key, value in row.items():
                try:
                    amounts[key] = Decimal(str(value))
                except InvalidOperation:
                    self._wrong(self._at("prices", model, key), f"{self._spell(self._at('prices', model, key))} must be a number")
            made[model] = Prices(**amounts)
        return made

    def _redact(self, table: dict[str, Any]) -> RedactionPolicy:
        return RedactionPolicy(**table)

    # --- what is installed ---

    def _switch_plugins(self) -> None:
        if "plugins" in self._overrides:
            return
        board = Switchboard(self.tree, self.path, self._config.tree, self._lookup)
        board.switch()
        self.problems += board.problems
        self.notes += board.notes
        self._causes += board.causes
        self.reports = tuple([report.masked(self._lookup.masked) for report in board.discovery.reports])
        if board.made:
            self.arguments["plugins"] = board.made
        if board.discovery.problems:
            self.arguments["plugin_problems"] = board.discovery.problems

    def _choose_model(self) -> None:
        given = self._overrides.get("model")
        if given is not None and not isinstance(given, str):
            self.arguments["model"] = given
            return
        text = self.tree.get(self._at("model")) if given is None else given
        origin = self.tree.origin(self._at("model")) if given is None else OVERRIDE
        misspelt = difflib.get_close_matches("model", [key for key in self.tree.get(self.path) if key != "model_settings"])
        if text is None and not misspelt:
            self._wrong(self.path, f'{self._spell(self.path)} needs a model; write model = "provider:name"')
        if not isinstance(text, str):
            return
        choice = ModelChoice(self._config.tree, self._lookup)
        self.arguments["model"] = choice.find(text, origin, make=self._make)
        self.problems += choice.problems
        self._causes += choice.causes

    # --- the end ---

    def raise_problems(self, before: Iterable[Problem] = ()) -> None:
        """Raise all problems together.

        Raises:
            ConfigError: there is any.
        """
        problems = distinct([*before, *self.problems])
        if not problems:
            return
        harmless = [cause for cause in self._causes if self._lookup.masked(_all_text(cause)) == _all_text(cause)]
        raise ConfigError([str(problem) for problem in problems]) from (harmless[0] if harmless else None)

    def log(self, notes: Iterable[Problem]) -> None:
        """Tell what is odd; it stops nothing."""
        for note in (*notes, *self.notes):
            log.warning("%s", note)

    def refused(self, error: AgentfpError) -> list[Problem]:
        """What ``Agent`` itself says, at the place of the agent's table."""
        texts = error.problems if isinstance(error, ConfigError) else (str(error),)
        origin: Origin = self.tree.origin(self.path)
        return [Problem(origin, self._lookup.masked(f"{spell(self.path)}: {text}")) for text in texts]


def _all_text(error: BaseException | None) -> str:
    """All that a traceback of an error would say."""
    text = ""
    while error is not None:
        text += f"{error}\n"
        error = error.__cause__ or error.__context__
    return text


def assemble(config: Config, agent: str, overrides: Mapping[str, Any], *, make: bool = True) -> Assembly:
    """Assemble the arguments of an agent.

    Raises:
        ConfigError: an override is no argument of an agent.
    """
    unknown = [name for name in overrides if name not in arguments_of_agent()]
    if unknown:
        raise ConfigError([f"an agent has no {name!r}; {nearest(name, arguments_of_agent())}" for name in unknown])
    made = Assembly(config, agent, overrides, make=make)
    made.assemble()
    return made


def arguments_of_agent() -> dict[str, Any]:
    """The arguments of ``Agent`` with their defaults."""
    import inspect

    from agentfp_core.agent import Agent

    return {p.name: p.default for p in inspect.signature(Agent).parameters.values()}


def check(config: Config, agents: Iterable[str]) -> Check:
    """Look at some agents of a configuration as closely as can be without a secret."""
    problems, notes = [*config.problems], [*config.notes]
    reports: dict[str, PluginReport] = {}
    for agent in agents:
        made = assemble(config, agent, {}, make=False)
        if not made.problems and not config.problems and "model" in made.arguments:
            made.problems += _trial(made)
        problems += made.problems
        notes += made.notes
        reports |= {report.name: report for report in made.reports if report.state != "found" or report.name not in reports}
    return Check(distinct(problems), distinct(notes), tuple(reports.values()))


def _trial(made: Assembly) -> list[Problem]:
    """Build the agent, with a model that is never called, for what only that brings to light."""
    from agentfp_core.agent import Agent

    if made.notes:
        return []  # plugins are missing here that others may need
    try:
        Agent(**{**made.arguments, "model": "none:none"})
    except AgentfpError as error:
        return made.refused(error)
    return []


def build(cls: Callable[..., Any], config: Config, agent: str | None, overrides: Mapping[str, Any]) -> Any:
    """Build an agent.

    Args:
        cls: the class.
        config: the configuration.
        agent: which agent.
        overrides: arguments that take the place of the file's.

    Raises:
        ConfigError: with every problem of the file and of this agent.
    """
    try:
        made = assemble(config, config.agent_name(agent), overrides)
    except ConfigError as error:
        raise ConfigError([*map(str, config.problems), *error.problems]) from error
    made.raise_problems(config.problems)
    made.log(config.notes)
    try:
        return cls(**made.arguments)
    except AgentfpError as error:
        raise ConfigError([str(problem) for problem in made.refused(error)]) from error
