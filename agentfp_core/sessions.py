"""What tools leave open between calls, and its closing: scopes, touches, the idle and the oldest, cleanups with a bound."""

from __future__ import annotations

import contextvars
import hashlib
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias
from urllib.parse import quote

import anyio
import anyio.from_thread
import anyio.lowlevel

from agentfp_core.errors import ToolTeardownTimeoutError, UsageError
from agentfp_core.events.base import Payload
from agentfp_core.events.tool import SessionClosed, SessionCloseFailed, SessionEnd, SessionReused, SessionStarted

Scope: TypeAlias = Literal["call", "run", "session", "shutdown"]
Cleanup: TypeAlias = Callable[[], object] | Callable[[], Awaitable[object]]

SCOPES: tuple[Scope, ...] = ("call", "run", "session", "shutdown")
MAX_LIVE = 64
IDLE_SECONDS = 900.0
CLEANUP_SECONDS = 5.0
HOLD_SECONDS = 3600.0
_PATIENCE = 0.05
"""Seconds for which the next cleanup waits for the one before, so that quick ones end strictly in reverse order."""


class Emit(Protocol):
    """Takes an event to the record of the run at hand."""

    def __call__(self, payload: Payload, *, call_id: str | None) -> object:
        """File the event.

        Args:
            payload: its content.
            call_id: the tool call it is about.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owner:
    """Whose call it is that opens a session; what is not known is None."""

    run_id: str | None = None
    call_id: str | None = None
    session_id: str | None = None
    tenant: str | None = None
    principal: str | None = None

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes whose end this owner will see."""
        known = {"call": self.call_id, "run": self.run_id, "session": self.session_id, "shutdown": ""}
        return tuple(scope for scope in SCOPES if known[scope] is not None)

    def identity(self, scope: Scope) -> _OwnerKey:
        """What tells apart two owners of one key in a scope."""
        if scope == "call":
            return (self.run_id, self.call_id)
        if scope == "run":
            return (self.run_id,)
        return (self.tenant, self.principal, self.session_id) if scope == "session" else ()


def tool_session_key(
    scope: Scope,
    *,
    tenant: str | None = None,
    principal: str | None = None,
    session_id: str | None = None,
    run_id: str | None = None,
    call_id: str | None = None,
) -> str | None:
    """A key under which a tool may keep what nobody else may reach.

    Args:
        scope: how long it is kept.
        tenant: whom the principal belongs to.
        principal: for whom the run acts.
        session_id: the application's session.
        run_id: the run.
        call_id: the tool call.

    Returns:
        The key, its fields escaped. None where a fact is missing: a session's id alone keys nothing, for it says not
        whose it is, and what is kept until shutdown is nobody's.
    """
    if scope == "call":
        return None if call_id is None else f"call:{_field(call_id)}"
    if scope == "run":
        return None if run_id is None else f"run:{_field(tenant)}/{_field(principal)}/{_field(run_id)}"
    if scope == "session" and session_id is not None and (tenant is not None or principal is not None):
        return f"session:{_field(tenant)}/{_field(principal)}/{_field(session_id)}"
    return None


def _field(value: str | None) -> str:
    return "*" if value is None else quote(value, safe="", errors="surrogatepass")


_OwnerKey: TypeAlias = tuple[str | None, ...]
_Identity: TypeAlias = tuple[str, Scope, _OwnerKey, str]


@dataclass(slots=True, eq=False)
class _Session:
    identity: _Identity
    cleanup: Cleanup
    call_id: str | None
    used: float
    key_hash: str
    calls: int = 1
    held_until: float = 0.0

    @property
    def tool(self) -> str:
        return self.identity[0]

    @property
    def scope(self) -> Scope:
        return self.identity[1]

    @property
    def owner(self) -> _OwnerKey:
        return self.identity[2]


