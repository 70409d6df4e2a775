"""The plugin: what an agent's runs did goes into a hash-chained log while they go on."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Literal

import anyio.to_thread
import pydantic

from agentfp.plugin import ConfigError, ExportedEvent, Plugin, hookimpl
from agentfp_audit.chain import GENESIS
from agentfp_audit.errors import AuditError
from agentfp_audit.log import LIBRARY, AuditLog, Entry
from agentfp_audit.signing import signer_of
from agentfp_audit.writer import AuditStats, Item, Writer

ENDED = "agentfp.run.ended"


class Audit(Plugin):
    """Keeps a log of what runs did that cannot be changed unnoticed; `agentfp audit verify` checks it offline.

    A disk that is slow, full or gone delays no run but by `wait_seconds` at its end, and breaks none. What is not in the log is counted: in
    the log, in `stats`, and with `result.plugin_failures`.
    """

    name = "audit"
    version = "0.1.0"
    exports_in_thread = True

    class Settings(Plugin.Settings):
        """Settings of the log."""

        path: Path = Path("audit.jsonl")
        """The log; `{pid}` in it stands for the process, where several write. It is gone on with where it is there."""
        payload_mode: Literal["bounded", "verbatim"] = "bounded"
        """`bounded`: names, numbers and digests, and nothing that a person, a model or a tool wrote. `verbatim`: all of it."""
        versions: dict[str, str] = pydantic.Field(default_factory=dict)
        """Of the application, its policy, its prompts: stands at the begin of each run."""
        key_file: Path | None = None
        """Signs the seals: an Ed25519 private key as PEM (with the extra `ed25519`), or a shared secret of at least 16 bytes."""
        rotate_bytes: int | None = pydantic.Field(None, ge=1024, strict=True)
        """A log that is longer is sealed and set aside as `NAME.FIRST_SEQ.jsonl`; the chain goes on in a new one."""
        fsync: bool = False
        """Wait for the disk after each write: a power cut loses no more than a killed process then."""
        max_queue: int = pydantic.Field(10_000, ge=1, strict=True)
        """Events that may wait for the disk; more are dropped and counted."""
        wait_seconds: float = pydantic.Field(1.0, ge=0, le=5, allow_inf_nan=False)
        """For how long the end of a run waits for the disk."""

    def __init__(self, settings: Settings | None = None, *, anchor: Callable[[str, int], Any] | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        own: Audit.Settings = self.settings
        signer = None
        if own.key_file is not None:
            try:
                signer = signer_of(own.key_file.read_bytes())
            except (OSError, ValueError, ImportError) as error:
                raise ConfigError([f"key_file {str(own.key_file)!r} cannot be used: {error}"]) from error
        path = Path(str(own.path).replace("{pid}", str(os.getpid()))).absolute()
        if path.is_dir():
            raise ConfigError([f"path {str(own.path)!r} is a folder; name a file"])
        self.log = AuditLog(path, signer=signer, fsync=own.fsync, rotate_bytes=own.rotate_bytes, anchor=anchor)
        self._writer = Writer(self.log, max_queue=own.max_queue)
        self._verbatim = own.payload_mode == "verbatim"
        weakref.finalize(self, self._writer.stop)

    @property
    def sees_content(self) -> bool:
        """Whether content goes into the log: with ``payload_mode = "verbatim"``."""
        return self._verbatim

    @hookimpl
    def export_event(self, event: ExportedEvent, state: dict[Any, Any]) -> Coroutine[Any, Any, None] | None:
        """Hand the event to the writer; at the end of a run, see to it that all of it is written."""
        header = event.header
        meta: dict[str, Any] = {"run_id": header.run_id, "root_id": header.root_id, "turn": event.turn, "iteration": event.iteration}
        if event.call_id is not None:
            meta["call_id"] = event.call_id
        if header.path:
            meta["path"] = header.path
        meta["event_seq"], meta["source"] = event.seq, event.source
        entries: list[Entry] = [(event.name, event.ts_ns, event.data, meta)]
        if header.run_id not in state:
            state[header.run_id] = True
            entries.insert(0, (GENESIS, event.ts_ns, self._genesis(event), {"run_id": header.run_id, "root_id": header.root_id}))
        is_last = event.name == ENDED
        dropped = self._writer.stats().dropped if is_last else 0
        self._writer.put(Item(entries, is_last))
        return self._ended(dropped) if is_last else None

    def _genesis(self, event: ExportedEvent) -> Mapping[str, Any]:
        header, own = event.header, self.settings
        made = {"run_id": header.run_id, "agent": header.agent_id, "library": LIBRARY, "payload_mode": own.payload_mode}
        if own.versions:
            made["versions"] = own.versions
        for name in ("parent_run", "resumed_from", "correlation_id"):
            if getattr(header, name) is not None:
                made[name] = getattr(header, name)
        return made

    async def _ended(self, dropped: int) -> None:
        seconds = self.settings.wait_seconds
        in_time = await anyio.to_thread.run_sync(self._writer.wait, seconds, abandon_on_cancel=True)
        stats = self._writer.stats()
        if stats.dropped > dropped:
            raise AuditError(f"{stats.dropped - dropped} events are not in the audit log: {stats.last_error}")
        if not in_time:
            raise AuditError(f"the audit log is not written up to the end of the run after {seconds} s")

    @hookimpl
    def close(self) -> None:
        """Write what waits, and seal the log."""
        self._writer.stop()

    @property
    def stats(self) -> AuditStats:
        """What became of the events of all runs up to now."""
        return self._writer.stats()
