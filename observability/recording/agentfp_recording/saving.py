"""Makes a recording of a run that was not recorded while it went on, and packs recordings that are finished."""

from __future__ import annotations

import lzma
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from agentfp import Record, RedactionPolicy
from agentfp.events import RunEnded
from agentfp.plugin import MemoSource, record_of
from agentfp_recording import envelope
from agentfp_recording.envelope import Checksum
from agentfp_recording.naming import PACKED, SUFFIX, safe_id

if TYPE_CHECKING:
    from typing import BinaryIO


def save_recording(source: MemoSource, folder: str | Path, *, policy: RedactionPolicy | None = None) -> Path:
    """Save a run as a recording, in one go: it is there whole or not at all.

    Args:
        source: a result, a record or a checkpoint.
        folder: where; a recording of the same conversation there is replaced.
        policy: what to mask besides the policy of the run and known secret values.

    Returns:
        The file.

    Raises:
        UnsafeRecordingIdError: the id of the conversation cannot be part of a file's name.
        OSError: it cannot be written.
    """
    record = record_of(source)
    path = Path(folder) / f"{safe_id(record.root_id)}{SUFFIX}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".saving-") as beside:
        plain, made = Path(beside, "plain"), Path(beside, "made")
        record.save(plain, policy=policy)
        with plain.open("rb") as lines, made.open("wb") as file:
            _wrap(record, lines, file)
            file.flush()
            os.fsync(file.fileno())
        made.chmod(0o600)
        made.replace(path)
    return path


def _wrap(record: Record, lines: BinaryIO, file: BinaryIO) -> None:
    """Write the lines of a record between what opens a recording and what seals it."""
    total, events = Checksum("", 0), 0
    ended = record.of(RunEnded)
    head = envelope.line_of(envelope.opening(record.run_id, "full", record.headers[-1].started_ns)) + "\n"
    file.write(head.encode())
    total.add(head.encode())
    for line in lines:
        events += line.startswith(b'{"seq":')
        file.write(line)
        total.add(line)
    status = ended[-1].status if ended else ""
    file.write((envelope.line_of(total.seal(record.run_id, status, events, 0)) + "\n").encode())


def pack_recording(path: str | Path) -> Path:
    """Pack a finished recording; what is said again and again takes next to no place then. All readers read it as it is.

    Nothing can be added to a packed recording: a later leg of the same conversation begins a new file.

    Args:
        path: the recording; it is removed when the packed one is whole.

    Returns:
        The packed file, ``.xz`` after its name; unpacked it is the same, byte for byte.

    Raises:
        OSError: it cannot be read or written; then it is there as before.
    """
    plain = Path(path)
    packed = plain.with_name(plain.name + PACKED)
    with tempfile.TemporaryDirectory(dir=plain.parent, prefix=".packing-") as beside:
        made = Path(beside, "made")
        with plain.open("rb") as source, lzma.open(made, "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        made.chmod(0o600)
        times = plain.stat()
        os.utime(made, ns=(times.st_atime_ns, times.st_mtime_ns))  # it is as old as before
        made.replace(packed)
    plain.unlink()
    return packed
