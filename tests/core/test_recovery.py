"""Runs that fail: what the error holds, and how a run is taken up again, running nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentfp import (
    Checkpoint,
    CheckpointError,
    ConversationMismatchError,
    Identity,
    Journal,
    Limits,
    ModelError,
    NoConversationError,
    PendingQuestionError,
    Record,
    RedactedRecordError,
    RedactionPolicy,
    ResumeIdentityConflictError,
    RunCheckpointError,
    ToolContext,
    can_resume,
    tool,
)
from agentfp.events import Fatal, IterationStart, LlmEnd, RunConfigured, RunEnded
from agentfp.plugin import Allow, Plugin, hookimpl
from tests.core.asking import Counter, before, made, plugin
from tests.core.running import call, check_history, check_record, outcomes, tool_texts

pytestmark = pytest.mark.anyio


class Down(Exception):
    """The provider is down."""

    def __init__(self, status: int = 503) -> None:
        self.status = status
        super().__init__(f"status {status}")


def failing(counter: Counter, *, status: int = 503, **settings: Any) -> Any:
    return made(
        call("note", id="c1", text="a"),
        [call("note", id="c2", text="b"), call("change", id="c3", text="c")],
        Down(status),
        "done",
        tools=counter.tools(),
        **settings,
    )


async def test_a_failure_after_finished_iterations_carries_a_checkpoint() -> None:
    counter = Counter()
    agent = failing(counter)
    with pytest.raises(RunCheckpointError) as caught:
        await agent.run("go")
    error = caught.value
    assert (error.iteration, error.phase, error.stage, error.resumable) == (3, "llm", "call-llm", True)
    assert isinstance(error.__cause__, Down)
    record = check_record(error.checkpoint.record)
    assert [fatal.error_class for fatal in record.of(Fatal)] == ["Down"]
    assert record.of(RunEnded)[-1].status == "failed"
    result = await agent.resume_on_error(error)
    assert result.text == "done"
    assert counter.done == ["a", "b", "c"]
    assert result.run_id != error.checkpoint.record.run_id
    assert [configured.leg for configured in result.record.of(RunConfigured)] == ["run", "recovery"]
    assert result.record.headers[-1].resumed_from == error.checkpoint.record.run_id
    assert [message.text for message in result.history if message.role == "user"] == ["go"]
    check_record(result)


@pytest.mark.parametrize("form", ["error", "checkpoint", "text", "record", "journal", "path"])
async def test_a_run_is_taken_up_from_whatever_it_left(form: str, tmp_path: Path) -> None:
    counter = Counter()
    journal = tmp_path / "run.jsonl"
    agent = failing(counter)
    with pytest.raises(RunCheckpointError) as caught:
        await agent.run("go", journal=journal)
    forms: dict[str, Callable[[], Any]] = {
        "error": lambda: caught.value,
        "checkpoint": lambda: Checkpoint.from_json(caught.value.checkpoint.to_json()),
        "text": lambda: caught.value.checkpoint.to_json(),
        "record": lambda: Record.load(journal),
        "journal": lambda: Journal(journal),
        "path": lambda: journal,
    }
    result = await agent.resume_on_error(forms[form]())
    assert result.text == "done"
    assert counter.done == ["a", "b", "c"]


async def test_a_failure_in_the_first_iteration_is_raised_as_it_is() -> None:
    with pytest.raises(Down):
        await made(Down(), tools=Counter().tools()).run("go")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_an_error_that_would_come_again_says_so(status: int) -> None:
    with pytest.raises(RunCheckpointError, match="would fail the same way") as caught:
        await failing(Counter(), status=status).run("go")
    assert not caught.value.resumable


def test_can_resume() -> None:
    class ContextWindowExceededError(Exception): ...

    class AuthenticationError(Exception): ...

    assert all(can_resume(error) for error in (Down(429), Down(500), Down(503), TimeoutError(), RuntimeError(), ModelError("x")))
    assert not any(can_resume(error) for error in (Down(401), Down(400), ContextWindowExceededError(), AuthenticationError()))


async def test_a_recovered_run_has_a_new_budget() -> None:
    agent = failing(Counter(), limits=Limits(iterations=3))
    with pytest.raises(RunCheckpointError) as caught:
        await agent.run("go")
    spent = sum((end.input_tokens or 0) + (end.output_tokens or 0) for end in caught.value.checkpoint.record.of(LlmEnd))
    result = await agent.resume_on_error(caught.value)
    assert result.text == "done"
    assert result.stopped_early is None
    assert [start.iteration for start in result.record.of(IterationStart)] == [1, 2, 3, 1]
    assert 0 < result.usage.total < spent


@pytest.mark.parametrize("phase", ["compose", "seal"])
async def test_a_hook_that_fails_a_run_leaves_a_checkpoint_too(phase: str) -> None:
    broken = True

    def fails(self: Plugin, run: Any) -> None:
        if broken and run.iteration == 2:
            raise RuntimeError("hook")

    counter = Counter()
    agent = made(
        call("change", text="a"),
        "done",
        tools=counter.tools(),
        plugins=[plugin("wrong", hook=hookimpl(moment="serve_context", phase=phase)(fails))],
    )
    with pytest.raises(RunCheckpointError) as caught:
        await agent.run("go")
    assert (caught.value.iteration, caught.value.phase, caught.value.stage) == (2, "compose", None)
    broken = False
    assert (await agent.resume_on_error(caught.value)).text == "done"
    assert counter.done == ["a"]


async def test_a_tool_is_not_run_again_when_a_hook_fails_after_it() -> None:
    def fails(self: Plugin, result: Any) -> None:
        raise RuntimeError("hook")

    counter = Counter()
    for phase in ("check", "judge"):
        agent = made(
            call("change", id="c1", text=phase),
            Down(),
            "done",
            tools=counter.tools(),
            plugins=[plugin("wrong", hook=hookimpl(moment="after_result", phase=phase)(fails))],
        )
        with pytest.raises(RunCheckpointError) as caught:
            await agent.run("go")
        result = await agent.resume_on_error(caught.value)
        assert outcomes(result.record) == {"c1": "success"}
    assert counter.done == ["check", "judge"]


async def test_nothing_to_take_up() -> None:
    agent = made("done")
    result = await agent.run("go")
    with pytest.raises(NoConversationError, match="nothing-pending"):
        await agent.resume_on_error(result.record)


async def test_a_paused_run_is_answered_and_not_taken_up(tmp_path: Path) -> None:
    async def ask(ctx: ToolContext[Any]) -> str:
        ctx.ask_human("Refund 900?")

    agent = made(call("ask", id="c1"), "done", tools=[ask])
    await agent.run("go", journal=tmp_path / "run.jsonl")
    with pytest.raises(PendingQuestionError) as caught:
        await agent.resume_on_error(tmp_path / "run.jsonl")
    assert (caught.value.tool_name, caught.value.question) == ("ask", "Refund 900?")


async def test_refusals_of_a_recovery() -> None:
    ann = Identity(principal="ann")
    agent = failing(Counter(), name="billing")
    with pytest.raises(RunCheckpointError) as caught:
        await agent.run("go", identity=ann)
    with pytest.raises(ResumeIdentityConflictError):
        await agent.resume_on_error(caught.value, identity=Identity(principal="bob"))
    with pytest.raises(ConversationMismatchError):
        await made("done", name="support", tools=Counter().tools()).resume_on_error(caught.value)
    with pytest.raises(CheckpointError):
        await agent.resume_on_error('{"kind": "pause"}')
    result = await agent.resume_on_error(caught.value, identity=ann)
    assert result.record.headers[-1].identity == ann


async def test_a_redacted_copy_cannot_be_taken_up(tmp_path: Path) -> None:
    agent = failing(Counter())
    with pytest.raises(RunCheckpointError) as caught:
        await agent.run("go")
    caught.value.checkpoint.record.save(tmp_path / "copy.jsonl", policy=RedactionPolicy(content=True))
    with pytest.raises(RedactedRecordError):
        await agent.resume_on_error(tmp_path / "copy.jsonl")


async def test_the_key_of_a_call_that_is_made_again_is_the_same(tmp_path: Path) -> None:
    """Made again after it failed, a call has its key; a further one, in the same batch or later, has its own."""
    keys: list[tuple[str, str]] = []
    fail = {"c1", "c4"}

    @tool
    async def charge(ctx: ToolContext[Any], amount: int) -> str:
        keys.append((ctx.call_id, ctx.idempotency_key))
        if ctx.call_id in fail:
            raise RuntimeError("down")
        return "ok"

    agent = made(
        [call("charge", id="c1", amount=1), call("charge", id="c2", amount=1)],
        [call("charge", id="c3", amount=1), call("charge", id="c4", amount=2)],
        [call("charge", id="c5", amount=2), call("charge", id="c6", amount=1)],
        "done",
        tools=[charge],
    )
    result = await agent.run("go")
    key = dict(keys)
    assert key["c1"] == key["c3"] != key["c2"]
    assert key["c4"] == key["c5"]
    assert len({key["c2"], key["c3"], key["c5"], key["c6"]}) == 4
    other = await agent.replace(model=made(call("charge", id="c9", amount=1), "done").model).run("go")
    assert dict(keys)["c9"] not in {key[c] for c in ("c1", "c2", "c6")}  # another conversation
    assert other.root_id != result.root_id


async def test_the_key_tells_calls_apart_that_a_plugin_made_the_same() -> None:
    keys: list[str] = []

    @tool
    async def charge(ctx: ToolContext[Any], to: str) -> str:
        keys.append(ctx.idempotency_key)
        return "ok"

    def tidy(self: Plugin, call: Any) -> Any:
        return Allow({"to": call.arguments["to"].strip()})

    agent = made(
        [call("charge", to="ann"), call("charge", to=" ann")],
        "done",
        tools=[charge],
        plugins=[plugin("tidy", hook=before("rewrite")(tidy))],
    )
    await agent.run("go")
    assert len(set(keys)) == 2


async def test_a_history_that_ends_in_the_middle_of_a_batch_is_closed_before_a_message_follows(tmp_path: Path) -> None:
    counter = Counter()
    agent = made([call("note", id="c1", text="a"), call("change", id="c2", text="b")], "done", "again", tools=counter.tools())
    await agent.run("go", journal=tmp_path / "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_text().splitlines(keepends=True)
    cut = next(index for index, line in enumerate(lines) if json.loads(line).get("name") == "agentfp.tool.dispatched") + 1
    (tmp_path / "cut.jsonl").write_text("".join(lines[:cut]))
    record = Record.load(tmp_path / "cut.jsonl")
    result = await agent.run("what now?", history=record.history)
    assert outcomes(result.record) == {"c1": "unknown", "c2": "cancelled"}
    assert len(tool_texts(result.history)) == 2
    check_history(result.history)
