"""Commands that other distributions bring through ``agentfp.commands``, each in its own guard, and those that are not installed.

An entry point is a typer app or a function. It is imported when the command is used, and when ``--help`` tells of it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from agentfp_core.cli.exits import Code, CommandError
from agentfp_core.entrypoints import COMMANDS_GROUP, Entry, installed, load, the_one
from agentfp_core.errors import PluginLoadError

NOT_INSTALLED: Mapping[str, tuple[str, str]] = {
    "audit": ("Check audit logs offline, or show what is in them.", 'pip install "agentfp[audit]"'),
    "check": ("Judge the answers of any agent's transcript.", 'pip install "agentfp[check]"'),
    "check-semantics": ("Check that samples of tools' results are described as they have to be.", 'pip install "agentfp[answer]"'),
    "cost": ("Say what recorded runs cost.", 'pip install "agentfp[cost]"'),
    "diff": ("Compare two runs: the first step that differs.", 'pip install "agentfp[recording]"'),
    "mcp-serve": ("Serve an agent's tools to MCP clients.", 'pip install "agentfp[mcp]"'),
    "tell": ("Tell what happened in a run, in sentences.", 'pip install "agentfp[recording]"'),
    "trust": ("Show who decided what at the security boundaries of a run.", 'pip install "agentfp[trust]"'),
    "verify": ("Check that a recording is what was written.", 'pip install "agentfp[recording]"'),
    "view": ("Look at a run in the browser.", 'pip install "agentfp[view]"'),
}
"""Commands of sister distributions: what they do, and what installs them."""
_COMPLETION = ("install_completion", "show_completion")


def found_commands() -> Mapping[str, tuple[Entry, ...]]:
    """The commands that are installed; nothing is imported."""
    return installed(COMMANDS_GROUP).group(COMMANDS_GROUP)


def extension(name: str, entries: Sequence[Entry]) -> Any:
    """The command of an entry point; in place of one that is broken, a command that says so."""
    try:
        return _load(name, entries)
    except PluginLoadError as error:
        text = f"the command {name!r} of {entries[0].origin} cannot be used: {error}"
        return _stub(name, f"Failed: {error}", text)


def load_extension(name: str, entries: Sequence[Entry]) -> None:
    """Import a command.

    Raises:
        PluginLoadError: names distribution, version and cause.
    """
    _load(name, entries)


def _load(name: str, entries: Sequence[Entry]) -> Any:
    entry = the_one(name, entries)
    with contextlib.redirect_stdout(sys.stderr):  # what a module prints while it is imported is no data
        made = load(entry)
    try:
        command = _command_of(made)
    except (Exception, SystemExit) as error:  # a signature that typer cannot read
        raise PluginLoadError(f"{entry.value!r} of {entry.origin} is no command: {type(error).__name__}: {error}", entry=entry) from error
    if command is None:
        msg = f"{entry.value!r} of {entry.origin} must be a typer app or a function, got a {type(made).__name__}"
        raise PluginLoadError(msg, entry=entry)
    command.name = name
    return command


def _command_of(made: Any) -> Any:
    if isinstance(made, typer.Typer):
        command = typer.main.get_command(made)
        command.params = [p for p in command.params if p.name not in _COMPLETION]
        return command
    if hasattr(made, "make_context") and hasattr(made, "invoke"):
        return made  # what typer makes of an app
    if isinstance(made, type) or not callable(made):
        return None
    app = typer.Typer(add_completion=False)
    app.command()(made)
    return typer.main.get_command(app)


def not_installed(name: str) -> Any:
    """A command that says what installs it."""
    does, install = NOT_INSTALLED[name]
    return _stub(name, f"{does} Not installed: {install}", f"the command {name!r} is not installed; {install}")


def _stub(name: str, help_text: str, said: str) -> Any:
    if sys.stdout.isatty():
        from rich.markup import escape

        help_text = escape(help_text)
    app = typer.Typer(add_completion=False)

    def run() -> None:
        raise CommandError(said, Code.MISSING)

    loose = {"ignore_unknown_options": True, "allow_extra_args": True}
    app.command(name, help=help_text, short_help=help_text, context_settings=loose)(run)
    return typer.main.get_command(app)
