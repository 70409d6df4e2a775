"""How a run that broke off is taken up again, from whatever it left behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from agentfp_core.checkpoint import Checkpoint
from agentfp_core.errors import (
    NoConversationError,
    PendingQuestionError,
    RecordError,
    RedactedRecordError,
    ResumeIdentityConflictError,
    RunCheckpointError,
    RunTimeoutError,
)
from agentfp_core.events.agent import IterationEnd
from agentfp_core.journal import Journal
from agentfp_core.leg import run_leg
from agentfp_core.loop import End, run_turn
from agentfp_core.record import Record
from agentfp_core.replay import recovery_of
from agentfp_core.result import RunResult
from agentfp_core.run import Run
from agentfp_core.starting import CallOptions, check_agent, close_journal, fold, in_flight, reopen_run

if TYPE_CHECKING:
    from agentfp_core.agent import Agent

RecoverySource: TypeAlias = RunCheckpointError | RunTimeoutError | Checkpoint | Record | Journal | str | Path


def record_to_recover(source: RecoverySource) -> Record:
    """The record in whatever a failed run left behind.

    Args:
        source: the error, its checkpoint, the checkpoint's JSON text, a record, a journal or its path.

    Raises:
        RecordError: it cannot be read.
        NoConversationError: nothing is in it.
    """
    try:
        record = _read_source(source)
    except OSError as error:
        raise RecordError(f"the journal cannot be read: {error.strerror or type(error).__name__}") from error
    if not record.headers:
        raise NoConversationError("nothing-pending")
    return record


def _read_source(source: RecoverySource) -> Record:
    if isinstance(source, (RunCheckpointError, RunTimeoutError)):
        return source.checkpoint.record
    if isinstance(source, Checkpoint):
        return source.record
    if isinstance(source, Record):
        return source
    if isinstance(source, Journal):
        return source.load()
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return Checkpoint.from_json(source).record
    if not isinstance(source, (str, Path)):
        raise RecordError(f"a run is taken up from its error, a checkpoint, a record or a journal, not from a {type(source).__name__}")
    return Record.load(source)


async def recover(agent: Agent[Any, Any], source: RecoverySource, call: CallOptions) -> RunResult[Any]:
    """Take up a run that broke off: with a new budget, from what its record says, running nothing twice."""
    base = record_to_recover(source)
    if base.redacted:
        raise RedactedRecordError(
            f"this copy of the record was redacted by {', '.join(base.redacted)}; recover from the journal or a checkpoint"
        )
    header = base.headers[-1]
    check_agent(agent, header)
    if call.identity is not None and call.identity != header.identity:
        raise ResumeIdentityConflictError
    folds = fold(agent, base, base.root_id)
    state = folds[0]
    if state.pause is not None:
        first = state.pause.questions[0]
        raise PendingQuestionError(tool_name=first.tool, tool_call_id=first.tool_call_id, question=first.prompt)
    if not state.open_turn:
        raise NoConversationError("nothing-pending")
    run = reopen_run(agent, call, base, folds=folds)
    run.begin_turn(state.turn)
    with in_flight(agent, run):
        try:
            return await run_leg(run, lambda: _recovered_turn(run), leg="recovery", timeout=call.timeout)
        finally:
            close_journal(run, call)


async def _recovered_turn(run: Run[Any]) -> End:
    run.begin_turn(run.state.turn)
    if run.state.batch is not None:
        return await run_turn(run, recovery_of(run))
    if run.state.open_iteration:
        run.emit(IterationEnd(0))
    return await run_turn(run, None, run.state.unanswered_corrections())
