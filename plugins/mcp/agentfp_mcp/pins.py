"""Remembers how each tool of a server looked at first sight, so that one that changes later is noticed."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentfp import ConfigError

LIMIT = 5_000


class Pins:
    """Hashes of tools by name: in memory, and in a file where one is named.

    Args:
        server: the server's name, under which they stand in the file.
        path: the file, shared by any number of servers; None to remember as long as the process lives.
    """

    def __init__(self, server: str, path: str | Path | None) -> None:
        self._server = server
        self._path = None if path is None else Path(path)
        self._lock = threading.Lock()
        self._known: dict[str, str] | None = None

    def changed(self, seen: Mapping[str, str]) -> set[str]:
        """Names of tools that are not as they were; those that are new are remembered.

        Args:
            seen: by name, the hash of each tool that the server describes now.

        Raises:
            ConfigError: the file cannot be read or written.
        """
        with self._lock:
            if self._known is None:
                self._known = dict(self._read().get(self._server, {}))
            known = self._known
            new = {name: value for name, value in seen.items() if name not in known}
            if new:
                known.update(dict(list(new.items())[: max(LIMIT - len(known), 0)]))
                if self._path is not None:
                    self._write(known)
            return {name for name, value in seen.items() if known.get(name, value) != value}

    def _read(self) -> dict[str, dict[str, str]]:
        if self._path is None or not self._path.exists():
            return {}
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            if not isinstance(found, dict) or not all(isinstance(pins, dict) for pins in found.values()):
                raise ValueError
        except (OSError, ValueError) as error:
            msg = f"mcp: the pins in {str(self._path)!r} cannot be read; mend the file, or delete it to trust what the servers say now"
            raise ConfigError(msg) from error
        return found

    def _write(self, known: dict[str, str]) -> None:
        """Whole or not at all; other servers' pins stay."""
        assert self._path is not None
        text = json.dumps({**self._read(), self._server: known}, indent=2, sort_keys=True) + "\n"
        try:
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=self._path.name)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(self._path)
        except OSError as error:
            raise ConfigError(f"mcp: pins cannot be written to {str(self._path)!r}: {error.strerror}; name another file") from error


def hash_of(definition: Mapping[str, Any]) -> str:
    """What changes when anything changes that a model or a person is told of a tool.

    Args:
        definition: the tool as the server describes it.
    """
    told = {key: definition.get(key) for key in ("name", "title", "description", "inputSchema", "annotations")}
    text = json.dumps(told, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