class SessionRegistry:
    """The live sessions of one agent's tools. It holds no run; runs that go on at once do not touch each other's.

    Registering never waits, so that a tool in a worker thread can do it; what is idle or too many is set aside and
    closed by the next method that closes.

    Args:
        max_live: sessions beyond this close the one that was longest not used.
        idle_seconds: a session not used for so long is closed at the next registration.
        cleanup_seconds: a cleanup that takes longer is left behind.
        hold_seconds: what a paused run keeps open is idle only after this.
        clock: a clock that never goes back.
    """

    def __init__(
        self,
        *,
        max_live: int = MAX_LIVE,
        idle_seconds: float = IDLE_SECONDS,
        cleanup_seconds: float = CLEANUP_SECONDS,
        hold_seconds: float = HOLD_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_live = max_live
        self._idle = idle_seconds
        self._bound = cleanup_seconds
        self._hold = hold_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._live: dict[_Identity, _Session] = {}
        self._due: list[tuple[_Session, SessionEnd]] = []

    def __len__(self) -> int:
        return len(self._live)

    def register(
        self,
        cleanup: Cleanup,
        *,
        tool: str,
        emit: Emit,
        scope: Scope = "run",
        key: str | None = None,
        label: str | None = None,
        run_id: str | None = None,
        call_id: str | None = None,
        session_id: str | None = None,
        tenant: str | None = None,
        principal: str | None = None,
    ) -> str:
        """Note what closes a session that a tool opened; the same again is a touch and keeps the first cleanup.

        Args:
            cleanup: called once, sync (in a thread) or async.
            tool: the tool's name.
            emit: takes the event to the record.
            scope: what the session ends with.
            key: tells apart several sessions of a tool; ``<scope>:<tool>`` where None.
            label: words for people.
            run_id: the run of the call; None where there is none, and so for the next four.
            call_id: the call.
            session_id: the application's session.
            tenant: whom the principal belongs to.
            principal: for whom the run acts.

        Returns:
            The digest by which the record knows the key.

        Raises:
            UsageError: the call has no such scope, or the cleanup cannot be called.
        """
        owner = _Owner(run_id=run_id, call_id=call_id, session_id=session_id, tenant=tenant, principal=principal)
        if scope not in owner.scopes:
            msg = f"tool {tool!r}: teardown scope {scope!r} is not there for this call; use one of {', '.join(owner.scopes)}"
            raise UsageError(msg)
        if not callable(cleanup):
            msg = f"tool {tool!r}: a cleanup must be callable, got a {type(cleanup).__name__}; pass a function without arguments"
            raise UsageError(msg)
        name = f"{scope}:{tool}" if key is None else key
        identity: _Identity = (tool, scope, owner.identity(scope), name)
        now = self._clock()
        with self._lock:
            self._set_aside_idle(now, identity)
            session = self._live.pop(identity, None)
            if session is None:
                session = _Session(identity, cleanup, owner.call_id, now, _digest(name))
                self._live[identity] = session
                self._set_aside_oldest()
            else:
                session.calls, session.used, session.held_until = session.calls + 1, now, 0.0
                self._live[identity] = session
            calls = session.calls
        digest = session.key_hash
        emit(SessionStarted(tool, scope, digest, label) if calls == 1 else SessionReused(tool, scope, digest, calls), call_id=call_id)
        return digest

    def hold_run(self, run_id: str) -> None:
        """Keep the sessions of a run that waits for a person, longer than others that are not used."""
        until = self._clock() + self._hold
        with self._lock:
            for session in self._live.values():
                if session.scope == "run" and session.owner == (run_id,):
                    session.held_until = until

    @property
    def has_call_scope(self) -> bool:
        """Whether the end of a call has anything to close."""
        return bool(self._due) or any(session.scope == "call" for session in self._live.values())

    async def end_call(self, call_id: str, *, emit: Emit, run_id: str | None = None) -> int:
        """Close what one call opened for itself, and what is due.

        Args:
            call_id: the call.
            emit: takes the events to the record.
            run_id: the run of the call, for ids of calls may be the same in two runs.

        Returns:
            How many sessions were closed.
        """
        return await self._end("call", lambda owner: owner[1] == call_id and run_id in (None, owner[0]), "call-end", emit)

    async def end_run(self, run_id: str, *, emit: Emit) -> int:
        """Close what a run opened for itself, and what is due; not to be called for a run that pauses."""
        return await self._end("run", lambda owner: owner == (run_id,), "run-end", emit)

    async def end_session(self, session_id: str, *, emit: Emit, tenant: str | None = None, principal: str | None = None) -> int:
        """Close what was opened for one session of one tenant and principal, and what is due."""
        wanted = (tenant, principal, session_id)
        return await self._end("session", lambda owner: owner == wanted, "session-end", emit)

    async def shutdown(self, *, emit: Emit) -> int:
        """Close everything."""
        return await self._end(None, lambda _owner: True, "shutdown", emit)

    async def close_due(self, *, emit: Emit) -> int:
        """Close what was set aside as idle or too many."""
        return await self._end(None, lambda _owner: False, "idle", emit)

    # --- inside -----------------------------------------------------------------------------------------------------------

    def _set_aside_idle(self, now: float, touched: _Identity) -> None:
        stale = [s for s in self._live.values() if s.identity != touched and now - s.used > self._idle and now > s.held_until]
        for session in stale:
            del self._live[session.identity]
            self._due.append((session, "idle"))

    def _set_aside_oldest(self) -> None:
        while len(self._live) > self._max_live:
            identity = next(iter(self._live))
            self._due.append((self._live.pop(identity), "evicted"))

    async def _end(self, scope: Scope | None, owned: Callable[[_OwnerKey], bool], reason: SessionEnd, emit: Emit) -> int:
        if not self._live and not self._due:
            return 0
        with self._lock:
            ending = [session for session in self._live.values() if scope in (None, session.scope) and owned(session.owner)]
            for session in ending:
                del self._live[session.identity]
            closing = [*self._due, *((session, reason) for session in ending)]
            self._due = []
        if closing:
            await _close_all(closing, self._bound, emit)
        return len(closing)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:12]


