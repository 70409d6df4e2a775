"""What tools leave open: touches, scopes, isolation between runs, the idle and the oldest, cleanups that fail or hang."""

from __future__ import annotations

import functools
import hashlib
import threading
import time
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from agentfp_core.errors import UsageError
from agentfp_core.events.base import Payload
from agentfp_core.events.tool import SessionClosed, SessionCloseFailed, SessionReused, SessionStarted
from agentfp_core.sessions import SessionRegistry, tool_session_key

pytestmark = pytest.mark.anyio


class Recorder:
    """Takes events; makes cleanups that say they ran."""

    def __init__(self) -> None:
        self.events: list[Payload] = []
        self.calls: list[str | None] = []
        self.ran: list[str] = []

    def __call__(self, payload: Payload, *, call_id: str | None) -> None:
        self.events.append(payload)
        self.calls.append(call_id)

    def sync(self, name: str) -> Any:
        return lambda: self.ran.append(name)

    def later(self, name: str) -> Any:
        async def cleanup() -> None:
            await anyio.lowlevel.checkpoint()
            self.ran.append(name)

        return cleanup

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seen() -> Recorder:
    return Recorder()


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:12]


async def test_a_second_registration_is_a_touch(seen: Recorder) -> None:
    registry = SessionRegistry()
    open_it = functools.partial(registry.register, tool="sql", run_id="r1", emit=seen)
    assert open_it(seen.sync("first"), call_id="c1", label="db") == open_it(seen.sync("second"), call_id="c2") == _digest("run:sql")
    assert len(registry) == 1
    assert await registry.end_run("r1", emit=seen) == 1
    assert await registry.end_run("r1", emit=seen) == 0
    assert seen.ran == ["first"]
    started, reused, closed = seen.events
    assert started == SessionStarted("sql", "run", _digest("run:sql"), "db")
    assert reused == SessionReused("sql", "run", _digest("run:sql"), 2)
    assert isinstance(closed, SessionClosed)
    assert (closed.tool, closed.scope, closed.key_hash, closed.reason) == ("sql", "run", _digest("run:sql"), "run-end")
    assert seen.calls == ["c1", "c2", "c1"]


async def test_cleanups_run_in_reverse_order_sync_and_async(seen: Recorder) -> None:
    registry = SessionRegistry()
    for index in range(10):
        cleanup = seen.sync(str(index)) if index % 2 else seen.later(str(index))
        registry.register(cleanup, tool="t", key=str(index), run_id="r", emit=seen)
    await registry.end_run("r", emit=seen)
    assert seen.ran == [str(index) for index in range(9, -1, -1)]


async def test_slow_cleanups_do_not_wait_for_each_other(seen: Recorder) -> None:
    registry = SessionRegistry()

    async def slow() -> None:
        await anyio.sleep(0.4)

    for index in range(4):
        registry.register(slow if index % 2 else functools.partial(time.sleep, 0.4), tool="t", key=str(index), run_id="r", emit=seen)
    begun = time.perf_counter()
    await registry.end_run("r", emit=seen)
    assert time.perf_counter() - begun < 1.2
    assert len(seen.of(SessionClosed)) == 4


async def test_sync_cleanups_run_in_a_thread_and_async_ones_on_the_loop(seen: Recorder) -> None:
    registry = SessionRegistry()
    threads: dict[str, int] = {}

    async def later() -> None:
        await anyio.lowlevel.checkpoint()
        threads["async"] = threading.get_ident()

    def sync() -> None:
        threads["sync"] = threading.get_ident()

    registry.register(later, tool="a", run_id="r", emit=seen)
    registry.register(sync, tool="b", run_id="r", emit=seen)
    await registry.end_run("r", emit=seen)
    assert threads["async"] == threading.get_ident() != threads["sync"]


async def test_one_run_never_ends_anothers(seen: Recorder) -> None:
    registry = SessionRegistry()
    for run in ("r1", "r2"):
        registry.register(seen.sync(run), tool="sql", run_id=run, call_id="c1", emit=seen)
        registry.register(seen.sync(f"call {run}"), tool="sql", scope="call", run_id=run, call_id="c1", emit=seen)
    assert len(seen.of(SessionStarted)) == 4
    await registry.end_call("c1", run_id="r1", emit=seen)
    assert seen.ran == ["call r1"]
    await registry.end_run("r1", emit=seen)
    assert seen.ran == ["call r1", "r1"]
    assert len(registry) == 2


