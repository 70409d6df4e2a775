"""Where it is kept what sessions and principals have spent: a protocol, in memory, and in a file of SQLite."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Protocol, runtime_checkable

import anyio.to_thread

from agentfp_cost.errors import SpendStoreError


@runtime_checkable
class SpendStore(Protocol):
    """Sums of dollars by key. ``add`` is atomic, also between processes where the store is shared by some."""

    async def add(self, key: str, usd: Decimal) -> Decimal:
        """Add to a sum.

        Args:
            key: whose; opaque.
            usd: dollars, from 0.

        Returns:
            The new sum.
        """

    async def total(self, key: str) -> Decimal:
        """A sum; 0 where nothing was added.

        Args:
            key: whose.
        """


class MemorySpend:
    """Sums of this process; gone when it ends."""

    def __init__(self) -> None:
        self._sums: dict[str, Decimal] = {}
        self._lock = threading.Lock()

    async def add(self, key: str, usd: Decimal) -> Decimal:
        """Add to a sum.

        Args:
            key: whose; opaque.
            usd: dollars, from 0.
        """
        with self._lock:
            total = self._sums[key] = self._sums.get(key, Decimal(0)) + usd
        return total

    async def total(self, key: str) -> Decimal:
        """A sum."""
        return self._sums.get(key, Decimal(0))


class SqliteSpend:
    """Sums in a file, for all processes that use it.

    Args:
        path: the file; made at the first use.
        timeout: seconds to wait for another process that writes.
    """

    def __init__(self, path: str | Path, *, timeout: float = 10.0) -> None:
        self._path = Path(path)
        self._timeout = timeout

    async def add(self, key: str, usd: Decimal) -> Decimal:
        """Add to a sum.

        Args:
            key: whose; opaque.
            usd: dollars, from 0.
        """
        return await anyio.to_thread.run_sync(self._add, key, usd)

    async def total(self, key: str) -> Decimal:
        """A sum."""
        return await anyio.to_thread.run_sync(self._total, key)

    def _add(self, key: str, usd: Decimal) -> Decimal:
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")  # nobody reads the sum between our reading and our writing
            total = self._read(database, key) + usd
            database.execute("INSERT INTO spend VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET usd = excluded.usd", (key, str(total)))
            database.execute("COMMIT")
        return total

    def _total(self, key: str) -> Decimal:
        with self._open() as database:
            return self._read(database, key)

    def _read(self, database: sqlite3.Connection, key: str) -> Decimal:
        row = database.execute("SELECT usd FROM spend WHERE key = ?", (key,)).fetchone()
        if row is None:
            return Decimal(0)
        try:
            return Decimal(row[0])
        except (InvalidOperation, TypeError, ValueError) as error:
            raise SpendStoreError(self._path, key) from error

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.touch(mode=0o600)
        with contextlib.closing(sqlite3.connect(self._path, timeout=self._timeout, isolation_level=None)) as database:
            database.execute("CREATE TABLE IF NOT EXISTS spend (key TEXT PRIMARY KEY, usd TEXT NOT NULL) WITHOUT ROWID")
            yield database
