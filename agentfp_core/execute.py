"""Runs the allowed calls of a batch: side by side, in groups between barriers, each with its one outcome on the record."""

from __future__ import annotations

import hashlib
import inspect
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from agentfp_core.asks import TOOL, PauseSignal, PendingAsk, answer_text, pending
from agentfp_core.cancelling import stray
from agentfp_core.errors import ToolError
from agentfp_core.events.tool import ResultRefused, ToolDispatched
from agentfp_core.jsontext import canonical
from agentfp_core.outcomes import UNKNOWN, end_call
from agentfp_core.results import Rendered, ceiling_refusal, failure_text, render, timeout_text
from agentfp_core.tool_context import ToolContext
from agentfp_core.verdicts import Approval

if TYPE_CHECKING:
    from agentfp_core.batch import Batch, CallView
    from agentfp_core.run import Run
    from agentfp_core.tools import Tool


_log = logging.getLogger("agentfp.tool")


class ChildPaused(BaseException):
    """Carries the questions of a nested run that paused out of the tool that runs it."""

    def __init__(self, asks: list[PendingAsk]) -> None:
        self.asks = asks
        super().__init__("a nested run paused outside of a tool call")


@dataclass
class ToolAnswers:
    """A person's answers to what tools asked: by call, then by field key."""

    values: dict[str, dict[str, Any]] = field(default_factory=dict)


def take_up(run: Run[Any], batch: Batch, answers: ToolAnswers) -> None:
    """Give those calls their outcome that an earlier leg dispatched and did not end; no gate is asked about them again.

    Args:
        run: the run.
        batch: the calls.
        answers: what was answered to questions of tools.
    """
    _take_answers(run, batch, answers)
    _close_unknown(run, batch)


async def run_calls(run: Run[Any], batch: Batch) -> list[PendingAsk]:
    """Run every live call that is allowed.

    Args:
        run: the run.
        batch: the calls, past all gates.

    Returns:
        Questions that tools raised; the calls behind them wait. Empty when all calls have their outcome.
    """
    live = batch.live
    for group in (live,) if len(live) == 1 else _groups(live):
        asks = await _run_group(run, batch, group)
        if asks:
            return asks
    return []


def _take_answers(run: Run[Any], batch: Batch, answers: ToolAnswers) -> None:
    """A person's answer is the result of the tool that asked; the tool is not run again."""
    for call_id, values in answers.values.items():
        call = batch.get(call_id)
        if call is None or not call.live:
            continue
        declined = next((value for value in values.values() if isinstance(value, Approval)), None)
        if declined is not None and not declined.approved:
            note = f": {declined.note}" if declined.note else ""
            end_call(run, call, "declined", f"declined by human{note}", ran=True)
            continue
        plain = {key: "approved" if isinstance(value, Approval) else value for key, value in values.items()}
        text = answer_text(plain["answer"]) if set(plain) == {"answer"} else canonical({"status": "input_received", "values": plain})
        end_call(run, call, "success", text, ran=True)


def _close_unknown(run: Run[Any], batch: Batch) -> None:
    """A call that was dispatched in an earlier leg and has no outcome may have run: only an idempotent one runs again."""
    opened = run.state.batch
    if opened is None:
        return
    for call in batch.live:
        if call.id in opened.dispatched and call.id not in run.child_answers and not (call.tool is not None and call.tool.idempotent):
            end_call(run, call, "unknown", UNKNOWN.format(name=call.name), ran=True)


def _groups(calls: Sequence[CallView]) -> Iterator[list[CallView]]:
    """Calls that may run side by side; one that changes something stands alone."""
    group: list[CallView] = []
    for call in calls:
        if call.mutating:
            if group:
                yield group
            yield [call]
            group = []
        else:
            group.append(call)
    if group:
        yield group


async def _run_group(run: Run[Any], batch: Batch, group: Sequence[CallView]) -> list[PendingAsk]:
    first = group[: run.agent.tool_concurrency]
    run.emit(ToolDispatched(tuple([call.id for call in first])))
    run.flush()
    if len(group) == 1:
        asks = await _run_one(run, batch, group[0])
        run.flush()
        return asks
    found: dict[str, list[PendingAsk]] = {}
    waiting = iter(enumerate(group))

    async def work() -> None:
        for index, call in waiting:
            if index >= len(first):
                run.emit(ToolDispatched((call.id,)))
                run.flush()
            found[call.id] = await _run_one(run, batch, call)
            run.flush()  # a call that ended must not count as unknown when the process dies in a sibling

    try:
        async with anyio.create_task_group() as tasks:
            for _ in first:
                tasks.start_soon(work)
    except BaseExceptionGroup as raised:  # what ends the run is the same for one call and for several
        raise _first_of(raised) from None
    return [ask for call in group for ask in found.get(call.id, [])]


