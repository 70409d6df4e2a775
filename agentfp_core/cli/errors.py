"""How an error is shown on the command line, and with which exit code it ends."""

from __future__ import annotations

import re

from agentfp_core.cli.exits import Code
from agentfp_core.errors import (
    AgentfpError,
    ConfigError,
    DecisionRequiredError,
    InputRequestError,
    ModelNotFoundError,
    PauseAnswerRequiredError,
    RecordError,
    RunCheckpointError,
    StaleDecisionError,
    ToolError,
    UsageError,
)

_NOT_THERE = re.compile(r"no installed (?:plugin|provider) is called|nothing installed brings")
_WRONG_ANSWERS = (InputRequestError, DecisionRequiredError, PauseAnswerRequiredError, StaleDecisionError)


def describe(error: BaseException) -> tuple[str, Code]:
    """What to say of an error, and the exit code.

    Args:
        error: whatever a command raised.
    """
    code = code_of(error)
    if isinstance(error, RunCheckpointError) and error.__cause__ is not None:
        return f"the run failed in iteration {error.iteration} ({error.stage or error.phase}): {words(error.__cause__)}", code
    return words(error), code


def words(error: BaseException) -> str:
    """The message of an error of the library; of another one its type too."""
    if isinstance(error, ToolError) and error.detail:
        return error.detail  # its message is for the model, and whoever types a command can do more about it
    said = str(error).strip()
    if isinstance(error, AgentfpError):
        return said
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def code_of(error: BaseException) -> Code:
    """The exit code of an error."""
    if isinstance(error, ModelNotFoundError):
        return Code.USAGE if error.__cause__ is not None else Code.MISSING  # with a cause it is there, and broken
    if only_missing(error):
        return Code.MISSING
    if isinstance(error, (UsageError, RecordError, *_WRONG_ANSWERS)):
        return Code.USAGE
    if isinstance(error, OSError) and not isinstance(error, AgentfpError):  # a file; a run that took too long is a TimeoutError
        return Code.USAGE
    return Code.FAILED


def only_missing(error: BaseException) -> bool:
    """Whether all that is wrong with a configuration is that something is not installed."""
    return isinstance(error, ConfigError) and all(_NOT_THERE.search(problem) for problem in error.problems)
