"""The store in a folder: ``<tenant>/<principal>/<conversation>/<ref>.json`` says what an artifact is, ``<ref>.bin`` beside it holds it.

A file is written under another name, flushed to the disk and renamed. The ``.json`` comes last and makes the artifact be there: a
process that dies on the way leaves nothing that can be read, only files that :meth:`FileStore.sweep` clears away.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import anyio.to_thread

from agentfp.artifacts import ArtifactStoreError, ArtifactStream, PutResult, Scope, StreamPut, Swept, UnreadableArtifactFileError
from agentfp_artifacts.stores.base import BaseStore, check_chunk, check_item, check_length, ending, wall_clock
from agentfp_artifacts.stores.known import KnownRows
from agentfp_artifacts.stores.metas import Row, row_dict, row_of
from agentfp_artifacts.stores.paths import segments
from agentfp_artifacts.stores.refs import is_ref
from agentfp_artifacts.stores.retention import Limits, gone

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
CHUNK = 1024 * 1024
ABANDONED_S = 3600
"""Age of a half-written file from which nobody can be writing it any more."""


class FileStore(BaseStore):
    """Keeps artifacts in a folder. Several processes may use one at once."""

    name: ClassVar[str] = "file_artifacts"

    def __init__(self, directory: str | os.PathLike[str], limits: Limits, clock: Callable[[], int]) -> None:
        super().__init__(limits, clock)
        if not str(directory).strip():
            raise TypeError("file_artifacts: the directory is blank; name one")
        self.directory = Path(directory)
        self._guard = threading.Lock()
        self._known = KnownRows()

    async def put_stream(self, scope: Scope, item: StreamPut, body: AsyncIterator[bytes]) -> PutResult:
        """Store a stream; no more than a chunk of it is in memory.

        Args:
            scope: whose it is.
            item: what is said of it.
            body: its data, in chunks.
        """
        now = self.now()
        check_item(item, now)
        await self._work(self._prove, scope, item.parent_refs)
        meta = self._meta(item, item.bytes, now, None)
        target = self._folder(scope) / f"{meta.ref}.bin"
        temporary: Path | None = None
        try:
            temporary, file = await self._work(self._begin, target)
            got = 0
            with file:
                async with ending(body):
                    async for chunk in body:
                        got += check_chunk(chunk)
                        if got > item.bytes:
                            break
                        await self._work(_written, file, chunk)
                check_length(item.bytes, got)
                await self._work(_to_disk, file)
            return await self._work(self._commit, scope, Row(meta, "bytes", self._next_seq(scope), now), temporary)
        except OSError as error:
            raise _failed("write", error) from error
        finally:
            if temporary is not None:
                temporary.unlink(missing_ok=True)

    async def get_stream(self, scope: Scope, ref: str) -> ArtifactStream | None:
        """An artifact's bytes in chunks; no more than one of them is in memory.

        Args:
            scope: whose it is.
            ref: its ref.
        """
        row = await self._work(self._live, scope, ref)
        if row is None:
            return None
        return ArtifactStream(row.meta, _read_chunks(self._folder(scope) / f"{ref}.bin"))

    # --- keeping ---

    def _folder(self, scope: Scope) -> Path:
        return self.directory.joinpath(*segments(scope))

    @contextlib.contextmanager
    def _locked(self, scope: Scope) -> Iterator[None]:
        """Only a put that may evict must know what else is there."""
        if not self.limits.budgeted:
            yield
            return
        folder = self._made(self._folder(scope))
        with self._guard, contextlib.ExitStack() as held:
            try:
                lock = held.enter_context((folder / ".lock").open("ab"))
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)
            except OSError as error:
                raise _failed("lock the folder of", error) from error
            yield

    def _made(self, folder: Path) -> Path:
        try:
            if not folder.is_dir():
                self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
                for level in (folder.parent.parent, folder.parent, folder):  # their names are people's
                    level.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise _failed("make the folder of", error) from error
        return folder

    def _begin(self, target: Path) -> tuple[Path, BinaryIO]:
        """A new file under a name that no reader takes for an artifact."""
        self._made(target.parent)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        return temporary, os.fdopen(handle, "wb")

    def _replace(self, target: Path, raw: bytes) -> None:
        temporary, file = self._begin(target)
        try:
            with file:
                file.write(raw)
                _to_disk(file)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _write(self, scope: Scope, row: Row, raw: bytes) -> None:
        self._written_with(scope, row, lambda target: self._replace(target, raw))

    def _written_with(self, scope: Scope, row: Row, write_payload: Callable[[Path], object]) -> None:
        folder = self._folder(scope)
        payload, ticket = folder / f"{row.meta.ref}.bin", folder / f"{row.meta.ref}.json"
        try:
            write_payload(payload)
            self._replace(ticket, json.dumps({"format": FORMAT, **row_dict(row)}, ensure_ascii=True).encode())
            _folder_to_disk(folder)
        except OSError as error:
            with contextlib.suppress(OSError):
                ticket.unlink(missing_ok=True)
                payload.unlink(missing_ok=True)
            raise _failed("write", error) from error

    def _commit(self, scope: Scope, row: Row, temporary: Path) -> PutResult:
        with self._locked(scope):
            swept = self._plan(scope, row.meta.bytes, row.meta.created_at)
            self._written_with(scope, row, temporary.replace)
            return PutResult(row.meta, self._let_go(scope, swept))

    def _find(self, scope: Scope, ref: str) -> Row | None:
        return _row_in(self._folder(scope) / f"{ref}.json")

    def _next_seq(self, scope: Scope) -> int:
        return self._known.next_seq(str(self._folder(scope)))

    def _rows(self, scope: Scope) -> Sequence[Row]:
        folder = self._folder(scope)
        return self._known.of(str(folder), _tickets_in(folder), lambda name: _row_in(folder / name))

    def _payload(self, scope: Scope, row: Row) -> bytes | None:
        return self._slice(scope, row, 0, -1)

    def _slice(self, scope: Scope, row: Row, offset: int, length: int) -> bytes | None:
        path = self._folder(scope) / f"{row.meta.ref}.bin"
        try:
            with path.open("rb", buffering=0) as file:
                file.seek(offset)
                return file.readall() if length < 0 else _exactly(file, length)
        except FileNotFoundError:
            if self._find(scope, row.meta.ref) is None:  # deleted meanwhile
                return None
            raise UnreadableArtifactFileError(str(path), "its data is not there") from None
        except OSError as error:
            raise _failed("read", error) from error

    def _remove(self, scope: Scope, ref: str) -> None:
        folder = self._folder(scope)
        try:
            (folder / f"{ref}.json").unlink(missing_ok=True)
            (folder / f"{ref}.bin").unlink(missing_ok=True)
        except OSError as error:
            raise _failed("delete", error) from error

    def _sweep(self) -> tuple[Swept, ...]:
        """What cannot be read stays where it is, for a read to tell of it; what cannot be deleted is told when the rest is gone."""
        swept: list[Swept] = []
        failure: OSError | None = None
        now = self.now()
        for folder in [path for path in self.directory.glob("*/*/*") if path.is_dir()]:
            try:
                for row in _readable_in(folder):
                    if row.expired(now):
                        (folder / f"{row.meta.ref}.json").unlink(missing_ok=True)
                        (folder / f"{row.meta.ref}.bin").unlink(missing_ok=True)
                        swept.append(gone(row, "ttl"))
                _clear_abandoned(folder)
            except OSError as error:
                failure = error
        if failure is not None and not swept:
            raise _failed("sweep", failure) from failure
        return tuple(swept)


def _clear_abandoned(folder: Path) -> None:
    """Delete what processes left that died in a put."""
    for path in folder.iterdir():
        half = path.name.startswith(".art_") and path.suffix == ".tmp"
        alone = path.suffix == ".bin" and is_ref(path.stem) and not path.with_suffix(".json").exists()
        if half or alone:
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > ABANDONED_S:
                    path.unlink()


def _tickets_in(folder: Path) -> list[str]:
    """The names of the files that say what artifacts are; what else is there is somebody else's."""
    try:
        names = [entry.name for entry in os.scandir(folder)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _failed("list", error) from error
    return [name for name in names if name.endswith(".json") and is_ref(name[:-5])]


def _readable_in(folder: Path) -> Iterator[Row]:
    """The rows of a folder; what cannot be read is left out."""
    for name in _tickets_in(folder):
        with contextlib.suppress(UnreadableArtifactFileError):
            if (row := _row_in(folder / name)) is not None:
                yield row


def _row_in(path: Path) -> Row | None:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failed("read", error) from error
    try:
        found: Any = json.loads(text)
        version = found.get("format") if isinstance(found, dict) else None
        if isinstance(version, int) and version > FORMAT:
            raise UnreadableArtifactFileError(str(path), f"it has format {version}, and this version reads up to {FORMAT}")
        row = row_of(found)
        if version != FORMAT or row.meta.ref != path.stem:
            raise ValueError("it is not the file of its ref")
    except (ValueError, RecursionError) as error:
        raise UnreadableArtifactFileError(str(path), "it is damaged") from error
    return row


def _exactly(file: Any, length: int) -> bytes:
    """So many bytes, or all that there are; one read may give fewer."""
    parts: list[bytes] = []
    while length > 0 and (part := file.read(length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _written(file: BinaryIO, chunk: bytes) -> None:
    file.write(chunk)


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _folder_to_disk(folder: Path) -> None:
    """Make a rename last through a power cut, where the system can."""
    with contextlib.suppress(OSError, AttributeError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


async def _read_chunks(path: Path) -> AsyncIterator[bytes]:
    try:
        file = await anyio.to_thread.run_sync(path.open, "rb")
        with file:
            while chunk := await anyio.to_thread.run_sync(file.read, CHUNK):
                yield chunk
    except OSError as error:
        raise _failed("read", error) from error


def _failed(what: str, error: OSError) -> ArtifactStoreError:
    """No path stands in it, for a path holds the tenant."""
    return ArtifactStoreError(f"file_artifacts could not {what} an artifact: {error.strerror or type(error).__name__}; see to its disk")


def file_artifacts(
    directory: str | os.PathLike[str],
    *,
    ttl_s: float | None = None,
    max_bytes_per_scope: int | None = None,
    max_count_per_scope: int | None = None,
    clock: Callable[[], int] = wall_clock,
) -> FileStore:
    """A store in a folder, which is made when it is needed. What is oldest makes room.

    Args:
        directory: the folder.
        ttl_s: seconds after which an artifact expires.
        max_bytes_per_scope: most bytes of a scope.
        max_count_per_scope: most artifacts of a scope.
        clock: unix time in milliseconds; for tests.

    Raises:
        TypeError: the directory is blank, or a limit is no number above 0.
    """
    return FileStore(directory, Limits(ttl_s, max_bytes_per_scope, max_count_per_scope), clock)
