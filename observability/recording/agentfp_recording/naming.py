"""Which file a leg of a run is recorded in: the pattern of the settings, filled with ids that are safe as names."""

from __future__ import annotations

import datetime
import re
import string
from pathlib import Path, PurePosixPath

from agentfp.plugin import SegmentHeader, nearest
from agentfp_recording.errors import UnsafeRecordingIdError

FIELDS = ("conversation", "run", "date")
SUFFIX = ".jsonl"
PACKED = ".xz"
"""After the name of a packed recording."""
_SAFE = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}")
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))})
"""Names that Windows keeps for devices, whatever follows after a dot."""


def check_pattern(pattern: str) -> str:
    """Check the pattern of file names.

    Raises:
        ValueError: it has unknown fields, no id in it, leads out of the folder, or has another ending.
    """
    try:
        parsed = [(name, spec, conversion) for _, name, spec, conversion in string.Formatter().parse(pattern) if name is not None]
    except ValueError as error:
        raise ValueError(f"it is no pattern: {error}") from error
    for name, spec, conversion in parsed:
        if name not in FIELDS:
            raise ValueError(f"it has a field {name!r}; {nearest(name, FIELDS)}")
        if spec or conversion:
            raise ValueError(f"the field {name!r} takes no format")
    if not {name for name, _, _ in parsed} & {"conversation", "run"}:
        raise ValueError("it needs {conversation} or {run}, or all recordings would go to one file")
    path = PurePosixPath(pattern)
    if path.is_absolute() or ".." in path.parts or "\\" in pattern or not path.name:
        raise ValueError("it must stay within the folder")
    if path.suffix != SUFFIX:
        raise ValueError(f"it must end in {SUFFIX}")
    return pattern


def safe_id(text: str) -> str:
    """An id that may be part of a file's name.

    Raises:
        UnsafeRecordingIdError: it may not, on some system: other letters than small ones, a separator, a device's name.
    """
    if _SAFE.fullmatch(text) is None or text.split(".")[0] in _DEVICES:
        raise UnsafeRecordingIdError(
            f"the id {text[:80]!r} cannot be part of a file's name; "
            "ids of recorded runs have up to 200 small letters, digits, '.', '_' and '-', and are no name of a device"
        )
    return text


def path_of(folder: Path, pattern: str, header: SegmentHeader) -> Path:
    """The file of a leg.

    Args:
        folder: where recordings are.
        pattern: see :func:`check_pattern`.
        header: of the leg. One of a nested run alone, whose outer run is not recorded here, goes to a file named by the run.

    Raises:
        UnsafeRecordingIdError: an id of it cannot be part of a name.
    """
    day = datetime.datetime.fromtimestamp(header.started_ns / 1e9, datetime.UTC).date().isoformat()
    run = safe_id(header.run_id)
    conversation = run if header.path else safe_id(header.root_id)
    return folder / pattern.format(conversation=conversation, run=run, date=day)
