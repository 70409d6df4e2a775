"""One turn, from the person's message to the answer, reading top to bottom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agentfp_core.answer import Judged, judge_answer
from agentfp_core.asks import TOOL, raise_pause
from agentfp_core.billing import stop_reason
from agentfp_core.compose import Extra
from agentfp_core.errors import PolicyHaltError
from agentfp_core.events.agent import (
    AnswerRefused,
    BudgetExhausted,
    EarlyReason,
    IterationEnd,
    IterationStart,
    OutputContractUnmet,
    RouteDecided,
    TurnEnd,
)
from agentfp_core.events.cost import LimitHit
from agentfp_core.events.message import MessageAdded, ProposedCall, Thinking
from agentfp_core.execute import run_calls, take_up
from agentfp_core.gates import Gate
from agentfp_core.messages import StopReason
from agentfp_core.model import ModelResponse
from agentfp_core.outcomes import file_starts, settle
from agentfp_core.reading import read_results
from agentfp_core.replay import Resumption, new_batch
from agentfp_core.replies import Reply, call_model, let_out, take_back

if TYPE_CHECKING:
    from agentfp_core.run import Run
    from agentfp_core.served import Piece

WRAP_UP_MARKER = "[agentfp:budget-exhausted]"
WRAP_UP = (
    f"{WRAP_UP_MARKER} The action limit of this turn was used up before this message, so the call that it opened carried no tools. "
    "That call was only for the final answer from what is above: what was done, what was left undone, what the person must know."
)
ROUTE_OF_PHASE = {"procedure": "step-nudge", "evidence": "evidence-recheck"}


@dataclass(slots=True)
class End:
    """How a turn's leg ended.

    Args:
        status: as in ``result.status``.
        text: the answer.
        message_id: its message.
        judged: what the judges made of it.
        refused_by: the plugin that refused.
        error: what ``raise_for_status`` raises.
        tell_person: a sentence that may be shown in place of a refused answer.
        reply: the accepted reply, whose text is still held back where a ``finish_run`` may refuse it.
    """

    status: Literal["answered", "paused", "stopped_early", "refused"]
    text: str = ""
    message_id: str | None = None
    judged: Judged | None = None
    refused_by: str | None = None
    error: Exception | None = None
    tell_person: str | None = None
    reply: Reply | None = None


async def run_turn(run: Run[Any], resumption: Resumption | None, late: tuple[Piece, ...] = ()) -> End:
    """Take a turn from where it stands to its end, or to its next pause.

    Args:
        run: the run; the person's message is admitted.
        resumption: where in a batch to go on; None to begin with a model call.
        late: late lines of the first model call.
    """
    if resumption is not None:
        end = await _work_batch(run, resumption)
        if end is not None:
            return end
    extra = Extra(late, tools=not run.state.wrap_up_asked)
    while True:
        early = stop_reason(run)
        if early is not None and run.state.early is None:
            return await _out_of_budget(run, early)
        reply = await _call(run, extra)
        calls = reply.response.tool_calls if extra.tools else ()
        if calls:
            reason = _limit_at(run)
            if reason is None:
                run.emit(RouteDecided("tool-calls"))
                take_back(run, reply, "tool-calls")
                _add_assistant(run, reply, with_calls=True)
                end = await _work_batch(run, Resumption())
                if end is not None:
                    return end
                extra = Extra()
                continue
            if _can_wrap_up(run, reason):
                _ask_wrap_up(run, reply, len(calls))
                extra = Extra(tools=False)
                continue
            run.emit(BudgetExhausted(reason, len(calls), "cut-short", _limit_value(run, reason)))
        judged = await judge_answer(run, reply, limit_fired=_limit_fired(run))
        if judged.kind in ("final", "refused"):
            return await _finish(run, reply, judged)
        _send_back(run, reply, judged)
        extra = Extra(late=judged.late, tools=extra.tools)


# --- one model call ---------------------------------------------------------------------------------------------------


async def _call(run: Run[Any], extra: Extra) -> Reply:
    for delivery in run.deliveries:
        await delivery.keep_up()
    number = run.state.iteration + 1
    run.begin_iteration(number)
    run.emit(IterationStart(number))
    run.phase = "compose"
    if run.sources is not None:
        await run.sources.refresh()
    request, model = await run.composer.compose(extra)
    run.flush()
    output = run.agent.output
    forced = output if output is not None and output.way(run.model) == "tool" else None
    return await call_model(run, request, model, output=forced)


def _end_iteration(run: Run[Any], calls: int) -> None:
    run.emit(IterationEnd(calls))


def _add_assistant(run: Run[Any], reply: Reply, *, with_calls: bool, text: str | None = None, keep_own: bool = True) -> str:
    """Put a reply into the history."""
    response = reply.response
    message_id = run.ids.new("m")
    calls = [ProposedCall(c.id, c.name, c.arguments_json, c.provider_meta) for c in response.tool_calls] if with_calls else []
    thinking = tuple([Thinking(t.text, t.signature, t.redacted, t.provider_meta) for t in response.thinking])
    run.emit(
        MessageAdded(
            message_id=message_id,
            role="assistant",
            author="model",
            content=reply.shown if text is None else text,
            tool_calls=tuple(calls) or None,
            thinking=thinking or None,
            own=reply.own if keep_own else None,
        )
    )
    return message_id


# --- a batch ------------------------------------------------------------------------------------------------------------


async def _work_batch(run: Run[Any], resumption: Resumption) -> End | None:
    """Gates, calls, results. Returns an end when the run pauses or is halted."""
    opened = run.state.batch
    assert opened is not None
    file_starts(run)
    batch = new_batch(run)
    if resumption.answers:
        batch._answered(resumption.answers)
    run.phase = "tool"
    if resumption.phase == TOOL:
        take_up(run, batch, resumption.tool_answers)
    if batch.live:
        asked = await Gate(run, batch, resumption).go()
        if batch.halt is not None:
            return _halted(run, batch.halt, len(batch.calls))
        if asked is not None:
            raise_pause(run, asked[0], asked[1], batch)
            return End("paused")
        asks = await run_calls(run, batch)
        if asks:
            raise_pause(run, TOOL, asks, batch)
            return End("paused")
    await read_results(run, batch)
    _end_iteration(run, len(batch.calls))
    return None


def _halted(run: Run[Any], halt: tuple[str, str, str | None, str], calls: int) -> End:
    call_id, reason, tell_model, plugin = halt
    settle(run, "halted", caused_by=call_id)
    _end_iteration(run, calls)
    error = PolicyHaltError(reason, plugin=plugin, tell_model=tell_model, tool_call_id=call_id)
    run.emit(AnswerRefused(plugin, "before_tool", "PolicyHaltError", reason))
    _turn_end(run, "refused", None)
    return End("refused", refused_by=plugin, error=error)


# --- limits ------------------------------------------------------------------------------------------------------------


def _limit_at(run: Run[Any]) -> EarlyReason | None:
    """Why calls of this reply must not run; the iterations are looked at first."""
    if run.state.iteration >= run.limits.iterations:
        if "max_iterations" not in run.state.limits_hit:
            run.emit(LimitHit("max_iterations", run.limits.iterations, run.state.iteration, "abort"))
        return "max-iterations"
    return stop_reason(run)


def _limit_fired(run: Run[Any]) -> bool:
    """Whether a would-be answer can no longer be sent back."""
    return run.state.early is not None or run.state.iteration >= run.limits.iterations or stop_reason(run) is not None


def _limit_value(run: Run[Any], reason: EarlyReason) -> int | None:
    return run.limits.iterations if reason == "max-iterations" else None


def _can_wrap_up(run: Run[Any], reason: EarlyReason) -> bool:
    asked = not run.limits.wrap_up or run.state.wrap_up_asked
    return reason == "max-iterations" and bool(run.tools) and not asked and stop_reason(run) is None


def _ask_wrap_up(run: Run[Any], reply: Reply, pending: int) -> None:
    """Ask for a final answer without tools. The reply whose calls are not run is not replayed."""
    run.emit(RouteDecided("wrap-up", early="max-iterations"))
    run.emit(BudgetExhausted("max-iterations", pending, "wrapped-up", run.limits.iterations))
    take_back(run, reply, "wrap-up")
    _end_iteration(run, 0)
    run.emit(MessageAdded(message_id=run.ids.new("m"), role="user", author="library", content=WRAP_UP))


async def _out_of_budget(run: Run[Any], early: EarlyReason) -> End:
    """A limit fired between two model calls: there is no reply to answer with."""
    run.emit(BudgetExhausted(early, 0, "cut-short", _limit_value(run, early)))
    empty = Reply(ModelResponse(stop=StopReason.UNKNOWN), "", [], 0)
    judged = await judge_answer(run, empty, limit_fired=True)
    return _close(run, empty, judged)


# --- answers ---------------------------------------------------------------------------------------------------------------


def _send_back(run: Run[Any], reply: Reply, judged: Judged) -> None:
    chosen = "output-retry" if judged.kind == "retry" else ROUTE_OF_PHASE.get(judged.phase, "revision")
    run.emit(RouteDecided(chosen, by=judged.by))  # type: ignore[arg-type]
    take_back(run, reply, "re-ask")
    _end_iteration(run, 0)


async def _finish(run: Run[Any], reply: Reply, judged: Judged) -> End:
    run.emit(RouteDecided("final", by=judged.by, early=run.state.early))
    return _close(run, reply, judged)


def _close(run: Run[Any], reply: Reply, judged: Judged) -> End:
    """Fix the answer of a turn, or its refusal."""
    iteration_open = run.state.open_iteration
    if judged.kind == "refused":
        take_back(run, reply, "refused")
        if iteration_open:
            _end_iteration(run, 0)
        _turn_end(run, "refused", None)
        return End("refused", judged=judged, refused_by=judged.by, error=judged.error, tell_person=judged.tell_person)
    text = judged.draft.text
    if judged.replaced:
        take_back(run, reply, "rewritten")
        reply.held = [text] if run.wants("agentfp.stream.token") and text else []
        reply.tokens = 0
    if not run.agent.plugin_set.table["finish_run"]:
        let_out(run, reply)
    message_id = None
    if text or reply.response.thinking or run.state.early is None:
        message_id = _add_assistant(run, reply, with_calls=False, text=text, keep_own=not judged.replaced)
    if judged.problem is not None:
        _contract_unmet(run, judged)
    if iteration_open:
        _end_iteration(run, 0)
    status: Literal["answered", "stopped_early"] = "answered" if run.state.early is None else "stopped_early"
    _turn_end(run, status, message_id, empty=not text, truncated=reply.response.stop is StopReason.MAX_TOKENS)
    return End(status, text, message_id, judged, reply=reply)


def _contract_unmet(run: Run[Any], judged: Judged) -> None:
    output, problem = run.agent.output, judged.problem
    assert output is not None
    assert problem is not None
    stop = judged.draft.stop.value
    run.emit(
        OutputContractUnmet(
            problem.stage,
            run.state.schema_attempts,
            run.state.schema_retries,
            output.fallback is not None or output.canned is not None,
            judged.broken_by,
            stop if stop != "stop" else None,
            problem.path,
            problem.error,
        )
    )


def _turn_end(
    run: Run[Any],
    status: Literal["answered", "stopped_early", "refused"],
    message_id: str | None,
    *,
    empty: bool = False,
    truncated: bool = False,
) -> None:
    state = run.state
    run.emit(
        TurnEnd(
            status=status,
            iteration_count=state.iteration,
            duration_ms=max((run.clock.time_ns() - state.turn_started_ns) // 1_000_000, 0),
            message_id=message_id,
            input_tokens=state.usage.input,
            output_tokens=state.usage.output,
            stopped_early=state.early,
            pending_tool_calls=state.pending_tool_calls,
            answer_was_empty=empty,
            wrapped_up=state.wrap_up_asked,
            truncated=truncated,
        )
    )
