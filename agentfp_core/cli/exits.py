"""What the command line's exit codes mean, and the one exception with which a command ends with one of them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class Code(IntEnum):
    """An exit code."""

    OK = 0
    NEGATIVE = 1
    USAGE = 2
    MISSING = 3
    PAUSED = 4
    FAILED = 5
    INTERRUPTED = 130
    CLOSED_PIPE = 141


MEANINGS: Mapping[Code, str] = {
    Code.OK: "done",
    Code.NEGATIVE: "the command's own negative result: problems were found, a limit ended the run before an answer, or its recording "
    "could not be written",
    Code.USAGE: "the command line or the configuration is wrong",
    Code.MISSING: "something is not installed; the message says what to install",
    Code.PAUSED: "the run is paused and needs an answer",
    Code.FAILED: "the run failed or was refused",
    Code.INTERRUPTED: "interrupted by Ctrl-C",
    Code.CLOSED_PIPE: "who read the output went away",
}
"""Shown at the end of ``agentfp --help``."""


class CommandError(Exception):
    """Ends a command: the text goes to stderr, the code to the caller.

    Args:
        text: what happened and what to do; empty when everything is said.
        code: the exit code.
    """

    def __init__(self, text: str, code: Code = Code.USAGE) -> None:
        self.code = code
        super().__init__(text)


def leave(code: Code) -> None:
    """End a command whose result is all told.

    Raises:
        CommandError: unless the code is 0.
    """
    if code is not Code.OK:
        raise CommandError("", code)
