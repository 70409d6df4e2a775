"""One leg of a run around its loop: manifest, delivery, time limit, every way out, and the result."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio

from agentfp_core.asks import PauseSignal
from agentfp_core.calling import check_verdict, each
from agentfp_core.cancelling import stray
from agentfp_core.checkpoint import Checkpoint
from agentfp_core.compose import Composer
from agentfp_core.delivery import Delivery
from agentfp_core.errors import (
    ConfigError,
    PauseToolMissingError,
    ReliabilityFailFastError,
    RunCheckpointError,
    RunError,
    RunTimeoutError,
    UsageError,
    text_of,
)
from agentfp_core.events.agent import (
    AnswerRefused,
    IterationEnd,
    Leg,
    OutputContractUnmet,
    PluginEntry,
    RunCancelled,
    RunConfigured,
    RunEnded,
    RunStatus,
)
from agentfp_core.events.error import Fatal, OutputCannedUsed, OutputFallbackTriggered
from agentfp_core.limits import unpriced
from agentfp_core.loop import End
from agentfp_core.outcomes import settle
from agentfp_core.pause import Pause
from agentfp_core.replies import let_out, take_back
from agentfp_core.result import ContractUnmet, Head, RunResult
from agentfp_core.tool_sources import OpenSources
from agentfp_core.verdicts import Refuse

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from agentfp_core.plugins import Impl
    from agentfp_core.run import Run

T = TypeVar("T")
FINISH_SECONDS = 5.0


async def run_leg(run: Run[Any], body: Callable[[], Awaitable[End]], *, leg: Leg, timeout: float | None) -> RunResult[Any]:  # noqa: ASYNC109 - the leg tidies up when its time is up
    """Run a leg from its first event to its last.

    Args:
        run: the run, just made.
        body: does the work.
        leg: what kind of leg it is.
        timeout: seconds; None for none.

    Returns:
        The result.

    Raises:
        RunCheckpointError: the run failed after a finished iteration.
        RunTimeoutError: its time was up.
        Exception: what it failed with before that.
    """
    _check_prices(run)
    if run.journal is not None:
        run.journal.begin(run.header, run.record)
    run.composer = Composer(run)
    if not run.agent.tool_sources:
        return await _delivered(run, body, leg, timeout)
    error: Exception | None = None
    async with OpenSources(run, run.agent.tool_sources) as run.sources:
        try:
            if leg != "run" and run.state.batch is not None:
                await run.sources.refresh()
                _check_calls(run)
            return await _delivered(run, body, leg, timeout)
        except Exception as raised:  # raised again outside, for a session may have a task group, which would wrap it
            error = raised
    assert error is not None
    raise error


def _check_calls(run: Run[Any]) -> None:
    """What the run waits on must be there still.

    Raises:
        PauseToolMissingError: a tool is gone.
    """
    batch = run.state.batch
    for call in () if batch is None else batch.calls:
        if batch is not None and call.name not in run.tools and call.id not in batch.ended and call.id not in batch.undeclared:
            raise PauseToolMissingError(call.name, batch.message_seq, run.tools)


async def _delivered(run: Run[Any], body: Callable[[], Awaitable[End]], leg: Leg, timeout: float | None) -> RunResult[Any]:  # noqa: ASYNC109 - the leg tidies up when its time is up
    told = {name for delivery in run.deliveries for name in delivery.plugins}  # a sink of the outer run gets the events of this one too
    exporters = tuple([impl for impl in run.agent.plugin_set.table["export_event"] if impl.plugin not in told])
    if not exporters:
        return await _Ways(run, body, leg, timeout).go()
    delivery = Delivery(run, exporters)
    run.deliveries = (*run.deliveries, delivery)
    run.watch()
    ways = _Ways(run, body, leg, timeout, delivery)
    error: BaseException | None = None
    result: RunResult[Any] | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(delivery.work)
        try:
            result = await ways.go()
        except Exception as raised:  # raised again outside of the task group, which would wrap it
            error = raised
        except BaseException as raised:
            error = raised
            raise
        finally:
            await delivery.close()
    if error is not None:
        raise error
    assert result is not None
    result.deliveries = delivery.stats
    result.plugin_failures = dict(run.plugin_failures)
    return result


def _check_prices(run: Run[Any]) -> None:
    if run.limits.usd is not None and not run.price_tables and run.model.features.prices is None:
        raise ConfigError(unpriced(run.model.name))


class _Ways:
    """The ways out of a leg; each ends with ``run.ended``, and leaves no call without an outcome."""

    def __init__(
        self, run: Run[Any], body: Callable[[], Awaitable[End]], leg: Leg, timeout: float | None, delivery: Delivery | None = None
    ) -> None:
        self.run = run
        self.body = body
        self.leg: Leg = leg
        self.timeout = timeout
        self.delivery = delivery

    async def go(self) -> RunResult[Any]:
        run = self.run
        end: End | None = None
        contract: ContractUnmet | None = None
        try:
            run.emit(manifest(run, self.leg))
            if self.timeout is None:
                end = await self.body()
            else:
                with anyio.move_on_after(self.timeout):
                    end = await self.body()
            if end is not None:
                contract = await self._last_resort(end)
                run.flush()  # what cannot be written fails the run while there is still a checkpoint to hand out
        except PauseSignal as signal:
            return await self._failed(UsageError(str(signal)))
        except Exception as error:
            return await self._failed(error)
        except BaseException as error:
            if stray(error):
                return await self._failed(UsageError(f"something in phase {run.phase!r} was cancelled, and nobody cancelled the run"))
            await self._closing(self._cancelled("cancelled"))
            raise
        if end is None:
            return await self._timed_out()
        return await self._closing(self._ended(end, contract))

    async def _closing(self, way: Coroutine[Any, Any, T]) -> T:
        """Take a way out. Whatever breaks it off, the run's record ends with the run's end."""
        try:
            return await way
        finally:
            if not self.run.closed:
                self.run.source = "kernel"
                self._close("failed")

    # --- ways out ---

    async def _ended(self, end: End, contract: ContractUnmet | None) -> RunResult[Any]:
        run = self.run
        refusal = await self._finish(end.status)
        if refusal is not None and end.status in ("answered", "stopped_early"):
            plugin, verdict = refusal
            if end.reply is not None:
                take_back(run, end.reply, "refused")
            why = text_of(verdict.error)
            run.emit(AnswerRefused(plugin, "finish_run", type(verdict.error).__name__, why, withdraws=end.message_id))
            end = End("refused", judged=end.judged, refused_by=plugin, error=verdict.error, tell_person=verdict.tell_person)
        elif end.reply is not None:
            let_out(run, end.reply)
        if end.status != "paused":
            with anyio.CancelScope(shield=True):
                await run.agent.sessions.end_run(run.session_key, emit=run.emit)
        else:
            run.agent.sessions.hold_run(run.session_key)
        self._close(end.status)
        return self._result(end, contract)

    async def _failed(self, error: Exception) -> RunResult[Any]:
        run = self.run
        iteration, phase = run.iteration, run.phase
        stage = "call-llm" if phase == "llm" else self._running_tool() if phase == "tool" else None
        finished = run.state.completed_iterations
        await self._closing(self._failing(Fatal(stage or phase, "run", type(error).__name__, text_of(error))))
        if not finished or isinstance(error, (RunError, ReliabilityFailFastError)):
            raise error
        raise RunCheckpointError(error, Checkpoint(run.record.sealed()), iteration=iteration, phase=phase, stage=stage) from error

    async def _failing(self, why: Fatal) -> None:
        run = self.run
        self._tidy("failed")
        run.emit(why)
        with anyio.CancelScope(shield=True):
            await self._finish("failed")
            await run.agent.sessions.end_run(run.session_key, emit=run.emit)
        self._close("failed")

    async def _timed_out(self) -> RunResult[Any]:
        await self._closing(self._cancelled("timeout"))
        raise RunTimeoutError(self.timeout or 0.0, Checkpoint(self.run.record.sealed()))

    async def _cancelled(self, cause: Literal["cancelled", "timeout"]) -> None:
        run = self.run
        tool = self._running_tool() if run.phase == "tool" else None
        phase: Any = run.phase
        self._tidy("cancelled")
        run.emit(RunCancelled(phase, tool, cause))
        with anyio.CancelScope(shield=True):
            await self._finish("cancelled")
            await run.agent.sessions.end_run(run.session_key, emit=run.emit)
        self._close("cancelled")

    # --- the same for all ---

    def _running_tool(self) -> str | None:
        batch = self.run.state.batch
        if batch is None:
            return None
        for call in batch.calls:
            ended = batch.ended.get(call.id)
            if call.id in batch.dispatched and (ended is None or ended[1].cause == "cancelled"):
                return call.name
        return None

    def _tidy(self, cause: Literal["cancelled", "failed"]) -> None:
        run = self.run
        run.source = "kernel"
        settle(run, cause)
        if run.state.open_iteration:
            run.emit(IterationEnd(0))

    async def _finish(self, outcome: RunStatus) -> tuple[str, Refuse] | None:
        """Call every ``finish_run``, shielded; the first refusal counts."""
        run = self.run
        impls = run.agent.plugin_set.table["finish_run"]
        found: list[tuple[str, Refuse]] = []

        def take(impl: Impl, _: None, answer: Any) -> bool:
            found.append((impl.plugin, check_verdict(impl, answer)))
            return True

        def failed(impl: Impl, _: None, error: Exception) -> bool:
            run.plugin_failed(impl.plugin, "finish_run", "", "counted", error)
            return True

        if impls:
            with anyio.CancelScope(shield=True):
                await each(run, [(impl, None, (run, outcome)) for impl in impls], take, failed, seconds=FINISH_SECONDS)
        return found[0] if found else None

    def _close(self, status: RunStatus) -> None:
        run, delivery = self.run, self.delivery
        if delivery is not None:
            delivery.tell_failures()
        taken, dropped = (0, 0) if delivery is None else (delivery.taken, delivery.stats.dropped)
        try:
            for name, memo in run.memos.items():
                if memo.error is not None:
                    run.plugin_failed(name, "fold", "", "counted", memo.error)
            run.emit(
                RunEnded(
                    status,
                    max((run.clock.monotonic_ns() - run.started_mono_ns) // 1_000_000, 0),
                    taken - dropped,
                    dropped,
                    sum(run.plugin_failures.values()),
                    run.listeners.failures,
                )
            )
            with suppress(OSError):  # all that a run could be taken up from is written
                run.flush()
        finally:
            run.hook_timer.close()
            run.closed = True

    async def _last_resort(self, end: End) -> ContractUnmet | None:
        """The fallback ladder of the output type; the text stays what the model said."""
        output, judged = self.run.agent.output, end.judged
        if output is None or judged is None or judged.problem is None or end.status not in ("answered", "stopped_early"):
            return None
        unmet = self.run.record.of(OutputContractUnmet)[-1]
        made, by, failed = await output.last_resort(end.text, judged.problem)
        if by is not None or failed is not None:
            self.run.emit(OutputFallbackTriggered(judged.problem.stage, unmet.retries_spent, judged.problem.error))
        if by == "canned":
            self.run.emit(OutputCannedUsed(unmet.retries_spent, failed))
        if by is not None:
            judged.draft._take(made)
            judged.problem = None
        return ContractUnmet(
            unmet.stage,
            unmet.attempts,
            unmet.retries_spent,
            unmet.path,
            unmet.error,
            unmet.broken_by,
            unmet.fallback_configured,
            unmet.stop_reason,
        )

    def _result(self, end: End, contract: ContractUnmet | None) -> RunResult[Any]:
        run, output = self.run, self.run.agent.output
        judged = end.judged
        has_output = end.status in ("answered", "stopped_early") and (output is None or (judged is not None and judged.problem is None))
        value = end.text if output is None else judged.draft.output if judged is not None else None
        return RunResult(
            status=end.status,
            head=Head(run.record, run.state, run.memos),
            text=end.text,
            output=value,
            has_output=has_output,
            pause=Pause.of(run.record, run.state) if end.status == "paused" else None,
            error=end.error,
            refused_by=end.refused_by,
            tell_person=end.tell_person,
            contract_unmet=contract,
            plugin_failures=run.plugin_failures,
            listener_failures=run.listeners.failures,
        )


def manifest(run: Run[Any], leg: Leg) -> RunConfigured:
    """The first event of a leg.

    Args:
        run: the run.
        leg: what kind of leg it is.
    """
    agent = run.agent
    names = tuple(agent.tools)
    plugins = tuple([PluginEntry(p.name, p.version, index) for index, p in enumerate(agent.plugin_set.plugins)])
    parts = [agent.agent_id, run.model.provider, run.model.name, *names, *[f"{p.name} {p.version}" for p in plugins], repr(run.limits)]
    return RunConfigured(
        leg=leg,
        agent_id=agent.agent_id,
        provider=run.model.provider,
        model=run.model.name,
        tools=names,
        plugins=plugins,
        max_iterations=run.limits.iterations,
        stream=run.stream_mode,
        config_hash=hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest(),
        resumed_from=run.header.resumed_from,
        redaction=() if run.own_redact is None else run.own_redact.names,
        plugin_problems=agent.plugin_problems,
    )
