"""Reads files of JSON lines back, whatever became of single lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class EventReader:
    """Goes over the events of a file, and counts the lines that are none.

    Args:
        path: the file.

    Attributes:
        broken: lines up to now that cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self.broken = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.broken = 0
        with self._path.open("rb") as file:
            for line in file:
                try:
                    data = json.loads(line)
                except ValueError:
                    self.broken += bool(line.strip())
                    continue
                if isinstance(data, dict) and isinstance(data.get("type"), str):
                    yield data
                else:
                    self.broken += 1


def read_events(path: str | Path) -> EventReader:
    """The events of a file of JSON lines, one after the other.

    Args:
        path: the file.

    Returns:
        What goes over them, as often as you like; its ``broken`` counts the lines that cannot be read.

    Raises:
        OSError: when it is gone over, and there is no such file.
    """
    return EventReader(path)
