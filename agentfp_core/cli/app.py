"""The command line as a whole: its commands, each imported when it is used, and what they all share."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from agentfp_core.cli.exits import MEANINGS
from agentfp_core.cli.extension import NOT_INSTALLED, extension, found_commands, not_installed
from agentfp_core.entrypoints import Entry

BUILT_IN: Mapping[str, str] = {
    "init": "agentfp_core.cli.init",
    "run": "agentfp_core.cli.run",
    "chat": "agentfp_core.cli.chat",
    "steps": "agentfp_core.cli.steps",
    "tools": "agentfp_core.cli.tools",
    "config": "agentfp_core.cli.config",
    "plugins": "agentfp_core.cli.plugins",
    "doctor": "agentfp_core.cli.doctor",
    "new-plugin": "agentfp_core.cli.new_plugin",
}
"""The kernel's own commands: the module whose ``app`` each is."""


_FIRST = re.compile(r"(?<=[.])\s+(?=[A-Z-])|\n\s*\n")


class Commands(TyperGroup):
    """The group of all commands: the kernel's own, those of other distributions, and those that could be installed."""

    @cached_property
    def found(self) -> Mapping[str, tuple[Entry, ...]]:
        """The commands that other distributions bring; looked up once a command line."""
        return found_commands()

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Their names; nothing is imported."""
        return list(dict.fromkeys([*BUILT_IN, *sorted({*self.found, *NOT_INSTALLED})]))

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """One of them, imported now."""
        if cmd_name in BUILT_IN:
            command = typer.main.get_command(importlib.import_module(BUILT_IN[cmd_name]).app)
            command.name = cmd_name
            _keep_stdout(command)
        elif cmd_name in self.found:
            command = extension(cmd_name, self.found[cmd_name])
        elif cmd_name in NOT_INSTALLED:
            command = not_installed(cmd_name)
        else:
            return None
        _set_help(command, ctx)
        return command

    def get_params(self, ctx: Any) -> Any:
        """The options of ``agentfp`` itself."""
        return _without_types_of_flags(super().get_params(ctx))

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """The command that is meant."""
        self.commands: Any = dict.fromkeys(self.list_commands(ctx))  # what a wrong name is compared with
        return super().resolve_command(ctx, args)


def _markup() -> Literal["rich"] | None:
    return "rich" if sys.stdout.isatty() else None


def _set_help(command: Any, ctx: typer.Context) -> None:
    """Plain help in a pipe, panels on a terminal; a list of commands has the first sentence of each."""
    command.rich_markup_mode = _markup()
    command.short_help = command.short_help or _FIRST.split((command.help or "").strip(), maxsplit=1)[0].replace("\n", " ")
    _without_types_of_flags(command.get_params(ctx))
    for inner in getattr(command, "commands", {}).values():
        _set_help(inner, ctx)


def _without_types_of_flags(params: Any) -> Any:
    """Flags, of which a terminal would be told that they take a value."""
    for param in params:
        if getattr(param, "is_bool_flag", False) and hasattr(param, "display_type_rich"):
            param.metavar = ""
    return params


def _keep_stdout(command: Any) -> None:
    """Let nobody but the command write its results; its help is its own in any case."""
    from agentfp_core.cli.output import results_only

    if command.callback is not None:
        command.callback = results_only()(command.callback)
    for inner in getattr(command, "commands", {}).values():
        _keep_stdout(inner)


def _version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        print(f"agentfp {importlib.metadata.version('agentfp')}")
        raise typer.Exit


def make_app() -> typer.Typer:
    """The app."""
    codes = "\n\n".join(f"{code.value:>3}  {text}" for code, text in MEANINGS.items())
    app = typer.Typer(
        cls=Commands,
        help="Agents whose answers can be checked.",
        epilog=f"Exit codes:\n\n{codes}",
        rich_markup_mode=_markup(),
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def root(
        debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
        version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
    ) -> None: ...

    app.callback()(root)
    return app
