"""What tools leave open, seen from a whole run: it is closed when the run ends, however it ends."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import anyio
import pytest

from agentfp import Agent, Identity, Limits, RunCheckpointError, RunTimeoutError, ToolContext, UsageError, tool
from agentfp.events import SessionClosed, SessionCloseFailed, SessionReused, SessionStarted, ToolEnded
from agentfp.plugin import CallView, Halt, Plugin, hookimpl
from agentfp_core.sessions import SessionRegistry
from tests.core.running import ScriptedModel, answering, call, check_record, names, tool_texts

pytestmark = pytest.mark.anyio


class Opens:
    """A tool that opens something, sync or async, and remembers what was closed."""

    def __init__(self) -> None:
        self.closed: list[str] = []
        self.failure: BaseException | None = None

    def later(self, what: str) -> Any:
        async def cleanup() -> None:
            await anyio.lowlevel.checkpoint()
            self.closed.append(what)
            if self.failure is not None:
                raise self.failure

        return cleanup

    def tools(self) -> list[Any]:
        @tool
        async def open_it(ctx: ToolContext[Any], what: str, scope: str = "run") -> str:
            """Open."""
            ctx.on_teardown(self.later(what), scope=scope, label=f"label of {what}")  # type: ignore[arg-type]
            return f"{what}; closed so far: {self.closed}"

        @tool
        def open_in_thread(ctx: ToolContext[Any], what: str) -> str:
            """Open."""
            ctx.on_teardown(lambda: self.closed.append(what), key=what)
            return what

        return [open_it, open_in_thread]


async def test_a_session_is_touched_again_and_closed_once() -> None:
    opens = Opens()
    agent = answering(call("open_it", what="a"), call("open_it", what="b"), "done", tools=opens.tools())
    result = await agent.run("go")
    record = check_record(result)
    assert opens.closed == ["a"]
    events: list[Any] = [event.payload for event in record.events("agentfp.tools.*")]
    assert [type(payload) for payload in events] == [SessionStarted, SessionReused, SessionClosed]
    started, reused, closed = events
    assert (started.tool, started.scope, started.label) == ("open_it", "run", "label of a")
    assert (reused.calls, closed.reason) == (2, "run-end")
    assert len({payload.key_hash for payload in events}) == 1
    assert names(record)[-2:] == ["tools.session_closed", "run.ended"]


async def test_what_a_call_opens_for_itself_is_closed_with_it() -> None:
    opens = Opens()
    agent = answering(call("open_it", what="a", scope="call"), call("open_it", what="b", scope="call"), "done", tools=opens.tools())
    result = await agent.run("go")
    assert tool_texts(result.history)[1] == "b; closed so far: ['a']"
    assert opens.closed == ["a", "b"]
    assert [closed.reason for closed in check_record(result).of(SessionClosed)] == ["call-end", "call-end"]


async def test_a_tool_in_a_thread_can_open_something() -> None:
    opens = Opens()
    agent = answering([call("open_in_thread", what="a"), call("open_in_thread", what="b")], "done", tools=opens.tools())
    check_record(await agent.run("go"))
    assert sorted(opens.closed) == ["a", "b"]


async def test_a_cleanup_that_fails_is_on_the_record_and_changes_nothing() -> None:
    opens = Opens()
    opens.failure = RuntimeError("stuck")
    result = await answering(call("open_it", what="a"), "done", tools=opens.tools()).run("go")
    assert (result.status, result.text) == ("answered", "done")
    (failed,) = check_record(result).of(SessionCloseFailed)
    assert (failed.tool, failed.reason, failed.error_class) == ("open_it", "run-end", "RuntimeError")


class Halts(Plugin):
    name = "halts"

    @hookimpl(phase="authorize")
    def before_tool(self, call: CallView) -> Halt | None:
        return Halt("no") if call.name == "stop" else None


@pytest.mark.parametrize("end", ["fails", "halts", "times out", "stops early", "is cancelled"])
async def test_however_a_run_ends_its_sessions_are_closed(end: str) -> None:
    opens = Opens()

    async def forever() -> str:
        """Wait."""
        await anyio.sleep_forever()
        return "never"

    def stop() -> str:
        """Stop."""
        return "never"

    then = {"fails": RuntimeError("x"), "halts": call("stop"), "stops early": "over"}.get(end, call("forever"))
    agent = answering(call("open_it", what="a"), then, tools=[*opens.tools(), forever, stop], plugins=[Halts()])
    seen: list[Any] = []
    if end == "is cancelled":
        with anyio.move_on_after(0.05):
            await agent.run("go", on_event=seen.append)
    else:
        raised = {"fails": RunCheckpointError, "times out": RunTimeoutError}.get(end)
        with pytest.raises(raised) if raised else nullcontext():
            await agent.run("go", on_event=seen.append, timeout=0.05 if end == "times out" else None)
    assert opens.closed == ["a"]
    assert "tools.session_closed" in names(seen)
    assert names(seen)[-1] == "run.ended"


async def test_a_session_of_the_application_outlives_its_runs() -> None:
    opens = Opens()
    script = [call("open_it", what="a", scope="session"), "one", call("open_it", what="b", scope="session"), "two"] * 2
    agent: Agent[Any, str] = Agent(ScriptedModel(script), tools=opens.tools())
    ann, bob = Identity(principal="ann"), Identity(principal="bob")
    await agent.run("go", session_id="s", identity=ann)
    result = await agent.run("go", session_id="s", identity=ann)
    assert (opens.closed, [reused.calls for reused in result.record.of(SessionReused)]) == ([], [2])
    await agent.run("go", session_id="s", identity=bob)
    assert await agent.close_tool_sessions("s") == 0
    assert await agent.close_tool_sessions("s", principal="ann") == 1
    assert opens.closed == ["a"]
    assert await agent.close_tool_sessions("s", principal="ann") == 0
    await agent.shutdown()
    assert opens.closed == ["a", "a"]
    await agent.shutdown()
    assert (await agent.run("go", session_id="s", identity=ann)).status == "answered"
    await agent.shutdown()


async def test_a_scope_that_is_not_there_is_the_tools_own_failure() -> None:
    opens = Opens()
    agent = answering(call("open_it", what="a", scope="moon"), call("open_it", what="a", scope="session"), "done", tools=opens.tools())
    result = await agent.run("go")
    check_record(result)
    ended = result.record.of(ToolEnded)
    assert [end.error_class for end in ended] == [UsageError.__name__] * 2
    assert "call, run, shutdown" in (ended[0].error or "")


async def test_the_record_holds_digests_and_no_keys_or_people() -> None:
    opens = Opens()
    agent = answering(call("open_it", what="a", scope="session"), "done", tools=opens.tools())
    result = await agent.run("go", session_id="SESSION-9", identity=Identity(tenant="TENANT-9"))
    lines = list(result.record.to_lines())[1:]
    assert not any("SESSION-9" in line or "TENANT-9" in line for line in lines)
    await agent.shutdown()


async def test_the_oldest_of_too_many_gives_way() -> None:
    opens = Opens()
    calls = [call("open_in_thread", what=f"k{n}") for n in range(65)]
    result = await answering(*calls, "done", tools=opens.tools(), limits=Limits(iterations=70, hard_cap=70)).run("go")
    reasons = [closed.reason for closed in check_record(result).of(SessionClosed)]
    assert (reasons.count("evicted"), reasons.count("run-end")) == (1, 64)
    assert len(opens.closed) == len(set(opens.closed)) == 65


async def test_a_cleanup_that_hangs_is_left_behind_and_the_run_returns() -> None:
    @tool
    async def open_it(ctx: ToolContext[Any]) -> str:
        """Open."""
        ctx.on_teardown(anyio.sleep_forever)
        return "open"

    agent = answering(call("open_it"), "done", tools=[open_it])
    agent.sessions = SessionRegistry(cleanup_seconds=0.05)
    result = await agent.run("go")
    assert result.text == "done"
    (failed,) = check_record(result).of(SessionCloseFailed)
    assert (failed.error_class, failed.reason) == ("ToolTeardownTimeoutError", "run-end")


@tool
def keyed(ctx: ToolContext[Any]) -> str:
    """Say under which keys something may be kept."""
    return " ".join(str(ctx.isolation_key(scope)) for scope in ctx.teardown_scopes)


async def test_a_key_tells_apart_whom_something_is_kept_for() -> None:
    async def keys(**options: Any) -> list[str]:
        result = await answering(call("keyed", id="c1"), "done", tools=[keyed]).run("go", **options)
        (text,) = tool_texts(result.history)
        return text.replace(result.root_id, "ROOT").split()

    assert await keys() == ["call:c1", "run:*/*/ROOT%2F1", "None"]
    assert await keys(session_id="s") == ["call:c1", "run:*/*/ROOT%2F1", "None", "None"]
    ann, eve = Identity(tenant="acme", principal="ann/eve"), Identity(tenant="acme/ann", principal="eve")
    one, other = await keys(session_id="s", identity=ann), await keys(session_id="s", identity=eve)
    assert one == ["call:c1", "run:acme/ann%2Feve/ROOT%2F1", "session:acme/ann%2Feve/s", "None"]
    assert (one[2] != other[2], one[1] != other[1]) == (True, True)
