"""The runs that are shown: one file, or the recordings of a folder, each opened when somebody looks at it."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pydantic_core

from agentfp_viewer.foreign import open_any
from agentfp_viewer.lines import BLOCK
from agentfp_viewer.recording import Recording
from agentfp_viewer.words import excerpt

SUFFIXES = (".jsonl", ".ndjson", ".journal", ".jsonl.gz", ".jsonl.xz", ".json")
OPEN = 8
"""Recordings that are kept open at once."""
EDGE = 128 * 1024
"""Bytes at the begin and at the end of a file that are looked at for the list."""
MOST = 2_000


class Library:
    """Files to look at.

    Args:
        path: a recording, or a folder of them.
        opened: the recording, when it is one and was opened already.
    """

    def __init__(self, path: Path, opened: Recording | None = None) -> None:
        self.path = path
        self.is_folder = path.is_dir()
        self._opened: OrderedDict[str, Recording] = OrderedDict()
        self._lock = threading.Lock()
        self._summaries: dict[tuple[str, int, int], dict[str, Any]] = {}
        if opened is not None:
            self._opened[id_of(Path(path.name))] = opened

    def close(self) -> None:
        """Close what is open."""
        with self._lock:
            for recording in self._opened.values():
                recording.close()
            self._opened.clear()

    def files(self) -> dict[str, Path]:
        """The files by their ids, the newest first."""
        if not self.is_folder:
            return {id_of(Path(self.path.name)): self.path}
        found: list[tuple[float, Path]] = []
        for folder, folders, names in os.walk(self.path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in names:
                if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                    path = Path(folder, name)
                    try:
                        found.append((path.stat().st_mtime, path))
                    except OSError:
                        continue
        found.sort(key=lambda one: (-one[0], str(one[1])))
        return {id_of(path.relative_to(self.path)): path for _, path in found[:MOST]}

    def open(self, id: str) -> Recording:
        """A recording by its id.

        Raises:
            KeyError: there is none.
            OSError: its file cannot be read.
            NoRecordingError: its file is none.
        """
        with self._lock:
            recording = self._opened.get(id)
            if recording is not None:
                self._opened.move_to_end(id)
                return recording
            recording = open_any(self.files()[id])
            self._opened[id] = recording
            while len(self._opened) > OPEN:
                self._opened.popitem(last=False)  # closed when nobody reads from it any more
            return recording

    def list(self) -> list[dict[str, Any]]:
        """The files with what their edges tell of them, the newest first."""
        made = []
        for own, path in self.files().items():
            try:
                stat = path.stat()
                key = (str(path), stat.st_size, stat.st_mtime_ns)
                if key not in self._summaries:
                    self._summaries[key] = summary(path)
            except OSError:
                continue
            name = str(path.relative_to(self.path)) if self.is_folder else path.name
            made.append({"id": own, "name": name, "size": stat.st_size, "changed": stat.st_mtime, **self._summaries[key]})
        return made


def id_of(path: Path) -> str:
    """The id of a file in a folder."""
    return hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def summary(path: Path) -> dict[str, Any]:
    """What the begin and the end of a file tell: what was asked, how it ended, what it used.

    Raises:
        OSError: it cannot be read.
    """
    if path.suffix in (".gz", ".xz"):
        return {"recording": True}
    with path.open("rb") as file:
        first = file.read(EDGE)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - EDGE))
        last = file.read(EDGE) if size > EDGE else first
    made: dict[str, Any] = {"recording": b'"segment":{' in first[:4096] or b'"segment": {' in first[:4096]}
    for event in _events(first):
        data = event.get("data")
        if isinstance(data, Mapping) and event.get("name") == "agentfp.message.added" and data.get("author") == "person":
            made.setdefault("question", excerpt(data.get("content")))
        if isinstance(data, Mapping) and event.get("name") == "agentfp.agent.run_configured":
            made |= {"agent": data.get("agent_id"), "model": data.get("model")}
        if isinstance(event.get("segment"), Mapping):
            made.setdefault("started_ns", str(event["segment"].get("started_ns", "")))
    for event in _events(last[last.find(b"\n") + 1 :] if size > EDGE else last):
        data, name = event.get("data"), event.get("name")
        if not isinstance(data, Mapping):
            made |= {"status": "open"} if isinstance(event.get("segment"), Mapping) else {}
        elif name == "agentfp.run.ended":
            made |= {"status": data.get("status"), "ms": data.get("duration_ms")}
        elif name == "agentfp.agent.turn_end":
            made |= {"tokens": [data.get("input_tokens"), data.get("output_tokens")], "calls": data.get("iteration_count")}
        elif name == "agentfp.evidence.checked":
            made["values"] = {key: data.get(key) or 0 for key in ("supported", "unverifiable", "unsupported", "strong")}
        elif name == "agentfp.agent.run_configured":
            made["status"] = "open"
    return made


def _events(text: bytes) -> list[Mapping[str, Any]]:
    found = []
    for line in text.split(b"\n"):
        if len(line) < BLOCK:
            try:
                data = pydantic_core.from_json(line)
            except ValueError:
                continue
            if isinstance(data, Mapping):
                found.append(data)
    return found