async def test_each_scope_ends_with_its_own_end(seen: Recorder) -> None:
    registry = SessionRegistry()
    facts: dict[str, Any] = {"run_id": "r", "call_id": "c", "session_id": "s", "tenant": "t", "principal": "p"}
    for scope in ("call", "run", "session", "shutdown"):
        registry.register(seen.sync(scope), tool="x", scope=scope, emit=seen, **facts)
    assert registry.has_call_scope
    await registry.end_call("c", run_id="r", emit=seen)
    assert not registry.has_call_scope
    await registry.end_run("r", emit=seen)
    await registry.end_session("s", emit=seen)
    await registry.end_session("s", tenant="t", principal="other", emit=seen)
    assert seen.ran == ["call", "run"]
    await registry.end_session("s", tenant="t", principal="p", emit=seen)
    await registry.shutdown(emit=seen)
    assert seen.ran == ["call", "run", "session", "shutdown"]
    assert [event.reason for event in seen.of(SessionClosed)] == ["call-end", "run-end", "session-end", "shutdown"]


async def test_shutdown_closes_everything(seen: Recorder) -> None:
    registry = SessionRegistry()
    registry.register(seen.sync("a"), tool="x", run_id="r", emit=seen)
    registry.register(seen.sync("b"), tool="x", scope="shutdown", emit=seen)
    assert await registry.shutdown(emit=seen) == 2
    assert seen.ran == ["b", "a"]
    assert len(registry) == 0


async def test_an_unknown_scope_is_refused_naming_the_others(seen: Recorder) -> None:
    registry = SessionRegistry()
    facts: dict[str, Any] = {"run_id": "r", "call_id": "c", "session_id": "s"}
    with pytest.raises(UsageError, match="call, run, session, shutdown"):
        registry.register(print, tool="x", scope="moon", emit=seen, **facts)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="use one of call, run, shutdown"):
        registry.register(print, tool="x", scope="session", run_id="r", call_id="c", emit=seen)
    with pytest.raises(UsageError, match="got a str"):
        registry.register("close", tool="x", run_id="r", emit=seen)  # type: ignore[arg-type]
    assert not seen.events


async def test_a_failing_cleanup_is_reported_and_never_raised(seen: Recorder) -> None:
    registry = SessionRegistry()

    async def fails() -> None:
        raise ValueError("no such connection")

    def exits() -> None:
        raise SystemExit(3)

    registry.register(seen.sync("fine"), tool="a", run_id="r", emit=seen)
    registry.register(fails, tool="b", run_id="r", emit=seen)
    registry.register(exits, tool="c", run_id="r", emit=seen)
    await registry.end_run("r", emit=seen)
    assert seen.ran == ["fine"]
    failures = {event.tool: (event.error_class, event.error, event.reason) for event in seen.of(SessionCloseFailed)}
    assert failures == {"b": ("ValueError", "no such connection", "run-end"), "c": ("SystemExit", "3", "run-end")}


async def test_a_hung_cleanup_is_left_behind(seen: Recorder) -> None:
    registry = SessionRegistry(cleanup_seconds=0.2)
    release = threading.Event()
    let_go = anyio.Event()

    async def shielded() -> None:
        with anyio.CancelScope(shield=True):
            await let_go.wait()

    registry.register(seen.sync("fine"), tool="c", run_id="r", emit=seen)
    registry.register(shielded, tool="a", run_id="r", emit=seen)
    registry.register(release.wait, tool="b", run_id="r", emit=seen)
    begun = time.perf_counter()
    await registry.end_run("r", emit=seen)
    assert time.perf_counter() - begun < 2
    assert {event.tool: event.error_class for event in seen.of(SessionCloseFailed)} == {
        "a": "ToolTeardownTimeoutError",
        "b": "ToolTeardownTimeoutError",
    }
    assert all(event.duration_ms >= 190 for event in seen.of(SessionCloseFailed))
    assert seen.ran == ["fine"]
    let_go.set()
    release.set()
    await anyio.sleep(0.05)


async def test_a_cancelled_run_still_closes(seen: Recorder) -> None:
    registry = SessionRegistry()
    registry.register(seen.later("a"), tool="a", run_id="r", emit=seen)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await registry.end_run("r", emit=seen)
    assert seen.ran == ["a"]


