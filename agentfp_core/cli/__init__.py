"""The command line: ``agentfp``, or ``python -m agentfp``. Each command is a module; nothing else of the library imports these.

``exits`` says what the exit codes mean, ``app`` knows the commands, ``errors`` how an error is shown and with which code it ends.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        argv: the arguments; those of the process when None.

    Returns:
        The exit code; see ``exits``.
    """
    from agentfp_core.cli.entry import run

    return run(argv)
