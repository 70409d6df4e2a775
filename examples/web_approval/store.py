"""Requests and where each stands, in SQLite: what the app and the worker share.

A request is `running`, `waiting` for a person, `decided`, `resuming`, `done` or `failed`. Each step is one statement that succeeds for one
caller only, so that two clicks, two tabs or two processes cannot take it twice.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCHEMA = """CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY, question TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'running',
    pause TEXT, decisions TEXT, answer TEXT)"""


class Store:
    """The requests.

    Args:
        path: of the database; it holds whole conversations, so it belongs on the server alone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._db() as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(SCHEMA)

    @contextmanager
    def _db(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self.path, timeout=30)
        db.row_factory = sqlite3.Row
        try:
            with db:
                yield db
        finally:
            db.close()

    def begin(self, question: str) -> int:
        """A new request; gives its number."""
        with self._db() as db:
            number = db.execute("INSERT INTO requests (question) VALUES (?)", (question,)).lastrowid
        assert number is not None
        return number

    def get(self, number: int) -> dict[str, Any] | None:
        """A request, or None where there is none."""
        with self._db() as db:
            row = db.execute("SELECT * FROM requests WHERE id = ?", (number,)).fetchone()
        return None if row is None else dict(row)

    def in_state(self, state: str) -> list[dict[str, Any]]:
        """All requests that stand there, the oldest first."""
        with self._db() as db:
            return [dict(row) for row in db.execute("SELECT * FROM requests WHERE state = ? ORDER BY id", (state,))]

    def waits(self, number: int, pause: str) -> None:
        """It asks a person."""
        with self._db() as db:
            db.execute("UPDATE requests SET state = 'waiting', pause = ?, decisions = NULL WHERE id = ?", (pause, number))

    def ends(self, number: int, state: str, answer: str) -> None:
        """It is `done` or has `failed`."""
        with self._db() as db:
            db.execute("UPDATE requests SET state = ?, answer = ?, pause = NULL WHERE id = ?", (state, answer, number))

    def decide(self, number: int, pause: str, decisions: dict[str, Any]) -> bool:
        """A person decided about this very pause; False where somebody else was faster."""
        with self._db() as db:
            sql = "UPDATE requests SET state = 'decided', decisions = ? WHERE id = ? AND state = 'waiting' AND pause = ?"
            return db.execute(sql, (json.dumps(decisions), number, pause)).rowcount == 1

    def claim(self) -> dict[str, Any] | None:
        """The next request to go on with, which nobody else gets; None where there is none."""
        sql = """UPDATE requests SET state = 'resuming' WHERE id = (SELECT id FROM requests WHERE state = 'decided' ORDER BY id LIMIT 1)
                 RETURNING *"""
        with self._db() as db:
            row = db.execute(sql).fetchone()
        return None if row is None else dict(row)