async def _run_one(run: Run[Any], batch: Batch, call: CallView) -> list[PendingAsk]:
    """Run one call and file its outcome, whatever it is.

    Returns:
        The questions it raised; then it has no outcome yet.
    """
    tool = call.tool
    assert tool is not None
    run.phase = "tool"
    begun = run.clock.monotonic_ns()
    try:
        context = ToolContext(run, call) if tool.raw or tool.context_parameter is not None else None
        kwargs = call._kwargs if call._kwargs is not None else call.arguments
        if call._values:
            kwargs = {**kwargs, **call._values}
        if tool.is_async and tool.timeout is None:
            value = await tool.invoke(context, kwargs)
        else:
            value = await _invoke(run, tool, context, kwargs)
    except (PauseSignal, BaseExceptionGroup) as raised:
        signal = _question_in(raised)
        if signal is None:
            _end_raised(run, tool, call, raised, _ms(run, begun))
            if not isinstance(raised, Exception):
                raise
            return []
        try:
            return pending(TOOL, signal.ask, call.id)
        except Exception as error:  # a malformed question is the tool's own failure
            end_call(run, call, "failure", failure_text(error), ran=True, duration_ms=_ms(run, begun), error=error)
    except ChildPaused as paused:
        return paused.asks
    except _TimedOut:
        end_call(
            run,
            call,
            "failure",
            timeout_text(call.name, tool.timeout or 0),
            ran=True,
            duration_ms=_ms(run, begun),
            error=TimeoutError("timeout"),
        )
    except Exception as error:
        _end_raised(run, tool, call, error, _ms(run, begun))
    except BaseException as error:
        _end_raised(run, tool, call, error, _ms(run, begun))
        if not stray(error):
            raise
    else:
        _file(run, batch, tool, call, value, _ms(run, begun))
    finally:
        if len(run.agent.sessions) and run.agent.sessions.has_call_scope:
            await _end_call_sessions(run, call.id)
    return []


def _first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first exception in a group, one that is no ``Exception`` before all others."""
    leaves = [_first_of(error) if isinstance(error, BaseExceptionGroup) else error for error in group.exceptions]
    return next((error for error in leaves if not isinstance(error, Exception)), leaves[0])


def _question_in(raised: BaseException) -> PauseSignal | None:
    """The question that a tool raised, also from inside a task group of its own."""
    while isinstance(raised, BaseExceptionGroup) and len(raised.exceptions) == 1:
        raised = raised.exceptions[0]
    return raised if isinstance(raised, PauseSignal) else None


def _end_raised(run: Run[Any], tool: Tool[..., Any], call: CallView, error: BaseException, duration_ms: int) -> None:
    """File the outcome of a call that raised: a failure, or the end of the whole run."""
    if isinstance(error, Exception) or stray(error):
        if run.agent.dev and not isinstance(error, ToolError):
            _log.error("tool %r raised", tool.name, exc_info=None if run.handed else error)  # a trace shows what the tool was handed
        text = failure_text(error)
        end_call(run, call, "failure", text, ran=True, duration_ms=duration_ms, error=error, fingerprint=_fingerprint(tool, call, text))
        return
    in_thread = not tool.is_async and not tool.inline
    text = UNKNOWN.format(name=call.name) if in_thread else f"{call.name} was cancelled before it ended."
    end_call(run, call, "unknown" if in_thread else "cancelled", text, ran=True, duration_ms=duration_ms, cause="cancelled")


async def _end_call_sessions(run: Run[Any], call_id: str) -> None:
    with anyio.CancelScope(shield=True):
        await run.agent.sessions.end_call(call_id, emit=run.emit, run_id=run.session_key)


def _ms(run: Run[Any], begun: int) -> int:
    return (run.clock.monotonic_ns() - begun) // 1_000_000


class _TimedOut(Exception):
    """The tool's own time was up."""


async def _invoke(run: Run[Any], tool: Tool[..., Any], context: ToolContext[Any] | None, kwargs: Any) -> Any:
    if tool.timeout is None:
        return await _call(run, tool, context, kwargs)
    with anyio.move_on_after(tool.timeout) as scope:
        return await _call(run, tool, context, kwargs)
    if scope.cancelled_caught:
        raise _TimedOut
    return None


async def _call(run: Run[Any], tool: Tool[..., Any], context: ToolContext[Any] | None, kwargs: Any) -> Any:
    if tool.is_async:
        return await tool.invoke(context, kwargs)
    if tool.inline:
        value = tool.invoke(context, kwargs)
        return await value if inspect.isawaitable(value) else value

    def in_thread() -> Any:
        try:
            return tool.invoke(context, kwargs)
        except PauseSignal as signal:  # carried by hand, for a thread's future is no place for a BaseException
            return signal

    value = await anyio.to_thread.run_sync(in_thread, abandon_on_cancel=True, limiter=run.agent.thread_limiter())
    if isinstance(value, PauseSignal):
        raise value
    return await value if inspect.isawaitable(value) else value


def _file(run: Run[Any], batch: Batch, tool: Tool[..., Any], call: CallView, value: Any, duration_ms: int) -> None:
    """File what a tool returned."""
    made: Rendered = render(value)
    ceiling = tool.result_ceiling
    if ceiling is not None and len(made.text) > ceiling.max_chars:
        run.emit(ResultRefused(tool.name, len(made.text), ceiling.max_chars, ceiling.narrow_by), call_id=call.id)
        fits = made.private_json is not None and len(made.private_json) <= ceiling.max_chars
        private = made.private_json if fits else None  # what is said beside a result is no part of what was too large
        end_call(run, call, "invalid", ceiling_refusal(tool, len(made.text)), ran=True, duration_ms=duration_ms, private=private)
        return
    if not run.handed or run.mask_text(made.text) == made.text:
        batch._values[call.id] = value
    end_call(
        run,
        call,
        made.outcome or "success",
        made.text,
        ran=True,
        duration_ms=duration_ms,
        parts=made.parts,
        private=made.private_json,
        fingerprint=_fingerprint(tool, call, made.text) if run.agent.repeated_call_note else None,
        child_run=_child_run(run, call.id),
    )


def _child_run(run: Run[Any], call_id: str) -> str | None:
    child = run.record.children.get(call_id) if run.record.children else None
    return None if child is None else child.run_id


def _fingerprint(tool: Tool[..., Any], call: CallView, text: str) -> str:
    """What is the same when a call is repeated: tool and arguments, and the result unless the tool says otherwise."""
    shown = text if tool.repeated_when == "result" else ""
    whole = f"{call.name}\x1f{call.arguments_json}\x1f{shown}"
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
