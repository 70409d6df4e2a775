"""Which recording a folder stands for, on the command line."""

from __future__ import annotations

from pathlib import Path

from agentfp_core.cli.exits import CommandError
from agentfp_core.cli.output import note, on_terminal

ENDINGS = (".jsonl", ".jsonl.xz", ".jsonl.gz")
_BEGINNINGS = (b'{"file":', b'{"agentfp":')


def recording_in(path: Path) -> Path:
    """A recording as it was named; of a folder the newest one in it, in folders of it too.

    Args:
        path: a file, which is not looked at, or a folder.

    Raises:
        CommandError: there is no recording in the folder.
    """
    if not path.is_dir():
        return path
    files = [file for file in path.rglob("*") if file.name.endswith(ENDINGS) and file.is_file()]
    for file in sorted(files, key=lambda file: (_changed(file), str(file)), reverse=True):
        if _is_recording(file):
            if on_terminal():
                note(f"{file}, the newest in {path}:", "dim")
            return file
    raise CommandError(f"there is no recording in the folder {str(path)!r}; recordings end in {', '.join(ENDINGS)}")


def _changed(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:  # removed just now
        return 0


def _is_recording(file: Path) -> bool:
    """Whether a file begins like one; logs and transcripts have the same ending."""
    from agentfp_core.record_file import open_lines

    try:
        with open_lines(file) as lines:
            return lines.read(16).startswith(_BEGINNINGS)
    except Exception:  # it cannot be read, or unpacked
        return False
