"""Opens the recording that a command is about, and says on stderr what is not whole about it."""

from __future__ import annotations

from pathlib import Path

from agentfp import RecordError
from agentfp.commands import CommandError, note, recording_in
from agentfp_recording.reading import RecordingFile


def opened(path: Path) -> RecordingFile:
    """A recording; of a folder the newest one in it.

    Raises:
        CommandError: there is nothing of a record in the file, or no recording in the folder.
    """
    path = recording_in(path)
    try:
        file = RecordingFile(path)
    except RecordError as error:
        raise CommandError(f"{path}: {error}") from error
    if file.file.torn_line is not None:
        note(f"{path}: the last line ({file.file.torn_line}) is torn and left out", "yellow")
    if file.file.problem is not None:
        note(f"{path}: {file.file.problem}; what can be read of it is read", "yellow")
    for gap in file.gaps:
        note(f"{path}: {gap.count} events from {gap.first_seq} to {gap.last_seq} are missing: {gap.why}", "yellow")
    return file
