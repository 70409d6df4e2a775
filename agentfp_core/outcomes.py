"""The one outcome of each call: filing it, and settling the calls that a run's end leaves open."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from agentfp_core.errors import text_of
from agentfp_core.events.agent import RunEnded
from agentfp_core.events.message import MessageAdded
from agentfp_core.events.tool import Outcome, ToolEnded, ToolStarted
from agentfp_core.jsonable import without_surrogates
from agentfp_core.messages import Part, part_to_dict
from agentfp_core.state import SETTLED

if TYPE_CHECKING:
    from agentfp_core.batch import CallView
    from agentfp_core.run import Run

Cause = Literal["halted", "abandoned", "cancelled", "failed", "expired"]
UNCHECKED = "This result is withheld: the run ended before it was checked."
UNKNOWN = "It is not known whether {name} ran to its end: the run broke off in the middle of it."


def end_call(
    run: Run[Any],
    call: CallView,
    outcome: Outcome,
    text: str,
    *,
    ran: bool,
    duration_ms: int = 0,
    error: BaseException | None = None,
    parts: tuple[Part, ...] = (),
    private: str | None = None,
    fingerprint: str | None = None,
    cause: str | None = None,
    child_run: str | None = None,
) -> None:
    """File the outcome of a call, the moment there is one.

    Args:
        run: the run.
        call: the call; it is not live afterwards.
        outcome: its outcome.
        text: the tool's own result, or what stands in its place.
        ran: whether the tool's code ran.
        duration_ms: how long, in milliseconds.
        error: what the tool raised.
        parts: images and documents.
        private: JSON text for the application only.
        fingerprint: of arguments and result, to tell repeated calls.
        cause: one word or name for why it did not run.
        child_run: id of the nested run.
    """
    call._end(outcome)
    if run.record.children:
        _drop_nested(run, call.id)
    run.emit(
        ToolEnded(
            outcome,
            duration_ms,
            text,
            ran,
            None if error is None else type(error).__name__,
            None if error is None else text_of(error),
            parts_json(parts),
            private,
            fingerprint,
            cause,
            None,
            child_run,
        ),
        call_id=call.id,
    )


def parts_json(parts: tuple[Part, ...]) -> str | None:
    """Images and documents as JSON text for the record; None for none."""
    return without_surrogates(json.dumps([part_to_dict(part) for part in parts], ensure_ascii=False)) if parts else None


def land(
    run: Run[Any], call_id: str, name: str, seq: int, *, content: str | None = None, notes: tuple[str, ...] = (), parts: str | None = None
) -> None:
    """Add a call's message to the history.

    Args:
        run: the run.
        call_id: the call.
        name: its tool.
        seq: seq of its ``tool.ended``.
        content: what the model reads, where it differs from the tool's own result.
        notes: sentences added by plugins and the kernel.
        parts: images and documents as JSON text.
    """
    batch = run.state.batch
    ended = None if batch is None else batch.ended.get(call_id)
    run.emit(
        MessageAdded(
            message_id=run.ids.new("m"),
            role="tool",
            author="tool",
            content=content,
            content_of=seq if content is None else None,
            tool_call_id=call_id,
            tool_name=name,
            notes=notes or None,
            parts=parts,
            failed=True if ended is not None and ended[1].outcome not in SETTLED else None,
        ),
        call_id=call_id,
    )


def file_starts(run: Run[Any]) -> None:
    """File that the calls of the open batch are taken up, in call order; those of which it stands there already are left out."""
    batch, tools = run.state.batch, run.tools
    for call in () if batch is None else batch.calls:
        if batch is not None and call.id not in batch.started:
            known = call.name in tools
            run.emit(ToolStarted(call.name if known else None, None if known else call.name, len(batch.calls)), call_id=call.id)


def settle(run: Run[Any], cause: Cause, *, caused_by: str | None = None) -> None:
    """Give every call of the open batch that has no outcome one, and land what has not landed.

    The run ends here, so no hook is asked any more. Where a plugin guards what the model reads, results that it did not
    see are withheld: a next turn would read them.

    Args:
        run: the run.
        cause: why the run ends.
        caused_by: the call that ended it.
    """
    batch = run.state.batch
    if batch is None:
        return
    file_starts(run)
    names = {call.id: call.name for call in batch.calls}
    for call in batch.calls:
        if call.id in batch.ended:
            continue
        if run.record.children:
            _drop_nested(run, call.id)
        outcome, text, ran = _settled(call.id, call.name, cause, caused_by, names, dispatched=call.id in batch.dispatched)
        run.emit(ToolEnded(outcome, 0, text, ran, cause=cause, caused_by_call=caused_by), call_id=call.id)
    hooks = run.agent.plugin_set.phases["after_result"]
    guarded = bool(hooks["check"] or hooks["rewrite"])
    for call in list(batch.calls):
        if call.id not in batch.landed:
            seq, ended = batch.ended[call.id]
            withheld = guarded and ended.ran and ended.outcome not in ("cancelled", "unknown", "declined")
            land(run, call.id, call.name, seq, content=UNCHECKED if withheld else None, parts=None if withheld else ended.parts)
    run.flush()


def _drop_nested(run: Run[Any], call_id: str) -> None:
    """A call ends while the nested run that it started still waits for a person: nobody will answer it any more."""
    child = run.record.children.get(call_id)
    last = None if child is None else next(reversed(child), None)
    if child is not None and last is not None and isinstance(last.payload, RunEnded) and last.payload.status == "paused":
        from agentfp_core.pause import Pause
        from agentfp_core.resuming import abandon
        from agentfp_core.starting import CallOptions

        abandon(run.agent, Pause.of(child), CallOptions(deps=run.deps, journal=run.journal), parent=run)


def _settled(
    call_id: str, name: str, cause: Cause, caused_by: str | None, names: dict[str, str], *, dispatched: bool
) -> tuple[Outcome, str, bool]:
    outcome: Outcome = {"halted": "halted", "abandoned": "abandoned", "expired": "abandoned"}.get(cause, "cancelled")  # type: ignore[assignment]
    if dispatched and cause in ("cancelled", "failed"):
        return "unknown", UNKNOWN.format(name=name), True
    why = {
        "halted": "the run was stopped",
        "abandoned": "its question was dropped",
        "expired": "its question was not answered in time",
        "cancelled": "the run was cancelled",
        "failed": "the run failed",
    }[cause]
    if caused_by is not None and caused_by != call_id:
        why += f" at call {caused_by} ({names.get(caused_by, 'another tool')}) of the same batch"
    return outcome, f"{name} did not run: {why}.", False
