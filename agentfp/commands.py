"""The names for people who write commands: a typer app or a function, offered through the entry points ``agentfp.commands``."""

from agentfp_core.cli.exits import Code, CommandError, leave
from agentfp_core.cli.options import AgentName, ConfigFile, DepsPath, Json, ModelName, Overlay
from agentfp_core.cli.output import clean, console, data, interactive, note, on_terminal, one_line, out, say, shown, styled, table
from agentfp_core.cli.recordings import recording_in
from agentfp_core.cli.subject import deps_of, find_agent, open_config, optional_config, resolve

__all__ = [
    "AgentName",
    "Code",
    "CommandError",
    "ConfigFile",
    "DepsPath",
    "Json",
    "ModelName",
    "Overlay",
    "clean",
    "console",
    "data",
    "deps_of",
    "find_agent",
    "interactive",
    "leave",
    "note",
    "on_terminal",
    "one_line",
    "open_config",
    "optional_config",
    "out",
    "recording_in",
    "resolve",
    "say",
    "shown",
    "styled",
    "table",
]