async def test_idle_sessions_are_closed_after_the_next_registration(seen: Recorder) -> None:
    clock = Clock()
    registry = SessionRegistry(clock=clock)
    registry.register(seen.sync("old"), tool="old", run_id="r", emit=seen)
    registry.register(seen.sync("used"), tool="used", run_id="r", emit=seen)
    clock.now += 600
    registry.register(seen.sync("used"), tool="used", run_id="r", emit=seen)
    clock.now += 301
    await registry.close_due(emit=seen)
    assert seen.ran == []
    registry.register(seen.sync("new"), tool="new", run_id="r2", emit=seen)
    assert registry.has_call_scope
    await registry.end_call("whatever", emit=seen)
    assert seen.ran == ["old"]
    assert seen.of(SessionClosed)[0].reason == "idle"
    assert len(registry) == 2


async def test_an_idle_session_that_is_touched_again_goes_on(seen: Recorder) -> None:
    clock = Clock()
    registry = SessionRegistry(clock=clock)
    registry.register(seen.sync("a"), tool="a", run_id="r", emit=seen)
    clock.now += 5000
    registry.register(seen.sync("b"), tool="a", run_id="r", emit=seen)
    assert seen.of(SessionReused)[0].calls == 2


async def test_what_a_paused_run_holds_is_kept_longer(seen: Recorder) -> None:
    clock = Clock()
    registry = SessionRegistry(clock=clock)
    registry.register(seen.sync("held"), tool="a", run_id="r", emit=seen)
    registry.hold_run("r")
    clock.now += 3000
    registry.register(seen.sync("x"), tool="b", run_id="r2", emit=seen)
    await registry.close_due(emit=seen)
    assert seen.ran == []
    clock.now += 601
    registry.register(seen.sync("x"), tool="c", run_id="r2", emit=seen)
    await registry.close_due(emit=seen)
    assert seen.ran == ["held"]


async def test_the_one_longest_not_used_gives_way(seen: Recorder) -> None:
    registry = SessionRegistry()
    for index in range(64):
        registry.register(seen.sync(str(index)), tool="t", key=str(index), run_id="r", emit=seen)
    registry.register(seen.sync("0"), tool="t", key="0", run_id="r", emit=seen)
    registry.register(seen.sync("64"), tool="t", key="64", run_id="r", emit=seen)
    await registry.close_due(emit=seen)
    assert seen.ran == ["1"]
    assert seen.of(SessionClosed)[0].reason == "evicted"
    assert len(registry) == 64


async def test_registering_from_many_threads(seen: Recorder) -> None:
    registry = SessionRegistry()

    def work(index: int) -> None:
        registry.register(seen.sync("x"), tool="t", key=str(index % 5), run_id="r", emit=seen)

    async with anyio.create_task_group() as group:
        for index in range(50):
            group.start_soon(anyio.to_thread.run_sync, work, index)
    assert len(registry) == 5
    assert len(seen.of(SessionStarted)) == 5
    await registry.end_run("r", emit=seen)
    assert len(seen.ran) == 5


async def test_two_ends_at_once_close_once(seen: Recorder) -> None:
    registry = SessionRegistry()
    registry.register(seen.later("a"), tool="a", run_id="r", emit=seen)
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(functools.partial(registry.end_run, "r", emit=seen))
    assert seen.ran == ["a"]


async def test_keys_are_hidden(seen: Recorder) -> None:
    registry = SessionRegistry()
    registry.register(seen.sync("a"), tool="a", key="user-ann-secret", run_id="r", emit=seen)
    await registry.end_run("r", emit=seen)
    assert "ann" not in repr(seen.events)


# --- the key helper -----------------------------------------------------------------------------------------------------------


async def test_keys_tell_people_apart() -> None:
    keys = {
        tool_session_key("session", tenant=tenant, principal=principal, session_id=session)
        for tenant, principal, session in [
            *[("a", None, "s"), ("b", None, "s"), ("a", "b", "s"), ("a/b", None, "s")],
            *[("a", "b/s", "x"), (None, "a", "s")],
        ]
    }
    keys.add(tool_session_key("session", tenant="*", principal="a", session_id="s"))
    assert len(keys) == 7
    assert None not in keys


async def test_missing_facts_give_no_key() -> None:
    assert tool_session_key("session", session_id="s") is None
    assert tool_session_key("session", tenant="t", principal="p") is None
    assert tool_session_key("run", tenant="t") is None
    assert tool_session_key("call") is None
    assert tool_session_key("shutdown", tenant="t", session_id="s", run_id="r", call_id="c") is None
    assert tool_session_key("run", run_id="r") == "run:*/*/r"
    assert tool_session_key("call", call_id="c/1") == "call:c%2F1"
