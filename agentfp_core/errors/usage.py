"""Mistakes of the developer, found while building or calling: nothing ran and nothing was billed."""

from __future__ import annotations

from collections.abc import Sequence

from agentfp_core.errors.base import AgentfpError


class UsageError(AgentfpError):
    """The library was called in a way that cannot work; nothing ran and nothing was billed."""

    code = "ERR_USAGE"


class ConfigError(UsageError, ValueError):
    """A setting or a combination of settings is refused. ``problems`` lists every one of them."""

    code = "ERR_CONFIG"

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        if len(self.problems) == 1:
            text = self.problems[0]
        else:
            listed = "\n".join(f"  {index}. {problem}" for index, problem in enumerate(self.problems, 1))
            text = f"{len(self.problems)} problems:\n{listed}"
        super().__init__(text)


class LimitsError(ConfigError):
    """A limit has a value that cannot be a limit."""

    code = "ERR_LIMITS"


class ToolNameError(ConfigError):
    """A tool's name cannot stand on the wire, or two tools claim the same one."""

    code = "ERR_TOOL_NAME"


class ToolSchemaError(ConfigError):
    """No argument schema can be made of a tool's signature."""

    code = "ERR_TOOL_SCHEMA"


class ReservedArgumentError(ConfigError):
    """A tool uses an argument name that a plugin reserves."""

    code = "ERR_RESERVED_ARGUMENT"


class InvalidRunInputError(UsageError, TypeError):
    """The message handed to a run is not one. ``received`` describes its type, never its value."""

    code = "ERR_INVALID_RUN_INPUT"

    def __init__(self, runner: str, received: str) -> None:
        self.runner = runner
        self.received = received
        super().__init__(f"{runner} takes a non-empty text (or a list of parts) as its message, got {received}")


class UnknownOptionError(UsageError, TypeError):
    """An option that no plugin and no part of the kernel knows."""

    code = "ERR_UNKNOWN_OPTION"


class RunningLoopError(UsageError, RuntimeError):
    """A ``*_sync`` method was called inside a running event loop."""

    code = "ERR_RUNNING_LOOP"

    def __init__(self, method: str, instead: str) -> None:
        super().__init__(f"{method} cannot be called inside a running event loop; use `{instead}` there")


class CapabilityMissingError(UsageError, AttributeError):
    """A tool asked its context for something that only a plugin provides, and that plugin is not on."""

    code = "ERR_CAPABILITY_MISSING"