# --- cleanups -------------------------------------------------------------------------------------------------------------


class _Running:
    """One cleanup in a thread of its own, so that one that hangs, shielded or not, can be left behind."""

    __slots__ = ("done", "error", "_cleanup", "_token")

    def __init__(self, cleanup: Cleanup) -> None:
        self.done = anyio.Event()
        self.error: BaseException | None = None
        self._cleanup = cleanup
        self._token = anyio.lowlevel.current_token()
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._run,), name="agentfp-teardown", daemon=True).start()

    def _run(self) -> None:
        try:
            result: Any = self._cleanup()
            if inspect.isawaitable(result):
                anyio.from_thread.run(_awaited, result, token=self._token)
        except BaseException as error:
            self.error = error
        try:
            anyio.from_thread.run_sync(self.done.set, token=self._token)
        except BaseException:
            return


async def _awaited(result: Awaitable[object]) -> None:
    await result


async def _close_all(closing: Iterable[tuple[_Session, SessionEnd]], bound: float, emit: Emit) -> None:
    """Run cleanups in reverse order of registration, side by side where one takes its time."""
    with anyio.CancelScope(shield=True):
        async with anyio.create_task_group() as group:
            for session, reason in reversed(list(closing)):
                began = time.monotonic()
                running = _Running(session.cleanup)
                with anyio.move_on_after(min(_PATIENCE, bound)):
                    await running.done.wait()
                if running.done.is_set():
                    _report(session, reason, began, running, bound, emit)
                else:
                    group.start_soon(_outlast, session, reason, began, running, bound, emit)


async def _outlast(session: _Session, reason: SessionEnd, began: float, running: _Running, bound: float, emit: Emit) -> None:
    with anyio.move_on_after(max(0.0, began + bound - time.monotonic())):
        await running.done.wait()
    _report(session, reason, began, running, bound, emit)


def _report(session: _Session, reason: SessionEnd, began: float, running: _Running, bound: float, emit: Emit) -> None:
    error = running.error
    if not running.done.is_set():
        error = ToolTeardownTimeoutError(f"the cleanup did not end within {bound:g} s and was left behind")
    spent = round((time.monotonic() - began) * 1000)
    about = session.call_id if reason in ("call-end", "run-end") else None
    if error is None:
        emit(SessionClosed(session.tool, session.scope, session.key_hash, reason, spent), call_id=about)
        return
    failed = SessionCloseFailed(session.tool, session.scope, session.key_hash, reason, spent, type(error).__name__, _words_of(error))
    emit(failed, call_id=about)


def _words_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""
