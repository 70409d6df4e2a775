"""How long recordings are kept: the newest so many, so many days, so many bytes in all. Only files that are recordings are removed."""

from __future__ import annotations

import contextlib
import lzma
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from agentfp_recording.naming import PACKED, SUFFIX

BEGINNING = b'{"file":{"format":"agentfp.recording/'


def expire(folder: Path, *, keep: int | None, days: float | None, total_bytes: int | None, now: float | None = None) -> list[Path]:
    """Remove recordings that are beyond what is kept, the oldest first by the time of their last change.

    Args:
        folder: where they are, subfolders included.
        keep: how many may be there.
        days: how old they may be.
        total_bytes: how large they may be in all.
        now: seconds since 1970.

    Returns:
        What was removed.
    """
    found = sorted(_recordings(folder), key=lambda item: item[0], reverse=True)
    oldest = (time.time() if now is None else now) - days * 86_400 if days is not None else None
    removed, size = [], 0
    for index, (changed, length, path) in enumerate(found):
        size += length
        too_many = keep is not None and index >= keep
        too_old = oldest is not None and changed < oldest
        too_large = total_bytes is not None and size > total_bytes
        if too_many or too_old or too_large:
            with contextlib.suppress(OSError):
                path.unlink()
                removed.append(path)
    return removed


def _recordings(folder: Path) -> Iterator[tuple[float, int, Path]]:
    for where, _, names in os.walk(folder):
        for name in names:
            path = Path(where, name)
            if not name.endswith((SUFFIX, SUFFIX + PACKED)):
                continue
            with contextlib.suppress(OSError, EOFError, lzma.LZMAError), _opened(path) as file:
                if file.read(len(BEGINNING)) == BEGINNING:
                    found = path.stat()
                    yield found.st_mtime, found.st_size, path


def _opened(path: Path) -> IO[bytes]:
    return lzma.open(path) if path.name.endswith(PACKED) else path.open("rb")
