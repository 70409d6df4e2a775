"""Runs one command line: arguments in, exit code out, and every way in which a command can end."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer

from agentfp_core.cli.app import BUILT_IN, make_app
from agentfp_core.cli.errors import describe
from agentfp_core.cli.exits import Code, CommandError
from agentfp_core.cli.output import clean, note, styled

PROGRAM = "agentfp"
COMPLETION = "_AGENTFP_COMPLETE"
DEBUG = "AGENTFP_DEBUG"


def run(argv: Sequence[str] | None = None) -> int:
    """Run it; see ``agentfp_core.cli.main``."""
    _open_closed_streams()
    arguments, debug = _without_debug(list(sys.argv[1:] if argv is None else argv))
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    command: Any = typer.main.get_command(make_app())
    if COMPLETION in os.environ:
        command.main(arguments, prog_name=PROGRAM, complete_var=COMPLETION)
    try:
        code = _invoke(command, arguments, debug=debug)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()
        return Code.CLOSED_PIPE
    return code


def _open_closed_streams() -> None:
    """Who started us may have closed a stream, which Python then leaves out."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  # as long as the process


def _without_debug(arguments: list[str]) -> tuple[list[str], bool]:
    """``--debug`` may stand anywhere in a command of the kernel's own."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    own = _command_of(arguments) in BUILT_IN
    debug = "--debug" in arguments[:end] and (own or arguments[0] == "--debug")
    kept = [a for index, a in enumerate(arguments) if not (debug and own and a == "--debug" and index < end)]
    return kept, debug or os.environ.get(DEBUG, "") not in ("", "0")


def _command_of(arguments: Sequence[str]) -> str:
    return next((a for a in arguments if not a.startswith("-")), "")


def _invoke(command: Any, arguments: list[str], *, debug: bool) -> int:
    try:
        with command.make_context(PROGRAM, arguments) as context:
            command.invoke(context)
    except CommandError as error:
        if debug and error.__cause__ is not None:
            _show_traceback(error)
        if str(error):
            _show(str(error))
        return error.code
    except typer.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, EOFError, typer.Abort):
        print(file=sys.stderr)
        return Code.INTERRUPTED
    except BrokenPipeError:
        raise
    except SystemExit as error:
        if _command_of(arguments) not in BUILT_IN:
            raise  # a command of another distribution ends as it likes
        if debug:
            _show_traceback(error)
        _show(f"code of the agent, a plugin or the deps called sys.exit({error.code!r})")
        return Code.FAILED
    except Exception as error:
        if hasattr(error, "format_message"):  # the command line itself is wrong
            return _usage(error)
        if debug:
            _show_traceback(error)
        text, code = describe(error)
        _show("\n".join([text, *_broken_metadata(error)]))
        return code
    return Code.OK


def _broken_metadata(error: Exception) -> tuple[str, ...]:
    """Distributions whose metadata cannot be read, where an error comes from there: other libraries fall over them without a name."""
    import importlib.metadata
    import traceback

    from agentfp_core.entrypoints import installed

    frames = traceback.extract_tb(error.__traceback__)
    return installed().unreadable if any(frame.filename == importlib.metadata.__file__ for frame in frames) else ()


def _usage(error: Any) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        if context is not None:
            print(context.get_help())
        return Code.OK
    if context is not None:
        note(context.get_usage())
    said = error.format_message().replace("Value error, ", "").rstrip(".")
    see = " See" if said.endswith("?") else "; see"
    _show(said if context is None else f"{said}{see} {context.command_path} --help")
    return Code.USAGE


def _show(text: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(f"{styled('agentfp:', 'red', sys.stderr)} {clean(text)}", file=sys.stderr, flush=True)


def _show_traceback(error: BaseException) -> None:
    import traceback

    traceback.print_exception(error)


def _drop_stdout() -> None:
    """Nothing more can be written; keep the interpreter from trying when it ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
