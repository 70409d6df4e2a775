"""Rows that were read before. A store that writes a row once and never again reads it once too."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from agentfp_artifacts.stores.metas import Row

MOST = 50_000
"""Rows that are remembered, of all scopes together."""


class KnownRows:
    """The rows of scopes by name; the scope that was looked at last is forgotten last.

    What there is, the store says each time: processes that write beside this one are seen at once, only what they wrote is read.

    Args:
        most: rows that are remembered.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._scopes: dict[str, dict[str, Row]] = {}
        self._count = 0
        self._lock = threading.Lock()

    def of(self, scope: str, names: Iterable[str], read: Callable[[str], Row | None]) -> list[Row]:
        """The rows of a scope.

        Args:
            scope: the scope, as the store calls it.
            names: what is in it now.
            read: reads a row; None where it is gone meanwhile.
        """
        known = self._scopes.get(scope, {})
        found: dict[str, Row] = {}
        try:
            for name in names:
                row = known.get(name) or read(name)
                if row is not None:
                    found[name] = row
        finally:
            self._remember(scope, found)
        return list(found.values())

    def next_seq(self, scope: str) -> int:
        """A number above those of the rows that are remembered of a scope, whatever the clock of the system says.

        Args:
            scope: the scope, as the store calls it.
        """
        known = self._scopes.get(scope, {}).values()
        return max(time.time_ns(), max([row.seq for row in known], default=0) + 1)

    def _remember(self, scope: str, rows: dict[str, Row]) -> None:
        with self._lock:
            self._count += len(rows) - len(self._scopes.pop(scope, ()))
            self._scopes[scope] = rows
            while self._count > self._most:
                oldest = next(iter(self._scopes))
                self._count -= len(self._scopes.pop(oldest))
