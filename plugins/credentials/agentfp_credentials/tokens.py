"""Where people's tokens are kept, and consents that were begun: in memory, in a folder, or in a store of the application."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import BinaryIO, Protocol, runtime_checkable

import anyio
import anyio.to_thread

from agentfp.plugin import ConfigError
from agentfp_credentials.providers import HoldsSecrets, ProviderError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

POLL_S = 0.01
"""How often it is looked whether another one is done."""


@runtime_checkable
class TokenStore(Protocol):
    """Keeps texts by their keys. The texts are secrets and have no business in a log; the keys name services and people.

    What it raises refuses the call that needs the token, and its words are shown to nobody.
    """

    async def load(self, key: str, /) -> str | None:
        """The text of a key; None where there is none."""
        ...

    async def save(self, key: str, value: str, /) -> None:
        """Keep a text, whole, in the place of the one before.

        Args:
            key: its key.
            value: the text; a secret.
        """
        ...

    async def delete(self, key: str, /) -> None:
        """Forget a text, if it is there."""
        ...

    def alone(self, key: str, /) -> AbstractAsyncContextManager[None]:
        """Hold a key, in all processes: a refresh token may be good for one use."""
        ...


class Turns:
    """One at a time for a key in this process, whatever thread and loop asks."""

    def __init__(self) -> None:
        self._locks: dict[object, threading.Lock] = {}

    @asynccontextmanager
    async def alone(self, key: object) -> AsyncIterator[None]:
        """Wait for the turn."""
        lock = self._locks.setdefault(key, threading.Lock())
        while not lock.acquire(blocking=False):  # noqa: ASYNC110 - an event of this loop would not be set by another one
            await anyio.sleep(POLL_S)
        try:
            yield
        finally:
            lock.release()


class MemoryTokens(HoldsSecrets):
    """Keeps tokens in this process; they are gone with it, and people consent anew."""

    id = "memory"

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._turns = Turns()

    async def load(self, key: str, /) -> str | None:
        """The text of a key."""
        return self._texts.get(key)

    async def save(self, key: str, value: str, /) -> None:
        """Keep a text.

        Args:
            key: its key.
            value: the text; a secret.
        """
        self._texts[key] = value

    async def delete(self, key: str, /) -> None:
        """Forget a text."""
        self._texts.pop(key, None)

    def alone(self, key: str, /) -> AbstractAsyncContextManager[None]:
        """Hold a key."""
        return self._turns.alone(key)


class FolderTokens:
    """Keeps tokens in files that their owner alone can read (mode 0600), one for each key; no name says whose it is.

    Processes of one machine share them, and they outlive all of these. They are not encrypted: what reads the files of the account
    reads them.

    Args:
        directory: the folder, for this alone; it is made when it is needed.

    Raises:
        ConfigError: the directory is blank.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        if not str(directory).strip():
            raise ConfigError("FolderTokens: the directory is blank; name one")
        self.directory = Path(directory)
        self._turns = Turns()

    def __repr__(self) -> str:
        return f"FolderTokens({str(self.directory)!r})"

    async def load(self, key: str, /) -> str | None:
        """The text of a key."""
        return await anyio.to_thread.run_sync(self._load, self._path(key))

    async def save(self, key: str, value: str, /) -> None:
        """Keep a text: written beside the one before, flushed to the disk, and renamed.

        Args:
            key: its key.
            value: the text; a secret.
        """
        await anyio.to_thread.run_sync(self._save, self._path(key), value)

    async def delete(self, key: str, /) -> None:
        """Forget a text."""
        await anyio.to_thread.run_sync(self._delete, self._path(key))

    @asynccontextmanager
    async def alone(self, key: str, /) -> AsyncIterator[None]:
        """Hold a key, in all processes that use the folder; on Windows in this one."""
        path = self._path(key).with_suffix(".lock")
        async with self._turns.alone(key):
            with contextlib.ExitStack() as held:
                file = held.enter_context(await anyio.to_thread.run_sync(self._opened, path))
                while not _lock(file):  # noqa: ASYNC110 - it is another process that is waited for
                    await anyio.sleep(POLL_S)
                yield

    # --- in worker threads ---

    def _path(self, key: str) -> Path:
        return self.directory / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}.json"

    def _load(self, path: Path) -> str | None:
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _failed("read", error) from None

    def _save(self, path: Path, value: str) -> None:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(value)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise _failed("write", error) from None

    def _delete(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _failed("delete", error) from None

    def _opened(self, path: Path) -> BinaryIO:
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        except OSError as error:
            raise _failed("lock", error) from None


def _lock(file: BinaryIO) -> bool:
    """Whether the file is held now; it is let go of when it is closed, or its process dies."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _failed(what: str, error: OSError) -> ProviderError:
    return ProviderError(f"a folder of tokens could not {what} one: {error.strerror or type(error).__name__}; see to its disk")
