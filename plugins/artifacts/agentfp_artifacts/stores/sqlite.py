"""The store in an SQLite file: one table, in write-ahead mode, so that several processes may use it at once."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from agentfp.artifacts import ArtifactStoreError, Scope, Swept, UnreadableArtifactFileError
from agentfp_artifacts.stores.base import BaseStore, Key, wall_clock
from agentfp_artifacts.stores.metas import Row, meta_dict, meta_of
from agentfp_artifacts.stores.retention import Limits, gone, least_used, plan

VERSION = 1
BUSY_MS = 5000
COLUMNS = ("seq", "scope", "ref", "created_at", "expires_at", "used_at", "bytes", "shape", "meta", "payload")
SCHEMA = """
CREATE TABLE artifacts (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  scope TEXT NOT NULL,
  ref TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  used_at INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  shape TEXT NOT NULL,
  meta TEXT NOT NULL,
  payload BLOB NOT NULL
) STRICT;
CREATE INDEX artifacts_by_age ON artifacts (scope, created_at, seq);
CREATE INDEX artifacts_by_use ON artifacts (scope, used_at, ref);
CREATE INDEX artifacts_by_expiry ON artifacts (scope, expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE totals (scope TEXT PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
CREATE TRIGGER artifacts_added AFTER INSERT ON artifacts BEGIN
  INSERT INTO totals VALUES (new.scope, 1, new.bytes)
    ON CONFLICT (scope) DO UPDATE SET count = count + 1, bytes = bytes + new.bytes; END;
CREATE TRIGGER artifacts_removed AFTER DELETE ON artifacts BEGIN
  UPDATE totals SET count = count - 1, bytes = bytes - old.bytes WHERE scope = old.scope; END;
"""
LATEST = "max(?, (SELECT ifnull(max(used_at), 0) + 1 FROM artifacts WHERE scope = ?))"
"""The place in the order of use of what is used now: after all that was used before, whatever the clock says."""
ROW = "SELECT seq, used_at, shape, meta FROM artifacts"


class SQLiteStore(BaseStore):
    """Keeps artifacts in an SQLite file. It cannot stream, for a blob is written in one piece; ranges are read alone."""

    name: ClassVar[str] = "sqlite_artifacts"

    def __init__(self, file: str | os.PathLike[str], limits: Limits, clock: Callable[[], int]) -> None:
        super().__init__(limits, clock)
        self.file = os.fspath(file)
        if not self.file.strip() or self.file.startswith((":memory:", "file:")):
            raise TypeError(f"sqlite_artifacts: {self.file!r} is no file of its own; name one, or take memory_artifacts")
        self._lock = threading.RLock()
        self._open: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._left_alone: list[sqlite3.Connection] = []

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    # --- the connection ---

    @contextlib.contextmanager
    def _connection(self, what: str) -> Iterator[sqlite3.Connection]:
        if self._process != os.getpid():
            self._forked()
        with self._lock:
            try:
                if self._open is None:
                    self._open = self._connect()
                yield self._open
            except sqlite3.DatabaseError as error:
                # The name of the code alone: the text of an error may hold a path or a value.
                why = getattr(error, "sqlite_errorname", None) or type(error).__name__
                raise ArtifactStoreError(f"sqlite_artifacts could not {what} an artifact: {why}; see to its disk and its file") from error

    def _forked(self) -> None:
        """A connection of the parent must not be used here, nor closed; its lock may be held by a thread that this process has not."""
        self._process, self._lock = os.getpid(), threading.RLock()
        if self._open is not None:
            self._left_alone.append(self._open)
            self._open = None

    def _connect(self) -> sqlite3.Connection:
        self._keep_private()
        made = sqlite3.connect(self.file, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        try:
            made.execute("PRAGMA journal_mode = WAL")
            made.execute("PRAGMA synchronous = NORMAL")
            self._check_schema(made)
        except BaseException:
            made.close()
            raise
        return made

    def _keep_private(self) -> None:
        """Make the file with its mode before anything is in it: what SQLite writes beside it has the same."""
        if os.name != "posix":
            return
        with contextlib.suppress(OSError):
            os.close(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600))
        for beside in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):  # it is not there, or another account's: its mode is not this process's to set
                Path(self.file + beside).chmod(0o600)

    def _check_schema(self, made: sqlite3.Connection) -> None:
        made.execute("BEGIN IMMEDIATE")
        try:
            (version,) = made.execute("PRAGMA user_version").fetchone()
            columns = tuple(column[1] for column in made.execute("PRAGMA table_info(artifacts)"))
            if version == 0 and not columns:
                for statement in SCHEMA.split(";\n"):
                    made.execute(statement)
                made.execute(f"PRAGMA user_version = {VERSION}")
            elif version > VERSION:
                raise UnreadableArtifactFileError(self.file, f"it has version {version}, and this version reads up to {VERSION}")
            elif columns != COLUMNS:
                raise UnreadableArtifactFileError(self.file, "its table artifacts is another program's")
            made.execute("COMMIT")
        except BaseException:
            made.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _locked(self, scope: Scope) -> Iterator[None]:
        with self._connection("write") as open_:
            open_.execute("BEGIN IMMEDIATE")
            try:
                yield
                open_.execute("COMMIT")
            except BaseException:
                if open_.in_transaction:
                    open_.execute("ROLLBACK")
                raise

    # --- keeping ---

    def _next_seq(self, scope: Scope) -> int:
        return 0  # the table's own

    def _write(self, scope: Scope, row: Row, raw: bytes) -> None:
        meta = row.meta
        values = (
            _scope_text(scope),
            meta.ref,
            meta.created_at,
            meta.expires_at,
            row.used_at,
            _scope_text(scope),
            meta.bytes,
            row.shape,
            json.dumps(meta_dict(meta), ensure_ascii=False, separators=(",", ":")),
            raw,
        )
        with self._connection("write") as open_:
            open_.execute(f"INSERT INTO artifacts ({', '.join(COLUMNS[1:])}) VALUES (?, ?, ?, ?, {LATEST}, ?, ?, ?, ?)", values)

    def _find(self, scope: Scope, ref: str) -> Row | None:
        with self._connection("read") as open_:
            found = open_.execute(f"{ROW} WHERE ref = ? AND scope = ?", (ref, _scope_text(scope))).fetchone()
        return None if found is None else self._row(found)

    def _rows(self, scope: Scope) -> Sequence[Row]:
        with self._connection("read") as open_:
            return [self._row(found) for found in open_.execute(f"{ROW} WHERE scope = ?", (_scope_text(scope),))]

    def _plan(self, scope: Scope, incoming: int, now: int) -> Sequence[Swept]:
        known = _scope_text(scope)
        with self._connection("write") as open_:
            expired = [self._row(found) for found in open_.execute(f"{ROW} WHERE scope = ? AND expires_at <= ?", (known, now))]
            if not self.limits.budgeted:
                return [gone(row, "ttl") for row in expired]
            count, size = open_.execute("SELECT count, bytes FROM totals WHERE scope = ?", (known,)).fetchone() or (0, 0)
            count, size = count - len(expired), size - sum([row.meta.bytes for row in expired])
            query = f"{ROW} WHERE scope = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY used_at, ref"
            live = (self._row(found) for found in open_.execute(query, (known, now)))
            rows, others = least_used(live, incoming, self.limits, count, size)
        return plan([*expired, *rows], incoming, self.limits, now, beside=others)

    def _page(self, scope: Scope, after: Key | None, limit: int) -> Sequence[Row]:
        created_at, seq = (2**62, 0) if after is None else after[:2]
        query = f"{ROW} WHERE scope = ? AND (created_at, seq) < (?, ?) ORDER BY created_at DESC, seq DESC LIMIT ?"
        with self._connection("list") as open_:
            return [self._row(found) for found in open_.execute(query, (_scope_text(scope), created_at, seq, limit))]

    def _row(self, found: Any) -> Row:
        seq, used_at, shape, meta = found
        try:
            return Row(meta_of(json.loads(meta)), shape, seq, used_at)
        except ValueError as error:
            raise UnreadableArtifactFileError(self.file, "a row of it is damaged") from error

    def _touch(self, scope: Scope, ref: str, now: int) -> None:
        with self._connection("read") as open_:
            open_.execute(f"UPDATE artifacts SET used_at = {LATEST} WHERE ref = ?", (now, _scope_text(scope), ref))

    def _payload(self, scope: Scope, row: Row) -> bytes | None:
        with self._connection("read") as open_:
            found = open_.execute("SELECT payload FROM artifacts WHERE seq = ? AND ref = ?", (row.seq, row.meta.ref)).fetchone()
        return None if found is None else bytes(found[0])

    def _slice(self, scope: Scope, row: Row, offset: int, length: int) -> bytes | None:
        with self._connection("read") as open_:
            try:
                blob = open_.blobopen("artifacts", "payload", row.seq, readonly=True)
            except sqlite3.OperationalError:
                if self._find(scope, row.meta.ref) is None:  # deleted meanwhile
                    return None
                raise
            with blob:
                blob.seek(min(offset, len(blob)))
                return blob.read(length)

    def _remove(self, scope: Scope, ref: str) -> None:
        with self._connection("delete") as open_:
            open_.execute("DELETE FROM artifacts WHERE ref = ? AND scope = ?", (ref, _scope_text(scope)))

    def _sweep(self) -> tuple[Swept, ...]:
        now = self.now()
        with self._connection("sweep") as open_:
            query = "DELETE FROM artifacts WHERE expires_at <= ? RETURNING seq, used_at, shape, meta"
            swept = open_.execute(query, (now,)).fetchall()
            open_.execute("DELETE FROM totals WHERE count = 0")
        return tuple([gone(self._row(found), "ttl") for found in swept])


def _scope_text(scope: Scope) -> str:
    return json.dumps([scope.tenant or None, scope.principal or None, scope.conversation_id])


def sqlite_artifacts(
    file: str | os.PathLike[str],
    *,
    ttl_s: float | None = None,
    max_bytes_per_scope: int | None = None,
    max_count_per_scope: int | None = None,
    clock: Callable[[], int] = wall_clock,
) -> SQLiteStore:
    """A store in an SQLite file, which is made when it is needed. What was used least recently makes room.

    Args:
        file: the file.
        ttl_s: seconds after which an artifact expires.
        max_bytes_per_scope: most bytes of a scope.
        max_count_per_scope: most artifacts of a scope.
        clock: unix time in milliseconds; for tests.

    Raises:
        TypeError: this is no file, or a limit is no number above 0.
    """
    return SQLiteStore(file, Limits(ttl_s, max_bytes_per_scope, max_count_per_scope), clock)
