"""How a pause ends: answered, and the run goes on; answered in part, and it waits on; dropped, and its calls are settled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentfp_core.errors import (
    CheckpointError,
    PauseExpiredError,
    PausePluginMissingError,
    PauseToolMissingError,
    RedactedRecordError,
    ResumeIdentityConflictError,
    ResumeRedactionError,
)
from agentfp_core.events.agent import IterationEnd, RunConfigured, RunEnded
from agentfp_core.events.pause import PauseAbandoned, PauseAnswered, PauseResume
from agentfp_core.leg import manifest, run_leg
from agentfp_core.loop import End, run_turn
from agentfp_core.outcomes import settle
from agentfp_core.pause import Pause, given, read_answers
from agentfp_core.replay import resumption_of
from agentfp_core.result import Head, RunResult
from agentfp_core.starting import CallOptions, check_agent, close_journal, fold, in_flight, reopen_run
from agentfp_core.state import RunState

if TYPE_CHECKING:
    from agentfp_core.agent import Agent
    from agentfp_core.record import Record
    from agentfp_core.run import Run
    from agentfp_core.tools import Tool


async def resume(
    agent: Agent[Any, Any], pause: Pause, answers: Any, call: CallOptions, *, parent: Run[Any] | None = None
) -> RunResult[Any]:
    """Go on with a paused run. Every check comes before anything is changed."""
    if not isinstance(pause, Pause):
        raise CheckpointError(f"resume takes a Pause, got a {type(pause).__name__}; read stored text with Pause.from_json(text)")
    header = pause.record.headers[-1]
    if pause.record.redacted:
        raise RedactedRecordError("this pause was made of a redacted recording; resume from the pause that the run returned")
    if parent is None:
        check_agent(agent, header)
    if call.identity is not None and call.identity != header.identity:
        raise ResumeIdentityConflictError
    if pause.expires_ns is not None and agent.clock.time_ns() > pause.expires_ns:
        raise PauseExpiredError(str(pause.expires_at))
    if agent.index.is_consumed(pause.id):
        agent.index.consume(pause.id)
    folds = fold(agent, pause.record, pause.record.root_id)
    _check_agent_holds(agent, pause, folds[0], () if call.redact is None else call.redact.names)
    taken = read_answers(pause, answers)
    run = reopen_run(agent, call, pause.record, folds=folds, parent=parent)
    if parent is not None:
        parent.record.children[header.path[-1]] = run.record
    everything = {**pause.answered, **taken}
    with in_flight(agent, run, nested=parent is not None):
        try:
            if _left_open(folds[0], everything):
                return await run_leg(run, lambda: _answered_in_part(run, pause, taken), leg="resume", timeout=call.timeout)
            agent.index.consume(pause.id)
            try:
                return await run_leg(run, lambda: _resumed_turn(run, pause, everything), leg="resume", timeout=call.timeout)
            except BaseException:
                if not run.record.tail.events:
                    agent.index.release(pause.id)
                raise
        finally:
            close_journal(run, call)


def _check_agent_holds(agent: Agent[Any, Any], pause: Pause, state: RunState, masked: tuple[str, ...] = ()) -> None:
    """The agent, and those nested in it, must have what the pause waits on; nothing is dropped silently.

    Args:
        agent: the agent.
        pause: the pause.
        state: the fold of its record.
        masked: names of what this resume masks besides the agent's policy.
    """
    if state.batch is not None:
        for call in state.batch.calls:
            if call.id in state.batch.ended or (call.name not in agent.tools and call.id in state.batch.undeclared):
                continue
            if call.name not in agent.tools and agent.tool_sources:
                continue  # the leg looks for it, once its sources are open
            if call.name not in agent.tools:
                raise PauseToolMissingError(call.name, state.batch.message_seq, agent.tools)
            _check_nested_holds(agent.tools[call.name], pause.record.children.get(call.id))
    for question in () if state.pause is None else state.pause.questions:
        if not question.path and question.plugin not in ("kernel", "tool") and question.plugin not in agent.plugin_set.by_name:
            raise PausePluginMissingError(question.plugin)
    held = {*masked, *(() if agent.redact is None else agent.redact.names)}
    wanted = [name for configured in pause.record.of(RunConfigured) for name in configured.redaction]
    missing = [name for name in dict.fromkeys(wanted) if name not in held]
    if missing:
        raise ResumeRedactionError(missing)


def _check_nested_holds(tool: Tool[..., Any], record: Record | None) -> None:
    from agentfp_core.nested import NestedAgent

    if record is not None and isinstance(tool.function, NestedAgent):
        state = RunState.of(record)
        if state.pause is not None:
            _check_agent_holds(tool.function.agent._in_force(), Pause.of(record, state), state)


def _left_open(state: RunState, answers: Mapping[str, Any]) -> bool:
    return state.pause is not None and any(question.required and question.id not in answers for question in state.pause.questions)


async def _answered_in_part(run: Run[Any], pause: Pause, taken: Mapping[str, Any]) -> End:
    """Some questions are still open: an updated pause, and nothing has run."""
    run.begin_turn(run.state.turn)
    run.begin_iteration(run.state.iteration)
    run.emit(PauseAnswered(pause.id, given(taken)))
    return End("paused")


async def _resumed_turn(run: Run[Any], pause: Pause, answers: dict[str, Any]) -> End:
    request = run.state.pause
    assert request is not None
    run.begin_turn(run.state.turn)
    run.begin_iteration(run.state.iteration)
    waited = max(run.clock.time_ns() - pause.paused_ns, 0) // 1_000_000
    run.emit(PauseResume(pause.id, given(answers), waited))
    return await run_turn(run, resumption_of(run, request, answers))


# --- a dropped question --------------------------------------------------------------------------------------------------------------


def abandon(agent: Agent[Any, Any], pause: Pause, call: CallOptions, *, parent: Run[Any] | None = None) -> RunResult[Any]:
    """Drop the question of a pause: its calls are settled without running, in nested runs too, and the conversation can go on."""
    agent.index.consume(pause.id)
    header = pause.record.headers[-1]
    run = reopen_run(agent, call, pause.record, parent=parent)
    late = pause.expires_ns is not None and agent.clock.time_ns() > pause.expires_ns
    try:
        if run.journal is not None:
            run.journal.begin(run.header, run.record)
        run.begin_turn(run.state.turn)
        run.emit(manifest(run, "resume"))
        run.begin_iteration(run.state.iteration)
        questions = () if run.state.pause is None else run.state.pause.questions
        asked = questions[0].tool_call_id if questions else None
        run.emit(PauseAbandoned(pause.id), call_id=asked)
        settle(run, "expired" if late else "abandoned", caused_by=asked)
        if run.state.open_iteration:
            run.emit(IterationEnd(0))
        run.emit(RunEnded("stopped_early", 0))
        run.flush()
        run.closed = True
    finally:
        close_journal(run, call)
    if parent is not None:
        parent.record.children[header.path[-1]] = run.record
    return RunResult(status="stopped_early", head=Head(run.record, run.state, run.memos))
